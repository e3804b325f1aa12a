"""The engine's own metrics: do they answer, whose are they, and what does Prometheus need to scrape them?"""

from collections.abc import Iterable, Mapping
from urllib.parse import urljoin

from exporters.probe.failures import ProbeError
from exporters.probe.targets.recognition import SAYS, Recognised, by_server, origin
from exporters.probe.wire.way import way_to
from inferwatch.config import Target
from inferwatch.engines import Engine, load_engines, recognise
from stack.check.findings import Finding, fail, ok, warn
from stack.check.http import Answer, get
from stack.check.reach import reach, speaks_tls
from stack.page.figures import plural

TEXT = {"Accept": "text/plain"}
WITHOUT = "until then there are probes, but no queue, no users' tokens and no cost"


def check_engine(target: Target, headers: Mapping[str, str], reached: bool) -> list[Finding]:
    """Try each metrics address, or look for one where none is configured.

    Args:
        target: Whose metrics.
        headers: What authorises a request to the target.
        reached: Whether the target's own address accepts connections; if not, what lies there is not tried.
    """
    own = origin(target.url)
    if not target.metrics:
        return [_suggestion(target, headers)] if reached else []
    findings = []
    for url in target.metrics:
        if origin(url) == own:
            findings += [_metrics(target, url, headers)] if reached else []
            continue
        broken = [one for one in reach(url) if one.level == "fail"]
        findings.append(_on_the_way(broken[0], url) if broken else _metrics(target, url, headers))
    return findings


def samples(text: str) -> list[str]:
    """Return the names of the samples of a metrics page, one per series."""
    names = (line.split("{", 1)[0].split(" ", 1)[0] for line in text.splitlines() if line and line[0] != "#")
    return [name for name in names if name and name.replace("_", "").replace(":", "").isalnum()]


def _on_the_way(finding: Finding, url: str) -> Finding:
    return fail("metrics", f"{url}: {finding.text}", finding.todo)


def _metrics(target: Target, url: str, headers: Mapping[str, str]) -> Finding:
    try:
        answer = get(url, TEXT)
    except ProbeError as error:
        if url.startswith("http://") and speaks_tls(url):
            secure = url.replace("http://", "https://", 1)
            return fail("metrics", f"{url}: the server speaks TLS, not plain HTTP", f"write {secure}")
        return fail("metrics", f"{url}: {error}", "look at the server's log")
    if answer.status in (401, 403):
        return _locked(target, url, headers, answer.status)
    if answer.status != 200:
        return _absent(target, url, headers, answer)
    return _judge(target, url, headers, answer)


def _locked(target: Target, url: str, headers: Mapping[str, str], status: int) -> Finding:
    """The metrics need a key, as llama.cpp's do where the server was started with one."""
    asks = f"{url} asks for a key ({status})"
    if target.metrics_auth is None:
        todo = f"write metrics_auth: bearer, and give Prometheus the key (docs/discovery.md); {WITHOUT}"
    elif target.metrics_auth == "bearer":
        todo = "Prometheus needs it in the file secrets/engine-metrics-key beside inferwatch.yml (docs/discovery.md)"
    else:
        todo = f"Prometheus needs a job of yours for /sd/engines?auth={target.metrics_auth} (docs/discovery.md)"
    if not headers:
        return warn("metrics", f"{asks}, and the target has no auth: to try it with", todo)
    try:
        answer = get(url, {**TEXT, **headers})
    except ProbeError as error:
        return fail("metrics", f"{url}: {error}", "look at the server's log")
    if answer.status != 200:
        return fail("metrics", f"{url} refuses the target's key ({answer.status})", "find out which key it takes")
    engine = recognise(answer.text)
    whose = f"{engine.title}'s" if engine else "the"
    text = f"{url}: {whose} metrics answer with the key only"
    if target.metrics_auth is None:
        return warn("metrics", f"{text}, and Prometheus scrapes without it", todo)
    return ok("metrics", text, todo)


