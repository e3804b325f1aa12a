"""Asking a running stack, and waiting for it."""

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import requests

T = TypeVar("T")
Sample = tuple[dict[str, str], float]


def wait_for(get: Callable[[], T], what: str, seconds: float) -> T:
    """Return the first true value of `get`; its time is bounded generously, since machines differ."""
    deadline = time.monotonic() + seconds
    while True:
        value = get()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.5)


class Prometheus:
    """The HTTP API of one Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expr: str) -> list[Sample]:
        """Return the samples of an instant query; none while it does not answer."""
        try:
            answer = requests.get(f"{self.url}/api/v1/query", params={"query": expr}, timeout=10)
        except requests.RequestException:
            return []
        if answer.status_code == 503:
            return []
        body = answer.json()
        assert body["status"] == "success", (expr, body)
        if body["data"]["resultType"] == "scalar":
            return [({}, float(body["data"]["result"][1]))]
        return [(sample["metric"], float(sample["value"][1])) for sample in body["data"]["result"]]

    def value(self, expr: str) -> float | None:
        """Return the only value of an instant query, or None if there is none."""
        found = self.query(expr)
        assert len(found) < 2, (expr, found)
        return found[0][1] if found else None


class Receiver:
    """The notifications that the start page wrote to its file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> list[dict[str, object]]:
        """Return what was received so far, the oldest first."""
        if not self._file.exists():
            return []
        # The last line may be half written.
        lines = self._file.read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def has(self, alert: str, status: str, since: datetime | None = None, **labels: str) -> bool:
        """Return whether such a notification has arrived, at or after `since`."""
        wanted = {"alertname": alert, **labels}.items()
        return any(
            one["status"] == status
            and wanted <= one["labels"].items()  # type: ignore[attr-defined]
            and (since is None or datetime.fromisoformat(str(one["receivedAt"])) >= since)
            for one in self.all()
        )
