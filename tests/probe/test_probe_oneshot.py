"""`/probe`: one probe for one scrape, shared for an interval, within the scrape's time, and explained on request."""

import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
import requests
from hostile import HostileServer
from probe_helpers import until
from prometheus_client.parser import text_string_to_metric_families

from exporters.probe.asking.run import ProbeResult
from exporters.probe.exporter import ProbeExporter
from exporters.probe.metrics import OUTCOMES
from exporters.probe.scheduling.prober import Prober
from exporters.probe.views.oneshot import OneShots
from exporters.probe.views.oneshot_metrics import OneShotCollector
from inferwatch.config import Config, parse_config
from inferwatch.exposition import Request, Response

SECRET = "sk-hidden"


class Asked:
    """A prober and its `/probe`, for one target called chat."""

    def __init__(self, url: str, *more: str) -> None:
        self.config = config(url, *more)
        self.prober = Prober()
        self.prober.apply(self.config)
        self.shots = OneShots(lambda: self.config, self.prober)

    def __call__(self, seconds: str | None = None, **query: str) -> Response:
        headers = {"x-prometheus-scrape-timeout-seconds": seconds} if seconds else {}
        return self.shots.answer(
            Request({name: [value] for name, value in ({"target": "chat"} | query).items()}, headers=headers)
        )


def config(url: str, *more: str) -> Config:
    lines = ["targets:", f"- name: chat\n  url: {url}\n  model: m", *(f"  {line}" for line in more)]
    lines += ["scenarios:", "  short: {prompt: the prompt, max_tokens: 64}", "  other: {prompt: other, max_tokens: 64}"]
    return parse_config("\n".join(lines), "inferwatch.yml", {})


def shown(response: Response) -> dict[str, float]:
    assert response.status == HTTPStatus.OK, response.body
    families = text_string_to_metric_families(response.body)
    return {sample.name: sample.value for family in families for sample in family.samples}


def probes(hostile: HostileServer) -> int:
    return sum(peer.method == "POST" for peer in hostile.requests)


@pytest.fixture(autouse=True)
def no_requests(hostile: HostileServer) -> None:
    hostile.requests.clear()