def _absent(target: Target, url: str, headers: Mapping[str, str], answer: Answer) -> Finding:
    status = answer.status
    if answer.location and 300 <= status < 400:
        moved = urljoin(url, answer.location)
        return fail("metrics", f"{url} answers {status} and leads to {moved}", "write the address that has the metrics")
    if status == 501 or "--metrics" in answer.text:
        return fail("metrics", f"{url} answers {status}: llama.cpp runs without metrics", "start it with --metrics")
    if status == 404:
        found = _elsewhere(url)
        if found:
            return fail("metrics", f"{url} answers 404, {found[0]} has {found[1].title}'s metrics", f"write {found[0]}")
        told = _own_server(target, headers) if origin(url) == origin(target.url) else None
        if told:
            text = f"{url} answers 404; the server is {told.engine.title}, {SAYS[told.by]}"
            return fail("metrics", text, f"its metrics: {told.engine.enable}")
        return fail(
            "metrics",
            f"{url} answers 404",
            "check the path; llama.cpp needs --metrics, SGLang --enable-metrics; "
            "vLLM has its metrics at /metrics unless it runs with --disable-log-stats; "
            "or write metrics: [] for probes alone",
        )
    return fail("metrics", f"{url} answers {status}", "look at the server's log")


def _judge(target: Target, url: str, headers: Mapping[str, str], answer: Answer) -> Finding:
    names = samples(answer.text)
    if answer.is_page or not names or answer.json is not None:
        kind = "a web page" if answer.is_page else "JSON" if answer.json is not None else "no metrics"
        found = _elsewhere(url)
        todo = f"write {found[0]}" if found else "write the address of the engine's Prometheus metrics"
        return fail("metrics", f"{url} answers with {kind}", todo)
    engine = recognise(answer.text)
    if engine is None:
        known = ", ".join(one.title for one in load_engines().values() if one.metrics_path)
        first = ", ".join(sorted({name for name in names if not name.startswith(("process_", "python_", "go_"))})[:3])
        text = (
            f"{url} has {plural(len(names), 'series', 'series')} of an engine that is not known ({first or names[0]})"
        )
        told = _own_server(target, headers) if origin(url) == origin(target.url) else None
        if told:
            text += f"; its server is {told.engine.title}, {SAYS[told.by]}"
        return warn("metrics", text, f"known are {known}; without rules for it, panels show probes alone")
    if target.engine not in ("auto", engine.name):
        text = f"{url} has {engine.title}'s metrics, not those of {target.engine}"
        return fail("metrics", text, f"write engine: {engine.name}, or auto")
    how = f", {SAYS['metrics']}" if target.engine == "auto" else ""
    spare = "it asks for no key; leave metrics_auth out" if target.metrics_auth else ""
    return ok("metrics", f"{url} has {plural(len(names), 'series', 'series')} of {engine.title}{how}", spare)


def _suggestion(target: Target, headers: Mapping[str, str]) -> Finding:
    found = _first(_candidates(target.url))
    if found is not None:
        url, engine = found
        return warn("metrics", f"none configured, but {url} has {engine.title}'s", f"write metrics: [{url}]")
    told = _own_server(target, headers)
    server = f" of {told.engine.title} ({SAYS[told.by]})" if told else ""
    text = f"none{server} configured: probes measure latency; queue, users' tokens and cost stay unknown"
    return ok("metrics", text, f"its metrics: {told.engine.enable}" if told and told.engine.metrics_path else "")


def _own_server(target: Target, headers: Mapping[str, str]) -> Recognised | None:
    """Return what the target's own server says that it is, where the file does not say.

    It is not asked without the key that it is to be asked with.
    """
    if target.engine != "auto" or (target.auth is not None and not headers):
        return None
    try:
        return by_server(target.url, headers, way_to(target))
    except ProbeError:
        return None


def _elsewhere(url: str) -> tuple[str, Engine] | None:
    """Return an address on the same server that has a known engine's metrics."""
    return _first(one for one in _candidates(url) if one != url)


def _first(urls: Iterable[str]) -> tuple[str, Engine] | None:
    for url in urls:
        try:
            answer = get(url, TEXT)
        except ProbeError:
            return None
        engine = recognise(answer.text) if answer.status == 200 else None
        if engine is not None:
            return url, engine
    return None


def _candidates(url: str) -> list[str]:
    """Return where known engines have their metrics on the server of a URL."""
    paths = dict.fromkeys(engine.metrics_path for engine in load_engines().values() if engine.metrics_path)
    return [origin(url) + path for path in paths]
