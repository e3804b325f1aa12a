"""`/targets`: a plain page with the last probe of each target, and `/targets?name=` with its last twenty."""

import html
import time
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from urllib.parse import urlencode

from exporters.probe.scheduling.history import LENGTH, Entry
from exporters.probe.scheduling.plan import Plan
from exporters.probe.scheduling.prober import Prober
from inferwatch.config import Config, Target
from inferwatch.exposition import HTML, Request, Response

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;max-width:80rem}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}tr+tr td{border-top:1px solid #ccc}"
    ".bad{color:#b00020;font-weight:600}"
)
# Nothing is fetched from anywhere, and no script runs.
POLICY = ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
FIGURES = ("TTFT", "TPOT", "E2E", "tokens")


class TargetsPage:
    """Answers `/targets`.

    Args:
        config: Returns the configuration in force.
        prober: Has the plans and their history.
        clock: Returns Unix time.
    """

    def __init__(
        self, config: Callable[[], Config | None], prober: Prober, clock: Callable[[], float] = time.time
    ) -> None:
        self._config = config
        self._prober = prober
        self._clock = clock

    def answer(self, request: Request) -> Response:
        """Answer with all targets, or with the one that `name` says."""
        config = self._config()
        if config is None:
            sentence = "<p>No configuration was ever good; the log says which line is wrong.</p>"
            return _page("Targets", sentence, HTTPStatus.SERVICE_UNAVAILABLE)
        name = request.query.get("name", [""])[-1]
        if not name:
            return _page("Targets", self._all(config))
        target = next((one for one in config.targets if one.name == name), None)
        if target is None:
            return _page("Targets", "<p>No target of the configuration has this name.</p>", HTTPStatus.NOT_FOUND)
        return _page(f"Target {target.name}", self._one(target))

    def _all(self, config: Config) -> str:
        if not config.targets:
            return "<p>The configuration lists no target.</p>"
        plans = self._by_target()
        now = self._clock()
        rows = [
            [_link(target.name), _text(plan.name), *self._last(plan, now), _text(self._waits(plan))]
            for target in config.targets
            for plan in plans.get(target.name, [])
        ]
        return _table(("target", "scenario", "last probe", "outcome", *FIGURES, ""), rows)

    def _last(self, plan: Plan, now: float) -> list[str]:
        entries = self._prober.history.of(plan.key)
        return _cells(entries[0], now) if entries else [_text("none yet"), *[_text("")] * (1 + len(FIGURES))]

    def _one(self, target: Target) -> str:
        now = self._clock()
        parts = [f"<p>{html.escape(sentence)}</p>" for sentence in self._facts(target)]
        if pause := self._pause(target):
            parts.append(f"<p class=bad>{html.escape(pause)}</p>")
        for plan in self._by_target().get(target.name, []):
            debug = urlencode({"target": target.name, "scenario": plan.name, "debug": 1})
            model = plan.record.model_name or "a model that is not known yet"
            parts.append(f"<h2>{html.escape(plan.name)}</h2>")
            parts.append(
                f"<p>{html.escape(model)}, every {plan.interval:g} s; the last {LENGTH} probes, the newest first. "
                f'<a href="/probe?{html.escape(debug)}">Run one now and explain it</a> (it is paid for).</p>'
            )
            if pace := self._pace(plan):
                parts.append(f"<p class=bad>{html.escape(pace)}</p>")
            rows = [[*_cells(entry, now), _text(entry.detail)] for entry in self._prober.history.of(plan.key)]
            parts.append(_table(("ended", "outcome", *FIGURES, "detail"), rows))
        return "\n".join(parts)

    def _facts(self, target: Target) -> Iterator[str]:
        yield f"{target.url}, {target.api}"
        for (name, model), identity in self._prober.identities.all().items():
            names = identity.names
            told = {
                "called": names["model"],
                "fingerprint": names["system_fingerprint"],
                "version of the server": names["server_version"],
            }
            if name == target.name and any(told.values()):
                yield f"Answers for {model}: {', '.join(f'{what} {said}' for what, said in told.items() if said)}."
        codes = self._prober.responses.all().get(target.name, {})
        if counted := [f"{code} ({count})" for code, count in sorted(codes.items()) if count]:
            yield f"Statuses of its answers since this process started: {', '.join(counted)}."
        if refused := self._prober.refusals.by_target().get(target.name):
            yield f"It refuses {', '.join(sorted(refused))}, so probes do without."

    def _by_target(self) -> dict[str, list[Plan]]:
        plans: dict[str, list[Plan]] = {}
        for plan in self._prober.plans().values():
            plans.setdefault(plan.target.name, []).append(plan)
        return plans

    def _pause(self, target: Target) -> str:
        if target.name in self._prober.spending.paused():
            return "pauses until midnight (UTC): the day's budget is spent"
        if (seconds := self._prober.manners.paused(target.name)) > 0:
            return f"pauses for {seconds:.0f} s more, as the server asked (Retry-After)"
        if self._prober.naps.asleep(target):
            return "sleeps, and is not woken (wake: false)"
        return ""

    def _waits(self, plan: Plan) -> str:
        return self._pause(plan.target) or self._pace(plan)

    def _pace(self, plan: Plan) -> str:
        slowed = self._prober.manners.slowed(plan.key, plan.interval)
        if slowed is None:
            return ""
        failures, seconds = slowed
        return f"probed less often, about every {seconds:g} s, since {failures} probes in a row failed"


def _cells(entry: Entry, now: float) -> list[str]:
    bad = "" if entry.outcome == "success" else " class=bad"
    tokens = "" if entry.output_tokens is None else str(entry.output_tokens)
    return [
        _text(f"{max(now - entry.ended_at, 0):.0f} s ago"),
        f"<td{bad}>{html.escape(entry.outcome)}</td>",
        *(_number(_duration(seconds)) for seconds in (entry.ttft, entry.tpot, entry.e2e)),
        _number(tokens),
    ]


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _text(text: str) -> str:
    return f"<td>{html.escape(text)}</td>"


def _number(text: str) -> str:
    return f"<td class=n>{html.escape(text)}</td>"


def _link(name: str) -> str:
    return f'<td><a href="/targets?{html.escape(urlencode({"name": name}))}">{html.escape(name)}</a></td>'


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in header)
    return f"<table><tr>{head}</tr>" + "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows) + "</table>"


def _page(title: str, body: str, status: HTTPStatus = HTTPStatus.OK) -> Response:
    name = html.escape(title)
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title><style>{STYLE}</style>'
    links = '<p><a href="/">probe-exporter</a>, <a href="/targets">all targets</a></p>'
    return Response(f"{head}<h1>{name}</h1>{links}\n{body}</html>\n", HTML, status, (POLICY,))
