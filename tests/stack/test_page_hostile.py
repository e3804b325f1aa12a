"""Wild input: whatever arrives or is shown, the page stays a page and the notifications file stays whole."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from page_fakes import alert

from stack.page import render
from stack.page.notifications import Kept, Notifications, parse_webhook, terminal_line
from stack.page.prometheus_api import Alert, parse_time
from stack.page.snapshot import Snapshot, View
from stack.page.targets import TargetRow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = st.text(max_size=40)
ALLOWED = {"h1", "h2", "p", "div", "span", "small", "strong", "a", "ul", "li", "time"} | {
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


class Tags(HTMLParser):
    """Collects what a browser would make elements and addresses of."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.addresses |= {value or "" for name, value in attributes if name == "href"}


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_becomes_an_element_or_a_script(name: str, summary: str, url: str, note: str) -> None:
    annotations = {"summary": summary, "description": note, "runbook_url": url, "dashboard_url": url}
    fired = Alert({"alertname": name, "target": note, "severity": summary}, annotations, "firing", None)
    kept = Kept(status="firing", labels={"alertname": name}, annotations=annotations, receivedAt="2026-01-01T00:00:00Z")
    snapshot = Snapshot(1.0, targets=(TargetRow(name, "fails", reason=summary),), alerts=(fired,))
    view = View(1.0, snapshot, notifications=(kept,), notes=(note,), grafana_url="http://127.0.0.1:3000")
    tags = Tags()
    tags.feed(render.fragment(view))
    assert tags.found <= ALLOWED
    assert tags.attributes <= {"class", "href", "rel", "scope", "data-label", "datetime"}
    assert all(one == "/" or one.startswith(("http://", "https://")) for one in tags.addresses)


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(lambda it: json.dumps(it).encode()))
def test_any_body_is_a_notification_or_refused_with_a_sentence(body: bytes) -> None:
    try:
        parse_webhook(body, NOW)
    except ValueError as error:
        assert str(error).startswith("this is no Alertmanager notification: ")


@given(st.dictionaries(TEXTS, TEXTS, max_size=4), TEXTS)
def test_an_alert_is_one_printable_line(labels: dict[str, str], summary: str) -> None:
    body = json.dumps({"alerts": [{"status": "firing", "labels": labels, "annotations": {"summary": summary}}]})
    (kept,) = parse_webhook(body.encode(), NOW)
    assert terminal_line(kept).isprintable()


@given(st.text(max_size=30))
def test_any_time_is_a_number_or_none(text: str) -> None:
    assert parse_time(text) is None or isinstance(parse_time(text), float)


def test_a_known_alert_keeps_its_age() -> None:
    assert parse_time(alert("A")["activeAt"]) is not None


def test_what_a_full_disk_leaves_half_written_is_taken_back(tmp_path: Path) -> None:
    """A limit on the file's size makes the kernel write a part of the line, as a disk does that fills up."""
    file = tmp_path / "n.jsonl"
    script = (
        "import resource, sys\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from stack.page.notifications import Notifications, WriteError, parse_webhook\n"
        "kept = Notifications(Path(sys.argv[1]))\n"
        'body = b\'{"alerts": [{"status": "firing", "labels": {"alertname": "A"}}]}\'\n'
        "one = parse_webhook(body, datetime.now(UTC))\n"
        "kept.add(one)\n"
        "size = Path(sys.argv[1]).stat().st_size\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))\n"
        "try:\n"
        "    kept.add(one)\n"
        "except WriteError as error:\n"
        "    print(error, '|', kept.trouble != '', len(kept.latest()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True)
    assert "cannot be written: No space left on device." in done.stdout
    assert done.stdout.strip().endswith("| True 1")
    assert file.read_text().count("\n") == 1
    assert file.read_text().endswith("\n")
    assert [one.alert for one in Notifications(file).latest()] == ["A"]
