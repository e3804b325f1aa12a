"""Resolving a name with a deadline, which getaddrinfo knows nothing of, in no more threads than a name may hold up."""

import queue
import socket
import threading
from typing import Any

from exporters.probe.wire.deadline import Deadline

Address = tuple[Any, ...]
_Answer = queue.SimpleQueue[list[Address] | OSError]
_Name = tuple[str, int]
# So many lookups of a name may hang after those who asked went away; who asks then waits for the next one of them.
MOST_HANGING = 4


class _Lookup:
    """One call of getaddrinfo in a thread of its own, and who waits for it."""

    def __init__(self, name: _Name) -> None:
        self.name = name
        self.waiting: list[_Answer] = []
        self.ended = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="probe-resolve", daemon=True).start()

    def _run(self) -> None:
        found: list[Address] | OSError
        try:
            found = socket.getaddrinfo(*self.name, type=socket.SOCK_STREAM)
        except OSError as error:
            found = error
        except UnicodeError:
            found = socket.gaierror(socket.EAI_NONAME, "the name is not a host name")
        with _lock:
            self.ended = True
            others = [lookup for lookup in _hanging.pop(self.name, []) if lookup is not self]
            if others:
                _hanging[self.name] = others
            for answer in self.waiting:
                answer.put(found)


_lock = threading.Lock()
_hanging: dict[_Name, list[_Lookup]] = {}


def resolve_within(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Return the addresses of a name as getaddrinfo does.

    Raises:
        OSError: If there are none, or the deadline passed first.
    """
    answer: _Answer = queue.SimpleQueue()
    with _lock:
        lookups = list(_hanging.get((host, port), []))
        own = len(lookups) < MOST_HANGING
        if own:
            lookups = [_Lookup((host, port))]
        for lookup in lookups:
            lookup.waiting.append(answer)
    if own:
        lookups[0].start()
    deadline.guard(lambda: answer.put(TimeoutError("resolving took too long")))
    found = answer.get()
    _leave(lookups, answer)
    if isinstance(found, OSError):
        raise found
    return found


def _leave(lookups: list[_Lookup], answer: _Answer) -> None:
    """Wait for these no more; one that has not ended counts as hanging."""
    with _lock:
        for lookup in lookups:
            lookup.waiting.remove(answer)
            hanging = _hanging.get(lookup.name, [])
            if not lookup.ended and lookup not in hanging:
                _hanging[lookup.name] = [*hanging, lookup]
