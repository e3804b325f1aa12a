"""How a probe fails: an outcome of the closed set and a sentence for the person on call, without secrets or answers."""

import errno
import http.client
import os
import socket
import ssl
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inferwatch.errors import InferwatchError

if TYPE_CHECKING:
    from exporters.probe.protocols.base import StreamEvent


class StreamFormatError(Exception):
    """The bytes are not what the protocol says; the text says in which way and quotes nothing of them.

    Attributes:
        before: The events of the same bytes that came before and are whole.
    """

    before: Sequence["StreamEvent"] = ()


class ProbeError(InferwatchError):
    """A request failed before it had an answer worth timing.

    Attributes:
        outcome: One of metrics.OUTCOMES.
        status_code: What the server answered, if it did.
        retry_after: The seconds that the server asked to be left alone, if it did.
        stale: Whether the server had closed the connection that was to be used again.
        refused: The parameter of the request that the server refused, if it named one that probes can do without.
    """

    def __init__(
        self, outcome: str, detail: str, status_code: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.status_code = status_code
        self.retry_after = retry_after
        self.refused: str | None = None
        self.stale = False


# What the request was doing -> the outcome, unless the server had already been asked.
_STAGE_OUTCOMES = {"dns": "dns", "tcp": "connect", "tls": "tls"}
_ADVICE = {
    "dns": "check the host in url: and the resolver of the machine (or container) that probes",
    "tcp": "check that the server runs, listens on an address that this machine or container reaches, "
    "and is not behind a firewall",
    "tls": "check the certificate, the host name in url:, and for a private authority tls: with ca_file:",
}
_STAGE_WORDS = {
    "dns": "the name {host} was not resolved",
    "tcp": "no connection to {host}",
    "tls": "no TLS session with {host}",
    "send": "the connection to {host} broke while the request was sent",
    "headers": "{host} closed the connection without an answer",
}


def failure_at(stage: str, host: str, error: BaseException | None, timed_out_after: float | None) -> ProbeError:
    """Return the failure of a request that got no status.

    Args:
        stage: dns, tcp, tls, send or headers.
        host: Host and port that were asked.
        error: What was raised.
        timed_out_after: The deadline in seconds, if that is what ended it.
    """
    words = _STAGE_WORDS[stage].format(host=host)
    outcome = _STAGE_OUTCOMES.get(stage)
    if timed_out_after is not None:
        if outcome is None:
            did = "did not take the whole request" if stage == "send" else "took the request and answered nothing"
            return ProbeError("ttft_timeout", f"{host} {did} within {timed_out_after:g} s")
        return ProbeError(outcome, f"{words} within {timed_out_after:g} s; {_ADVICE[stage]}")
    if error is not None and any(_is_no_http(inner) for inner in _chain(error)):
        return ProbeError("not_stream", f"{host} does not answer in HTTP; check the port in url:, and http or https")
    if error is not None and outcome is None and (alert := _refused_certificate(error)):
        return ProbeError("tls", f"{host} refused the TLS session: {alert}; check tls: with cert_file: and key_file:")
    reason = f": {cause(error)}" if error is not None else ""
    if outcome is None:
        return ProbeError("connection_lost", f"{words}{reason}")
    return ProbeError(outcome, f"{words}{reason}; {_ADVICE[stage]}")


def cause(error: BaseException) -> str:
    """Return the innermost reason of an error of requests or urllib3 in a few words; never its full text."""
    for inner in _chain(error):
        if isinstance(inner, ssl.SSLCertVerificationError):
            return f"the certificate is not trusted ({inner.verify_message})"
        if isinstance(inner, ssl.SSLError):
            return (inner.reason or "the TLS handshake failed").replace("_", " ").lower()
        if isinstance(inner, socket.gaierror):
            return str(inner.strerror).lower()
        if isinstance(inner, TimeoutError):
            return "timed out"
        if isinstance(inner, OSError) and isinstance(inner.errno, int) and inner.errno in errno.errorcode:
            return os.strerror(inner.errno).lower()
    return "closed early" if error.args else type(error).__name__


def _refused_certificate(error: BaseException) -> str | None:
    """Return the alert of a server that wants another certificate of us; with TLS 1.3 it comes after the handshake."""
    for inner in _chain(error):
        reason = inner.reason if isinstance(inner, ssl.SSLError) else None
        if isinstance(reason, str) and "ALERT" in reason and ("CERT" in reason or "UNKNOWN_CA" in reason):
            return reason.replace("_", " ").lower()
    return None


def _is_no_http(error: BaseException) -> bool:
    # RemoteDisconnected is a BadStatusLine to http.client, though nothing was answered.
    return isinstance(error, http.client.HTTPException) and not isinstance(error, http.client.RemoteDisconnected)


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and what it wraps, the innermost first."""
    chain: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        inner = waiting.pop(0)
        if isinstance(inner, BaseException) and inner not in chain:
            chain.append(inner)
            waiting += [getattr(inner, "reason", None), inner.__cause__, inner.__context__, *inner.args]
    return chain[::-1]


def is_hang_up(error: BaseException) -> bool:
    """Say whether the peer closed the connection instead of answering."""
    return any(isinstance(inner, ConnectionError | ssl.SSLEOFError) for inner in _chain(error))


def stale_connection(host: str) -> ProbeError:
    """Return what became of a request on a kept connection that the server had closed: not the server's failure.

    Servers close what is idle whenever they like, and the request crossed that on its way.
    """
    failure = ProbeError("tainted", f"{host} had closed the kept connection; the next probe makes a new one, at once")
    failure.stale = True
    return failure


def failure_of_refusal(status: int, parameter: str) -> ProbeError:
    """Return the failure that a refused parameter is; the probes after it do without."""
    failure = ProbeError("http_4xx", f"the server answered {status}: it refuses {parameter}; now left out", status)
    failure.refused = parameter
    return failure


def failure_of_status(status: int, error: str, location: str | None) -> ProbeError:
    """Return the failure that a status other than 200 is.

    Args:
        status: The status.
        error: The identifier of the error in the body, or "".
        location: The header of that name.
    """
    named = f"{status}" + (f" ({error})" if error else "")
    if status in (401, 403):
        return ProbeError("auth", f"the server answered {named}; check auth: and whether the key is valid", status)
    if status == 404:
        return ProbeError(
            "not_found", f"the server answered {named}; check url: (does it end in /v1?) and model:", status
        )
    if status == 429:
        return ProbeError("rate_limited", f"the server answered {named}; probe less often or raise the limit", status)
    if 300 <= status < 400:
        where = f" to {_without_query(location)}" if location else ""
        return ProbeError(
            "not_stream", f"the server redirects{where}, which is not followed; write the final address in url:", status
        )
    if 400 <= status < 500:
        return ProbeError("http_4xx", f"the server refused the request with {named}; its log says why", status)
    if 500 <= status < 600:
        return ProbeError("http_5xx", f"the server failed with {named}; look at its log", status)
    return ProbeError("not_stream", f"the server answered {named} instead of a stream", status)


def failure_of_body(media_type: str, error: str | None, streamed: bool) -> ProbeError:
    """Return the failure that a 200 without the answer is; `error` is the identifier of an error in its JSON.

    Args:
        media_type: The Content-Type.
        error: The identifier, "" if the error names none; None without an error.
        streamed: Whether the answer was to be a stream.
    """
    if error is not None:
        named = f" ({error})" if error else ""
        return ProbeError(
            "stream_error", f"the server answered 200 with an error{named} instead of an answer", HTTPStatus.OK
        )
    shown = media_type or "no Content-Type"
    wanted = "a stream" if streamed else "one JSON document"
    advice = "check that url: is the API and not a web page" + (", and that the server streams" if streamed else "")
    return ProbeError(
        "not_stream", f"the server answered 200 with {shown} instead of {wanted}; {advice}", HTTPStatus.OK
    )


def _without_query(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "what is no URL"
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl() if host else parts.path
