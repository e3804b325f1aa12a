"""A reload while a probe is under way: what the probe finds out is of the old server, and shows nowhere in the new."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile import HostileServer
from probe_helpers import PATIENCE

from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.scheduling import prober as prober_module
from exporters.probe.scheduling.prober import Prober
from inferwatch.config import Config, parse_config

KEY = ("chat", "short")
OTHER = "{name: other, url: 'http://127.0.0.1:9/v1', model: m}"


def config(url: str | None, more: str = "model: m", max_tokens: int = 64) -> Config:
    chat = f"{{name: chat, url: '{url}', {more}}}, " if url else ""
    scenarios = f"scenarios: {{short: {{prompt: 'the prompt', max_tokens: {max_tokens}}}}}"
    return parse_config(f"targets: [{chat}{OTHER}]\n{scenarios}\n", "inferwatch.yml", {})


# What becomes of the target at a URL while its probe is under way; none is the same thing measured as before.
CHANGES: dict[str, Callable[[str], Config]] = {
    "removed": lambda _: config(None),
    "elsewhere": lambda url: config(f"{url}/v1"),
    "another API": lambda url: config(url, "model: m, api: openai-completions"),
    "another model": lambda url: config(url, "model: n"),
    "another prompt": lambda url: config(url, max_tokens=32),
}
# The server is the same after these, and what it asks for holds.
AT_THE_SAME_SERVER = ("another model", "another prompt")


@contextmanager
def under_way(monkeypatch: pytest.MonkeyPatch, start: Callable[[], object]) -> Iterator[None]:
    """Hold the probe that `start` runs right before it ends, and let it end after the body."""
    held, go_on = threading.Event(), threading.Event()

    def hold(*arguments: object) -> ProbeResult:
        result = run_probe(*arguments)  # type: ignore[arg-type]
        held.set()
        assert go_on.wait(PATIENCE)
        return result

    monkeypatch.setattr(prober_module, "run_probe", hold)
    thread = threading.Thread(target=start)
    thread.start()
    assert held.wait(PATIENCE)
    yield
    monkeypatch.setattr(prober_module, "run_probe", run_probe)
    go_on.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def anything_of(prober: Prober) -> dict[str, object]:
    """Return what is shown of the target beside its pause; a counter that is 0 shows nothing."""
    record = prober.records().get(KEY)
    codes = prober.responses.all().get("chat", {})
    shown = {
        "identity": [key for key in prober.identities.all() if key[0] == "chat"],
        "refused": prober.refusals.by_target().get("chat"),
        "history": list(prober.history.of(KEY)),
        "answers": sum(codes.values()),
        "succeeded": prober.succeeded_at("chat"),
        "outcomes": record and sum(record.snapshot()[1].outcomes.values()),
        "tokens": record and record.snapshot()[1].output_tokens,
    }
    return {name: value for name, value in shown.items() if value}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("behaviour", ["good", "broken", "picky"])
def test_a_scheduled_probe_tells_only_its_own_record(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, behaviour: str, change: str
) -> None:
    prober = Prober(state_folder=tmp_path)
    prober.apply(config(hostile.url(behaviour)))
    record = prober.records()[KEY]
    with under_way(monkeypatch, lambda: prober.run(KEY)):
        prober.apply(CHANGES[change](hostile.url(behaviour)))
    series = record.snapshot()[1]
    assert (series.started, sum(series.outcomes.values()), prober.inflight()) == (1, 1, 0)
    assert anything_of(prober) == {}
    prober.save()
    kept = tmp_path / "probe-refused-parameters.json"
    assert not kept.exists() or "chat" not in kept.read_text()


@pytest.mark.parametrize("scheduled", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_the_pause_that_a_server_asked_for_is_not_another_s(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, change: str, scheduled: bool
) -> None:
    prober, before = Prober(), config(hostile.url("limited"))
    prober.apply(before)
    target = before.targets[0]
    scenario = before.scenarios_of(target)["short"]
    start = (lambda: prober.run(KEY)) if scheduled else (lambda: prober.once(target, "short", scenario))
    with under_way(monkeypatch, start):
        prober.apply(CHANGES[change](hostile.url("limited")))
    assert (prober.manners.paused("chat") > 0) is (change in AT_THE_SAME_SERVER)


@pytest.mark.parametrize("change", ["removed", "elsewhere", "another API"])
def test_tokens_of_a_probe_on_request_are_not_another_server_s(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    prober, before = Prober(), config(hostile.url("good"))
    prober.apply(before)
    target = before.targets[0]
    with under_way(monkeypatch, lambda: prober.once(target, "short", before.scenarios_of(target)["short"])):
        prober.apply(CHANGES[change](hostile.url("good")))
    assert anything_of(prober) == {}


def test_an_edit_that_measures_the_same_takes_everything_over(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("good")))
    with under_way(monkeypatch, lambda: prober.run(KEY)):
        prober.apply(config(hostile.url("good"), "model: m, interval: 7s, slo: {ttft: {threshold: 9s}}"))
    assert anything_of(prober).keys() == {"identity", "history", "answers", "succeeded", "outcomes", "tokens"}


def test_editing_a_prompt_keeps_the_pause_that_the_server_asked_for(hostile: HostileServer) -> None:
    prober = Prober()
    prober.apply(config(hostile.url("limited")))
    prober.run(KEY)
    prober.apply(config(hostile.url("limited"), max_tokens=32))
    assert prober.manners.paused("chat") > 0
    prober.apply(config(hostile.url("good"), max_tokens=32))
    assert prober.manners.paused("chat") == 0
