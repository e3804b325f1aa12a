"""What a probe asks before it is sent takes from its own time, so that all of it ends within the timeout."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile import HostileServer
from page_server import Server
from probe_helpers import scenario
from test_probe_oneshot import Asked

from exporters.probe.failures import ProbeError
from exporters.probe.scheduling.prober import Prober
from exporters.probe.targets.recognition import TIMEOUT
from exporters.probe.targets.time_left import time_left
from exporters.probe.views.any_target import AnyTarget
from exporters.probe.views.oneshot import OneShots
from inferwatch.config import Config, parse_config
from stack.probe_now import probe_now

LISTS_AFTER = 0.3


class LateModels(dict[str, list[str]]):
    """The models that the hostile server lists, each time so much later."""

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        time.sleep(LISTS_AFTER)
        return super().get(name, default)


@pytest.fixture
def late(hostile: HostileServer) -> Iterator[str]:
    """A server that takes its time to list its models, and is silent when it is probed."""
    before, hostile.models = hostile.models, LateModels()
    yield hostile.url("headers_only")
    hostile.models = before


def config_of(url: str) -> Config:
    return parse_config(f"targets: [{{name: chat, url: '{url}'}}]\ndefaults: {{timeout: 1s}}", "f", {})


def on_request(url: str, _: Path, __: pytest.CaptureFixture[str]) -> str:
    asked = Asked(url)
    asked.config = config_of(url)
    return asked(seconds="1.5", debug="1").body


def of_any_url(url: str, _: Path, __: pytest.CaptureFixture[str]) -> str:
    asked = Asked("http://127.0.0.1:1/v1")
    asked.config = parse_config("", "f", {})
    asked.shots = OneShots(lambda: asked.config, asked.prober, AnyTarget(1000, None))
    return asked(seconds="1.5", target=url, debug="1").body


def on_schedule(url: str, _: Path, __: pytest.CaptureFixture[str]) -> str:
    prober = Prober()
    prober.apply(config_of(url))
    prober.run(("chat", "short"))
    last = prober.records()["chat", "short"].last
    assert last is not None
    return last.detail


def by_the_command(url: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "inferwatch.yml").write_text(f"targets: [{{name: chat, url: '{url}', timeout: 1s}}]")
    probe_now(folder / "inferwatch.yml", "chat", as_json=True)
    return capsys.readouterr().out


@pytest.mark.parametrize("way", [on_request, of_any_url, on_schedule, by_the_command])
def test_listing_the_models_takes_from_the_time_of_the_probe(
    late: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: Callable[..., str]
) -> None:
    told = way(late, tmp_path, capsys)
    # Of one second; a machine that is slow leaves less, and one that is very slow nothing.
    within = re.search(r"the time was up \(([\d.]+) s\)", told)
    assert "listing the models took" in told or (within and float(within[1]) <= 1 - LISTS_AFTER), told


def test_what_took_nearly_all_of_it_is_said_and_the_model_is_known_next_time(hostile: HostileServer) -> None:
    hostile.models = LateModels()
    config = parse_config(f"targets: [{{name: chat, url: '{hostile.url('good')}', timeout: 350ms}}]", "f", {})
    prober = Prober()
    prober.apply(config)
    prober.run(("chat", "short"))
    last = prober.records()["chat", "short"].last
    assert last is not None and last.outcome == "ttft_timeout"
    assert re.fullmatch(r"listing the models took 0\.\d+ s of the 0\.35 s that the probe had", last.detail)
    assert prober.model_of(config.targets[0])


def test_asking_whether_a_target_sleeps_takes_from_it_too(hostile: HostileServer, server: Server) -> None:
    """A server that is silent on this as well is not waited for beyond the scrape's timeout."""
    asked = Asked(hostile.url("silent"), "wake: false", "engine: vllm")
    asked.prober.naps._engine_of = lambda _: "vllm"
    page = asked(seconds="1", debug="1").body
    took = re.search(r"outcome ttft_timeout: asking whether it sleeps took ([\d.]+) s of the 0\.5 s", page)
    assert took and float(took[1]) < TIMEOUT, page


def test_what_took_nothing_leaves_all() -> None:
    whole = scenario("30s")
    assert time_left(whole, time.monotonic(), "it").timeout == 30
    assert time_left(whole, time.monotonic() - 10, "it").timeout == pytest.approx(20, abs=1)
    for taken in (29.95, 30, 31):
        with pytest.raises(ProbeError, match=r"^it took \d+ s of the 30 s that the probe had$") as caught:
            time_left(whole, time.monotonic() - taken, "it")
        assert caught.value.outcome == "ttft_timeout"
