"""The start page over HTTP: what it shows, what it receives, and that nothing that it is told can harm a reader."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from page_fakes import FakePrometheus, alert, engine_samples, gpu_samples, serving, target_samples

from inferwatch.errors import ConfigError
from stack.page import StartPage
from stack.page.notifications import KEPT, Kept, Notifications, WriteError, parse_webhook, terminal_line
from stack.page.services import Service, Services, load_services

NOWHERE = "http://127.0.0.1:9"


@contextmanager
def running(services: Services, notifications: Path | None = None) -> Iterator[str]:
    page = StartPage("127.0.0.1:0", services, notifications)
    page.start()
    try:
        yield f"http://{page.address}"
    finally:
        page.stop()


def wait_for(url: str, text: str) -> str:
    """Return the page once it holds the text."""
    deadline = time.monotonic() + 30
    while True:
        body = requests.get(url, timeout=10).text
        if text in body:
            return body
        assert time.monotonic() < deadline, f"{text!r} did not come:\n{body}"
        time.sleep(0.05)


def webhook(*alerts: dict[str, Any]) -> bytes:
    return json.dumps({"version": "4", "status": "firing", "receiver": "start-page", "alerts": alerts}).encode()


def notified(name: str, status: str = "firing", summary: str = "TTFT is high", **labels: str) -> dict[str, Any]:
    return {
        "status": status,
        "labels": {"alertname": name, **labels},
        "annotations": {"summary": summary},
        "startsAt": "2026-01-01T00:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "fingerprint": "f",
    }


def post(url: str, body: bytes, content_type: str = "application/json") -> requests.Response:
    return requests.post(f"{url}/notifications", data=body, headers={"Content-Type": content_type}, timeout=10)


def test_the_page_shows_how_things_stand() -> None:
    fake = FakePrometheus(
        samples=[*target_samples("chat"), *engine_samples("chat"), *gpu_samples("0", hot=True)],
        alerts=[alert("GPUThrottling", "ticket", node="gpu-01", gpu="0")],
    )
    with serving(fake):
        grafana = Service(name="grafana", title="Grafana", public_url="http://127.0.0.1:3000", health_url=fake.url)
        services = Services(prometheus_url=fake.url, services=[grafana], notes=["A note."])
        with running(services) as url:
            body = wait_for(url, "The target answers. 1 alert fires.")
    assert '<a href="http://127.0.0.1:3000" rel="noreferrer">Grafana</a>' in body
    assert "https://runbooks.example/GPUThrottling.md" in body
    assert "http://127.0.0.1:3000/d/overview?var-target=chat" in body
    assert "870 ms" in body
    assert "now: hw_thermal_slowdown" in body
    assert "A note." in body


def test_hostile_texts_are_shown_and_not_run() -> None:
    evil = "<script>alert(1)</script>"
    fired = alert("TTFTHigh", target=evil)
    fired["annotations"] = {"summary": f"{evil}&", "runbook_url": "javascript:alert(1)", "description": '"><img src=x>'}
    fake = FakePrometheus(samples=target_samples(f'x"{evil}'), alerts=[fired])
    with serving(fake):
        services = Services(prometheus_url=fake.url, notes=[evil])
        with running(services) as url:
            assert post(url, webhook(notified(evil, summary=f"'{evil}"))).ok
            body = wait_for(url, "1 alert fires.")
    assert "&lt;script&gt;alert(1)" in body
    assert evil not in body
    assert "<img" not in body
    assert "javascript:" not in body


def test_only_the_pages_own_style_and_script_may_run() -> None:
    with running(Services(prometheus_url=NOWHERE)) as url:
        answer = requests.get(url, timeout=10)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r'\s(src|style|on\w+)="', answer.text)
    assert '<noscript><meta http-equiv="refresh"' in answer.text


def test_without_prometheus_the_page_says_so_and_shows_services() -> None:
    services = Services(
        prometheus_url=NOWHERE,
        services=[Service(name="prometheus", title="Prometheus", health_url=NOWHERE)],
    )
    with running(services) as url:
        body = wait_for(url, "is not there: the connection is refused")
    assert "Prometheus at http://127.0.0.1:9 does not answer: the connection is refused" in body
    assert "Prometheus does not answer, so targets and GPUs are unknown.</h1>" in body


def test_an_optional_part_that_is_absent_is_no_error() -> None:
    with serving(FakePrometheus(samples=target_samples("chat"))) as fake:
        gpu = Service(name="gpu-exporter", title="GPU exporter", health_url=NOWHERE, optional=True, start_with="x up")
        with running(Services(prometheus_url=fake.url, services=[gpu])) as url:
            body = wait_for(url, "GPU exporter: not started (x up)")
    assert "down" not in re.sub(r"<style>.*?</style>", "", body, flags=re.DOTALL)


def test_a_child_that_ended_is_named_with_its_reason(tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    with serving(FakePrometheus()) as fake:
        services = Services(
            prometheus_url=fake.url,
            # The address still answers, since something else holds it now: the supervisor knows better.
            services=[Service(name="prometheus", title="Prometheus", health_url=fake.url)],
            status_file=str(status),
        )
        with running(services) as url:
            wait_for(url, "does not exist (yet)")
            status.write_text(
                json.dumps(
                    {
                        "prometheus": {"state": "ended", "pid": 7, "exit_code": 1, "detail": "port 9090 is taken"},
                        "llm-server": {"state": "ended", "pid": 8, "exit_code": -9, "detail": ""},
                        "users": {"state": "up", "pid": 9, "exit_code": None, "detail": ""},
                    }
                )
            )
            body = wait_for(url, "ended with exit code 1: port 9090 is taken")
            assert "was ended by SIGKILL" in body
            assert "Prometheus and llm-server are down." in body
            status.write_text("{")
            wait_for(url, "holds no valid state")


def test_a_service_that_hangs_is_down_and_the_others_are_not() -> None:
    with socket.socket() as silent, serving(FakePrometheus()) as fake:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        hanging = f"http://127.0.0.1:{silent.getsockname()[1]}"
        services = Services(
            prometheus_url=fake.url,
            services=[Service(name="a", health_url=hanging), Service(name="b", health_url=fake.url)],
        )
        with running(services) as url:
            body = wait_for(url, "does not answer within 2 s")
    assert "a is down." in body
    assert "b is down" not in body


def test_notifications_are_kept_shown_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notifications.jsonl"
    services = Services(prometheus_url=NOWHERE)
    with running(services, file) as url:
        body = webhook(notified("TTFTHigh", target="chat"), notified("GPUThrottling", "resolved", node="gpu-01"))
        assert post(url, body).status_code == 200
        page = requests.get(f"{url}/fragment", timeout=10).text
        metrics = requests.get(f"{url}/metrics", timeout=10).text
    assert page.index("GPUThrottling") < page.index("TTFTHigh"), "the newest is first"
    assert 'inferwatch_page_notifications_total{status="firing"} 1.0' in metrics
    first, second = (json.loads(line) for line in file.read_text().splitlines())
    assert (first["status"], first["labels"]["alertname"], second["status"]) == ("firing", "TTFTHigh", "resolved")
    assert first["receivedAt"].endswith("Z")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("firing   TTFTHigh  chat  TTFT is high")
    assert lines[1].endswith("resolved GPUThrottling  gpu-01  TTFT is high")
    with running(services, file) as url:
        assert "TTFTHigh" in requests.get(url, timeout=10).text


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"{}", b'{"alerts": [{"status": "firing"}]}', b'{"alerts": 3}', b"\xff\xfe"]
)
def test_what_is_no_notification_is_refused_with_a_sentence(body: bytes, tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    with running(Services(prometheus_url=NOWHERE), file) as url:
        answer = post(url, body)
        metrics = requests.get(f"{url}/metrics", timeout=10).text
    assert answer.status_code == 400
    assert answer.text.startswith("this is no Alertmanager notification: ")
    assert not file.exists()
    assert 'inferwatch_page_notification_errors_total{reason="invalid"} 1.0' in metrics


def test_a_form_of_another_site_cannot_forge_an_alert() -> None:
    with running(Services(prometheus_url=NOWHERE)) as url:
        assert post(url, webhook(notified("Fake")), "text/plain").status_code == 415
        assert "Fake" not in requests.get(url, timeout=10).text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_makes_alertmanager_try_again_and_the_page_says_so() -> None:
    with running(Services(prometheus_url=NOWHERE), Path("/dev/full")) as url:
        answer = post(url, webhook(notified("TTFTHigh")))
        assert answer.status_code == 500
        body = requests.get(url, timeout=10).text
        metrics = requests.get(f"{url}/metrics", timeout=10).text
    assert "The notifications file /dev/full cannot be written: No space left on device." in body
    assert "TTFTHigh" not in body
    assert 'inferwatch_page_notification_errors_total{reason="write"} 1.0' in metrics


def test_a_folder_that_is_absent_is_a_write_error(tmp_path: Path) -> None:
    kept = Notifications(tmp_path / "absent" / "n.jsonl")
    with pytest.raises(WriteError, match="No such file or directory"):
        kept.add(parse_webhook(webhook(notified("A")), datetime.now(UTC)))
    (tmp_path / "absent").mkdir()
    kept.add(parse_webhook(webhook(notified("A")), datetime.now(UTC)))
    assert kept.trouble == ""


def test_the_file_is_rotated_once_and_read_back_across_both(tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    kept = Notifications(file, largest=2000)
    for number in range(30):
        kept.add(parse_webhook(webhook(notified(f"A{number}")), datetime.now(UTC)))
        assert file.stat().st_size <= 2000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n.jsonl", "n.jsonl.1"]
    again = [one.alert for one in Notifications(file).latest()]
    assert again == [f"A{number}" for number in range(29, 29 - len(again), -1)]
    assert len(again) > len(file.read_text().splitlines())


def test_only_the_last_ones_are_held_and_broken_lines_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    kept = Notifications(file)
    for number in range(KEPT + 5):
        kept.add(parse_webhook(webhook(notified(f"A{number}")), datetime.now(UTC)))
    assert len(kept.latest()) == KEPT
    with file.open("a") as opened:
        opened.write('{"status": "fir')
    assert Notifications(file).latest()[0].alert == f"A{KEPT + 4}"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc")
def test_an_unreadable_file_is_said() -> None:
    # Its first page is not mapped, so that even root cannot read it.
    assert "cannot be read: Input/output error" in Notifications(Path("/proc/self/mem")).trouble


def test_a_line_for_the_terminal_cannot_steer_it() -> None:
    one = Kept(
        status="firing",
        labels={"alertname": "A\x1b[2J"},
        annotations={"summary": "a\nb"},
        receivedAt="2026-01-01T00:00:00Z",
    )
    assert terminal_line(one).endswith("firing   A [2J  a b")


def test_healthz_is_ok() -> None:
    with running(Services(prometheus_url=NOWHERE)) as url:
        assert requests.get(f"{url}/healthz", timeout=10).text == "ok\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("services: []", "services.yml:1: prometheus_url: this key is required"),
        ("prometheus_url: ftp://x", "services.yml:1: prometheus_url: write a URL such as"),
        ("prometheus_url: http://p\nservcies: []", "services.yml:2: servcies: unknown key; did you mean services?"),
        ("prometheus_url: http://p\nservices: [{name: a}, {name: a}]", "'a' is listed twice"),
        ("prometheus_url: http://p\nservices: [{name: a, public_url: 'js:x'}]", "services[0].public_url: write a URL"),
        ("{", "services.yml:1: "),
        ("- 1", "the file must hold keys"),
    ],
)
def test_a_bad_services_file_is_explained(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "services.yml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_services(file)
    assert problem in str(caught.value)


def test_an_absent_services_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file; give"):
        load_services(tmp_path / "none.yml")


def test_the_compose_stacks_services_file_loads() -> None:
    file = Path(__file__).parents[2] / "deploy" / "start-page.yml"
    services = load_services(file, {"INFERWATCH_PROMETHEUS_PORT": "19090", "INFERWATCH_GRAFANA_PORT": ""})
    assert services.public_url("prometheus") == "http://127.0.0.1:19090"
    assert services.public_url("grafana") == "http://127.0.0.1:3000"
    assert {one.name for one in services.services if one.optional} == {"gpu-exporter", "demo-server", "demo-gpus"}


@pytest.mark.tool("chromium")
def test_a_real_browser_draws_the_verdict_and_refreshes_it(tool: Callable[[str], Path], tmp_path: Path) -> None:
    fake = FakePrometheus(samples=[*target_samples("chat"), *gpu_samples("0")])
    with serving(fake), running(Services(prometheus_url=fake.url)) as url:
        wait_for(url, "The target answers.")
        command = [
            str(tool("chromium")), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={tmp_path}", "--virtual-time-budget=12000", "--dump-dom", url,
        ]  # fmt: skip
        drawn = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "The target answers. No alert fires.</h1>" in drawn
    # The script has run, so its hash in the policy is right: it wrote the title at its first refresh.
    assert "<title>The target answers. No alert fires. \u00b7 inferwatch</title>" in drawn
    assert 'id="lost" hidden' in drawn
