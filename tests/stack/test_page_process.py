"""The start page as the process that the stack starts: it serves, prints what it is notified of, and ends when told."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import requests
from page_fakes import free_address

PATIENCE = 60


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "stack.cli", *arguments]


def test_it_serves_receives_and_ends_on_sigterm(tmp_path: Path) -> None:
    services, kept, address = tmp_path / "services.json", tmp_path / "kept.jsonl", free_address()
    services.write_text(json.dumps({"prometheus_url": "http://127.0.0.1:9", "services": []}))
    arguments = [f"--web.listen-address={address}", f"--services.file={services}", f"--notifications.file={kept}"]
    with subprocess.Popen(command("page", *arguments), stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_until_healthy(f"http://{address}/healthz", process)
            body = {"alerts": [{"status": "firing", "labels": {"alertname": "TargetDown", "target": "chat"}}]}
            assert requests.post(f"http://{address}/notifications", json=body, timeout=10).status_code == 200
            assert process.stdout is not None
            assert process.stdout.readline().endswith("firing   TargetDown  chat\n")
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
    assert code == 0
    assert json.loads(kept.read_text())["labels"]["target"] == "chat"


def test_a_bad_services_file_ends_it_with_a_sentence(tmp_path: Path) -> None:
    services = tmp_path / "services.yml"
    services.write_text("services: []\n")
    arguments = [f"--web.listen-address={free_address()}", f"--services.file={services}"]
    done = subprocess.run(command("page", *arguments), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stderr == "services.yml:1: prometheus_url: this key is required\n"


def wait_until_healthy(url: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, "it ended by itself"
        try:
            if requests.get(url, timeout=5).ok:
                return
        except requests.ConnectionError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)
