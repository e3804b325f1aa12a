"""Alertmanager's webhook: each alert becomes a line of a file, a line on the terminal, and an entry on the page."""

import contextlib
import json
import os
import threading
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from inferwatch.errors import InferwatchError
from inferwatch.printable import printable

KEPT = 50
LARGEST_FILE = 4 << 20
LONGEST_SUMMARY = 500


class WriteError(InferwatchError):
    """A notification could not be kept; the text names the file and the reason."""


class Notified(BaseModel):
    """One alert of a notification, under Alertmanager's names."""

    status: Literal["firing", "resolved"]
    labels: dict[str, str]
    annotations: dict[str, str] = {}
    startsAt: str = ""  # noqa: N815 - Alertmanager's name
    endsAt: str = ""  # noqa: N815
    fingerprint: str = ""


class Webhook(BaseModel):
    """What Alertmanager posts (webhook format, version 4); unknown keys are left alone."""

    alerts: list[Notified]


class Kept(Notified):
    """A notified alert as the file holds it, with the time of its arrival."""

    receivedAt: str  # noqa: N815 - beside Alertmanager's own names

    @property
    def alert(self) -> str:
        """The rule's name."""
        return self.labels.get("alertname", "unnamed")

    @property
    def about(self) -> str:
        """What the alert is about: target, node, job or instance, the first that it has."""
        return next((self.labels[key] for key in ("target", "node", "job", "instance") if self.labels.get(key)), "")

    @property
    def summary(self) -> str:
        """The alert's own sentence."""
        return self.annotations.get("summary", "")[:LONGEST_SUMMARY]


def parse_webhook(body: bytes, now: datetime) -> list[Kept]:
    """Return the alerts of a notification.

    Raises:
        ValueError: If it is no notification; the message is a sentence.
    """
    try:
        webhook = Webhook.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(
            f"this is no Alertmanager notification: {where + ': ' if where else ''}{first['msg']}"
        ) from None
    received = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [Kept(receivedAt=received, **one.model_dump()) for one in webhook.alerts]


def terminal_line(one: Kept) -> str:
    """Return an alert as one line: time, firing or resolved, name, what it is about, summary."""
    when = datetime.fromisoformat(one.receivedAt).astimezone().strftime("%H:%M:%S")
    line = f"{when} {one.status:<8} {one.alert}"
    for part in (one.about, one.summary):
        line += f"  {part}" if part else ""
    # Labels and annotations come from outside and must not steer the terminal.
    return printable(line)


class Notifications:
    """The last alerts received, and the file that holds them, which is read back at the start.

    Args:
        file: JSON lines, one alert each; None keeps them in memory only.
        largest: Beyond this many bytes the file becomes ``FILE.1``, whose predecessor is dropped.
    """

    def __init__(self, file: Path | None, largest: int = LARGEST_FILE) -> None:
        self._file = file
        self._largest = largest
        self._lock = threading.Lock()
        self._kept: deque[Kept] = deque(maxlen=KEPT)
        self._trouble = ""
        if file is not None:
            try:
                self._kept.extend(read_back(file))
            except OSError as error:
                self._trouble = f"The notifications file {file} cannot be read: {error.strerror}."

    def add(self, alerts: list[Kept]) -> None:
        """Keep alerts, in the file first.

        Raises:
            WriteError: If the file cannot be written; then nothing is kept, so that Alertmanager sends it again.
        """
        with self._lock:
            if self._file is not None:
                try:
                    append(self._file, alerts, self._largest)
                except OSError as error:
                    reason = error.strerror or type(error).__name__
                    self._trouble = (
                        f"The notifications file {self._file} cannot be written: {reason}. "
                        "Alertmanager tries again until it can."
                    )
                    raise WriteError(self._trouble) from None
            self._trouble = ""
            self._kept.extend(alerts)

    @property
    def trouble(self) -> str:
        """A sentence while the file cannot be used, else empty."""
        return self._trouble

    @property
    def in_memory(self) -> bool:
        """Whether there is no file."""
        return self._file is None

    def latest(self) -> list[Kept]:
        """Return the last alerts received, newest first."""
        with self._lock:
            return list(reversed(self._kept))


def append(file: Path, alerts: Iterable[Kept], largest: int) -> None:
    """Append alerts in one write; what a full disk leaves half written is taken back.

    Raises:
        OSError: If not every byte could be written.
    """
    data = "".join(one.model_dump_json() + "\n" for one in alerts).encode()
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
    try:
        size = os.fstat(descriptor).st_size
        if size and size + len(data) > largest:
            file.replace(_predecessor(file))
            os.close(descriptor)
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
            size = 0
        written = os.write(descriptor, data)
        if written != len(data):
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
            raise OSError(28, "No space left on device")
    finally:
        os.close(descriptor)


def read_back(file: Path) -> list[Kept]:
    """Return the last alerts of the file and of its predecessor, oldest first; broken lines are left out.

    Raises:
        OSError: If a file that exists cannot be read.
    """
    lines: deque[str] = deque(maxlen=KEPT)
    for one in (_predecessor(file), file):
        # A device such as /dev/full never ends.
        if one.is_file():
            with one.open(encoding="utf-8", errors="replace") as opened:
                lines.extend(opened)
    kept = []
    for line in lines:
        with contextlib.suppress(ValidationError, json.JSONDecodeError):
            kept.append(Kept.model_validate_json(line))
    return kept


def _predecessor(file: Path) -> Path:
    return file.with_name(file.name + ".1")
