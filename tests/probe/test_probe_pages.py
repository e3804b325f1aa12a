"""The page of targets: what it shows of each probe, that it escapes, and that it fetches nothing."""

import re
from html.parser import HTMLParser

import pytest
from hostile import HostileServer
from page_server import Server

from exporters.probe.asking.run import ProbeResult
from exporters.probe.scheduling.history import LENGTH, Entry, History
from exporters.probe.scheduling.prober import Prober
from exporters.probe.views.pages import TargetsPage
from inferwatch.config import Config, parse_config
from inferwatch.exposition import Request

KEY = ("chat", "short")


class Shown(HTMLParser):
    """The text of a page, its links, and its tags, each of which must be closed where it has to be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def config(url: str, model: str = "m") -> Config:
    target = f"{{name: chat, url: '{url}', model: {model!r}, probe_budget: {{tokens_per_day: 91}}}}"
    return parse_config(f"targets: [{target}]\nscenarios: {{short: {{prompt: the prompt, max_tokens: 64}}}}", "f", {})


def page(prober: Prober, in_force: Config | None, now: float = 1010.0, **query: str) -> Shown:
    answer = TargetsPage(lambda: in_force, prober, lambda: now).answer(Request({k: [v] for k, v in query.items()}))
    assert answer.headers == (("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),)
    shown = Shown(answer.body)
    assert shown.tags <= {"html", "meta", "title", "style", "h1", "h2", "p", "a", "table", "tr", "th", "td"}
    assert all(link.startswith("/") for link in shown.links)
    return shown


def test_it_shows_the_last_probe_of_each_and_the_history_of_one(hostile: HostileServer) -> None:
    in_force = config(hostile.url("good"))
    prober = Prober(lambda: 1000.0)
    prober.apply(in_force)
    assert "chat short none yet" in page(prober, in_force).text
    for _ in range(3):
        prober.run(KEY)
    all_targets = page(prober, in_force)
    assert "chat short 10 s ago success" in all_targets.text and "ms 5" in all_targets.text
    # The third was refused by the budget.
    assert "budget is spent" in all_targets.text
    assert "/targets?name=chat" in all_targets.links
    one = page(prober, in_force, name="chat")
    assert one.text.count("10 s ago success") == 2 and "the prompt" not in one.text
    assert "/probe?target=chat&scenario=short&debug=1" in one.links


def test_it_says_who_answers_how_and_what_it_refuses(hostile: HostileServer) -> None:
    in_force = config(hostile.url("picky"))
    prober = Prober(lambda: 1000.0)
    prober.apply(in_force)
    assert "Statuses" not in page(prober, in_force, name="chat").text
    prober.run(KEY)
    prober.identities.saw("chat", "m", "served-<b>", None)
    prober.identities.saw_version("chat", "0.11.0")
    prober.identities.saw("other", "m", "of another", None)
    text = page(prober, in_force, name="chat").text
    assert "Answers for m: called served-<b>, version of the server 0.11.0." in text
    assert "Statuses of its answers since this process started: 200 (1), 400 (2), 422 (1)." in text
    assert "It refuses max_tokens, stream_options, temperature, so probes do without." in text
    assert "of another" not in text


def test_a_failure_says_why(hostile: HostileServer) -> None:
    in_force = config(hostile.url("unauthorized"))
    prober = Prober(lambda: 1000.0)
    prober.apply(in_force)
    prober.run(KEY)
    assert "auth the server answered 401 (invalid_api_key)" in page(prober, in_force, name="chat").text


def test_what_comes_from_outside_is_text() -> None:
    wild = "<script>alert(1)</script>&\"'"
    in_force = config("http://127.0.0.1:1/v1", "<b>m")
    prober = Prober()
    prober.apply(in_force)
    prober.history.add(KEY, ProbeResult("chat", "short", "m", "auth", wild), 1000.0)
    assert wild in page(prober, in_force, name="chat").text
    assert "<b>m" in page(prober, in_force, name="chat").text
    assert wild not in page(prober, in_force, name=wild).text


@pytest.mark.parametrize(
    ("in_force", "query", "status", "said"),
    [
        (None, {}, 503, "No configuration was ever good"),
        (Config(), {}, 200, "lists no target"),
        (Config(), {"name": "gone"}, 404, "No target of the configuration"),
    ],
)
def test_without_targets(in_force: Config | None, query: dict[str, str], status: int, said: str) -> None:
    answer = TargetsPage(lambda: in_force, Prober()).answer(Request({k: [v] for k, v in query.items()}))
    assert answer.status == status and said in answer.body


def test_history_is_short_and_goes_with_its_target() -> None:
    history = History()
    assert history.of(KEY) == []
    for index in range(3 * LENGTH):
        odd = ProbeResult("chat", "short", "m", f"outcome-{index}", f"detail {index}", output_tokens=index)
        even = ProbeResult("chat", "short", "m", "success", "", None, index / 8, 0.0, 2.5)
        history.add(KEY, odd if index % 2 else even, float(index))
        newest_first = range(index, max(index - LENGTH, -1), -1)
        assert history.of(KEY) == [
            Entry(float(at), f"outcome-{at}", f"detail {at}", None, None, None, at)
            if at % 2
            else Entry(float(at), "success", "", at / 8, 0.0, 2.5, None)
            for at in newest_first
        ]
    history.forget_all_but({KEY})
    assert len(history.of(KEY)) == LENGTH
    history.forget_all_but(set())
    assert history.of(KEY) == []


def test_figures_have_units() -> None:
    history = [ProbeResult("chat", "short", "m", "success", "", 200, 0.1234, 0.02, 12.345, output_tokens=7)]
    in_force = config("http://127.0.0.1:1/v1")
    prober = Prober()
    prober.apply(in_force)
    prober.history.add(KEY, history[0], 1000.0)
    assert re.search(r"123\.4 ms 20\.0 ms 12\.35 s 7|123\.4 ms 20\.0 ms 12\.34 s 7", page(prober, in_force).text)


def test_it_says_that_a_target_sleeps(server: Server) -> None:
    server.pages["/up"] = "no"
    asked = f"wake: false, awake_url: '{server.url}/up', awake_text: 'yes'"
    in_force = parse_config(f"targets: [{{name: chat, url: '{server.url}/v1', model: m, {asked}}}]", "f", {})
    prober = Prober()
    prober.apply(in_force)
    assert "sleeps" not in page(prober, in_force).text
    prober.run(KEY)
    for query in ({}, {"name": "chat"}):
        assert "sleeps, and is not woken (wake: false)" in page(prober, in_force, **query).text
    server.pages["/up"] = "yes"
    prober.run(KEY)
    assert "sleeps" not in page(prober, in_force).text


def test_it_says_that_a_target_is_probed_less_often_after_failures() -> None:
    target = "{name: chat, url: http://127.0.0.1:1/v1, model: m, interval: 15s, scenarios: [short, canary]}"
    in_force = parse_config(f"targets: [{target}]", "f", {})
    prober = Prober(lambda: 1000.0)
    prober.apply(in_force)
    for _ in range(2):
        prober.manners.ended(KEY, "connect", None)
    assert "less often" not in page(prober, in_force).text
    prober.manners.ended(KEY, "connect", None)
    for query in ({}, {"name": "chat"}):
        said = "probed less often, about every 30 s, since 3 probes in a row failed"
        assert page(prober, in_force, **query).text.count(said) == 1
    prober.manners.ended(KEY, "success", None)
    assert "less often" not in page(prober, in_force, name="chat").text
