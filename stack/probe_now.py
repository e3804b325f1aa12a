"""`inferwatch probe`: one probe now per scenario of a target, explained for a person or as JSON."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from exporters.probe.asking.lag import MONITOR
from exporters.probe.asking.run import ProbeResult, run_probe, unasked
from exporters.probe.asking.transcript import Transcript
from exporters.probe.failures import ProbeError
from exporters.probe.metrics import PHASES
from exporters.probe.targets.models import served_models
from exporters.probe.targets.naps import sleeps
from exporters.probe.targets.time_left import time_left
from exporters.probe.targets.versions import own_version
from exporters.probe.views.explain import explained
from exporters.probe.views.quoted import Quoted
from inferwatch.config import Config, Scenario, Target, load_config
from inferwatch.config.environment import ENV_URL
from inferwatch.durations import format_duration
from inferwatch.errors import ConfigError
from inferwatch.printable import printable
from stack.page.figures import number, plural, seconds
from stack.probe_item import SUCCESS, as_item

EXIT_GOOD, EXIT_FAILED, EXIT_CONFIG = 0, 1, 2
TAINTED = "tainted"
PHASE_WORDS = {
    "dns": "resolve the name",
    "tcp": "connect",
    "tls": "TLS handshake",
    "send": "send the request",
    "headers": "wait for the headers",
    "first_event": "wait for the first event",
    "tail": "end of the stream",
}


def probe_now(config_file: Path, target_name: str | None, as_json: bool, debug: bool = False) -> int:
    """Probe a target, or every target, and print what was measured.

    Args:
        config_file: The file.
        target_name: A target's name; None probes all.
        as_json: Whether to print JSON instead of lines for a person.
        debug: Whether to show event by event what was sent and answered; beside JSON on standard error.

    Returns:
        0 if every probe succeeded, 1 if one did not or nothing was probed, 2 if the file or the target's name is not
        valid.
    """
    try:
        config = load_config(config_file, option="--config")
        targets = _targets(config, config_file, target_name)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_CONFIG
    results: list[ProbeResult] = []
    items: list[dict[str, object]] = []
    console = None if as_json else Console(highlight=False, soft_wrap=True)
    with _own_lag(config):
        for target in targets:
            if target_name is None and _may_sleep(target):
                print(f"{target.name}: may sleep, and wake: false keeps it so; name it to probe it", file=sys.stderr)
                continue
            own = list(_probe_each(target, config.scenarios_of(target), console, debug))
            # A server that answered nothing is not asked for more.
            answered = any(result.status_code is not None for result in own)
            version = own_version(target) if answered else None
            if version and console is not None:
                _print(console, Text(f"{target.name}: its server is of version {printable(version)}", style="dim"))
            results += own
            items += [as_item(result, version) for result in own]
    if as_json:
        print(json.dumps(items, indent=2))
    if not results:
        print(f"{config_file}: nothing was probed, since every target may sleep", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_GOOD if all(result.outcome == SUCCESS for result in results) else EXIT_FAILED


@contextmanager
def _own_lag(config: Config) -> Iterator[None]:
    """Measure how late this process wakes, so that a probe it delayed is tainted, as in the exporter."""
    MONITOR.tolerated_seconds = config.prober.max_lag
    MONITOR.start()
    try:
        yield
    finally:
        MONITOR.stop()


def _may_sleep(target: Target) -> bool:
    return not target.wake and sleeps(target, target.model or "", target.engine) is not False


def _probe_each(
    target: Target, scenarios: Mapping[str, Scenario], console: Console | None, debug: bool
) -> Iterator[ProbeResult]:
    """Probe a target once for each scenario; what was measured is printed on the console, if there is one."""
    waiting = Console(stderr=True)
    for name, scenario in scenarios.items():
        transcript = Transcript()
        with waiting.status(f"probing {target.name} / {name}") if waiting.is_terminal else nullcontext():
            result = probe(target, name, scenario, transcript)
        if console is not None:
            explain(console, target, result)
        if debug:
            text = explained(result, scenario, transcript, Quoted(target, transcript), quotes=True)
            print(text, file=sys.stderr if console is None else sys.stdout)
        yield result


def _targets(config: Config, file: Path, name: str | None) -> list[Target]:
    """Return the target of that name, or all.

    Raises:
        ConfigError: If there is none.
    """
    found = [target for target in config.targets if name in (None, target.name)]
    if found:
        return found
    known = ", ".join(target.name for target in config.targets)
    if not known:
        raise ConfigError([f"{file}: lists no target; add one under targets:, or set {ENV_URL}"])
    raise ConfigError([f"{file}: there is no target {name!r}; it has: {known}"])


def probe(target: Target, name: str, scenario: Scenario, transcript: Transcript) -> ProbeResult:
    """Run one probe now, of the model that the file names or that the server lists first."""
    began = time.monotonic()
    try:
        model = target.model or served_models(target, scenario.timeout or 60.0, transcript)[0]
        scenario = time_left(scenario, began, "listing the models")
    except ProbeError as error:
        return unasked(target, name, error)
    refused: set[str] = set()
    while True:
        result = run_probe(target, name, scenario, model, refused, transcript)
        if result.refused is None or result.refused in refused:
            return result
        # The exporter's next probe would do without it, so that is what is shown.
        refused.add(result.refused)


def explain(console: Console, target: Target, result: ProbeResult) -> None:
    """Print one result for a person."""
    good = result.outcome == SUCCESS
    title = Text(f"{result.target} / {result.scenario}: ", style="bold")
    if result.outcome == TAINTED:
        title.append(f"not judged ({TAINTED})", "bold yellow")
    else:
        title.append("success" if good else f"failed ({result.outcome})", "bold green" if good else "bold red")
    _print(console, title)
    if result.detail:
        _print(console, Text(f"  {printable(result.detail)}"))
    for name, value in _lines(result):
        _print(console, Text(f"  {name:<8}  {printable(value)}"))
    if result.phases:
        _print(console, Text("  phases", style="dim"))
        for phase in PHASES:
            if phase in result.phases:
                _print(console, Text(f"    {PHASE_WORDS[phase]:<26}{seconds(result.phases[phase]):>9}"))
    if good:
        for line, met in slo_lines(target, result):
            _print(console, Text(f"  {line}", style="green" if met else "yellow"))


def _print(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True)


def _lines(result: ProbeResult) -> Iterator[tuple[str, str]]:
    """Yield what was measured, name and value."""
    if result.model_name:
        yield "model", result.model_name
    if result.ttft_seconds is not None:
        yield "TTFT", seconds(result.ttft_seconds)
    if result.ttfo_seconds is not None and result.ttfo_seconds != result.ttft_seconds:
        yield "TTFO", f"{seconds(result.ttfo_seconds)}, after what the model thought first"
    if result.tpot_seconds:
        yield "TPOT", f"{seconds(result.tpot_seconds)} ({number(1 / result.tpot_seconds)} tokens/s)"
    elif result.buffered:
        yield "TPOT", "undefined: the stream arrived all at once, so something on the way buffers it"
    if result.e2e_seconds is not None:
        yield "E2E", seconds(result.e2e_seconds)
    tokens = _tokens(result)
    if tokens:
        yield "tokens", tokens
    if result.finish_reason:
        yield "finish", result.finish_reason
    if result.checks_passed is not None:
        yield "checks", "passed" if result.checks_passed else "failed"


def _tokens(result: ProbeResult) -> str:
    if result.output_tokens is None:
        return ""
    source = {"usage": "counted by the server", "chunks": "counted by chunks, as the server sends no usage"}
    parts = [f"{plural(result.output_tokens, 'output token')}"]
    if result.token_source:
        parts[0] += f", {source[result.token_source]}"
    if result.prompt_tokens is not None:
        parts.append(f"{plural(result.prompt_tokens, 'prompt token')}")
    return "; ".join(parts)


def slo_lines(target: Target, result: ProbeResult) -> Iterator[tuple[str, bool]]:
    """Yield how one probe compares with each objective of its target, and whether it met it."""
    measured = {"ttft": result.ttft_seconds, "tpot": result.tpot_seconds, "e2e": result.e2e_seconds}
    for name, value in measured.items():
        objective = getattr(target.slo, name)
        if objective is None:
            continue
        if value is None:
            yield f"{name.upper()} is undefined for this probe and judged by the other objectives", True
            continue
        met = value <= objective.threshold
        verdict = "within" if met else "over"
        yield (
            f"{name.upper()} {seconds(value)} is {verdict} its objective of {format_duration(objective.threshold)}",
            met,
        )
