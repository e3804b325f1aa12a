"""Both exporters as processes behind TLS and a password, scraped by a real Prometheus as docs/web-config.md says."""

import json
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from certificates import Authority
from web_config_files import PASSWORD, TLS, USER, basic, get, hashed

from exporters.gpu import metrics as gpu_metrics
from exporters.probe import metrics as probe_metrics

DEADLINE = 60
T = TypeVar("T")


@contextmanager
def running(log: Path, *command: str) -> Iterator[subprocess.Popen]:
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            yield process
        finally:
            process.terminate()


def wait_for(get_value: Callable[[], T | None], log: Path) -> T:
    give_up = time.monotonic() + DEADLINE
    while (value := get_value()) is None:
        assert time.monotonic() < give_up, log.read_text()
        time.sleep(0.05)
    return value


def exporter(folder: Path, name: str, *flags: str):
    command = [sys.executable, "-m", f"exporters.{name}", "--web.listen-address=127.0.0.1:0"]
    return running(folder / f"{name}.log", *command, f"--web.config.file={folder}/web.yml", *flags)


def address(log: Path) -> str:
    def told() -> str | None:
        found = re.search(r"listening on https://([0-9.:]+)", log.read_text())
        return found[1] if found else None

    return wait_for(told, log)


@pytest.fixture
def folder(tool, tmp_path) -> Path:
    authority = Authority.make(tool("openssl"), tmp_path)
    authority.sign("server")
    (tmp_path / "web.yml").write_text(f"{TLS}}}\nbasic_auth_users: {{{USER}: {hashed(cost=10)}}}\n")
    (tmp_path / "password").write_text(PASSWORD + "\n")
    (tmp_path / "wrong-password").write_text("wrong\n")
    return tmp_path


def prometheus_configuration(folder: Path, probe: str) -> str:
    def way(password_file: str) -> dict[str, object]:
        return {
            "scheme": "https",
            "tls_config": {"ca_file": f"{folder}/ca.pem"},
            "basic_auth": {"username": USER, "password_file": f"{folder}/{password_file}"},
        }

    right = way("password")
    discovery = {name: value for name, value in right.items() if name != "scheme"}
    jobs = [
        {"job_name": "probe", "static_configs": [{"targets": [probe]}], **right},
        {"job_name": "gpu", "http_sd_configs": [{"url": f"https://{probe}/sd/gpus", **discovery}], **right},
        {"job_name": "wrong", "static_configs": [{"targets": [probe]}], **way("wrong-password")},
    ]
    return json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs})  # JSON is YAML


@pytest.mark.tool("openssl", "prometheus")
def test_prometheus_scrapes_both_exporters(tool, folder, free_port):
    with exporter(folder, "gpu", "--simulate=2"):
        own = {"address": address(folder / "gpu.log"), "node": "gpu-01"}
        (folder / "inferwatch.yml").write_text(json.dumps({"gpu_exporters": [own]}))
        flags = (f"--config.file={folder}/inferwatch.yml", f"--state.dir={folder}/state")
        with exporter(folder, "probe", *flags):
            probe = address(folder / "probe.log")
            (folder / "prometheus.yml").write_text(prometheus_configuration(folder, probe))
            command = [
                str(tool("prometheus")),
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{free_port}",
            ]
            log = folder / "prometheus.log"
            with running(log, *command):

                def query(expression: str) -> list[dict]:
                    url = f"http://127.0.0.1:{free_port}/api/v1/query?query={urllib.parse.quote(expression)}"
                    status, body = get(url)
                    # Prometheus answers 503 with a sentence until it has read its data.
                    return json.loads(body)["data"]["result"] if status == 200 else []

                def answers() -> bool | None:
                    try:
                        return True if len(query("up")) == 3 else None
                    except OSError:
                        return None

                wait_for(answers, log)

                def all_in_state() -> bool | None:
                    states = {one["metric"]["job"]: one["value"][1] for one in query("up")}
                    return True if states == {"probe": "1", "gpu": "1", "wrong": "0"} else None

                wait_for(all_in_state, log)
                assert [one["metric"]["node"] for one in query('up{job="gpu"}')] == ["gpu-01"]
                for metric in (gpu_metrics, probe_metrics):
                    (sample,) = query(metric.WEB_CONFIG_RELOAD_SUCCESSFUL.name)
                    assert sample["value"][1] == "1"
    for name in ("gpu", "probe"):
        assert PASSWORD not in (folder / f"{name}.log").read_text()


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("name", ["gpu", "probe"])
def test_an_exporter_does_not_start_with_a_broken_file(folder, name):
    (folder / "web.yml").write_text("basic_auth_users:\n  prometheus: sk-open\n")
    command = [sys.executable, "-m", f"exporters.{name}", f"--web.config.file={folder}/web.yml"]
    done = subprocess.run(
        [*command, "--web.listen-address=127.0.0.1:0"], capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("web.yml:2: basic_auth_users.prometheus: this is no bcrypt hash;")
    assert "Traceback" not in done.stderr
    assert "sk-open" not in done.stderr


@pytest.mark.tool("openssl")
def test_a_running_exporter_takes_over_a_renewed_certificate(tool, folder):
    authority = Authority(tool("openssl"), folder)
    with exporter(folder, "gpu", "--simulate=1"):
        url = f"https://{address(folder / 'gpu.log')}/metrics"
        stranger = folder / "stranger"
        stranger.mkdir()
        renewed = Authority.make(authority.openssl, stranger)
        renewed.sign("server")
        old = authority.client()
        assert get(url, old, basic())[0] == 200
        for kind in ("pem", "key"):
            (stranger / f"server.{kind}").replace(folder / f"server.{kind}")

        def trusted() -> str | None:
            try:
                status, body = get(url, renewed.client(), basic())
            except OSError:
                return None
            return body if status == 200 else None

        body = wait_for(trusted, folder / "gpu.log")
        assert f"{gpu_metrics.WEB_CONFIG_RELOAD_SUCCESSFUL.name} 1.0" in body
