"""Warm probes: the request before them that fills the prefix cache, what it costs, and what happens when it fails."""

import json

import pytest
from hostile import HostileServer
from hostile_peer import BEHAVIOURS, END, FINISH, Peer, chunk, data, usage_chunk
from probe_helpers import scenario, target

from exporters.probe.asking.parameters import PRIMER_LIMIT
from exporters.probe.asking.run import ProbeResult, run_probe
from exporters.probe.scheduling.prober import Prober
from exporters.probe.scheduling.spending import Spending, per_day
from exporters.probe.series.measured import MeasuredCollector
from exporters.probe.series.record import Record
from inferwatch.config import Slo, parse_config
from inferwatch.errors import ConfigError


class CachingServer:
    """Says whether it had seen a prompt just before; it forgets it after that, and may fail the first requests."""

    def __init__(self, failures: int = 0, status: str = "500 Internal Server Error", *headers: str) -> None:
        self.cached: list[object] = []
        self._failures = failures
        self._status = status
        self._headers = headers

    def __call__(self, peer: Peer) -> None:
        if self._failures:
            self._failures -= 1
            peer.plain(self._status, "application/json", "{}", *self._headers)
            return
        warm = peer.body["messages"] in self.cached
        self.cached = [] if warm else [peer.body["messages"]]
        peer.head()
        usage = {"prompt_tokens": 100, "completion_tokens": int(str(peer.body["max_tokens"]))}
        pieces = [data(chunk({"content": "warm" if warm else "cold"})), FINISH, data(usage_chunk(usage)), END]
        peer.send(b"".join(pieces))
        peer.end()


def probe(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, server: CachingServer, **more: object
) -> ProbeResult:
    monkeypatch.setitem(BEHAVIOURS, "caching", server)
    wanted = scenario(**{"max_tokens": 8, "checks": {"text": "warm"}, "primed": True} | more)
    return run_probe(target(hostile.url("caching")), "warm", wanted, "m")


