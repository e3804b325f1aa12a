"""What the bench of rules writes arrives in a real Prometheus as it was meant."""

import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import rules
from bench.processes import running
from bench.remote_write import Times, send
from stack.ports import free_ports


@pytest.mark.tool("prometheus")
def test_a_real_prometheus_takes_past_and_coming_samples(tool: Callable[[str], Path], tmp_path: Path):
    (port,) = free_ports(1)
    url, now = f"http://127.0.0.1:{port}", time.time()
    times = Times([now - 600, now - 300, now, now + 300])
    series = [
        times.series({"__name__": "written_total", "target": "ä", "le": "+Inf", "a": "x" * 300}, [0, 1, 2.5, 4]),
        times.series({"__name__": "written_total", "target": "other"}, [7, 7, 7, 7]),
    ]
    with (
        (tmp_path / "log").open("wb") as log,
        running(rules.command(tmp_path, tool("prometheus"), port), stderr=log),
    ):
        rules.wait_until_ready(url)
        send(url, series)
        query = urllib.parse.urlencode({"query": "written_total[1h]", "time": now + 400})
        found = {one["metric"]["target"]: one for one in rules.api(url, f"query?{query}")["result"]}
    assert found["ä"]["metric"] == {"__name__": "written_total", "target": "ä", "le": "+Inf", "a": "x" * 300}
    assert [float(value) for _, value in found["ä"]["values"]] == [0, 1, 2.5, 4]
    assert [at for at, _ in found["other"]["values"]] == pytest.approx([now - 600, now - 300, now, now + 300], abs=0.01)


@pytest.mark.tool("prometheus")
def test_what_prometheus_refuses_is_told(tmp_path: Path, tool: Callable[[str], Path]):
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with (
        (tmp_path / "log").open("wb") as log,
        running(rules.command(tmp_path, tool("prometheus"), port), stderr=log),
    ):
        rules.wait_until_ready(url)
        send(url, [Times([time.time()]).series({"__name__": "written_total"}, [1.0])])
        with pytest.raises(RuntimeError, match="Prometheus refuses samples: out of order"):
            send(url, [Times([time.time() - 60]).series({"__name__": "written_total"}, [1.0])])
