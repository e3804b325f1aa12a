"""`/metrics` rendered once for each collection, and not for each scrape.

A thread renders what has changed shortly before it may be asked for, in every form that was asked for lately (text or
OpenMetrics, compressed or not), so that a scrape finds its answer ready: a scrape every 15 s of what changes every 5 s
costs one rendering, not three. What is no longer true, or was changed since, is never served: then the scrape renders.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from prometheus_client.exposition import choose_encoder, gzip_accepted

log = logging.getLogger(__name__)

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
WsgiApp = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
# The content type and whether it is compressed.
_Form = tuple[str, bool]

# GPUs are collected at the same time, each by a thread of its own: one answer for all of them.
SETTLE_SECONDS = 0.1
# A form that nobody has asked for since is no longer kept ready.
FORGET_FORM_SECONDS = 120.0
MOST_FORMS = 8
# By the last gaps between scrapes it is told when the next may come: with two, a pair of Prometheus servers is known.
GAPS = 2
# An answer is rendered so long before the scrape may come, and again for what changes after that.
LEAD_SECONDS = 1.0
# Who has not come for so many gaps does not come again.
MISSED = 3


@dataclass(frozen=True)
class _Wanted:
    """Headers of a scrape, when it came, and how long after the one before each of the last few came."""

    accept: str
    encoding: str
    at: float
    gaps: tuple[float, ...] = ()

    def after(self, before: "_Wanted | None") -> "_Wanted":
        """Return this scrape as the one that followed `before`."""
        gaps = (*before.gaps, self.at - before.at)[-GAPS:] if before else ()
        return replace(self, gaps=gaps)

    def next_at(self) -> tuple[float, float]:
        """Return between when and when the next one may come, by the last few; several clients may ask in turn."""
        return self.at + min(self.gaps, default=0.0), self.at + MISSED * max(self.gaps, default=0.0)


@dataclass(frozen=True)
class _Answer:
    status: str
    headers: Headers
    body: bytes
    good_until: float


class Rendered:
    """The application that answers `/metrics`.

    Args:
        app: Renders.
        changed: Set when there is something new to render; cleared here.
        good_until: Returns until when what is rendered now stays true, on the monotonic clock.
        longest: Seconds after which an answer is rendered again although nothing has changed.
    """

    def __init__(self, app: WsgiApp, changed: threading.Event, good_until: Callable[[], float], longest: float) -> None:
        self._app = app
        self._changed = changed
        self._good_until = good_until
        self._longest = longest
        self._answers: dict[_Form, _Answer] = {}
        self._asked: dict[_Form, _Wanted] = {}
        self._locks: dict[_Form, threading.Lock] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="render", daemon=True)

    def start(self) -> None:
        """Begin to render ahead."""
        self._thread.start()

    def stop(self) -> None:
        """Render no more ahead."""
        self._stop.set()
        self._changed.set()
        self._thread.join()

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one scrape."""
        wanted = _Wanted(environ.get("HTTP_ACCEPT") or "", environ.get("HTTP_ACCEPT_ENCODING") or "", time.monotonic())
        form = (choose_encoder(wanted.accept)[1], gzip_accepted(wanted.encoding))
        if environ.get("QUERY_STRING") or (form not in self._asked and len(self._asked) >= MOST_FORMS):
            return self._app(environ, start_response)
        self._asked[form] = wanted = wanted.after(self._asked.get(form))
        answer = self._answers.get(form)
        if answer is None or wanted.at >= answer.good_until:
            with self._locks.setdefault(form, threading.Lock()):
                # Another scrape may have rendered it meanwhile.
                answer = self._answers.get(form)
                if answer is None or time.monotonic() >= answer.good_until:
                    answer = self._render(form, wanted)
        start_response(answer.status, list(answer.headers))
        return [answer.body]

    def _render(self, form: _Form, wanted: "_Wanted") -> _Answer:
        good_until = min(self._good_until(), time.monotonic() + self._longest)
        begun: list[tuple[str, Headers]] = []
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "QUERY_STRING": ""}
        environ |= {"HTTP_ACCEPT": wanted.accept, "HTTP_ACCEPT_ENCODING": wanted.encoding}
        body = b"".join(self._app(environ, lambda status, headers: begun.append((status, headers))))
        answer = _Answer(*begun[0], body, good_until)
        self._answers[form] = answer
        return answer

    def _run(self) -> None:
        pause: float | None = None
        while True:
            changed = self._changed.wait(pause)
            if changed:
                if self._stop.wait(SETTLE_SECONDS):
                    return
                self._changed.clear()
            try:
                pause = self._render_ahead(changed)
            except Exception:
                # The scrape will meet the same fault and answer with it.
                self._answers.clear()
                pause = None
                log.exception("rendering ahead failed; this is a fault of the exporter, please report it")

    def _render_ahead(self, changed: bool) -> float | None:
        """Render each form whose scrape may come soon; return for how many seconds there is nothing more to do."""
        now = time.monotonic()
        later = []
        for form, wanted in list(self._asked.items()):
            if now - wanted.at > FORGET_FORM_SECONDS:
                self._asked.pop(form, None)
                self._answers.pop(form, None)
                self._locks.pop(form, None)
                continue
            earliest, latest = wanted.next_at()
            due = earliest - LEAD_SECONDS
            # A scrape that renders just now must not put back what was there before the change.
            with self._locks.setdefault(form, threading.Lock()):
                if not changed and form in self._answers:
                    continue
                if due <= now <= latest + self._longest:
                    self._render(form, wanted)
                    continue
                self._answers.pop(form, None)
            if now < due:
                later.append(due - now)
        return min(later, default=None)
