"""One request and its answer, whose body comes piece by piece, each with the time at which it had arrived."""

import json
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import DecodeError

from exporters.probe.asking.parameters import refused_parameter
from exporters.probe.failures import (
    ProbeError,
    StreamFormatError,
    cause,
    failure_at,
    failure_of_refusal,
    failure_of_status,
    is_hang_up,
    stale_connection,
)
from exporters.probe.protocols.base import error_identifier
from exporters.probe.wire.connection import NET_SECONDS, Recorder
from exporters.probe.wire.deadline import Deadline
from exporters.probe.wire.exchanged import Exchanged
from exporters.probe.wire.retry_after import retry_after_seconds
from exporters.probe.wire.session import TunnelError, session_of
from exporters.probe.wire.stamped import READ_SIZE
from exporters.probe.wire.way import DIRECT, Way, refused_by_proxy

# What is read of an answer that is no stream, to find the identifier of its error.
LARGEST_ERROR_BODY = 1 << 16
# So long before a limit that a token moves on, tokens are looked at as they come.
LIMIT_MARGIN_SECONDS = 0.5
# A stream may always be drained for this long after it said that it is done, so that the server sees no reset.
DRAIN_SECONDS = 1.0


class TooLargeError(Exception):
    """The body is larger than allowed."""


class ConnectionLostError(Exception):
    """The connection broke inside the body; the text says how."""


