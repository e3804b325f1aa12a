"""The checks across the whole file: names used once, references that exist, nothing scraped twice."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inferwatch.config.ability import cannot_ask
from inferwatch.config.reckoning import most_tokens
from inferwatch.strict_yaml import Finding, Path

if TYPE_CHECKING:
    from inferwatch.config.model import Config

OWN_GPU_EXPORTER = "gpu-exporter:9810"
OWN_NODE = "local"


def findings(config: "Config") -> Iterator[Finding]:
    """Yield each contradiction with the path of the value to change: of two equal ones, the second."""
    yield from _target_names(config)
    yield from _metrics(config)
    yield from _scenarios(config)
    yield from _apis(config)
    yield from _budgets(config)
    yield from _gpu_exporters(config)


def _repeated(values: Iterable[tuple[Path, str]]) -> Iterator[tuple[Path, str, Path]]:
    """Yield each later place of a value with the place where it stood first."""
    first: dict[str, Path] = {}
    for path, value in values:
        if value in first:
            yield path, value, first[value]
        first.setdefault(value, path)


def _target_names(config: "Config") -> Iterator[Finding]:
    named = ((("targets", index, "name"), target.name) for index, target in enumerate(config.targets))
    for path, name, before in _repeated(named):
        yield path, f"targets[{before[1]}] is called {name!r} already; give each target its own name"


def _metrics(config: "Config") -> Iterator[Finding]:
    addresses = (
        (("targets", index, "metrics", place), _same_address(url))
        for index, target in enumerate(config.targets)
        for place, url in enumerate(target.metrics)
    )
    for path, _, before in _repeated(addresses):
        name = config.targets[int(before[1])].name
        yield path, f"the target {name!r} lists this address already; an engine scraped twice is counted twice"
    for index, target in enumerate(config.targets):
        instances = ((("targets", index, "metrics", place), _instance(url)) for place, url in enumerate(target.metrics))
        for path, instance, before in _repeated(instances):
            if _same_address(target.metrics[int(path[3])]) != _same_address(target.metrics[int(before[3])]):
                yield path, f"metrics[{before[3]}] is at {instance} too; give each replica a host and port of its own"


def _same_address(url: str) -> str:
    """Return a URL in one spelling of the host's case, the default port and the last slash."""
    return _instance(url) + urlsplit(url).path.rstrip("/")


def _instance(url: str) -> str:
    """Return host and port, which is all that tells the replicas of a target apart as series."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or {'http': 80, 'https': 443}[parts.scheme]}"


def _scenarios(config: "Config") -> Iterator[Finding]:
    lists: list[tuple[Path, list[str]]] = [(("defaults", "scenarios"), config.defaults.scenarios)]
    lists += [(("targets", index, "scenarios"), target.scenarios or []) for index, target in enumerate(config.targets)]
    known = ", ".join(sorted(config.all_scenarios))
    for path, names in lists:
        places = [((*path, place), name) for place, name in enumerate(names)]
        for place, name in places:
            if name not in config.all_scenarios:
                yield place, f"there is no scenario {name!r}; define it under scenarios:, or write one of {known}"
        for place, name, _ in _repeated(places):
            yield place, f"the scenario {name!r} is listed twice; keep one"


def _apis(config: "Config") -> Iterator[Finding]:
    """Yield each scenario that its target's API cannot ask."""
    for index, target in enumerate(config.targets):
        for place, name in enumerate(target.scenarios or config.defaults.scenarios):
            scenario = config.all_scenarios.get(name)
            where: Path = ("targets", index, "scenarios", place) if target.scenarios else ("targets", index, "api")
            if scenario is not None and (sentence := cannot_ask(target, name, scenario)):
                yield where, sentence


def _budgets(config: "Config") -> Iterator[Finding]:
    """Yield each budget that holds no single probe: the prober sets aside what one may use before it starts it."""
    for index, target in enumerate(config.targets):
        budget, cost = target.probe_budget, target.cost
        if budget is None:
            continue
        for name in target.scenarios or config.defaults.scenarios:
            scenario = config.all_scenarios.get(name)
            if scenario is None:
                continue
            prompt, output = most_tokens(target, scenario)
            where: Path = ("targets", index, "probe_budget")
            if budget.tokens_per_day is not None and prompt + output > budget.tokens_per_day:
                parts = f"prompt {prompt}, answer {output}" + (", with the request that primes it" * scenario.primed)
                sentence = f"one probe of {name!r} may use about {prompt + output} tokens ({parts})"
                yield (*where, "tokens_per_day"), f"{sentence} and would never run; allow more"
            money = cost.of_tokens(prompt, output) if cost else 0.0
            if budget.money_per_day is not None and money > budget.money_per_day:
                sentence = f"one probe of {name!r} may cost about {money:.6g} {cost.currency if cost else ''}"
                yield (*where, "money_per_day"), f"{sentence} and would never run; allow more"


def _gpu_exporters(config: "Config") -> Iterator[Finding]:
    exporters = list(enumerate(config.gpu_exporters))
    for index, exporter in exporters:
        if exporter.address == OWN_GPU_EXPORTER:
            sentence = "is the stack's own exporter and scraped without being listed; remove this entry"
            yield ("gpu_exporters", index, "address"), f"{OWN_GPU_EXPORTER} {sentence}"
        elif exporter.node == OWN_NODE:
            sentence = f"{OWN_NODE!r} is the node of the stack's own exporter; name the other machine"
            yield ("gpu_exporters", index, "node"), sentence
    for key in ("address", "node"):
        values = ((("gpu_exporters", index, key), str(getattr(exporter, key))) for index, exporter in exporters)
        for path, value, before in _repeated(values):
            yield path, f"gpu_exporters[{before[1]}] has the {key} {value!r} already; list each once"