def test_a_primed_probe_is_warm(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(hostile.requests)
    result = probe(hostile, monkeypatch, CachingServer())
    assert (result.outcome, result.output_tokens, result.prompt_tokens) == ("success", 8, 100)
    primer, measured = hostile.requests[before:]
    assert (primer.body.pop("max_tokens"), measured.body.pop("max_tokens")) == (1, 8)
    assert primer.body == measured.body
    assert result.primed is not None and (result.primed.prompt_tokens, result.primed.output_tokens) == (100, 1)


def test_each_probe_is_primed_anew(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may have evicted the prompt since the last one."""
    server = CachingServer()
    assert [probe(hostile, monkeypatch, server).outcome for _ in range(3)] == ["success"] * 3


def test_without_primed_nothing_is_sent_before(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    result = probe(hostile, monkeypatch, CachingServer(), primed=False)
    assert (result.outcome, result.primed) == ("check_failed", None)


def test_a_probe_whose_priming_failed_is_tainted(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    result = probe(hostile, monkeypatch, CachingServer(failures=1), checks=None)
    assert result.outcome == "tainted"
    assert "the prompt may not have been cached: http_5xx: the server failed with 500" in result.detail


def test_a_server_that_fails_is_the_probes_outcome(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    result = probe(hostile, monkeypatch, CachingServer(failures=2))
    assert (result.outcome, result.status_code) == ("http_5xx", 500)


def test_a_server_that_asks_for_patience_is_not_asked_again(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(hostile.requests)
    server = CachingServer(1, "429 Too Many Requests", "Retry-After: 30")
    result = probe(hostile, monkeypatch, server)
    assert (result.outcome, result.retry_after_seconds) == ("rate_limited", 30.0)
    assert len(hostile.requests) == before + 1


class ReasoningModel:
    """Takes no limit below `least`, and none by the name that older models know."""

    def __init__(self, least: int) -> None:
        self.limits: list[int] = []
        self._least = least

    def __call__(self, peer: Peer) -> None:
        if "max_tokens" in peer.body:
            error = {"param": "max_tokens", "message": "use 'max_completion_tokens' instead of 'max_tokens'"}
            peer.plain("400 Bad Request", "application/json", json.dumps({"error": error}))
            return
        limit = int(str(peer.body["max_completion_tokens"]))
        self.limits.append(limit)
        if limit < self._least:
            error = {"param": None, "message": "max_tokens or model output limit was reached; try again with more"}
            peer.plain("400 Bad Request", "application/json", json.dumps({"error": error}))
            return
        peer.head()
        usage = usage_chunk({"prompt_tokens": 100, "completion_tokens": 8})
        peer.send(b"".join([data(chunk({"content": "warm"})), FINISH, data(usage), END]))
        peer.end()


@pytest.mark.parametrize(
    ("least", "limits", "tainted"),
    [
        pytest.param(16, [16, 64, 16, 64], 0, id="takes 16"),
        # The first probe finds it out and is tainted; what it found out is used at once.
        pytest.param(40, [16, 64, 64, 64, 64, 64], 1, id="takes only as many as the probe asks for"),
    ],
)
def test_models_that_take_no_short_limit_are_primed(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, least: int, limits: list[int], tainted: int
) -> None:
    model = ReasoningModel(least)
    monkeypatch.setitem(BEHAVIOURS, "caching", model)
    text = f"targets: [{{name: chat, url: '{hostile.url('caching')}', model: m, scenarios: [warm]}}]\n"
    text += "scenarios: {warm: {prompt: x, max_tokens: 64, primed: true, interval: 1h}}\n"
    prober = Prober()
    prober.apply(parse_config(text, "f.yml", {}))
    prober.run(("chat", "warm"))
    prober.run(("chat", "warm"))
    series = prober.records()["chat", "warm"].snapshot()[1]
    assert model.limits == limits
    # The probe that found out the name of the limit failed.
    assert (series.outcomes["http_4xx"], series.outcomes["tainted"], series.outcomes["success"]) == (1, tainted, 2)
    known = {"max_tokens"} | ({PRIMER_LIMIT} if tainted else set())
    assert prober.refusals.by_target() == {"chat": known}


def test_a_primer_that_fails_otherwise_is_no_matter_of_its_limit(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probe(hostile, monkeypatch, CachingServer(failures=1), checks=None).refused is None
    refused = CachingServer(1, "400 Bad Request")
    assert probe(hostile, monkeypatch, refused, checks=None).refused == PRIMER_LIMIT
    # Where the probe is refused as well, it was not the limit.
    assert probe(hostile, monkeypatch, CachingServer(2, "400 Bad Request"), checks=None).refused is None


def test_priming_is_counted_and_is_no_probe(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record("m")
    for failures in (0, 1):
        record.start()
        record.end(probe(hostile, monkeypatch, CachingServer(failures), checks=None), Slo(), 7.0)
    collector = MeasuredCollector(lambda: {("chat", "warm"): record}, dict, int)
    samples = [sample for family in collector.collect() for sample in family.samples]
    shown = {(sample.name, sample.labels.get("outcome")): sample.value for sample in samples}
    assert shown["llm_probe_started_total", None] == 2
    assert shown["llm_probe_requests_total", "success"] == shown["llm_probe_requests_total", "tainted"] == 1
    assert shown["llm_probe_ttft_seconds_count", None] == 1
    assert shown["llm_probe_primed_total", None] == 1
    # 8 and 100 of each probe, 1 and 100 of the priming that was answered.
    assert shown["llm_probe_output_tokens_total", None] == 17
    assert shown["llm_probe_prompt_tokens_total", None] == 300


def test_there_is_no_series_without_primed() -> None:
    collector = MeasuredCollector(lambda: {("chat", "short"): Record("m")}, dict, int)
    assert not [family for family in collector.collect() if "primed" in family.name]


def test_priming_is_charged(hostile: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "targets: [{name: chat, url: 'http://h/v1', scenarios: [warm], probe_budget: {tokens_per_day: 1000}}]\n"
    text += f"scenarios: {{warm: {{prompt: {'p' * 40}, max_tokens: 8, primed: true, interval: 1h}}}}\n"
    config = parse_config(text, "f.yml", {})
    (chat,) = config.targets
    warm = config.scenarios_of(chat)["warm"]
    # A prompt of 40 characters is taken for 10 tokens; it is read twice, and answered with 8 tokens and with 1.
    assert per_day(chat, [warm]).tokens == 24 * (2 * 10 + 8 + 1)
    spending = Spending()
    booking = spending.book(chat, "warm", warm)
    assert booking is not None and booking.amount.tokens == 29
    spending.settle(booking, probe(hostile, monkeypatch, CachingServer()))
    assert spending.budgets.taken("chat").tokens == 108 + 101
    # One that the server refused with a status cost nothing; one of which nothing was heard may have cost all.
    refused = spending.book(chat, "warm", warm)
    assert refused is not None
    spending.settle(refused, probe(hostile, monkeypatch, CachingServer(failures=1)))
    assert spending.budgets.taken("chat").tokens == 209 + 108


class OddAnswer(CachingServer):
    """Answers the first request with a 200 that is no stream."""

    def __init__(self, media_type: str, body: str) -> None:
        super().__init__()
        self._odd: list[tuple[str, str]] = [(media_type, body)]

    def __call__(self, peer: Peer) -> None:
        if self._odd:
            peer.plain("200 OK", *self._odd.pop())
        else:
            super().__call__(peer)


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", '{"choices": [{"message": {"content": "one"}}]}'),
        ("application/json", '{"error": {"code": "overloaded"}}'),
        ("text/html", "<p>hello</p>"),
        ("text/plain", "hello"),
    ],
)
def test_a_priming_that_is_answered_oddly_may_have_cost_all(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, media_type: str, body: str
) -> None:
    text = "targets: [{name: chat, url: 'http://h/v1', scenarios: [warm]}]\n"
    text += f"scenarios: {{warm: {{prompt: {'p' * 40}, max_tokens: 8, primed: true, interval: 1h}}}}\n"
    config = parse_config(text, "f.yml", {})
    (chat,) = config.targets
    spending = Spending()
    booking = spending.book(chat, "warm", config.scenarios_of(chat)["warm"])
    assert booking is not None
    result = probe(hostile, monkeypatch, OddAnswer(media_type, body), checks=None)
    assert result.outcome == "tainted"
    spending.settle(booking, result)
    # The prompt of 10 and a token for the first request, 100 and 8 for the one that was counted.
    assert spending.budgets.taken("chat").tokens == 11 + 108


def test_a_scenario_is_cold_or_primed() -> None:
    with pytest.raises(
        ConfigError, match=r"scenarios\.a\.primed: cold: true gives each prompt a beginning that no cache"
    ):
        parse_config("scenarios: {a: {prompt: x, max_tokens: 1, cold: true, primed: true}}", "f.yml", {})
