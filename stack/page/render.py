"""Draws a view as HTML: the whole page, and the fragment that a refresh replaces."""

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urljoin

from stack.page import verdict
from stack.page.figures import Figure, age
from stack.page.gpus import GpuRow
from stack.page.health import ServiceState
from stack.page.looks import SCRIPT, STYLE
from stack.page.markup import Content, Markup, is_web, join, link, tag
from stack.page.notifications import Kept
from stack.page.prometheus_api import Alert, parse_time
from stack.page.snapshot import View
from stack.page.targets import TargetRow

RELOAD_SECONDS = 15
TARGET_TONES = {"answers": "good", "fails": "bad", "waits": "unknown", "unknown": "unknown"}
SERVICE_TONES = {"up": "good", "starting": "unknown", "down": "bad", "unknown": "unknown"}
SEVERITY_TONES = {"page": "bad", "ticket": "warn"}
SHOWN_NOTIFICATIONS = 10
# This page, as the two ways to run the stack call it.
OWN_NAMES = ("page", "start-page")


def page(view: View) -> str:
    """Return the whole document."""
    without_script = tag("noscript", Markup(f'<meta http-equiv="refresh" content="{RELOAD_SECONDS}">'))
    head = join(
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        without_script,
        tag("title", "inferwatch"),
        Markup('<link rel="icon" href="data:,">'),
        Markup(f"<style>{STYLE}</style>"),
    )
    links = [link(one.url, one.title) for one in view.services if one.url and one.name not in OWN_NAMES]
    body = join(
        tag("header", tag("strong", "inferwatch"), *links),
        Markup('<p id="lost" hidden></p>'),
        tag("main", fragment(view), id="view"),
        Markup(f"<script>{SCRIPT}</script>"),
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def fragment(view: View) -> Markup:
    """Return what changes from one refresh to the next."""
    judged = verdict.judge(view)
    snapshot = view.present
    parts: list[Content] = [tag("h1", judged.text, class_=judged.tone), _troubles(view)]
    if snapshot is not None:
        parts.append(_alerts(verdict.firing(snapshot.alerts or ()), view))
        if not snapshot.unreachable:
            parts += [_targets(snapshot.targets, snapshot.configured), _gpus(snapshot.gpus, snapshot.gpu_note)]
    parts += [_services(view.services), _notifications(view), _footer(view)]
    return join(*parts)


def _troubles(view: View) -> Markup:
    snapshot = view.present
    sentences = list(view.troubles)
    if snapshot is not None:
        sentences += [_sentence(one) for one in (snapshot.unreachable, snapshot.configuration) if one]
    warnings = [tag("p", one, class_="note warn") for one in sentences]
    notes = tag("ul", *(tag("li", _sentence(one)) for one in view.notes), class_="notes") if view.notes else None
    return join(*warnings, notes)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _alerts(alerts: Sequence[Alert], view: View) -> Markup | None:
    if not alerts:
        return None
    return join(tag("h2", "Firing"), *(_alert(one, view) for one in alerts))


def _alert(alert: Alert, view: View) -> Markup:
    held_back = alert.state in verdict.HELD_BACK
    tone = "unknown" if held_back else SEVERITY_TONES.get(alert.severity, "unknown")
    about = [
        f"{key} {alert.labels[key]}" for key in ("target", "scenario", "node", "gpu", "reason") if key in alert.labels
    ]
    if not about and alert.labels.get("job"):
        about = [f"job {alert.labels['job']}"]
    since = "" if alert.since is None else f"for {age(view.now - alert.since)}"
    dashboard = alert.annotations.get("dashboard_url")
    if dashboard and not is_web(dashboard):
        dashboard = urljoin(view.grafana_url + "/", dashboard) if view.grafana_url else None
    links = [
        link(url, text)
        for url, text in ((alert.annotations.get("runbook_url"), "Runbook"), (dashboard, "Dashboard"))
        if url and is_web(url)
    ]
    description = alert.annotations.get("description", "")
    return tag(
        "div",
        tag(
            "div",
            tag("strong", alert.name),
            tag("span", alert.state if held_back else alert.severity, class_="severity"),
            tag("span", " " + ", ".join([*about, *([since] if since else [])]), class_="soft"),
        ),
        tag("p", alert.annotations.get("summary", "")),
        tag("small", description) if description else None,
        tag("p", *links, class_="links") if links else None,
        class_=f"card alert {tone}",
    )


def _targets(rows: Sequence[TargetRow], configured: bool) -> Markup:
    title = tag("h2", "Targets")
    if not rows:
        hint = "Add one under targets: in inferwatch.yml; the file is read again when it changes."
        if not configured:
            hint = "The probe exporter, which knows them, has not been scraped lately."
        return join(title, tag("p", hint, class_="note"))
    heads = ("Target", "State", "TTFT", "TPOT", "Queue", "Tokens/s", "Cost per 1M tokens", "Last probe", "Engine")
    return join(title, _table(heads, [_target(row) for row in rows]))


def _target(row: TargetRow) -> list[Content]:
    name = join(tag("strong", row.name), tag("small", row.reason) if row.reason else None)
    figures = (row.ttft, row.tpot, row.queue, row.tokens_per_second, row.cost, row.last_probe, row.engine)
    return [name, _state(row.state, TARGET_TONES[row.state]), *(_figure(one) for one in figures)]


def _gpus(rows: Sequence[GpuRow], note: str) -> Markup:
    parts: list[Content] = [tag("h2", "GPUs")]
    if note:
        parts.append(tag("p", note, class_="note"))
    if rows:
        heads = ("GPU", "State", "Utilisation", "Memory", "Temperature", "Power", "Throttled")
        parts.append(_table(heads, [_gpu(row) for row in rows]))
    return join(*parts)


def _gpu(row: GpuRow) -> list[Content]:
    title = row.name if "imulated" in row.name or not row.simulated else f"{row.name} (simulated)".strip()
    name = tag("strong", " / ".join(part for part in (row.node, row.index) if part))
    if title:
        name = join(name, tag("small", title))
    state = _state(row.trouble or "up", "bad" if row.trouble else "good")
    figures = (row.utilization, row.memory, row.temperature, row.power, row.throttled)
    return [name, state, *(_figure(one) for one in figures)]


def _services(services: Sequence[ServiceState]) -> Markup | None:
    if not services:
        return None
    rows: list[list[Content]] = [
        [
            join(tag("strong", link(one.url, one.title)), tag("small", one.note) if one.note else None),
            tag("span", _state(one.state, SERVICE_TONES[one.state]), tag("small", one.reason) if one.reason else None),
        ]
        for one in services
        if one.state != "off"
    ]
    absent = [tag("p", f"{one.title}: {one.reason}", class_="note") for one in services if one.state == "off"]
    return join(tag("h2", "Services"), _table(("Service", "State"), rows), *absent)


def _notifications(view: View) -> Markup:
    title = tag("h2", "Notifications received")
    where = "They are kept in memory only." if view.notifications_in_memory else None
    note = tag("p", where, class_="note") if where else None
    if not view.notifications:
        return join(title, tag("p", "None so far. ", where, class_="note"))
    rows = [_notification(one, view.now) for one in view.notifications[:SHOWN_NOTIFICATIONS]]
    return join(title, note, _table(("When", "Status", "Alert", "Summary"), rows))


def _notification(one: Kept, now: float) -> list[Content]:
    at = parse_time(one.receivedAt)
    when = tag("time", f"{age(now - at)} ago" if at is not None else one.receivedAt, datetime=one.receivedAt)
    state = _state(one.status, "bad" if one.status == "firing" else "good")
    return [when, state, join(tag("strong", one.alert), tag("small", one.about) if one.about else None), one.summary]


def _footer(view: View) -> Markup:
    at = view.snapshot.at if view.snapshot is not None else view.now
    read = datetime.fromtimestamp(at, UTC)
    clock = tag("time", read.strftime("%H:%M:%S UTC"), datetime=read.isoformat(timespec="seconds"))
    return tag("p", "Read at ", clock, ". ", tag("a", "Reload", href="/"), class_="note")


def _state(word: str, tone: str) -> Markup:
    return tag("span", word, class_=f"state {tone}")


def _figure(figure: Figure) -> Markup:
    text = tag("span", figure.text, class_=None if figure.known else "soft")
    if figure.bad:
        text = tag("span", figure.text, class_="hot")
    blank = None if figure.known or figure.source else "blank"
    return tag("span", text, tag("small", figure.source) if figure.source else None, class_=blank)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Content]]) -> Markup:
    head = tag("thead", tag("tr", *(tag("th", one, scope="col") for one in heads)))
    body = tag("tbody", *(_cells(heads, row) for row in rows))
    return tag("div", tag("table", head, body), class_="card")


def _cells(heads: Sequence[str], row: Sequence[Content]) -> Markup:
    cells = []
    for column, (head, content) in enumerate(zip(heads, row, strict=True)):
        kind = "name" if column == 0 else None if content else "empty"
        cells.append(tag("td", content if isinstance(content, Markup) else tag("span", content, class_="text"),
                         class_=kind, data_label=head))  # fmt: skip
    return tag("tr", *cells)