def test_a_probe_is_run_and_shared_for_the_interval(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"))
    first, second = shown(asked()), shown(asked())
    assert first["probe_success"] == second["probe_success"] == 1
    assert first["probe_llm_output_tokens"] == 5 and first["probe_http_status_code"] == 200
    assert 0 < first["probe_llm_ttft_seconds"] <= first["probe_llm_e2e_seconds"] <= first["probe_duration_seconds"]
    assert first["probe_llm_ttfo_seconds"] == first["probe_llm_ttft_seconds"]
    assert second["probe_llm_ttft_seconds"] == first["probe_llm_ttft_seconds"]
    assert second["probe_age_seconds"] >= first["probe_age_seconds"]
    assert probes(hostile) == 1
    # Another scenario is another probe; and neither is counted among those of the schedule.
    assert 'scenario="other"' in asked(scenario="other").body and probes(hostile) == 2
    series = asked.prober.records()["chat", "short"].snapshot()[1]
    assert series.started == 0
    # But the tokens of both are the probes', or they would be taken for users' traffic.
    assert series.output_tokens == 10


def test_what_the_schedule_ran_is_shared_too(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"))
    asked.prober.run(("chat", "short"))
    found = shown(asked())
    assert (found["probe_success"], probes(hostile)) == (1, 1)
    assert "probe_duration_seconds" not in found


def test_two_scrapes_at_once_spend_once(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("slow"))
    answers: list[Response] = []
    threads = [threading.Thread(target=lambda: answers.append(asked())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [shown(answer)["probe_success"] for answer in answers] == [1, 1, 1, 1]
    assert probes(hostile) == 1


def test_a_result_is_not_shared_after_an_edit_or_the_interval(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"), "interval: 1s")
    asked()
    asked.config = config(hostile.url("good"), "interval: 1s", "labels: {team: a}")
    asked()
    assert probes(hostile) == 2
    until(lambda: (asked(), probes(hostile) == 3)[1], "the interval is over")


def test_the_scrape_s_timeout_is_kept(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("silent"))
    began = time.monotonic()
    found = shown(asked(seconds="1.1"))
    assert found["probe_success"] == 0 and found["probe_timeout_seconds"] == pytest.approx(0.6)
    # Far below the probe's own timeout of a minute.
    assert 0.6 <= time.monotonic() - began < 30


@pytest.mark.parametrize("odd", ["nonsense", "-1", "inf", "nan"])
def test_a_timeout_that_is_no_number_of_seconds_is_none(hostile: HostileServer, odd: str) -> None:
    assert shown(Asked(hostile.url("good"))(seconds=odd))["probe_timeout_seconds"] == 60


TIMES = ("probe_llm_ttft_seconds", "probe_llm_ttfo_seconds", "probe_llm_tpot_seconds", "probe_llm_e2e_seconds")


def test_a_tainted_probe_is_a_good_answer_without_times(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporters.probe.asking.run.tainted", lambda *_: "this process was held up")
    asked = Asked(hostile.url("good"))
    answer = asked()
    assert 'outcome="tainted"' in answer.body
    found = shown(answer)
    assert (found["probe_success"], found["probe_llm_output_tokens"], found["probe_http_status_code"]) == (1, 5, 200)
    assert not {*TIMES, "probe_llm_phase_seconds"} & set(found)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_only_a_good_answer_is_a_success(outcome: str) -> None:
    times = {"ttft_seconds": 1.0, "ttfo_seconds": 1.0, "tpot_seconds": 0.1, "e2e_seconds": 2.0}
    result = ProbeResult("chat", "short", "m", outcome, "", phases={"send": 0.1}, **times)  # type: ignore[arg-type]
    families = {family.name: family for family in OneShotCollector(result, 60.0, 0.0, 2.0).collect()}
    (success,) = families["probe_success"].samples
    assert success.value == (outcome in ("success", "tainted"))
    # How far a failure came is told; what lag of our own made of the times is not.
    assert {*TIMES, "probe_llm_phase_seconds"} & set(families) == (
        set() if outcome == "tainted" else {*TIMES, "probe_llm_phase_seconds"}
    )


def test_the_two_requests_of_a_primed_probe_fit_into_a_scrape(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"))
    text = f"targets: [{{name: chat, url: '{hostile.url('good')}', model: m, scenarios: [warm]}}]"
    text += "\nscenarios: {warm: {prompt: x, max_tokens: 64, primed: true}}"
    asked.config = parse_config(text, "inferwatch.yml", {})
    assert shown(asked(seconds="20.5"))["probe_timeout_seconds"] == 10
    assert probes(hostile) == 2


def test_debug_explains_and_quotes_nothing(hostile: HostileServer, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    asked = Asked(hostile.url("good"), f"auth: {{bearer_file: {tmp_path / 'key'}}}")
    page = asked(debug="1").body
    for part in ("content (", "finish reason stop", "usage prompt 11, output 5", "done", "outcome success", "TTFT: 0."):
        assert part in page, page
    for hidden in ("the prompt", "two", "three", "four", SECRET, str(tmp_path)):
        assert hidden not in page, page
    # It is run anew each time, for a person who looks.
    asked(debug="1")
    assert probes(hostile) == 2


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("limited", "outcome rate_limited: the server answered 429"),
        ("truncated", "outcome truncated"),
        ("error_first", "error"),
    ],
)
def test_debug_explains_failures(hostile: HostileServer, name: str, part: str) -> None:
    assert part in Asked(hostile.url(name))(debug="1").body


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({"target": ""}, "target= must be a target of the configuration (chat)"),
        ({"target": "http://169.254.169.254/"}, "target= must be a target"),
        ({"scenario": "none"}, "scenario= must be one of canary, canary-long, other, short"),
    ],
)
def test_what_is_not_configured_is_not_probed(hostile: HostileServer, query: dict[str, str], part: str) -> None:
    answer = Asked(hostile.url("good"))(**query)
    assert answer.status == HTTPStatus.BAD_REQUEST and part in answer.body
    assert probes(hostile) == 0


def test_budget_and_retry_after_bind_it_too(hostile: HostileServer) -> None:
    asked = Asked(hostile.url("good"), "probe_budget: {tokens_per_day: 80}")
    assert shown(asked())["probe_success"] == 1
    # The server counted 11 tokens of the prompt, and 5 of the answer; another timeout asks the same.
    refused = asked(seconds="20", debug="1")
    left = "of the 80 tokens of the probe_budget of chat 64 are left for today (UTC)"
    assert (refused.status, refused.body) == (503, f"{left}, and one probe of 'short' may use 75 tokens\n")
    assert asked.prober.spending.paused() == set()

    limited = Asked(hostile.url("limited"))
    assert shown(limited())["probe_success"] == 0
    assert "asked to be left alone" in limited(debug="1").body
    assert limited.prober.manners.paused("chat") > 0


@pytest.fixture
def served(tmp_path: Path, hostile: HostileServer) -> Iterator[str]:
    (tmp_path / "inferwatch.yml").write_text(f"targets: [{{name: chat, url: '{hostile.url('silent')}', model: m}}]\n")
    running = ProbeExporter(tmp_path / "inferwatch.yml", tmp_path, "127.0.0.1:0")
    running.start()
    yield f"http://{running.address}/probe"
    running.stop()


def test_it_is_served_with_the_headers_of_a_scrape(served: str) -> None:
    headers = {"X-Prometheus-Scrape-Timeout-Seconds": "1", "Accept": "application/openmetrics-text;version=1.0.0"}
    answer = requests.get(served, params={"target": "chat"}, headers=headers, timeout=30)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert "probe_timeout_seconds 0.5" in answer.text and answer.text.endswith("# EOF\n")
    assert requests.get(served, timeout=30).status_code == 400


def test_no_page_of_another_site_has_a_probe_run(hostile: HostileServer, tmp_path: Path) -> None:
    (tmp_path / "inferwatch.yml").write_text(f"targets: [{{name: chat, url: '{hostile.url('good')}', model: m}}]")
    running = ProbeExporter(tmp_path / "inferwatch.yml", None, "127.0.0.1:0")
    running.start()
    try:
        until(lambda: running._prober.history.of(("chat", "short")), "the schedule's own probe")
        sent = probes(hostile)
        for method, headers, status in (
            ("GET", {"Sec-Fetch-Site": "cross-site"}, 403),
            ("GET", {"Host": "evil.example"}, 403),
            ("HEAD", {}, 200),
        ):
            for query in ({}, {"debug": "1"}):
                params = {"target": "chat", "scenario": "canary"} | query
                url = f"http://{running.address}/probe"
                answer = requests.request(method, url, params=params, headers=headers, timeout=30)
                assert (answer.status_code, probes(hostile)) == (status, sent), (method, headers, query)
    finally:
        running.stop()