@dataclass
class Exchange:
    """A request that was answered with a status, its body not yet read."""

    response: requests.Response
    recorder: Recorder
    way: Way = DIRECT
    noted: Exchanged | None = None

    @property
    def status(self) -> int:
        """The status code."""
        return int(self.response.status_code)

    @property
    def media_type(self) -> str:
        """The Content-Type without its parameters, in lower case; "" without the header."""
        return str(self.response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()

    def reads(self, largest: int, hold: float = 0.0) -> Iterator[tuple[float, bytes]]:
        """Yield what each read from the connection gave, and when that had arrived, until the body ends.

        `read1` gives what one read gives in every framing; `iter_content` and `iter_lines` wait for a full buffer, or
        for the end, where a body is not chunked (urllib3#2123).

        Args:
            largest: The most bytes that the body may have.
            hold: What comes may be given so many seconds later, all at once; never so late that a limit would pass.

        Raises:
            TooLargeError: Past `largest` bytes.
            ConnectionLostError: If the connection broke, or the deadline ended it before the body was whole.
            StreamFormatError: If the body is compressed, though that was refused, and cannot be decompressed.
        """
        raw: Any = self.response.raw
        source = self.recorder.source
        if source is None:
            raise ValueError("nothing was read of this answer")
        deadline = self.recorder.deadline
        source.stamped.hold = lambda: min(hold, deadline.until_limit() - LIMIT_MARGIN_SECONDS)
        deadline.waiting = source.stamped.waiting
        delimited = source.chunked or source.length is not None
        plain = "Content-Encoding" not in self.response.headers
        total = 0
        while True:
            try:
                data = source.read_piece() if plain else raw.read1(READ_SIZE, decode_content=True)
            except DecodeError:
                raise StreamFormatError("its compression cannot be undone") from None
            except Exception as error:  # noqa: BLE001 - urllib3, http.client, ssl and zlib raise their own kinds here
                raise ConnectionLostError(cause(error)) from None
            if data:
                total += len(data)
                if total > largest:
                    raise TooLargeError(f"it passed {largest} bytes")
                yield source.stamped.at, data
            elif raw.closed:
                raw.release_conn()
                if not delimited and _cut_off(source.stamped.ended_at, deadline):
                    raise ConnectionLostError("interrupted")
                return
            # Else a decompressor took the bytes and has nothing to give yet.

    def body(self, largest: int) -> bytes:
        """Return the whole body; raises as `reads` does."""
        return b"".join(data for _, data in self.reads(largest))

    def body_json(self) -> object:
        """Return the body as JSON if it is short, whole and JSON, else None."""
        try:
            body = self.body(LARGEST_ERROR_BODY)
            if self.noted is not None:
                self.noted.answer_body = body
            return json.loads(body)
        except (ValueError, RecursionError, TooLargeError, ConnectionLostError, StreamFormatError):
            return None

    def check_status(self, sent: Collection[str] = ()) -> None:
        """Raise a ProbeError for a status other than 200; `sent` are the names of the request's parameters."""
        if self.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and self.way.proxy:
            raise refused_by_proxy(self.way, "", self.status)
        if self.status != HTTPStatus.OK:
            body = self.body_json()
            if parameter := refused_parameter(self.status, body, sent):
                raise failure_of_refusal(self.status, parameter)
            error = body.get("error", body) if isinstance(body, dict) else None
            headers = self.response.headers
            failure = failure_of_status(self.status, error_identifier(error), headers.get("Location"))
            failure.retry_after = retry_after_seconds(headers.get("Retry-After"), time.time())
            raise failure


def _cut_off(ended_at: float | None, deadline: Deadline) -> bool:
    """Say whether the deadline ended a connection, which looks as if the server had: what comes first did it."""
    return deadline.passed_at is not None and (ended_at is None or ended_at >= deadline.passed_at)


@contextmanager
def exchange(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, recorder: Recorder, way: Way = DIRECT
) -> Iterator[Exchange]:
    """Send a request and yield what answers it; closes the connection, unless the recorder's probe keeps it.

    Raises:
        ProbeError: If no status came, with the outcome of the stage at which it failed.
    """
    deadline = recorder.deadline
    noted = None
    if recorder.exchanges is not None:
        noted = Exchanged(method, url, headers, body or b"")
        recorder.exchanges.append(noted)
    with session_of(recorder, tls=url.startswith("https:"), way=way) as session:
        try:
            response = session.request(
                method,
                url,
                headers=dict(headers),
                data=body,
                stream=True,
                allow_redirects=False,
                timeout=deadline.remaining() + NET_SECONDS,
            )
        except Exception as error:  # noqa: BLE001 - requests passes on what urllib3, http.client and ssl raise
            raise _failure(url, recorder, error, way) from None
        if noted is not None:
            noted.status, noted.answer_headers = int(response.status_code), dict(response.headers)
        with response:
            yield Exchange(response, recorder, way, noted)


def _failure(url: str, recorder: Recorder, error: Exception, way: Way) -> ProbeError:
    """Turn what requests raised before there was a status into our words."""
    deadline = recorder.deadline
    if recorder.sending_at is None and recorder.error is None and recorder.stage != "tls":
        # Nothing was tried, e.g. a URL that requests cannot read.
        return ProbeError("internal", f"the request could not be made: {type(error).__name__}")
    # A socket's own timeout ends connecting when the deadline leaves no more time for it.
    late = deadline.passed_after or (deadline.seconds if isinstance(recorder.error, TimeoutError) else None)
    host = urlsplit(url).netloc
    if recorder.reused and late is None and is_hang_up(error):
        return stale_connection(host)
    if isinstance(recorder.error, TunnelError):
        return refused_by_proxy(way, host, recorder.error.status, late)
    if way.proxy and recorder.stage in ("dns", "tcp"):
        host = f"the proxy {way.proxy_host}"
    return failure_at(recorder.stage, host, recorder.error or error, late)


def get(
    url: str,
    headers: Mapping[str, str],
    timeout: float,
    largest: int,
    way: Way = DIRECT,
    exchanges: list[Exchanged] | None = None,
) -> bytes:
    """Return the body of a GET that answers 200; what is sent and answered is noted in `exchanges`.

    Raises:
        ProbeError: If it does not, or not within `timeout` seconds, or with more than `largest` bytes.
    """
    recorder = Recorder(Deadline(timeout))
    recorder.exchanges = exchanges
    with recorder.deadline as deadline, exchange("GET", url, headers, None, recorder, way) as answer:
        answer.check_status()
        try:
            return answer.body(largest)
        except (TooLargeError, StreamFormatError) as error:
            raise ProbeError("not_stream", f"the answer of {urlsplit(url).netloc} cannot be read: {error}") from None
        except ConnectionLostError as error:
            if deadline.passed:
                raise ProbeError("deadline", f"the answer was not complete within {timeout:g} s") from None
            raise ProbeError("connection_lost", f"the connection broke inside the answer: {error}") from None
