"""The server's side of a TLS handshake, made on the thread of its own connection."""

import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from inferwatch.web_config.access import Access

log = logging.getLogger(__name__)

_HANDSHAKE_RECORD = b"\x16"
_SPEAK_TLS = (
    b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    b"This server speaks TLS: write https:// (in prometheus.yml, scheme: https).\n"
)
# A scrape that fails does so every 15 seconds; each reason is told once.
_told: set[str] = set()


@contextmanager
def secured(connection: socket.socket, context: ssl.SSLContext, access: Access) -> Iterator[ssl.SSLSocket | None]:
    """Give the encrypted connection, or None where no handshake came about; close it in the end.

    Args:
        connection: An accepted connection with a timeout.
        context: What to shake hands with.
        access: Which names a client's certificate must hold.

    Raises:
        OSError: If the client sends nothing, or goes away.
    """
    first = connection.recv(1, socket.MSG_PEEK)
    if first != _HANDSHAKE_RECORD:
        if first.isalpha():
            connection.sendall(_SPEAK_TLS)
        yield None
        return
    peer = connection.getpeername()[0]
    with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as encrypted:
        yield encrypted if _shaken(encrypted, peer, access) else None
        _say_goodbye(encrypted)


def _shaken(encrypted: ssl.SSLSocket, peer: str, access: Access) -> bool:
    try:
        encrypted.do_handshake()
    except ssl.SSLError as error:
        _tell(peer, (error.reason or "protocol error").replace("_", " ").lower())
        return False
    if access.client_names and not access.client_names & _subject_alternative_names(encrypted.getpeercert()):
        _tell(peer, "no name in the client's certificate is in client_allowed_sans")
        return False
    return True


def _tell(peer: str, reason: str) -> None:
    level = logging.DEBUG if reason in _told else logging.WARNING
    _told.add(reason)
    log.log(level, "the TLS handshake with %s failed: %s", peer, reason)


def _say_goodbye(encrypted: ssl.SSLSocket) -> None:
    """Send close_notify without waiting for the client's."""
    encrypted.settimeout(0)
    with contextlib.suppress(OSError, ValueError):
        encrypted.unwrap()


def _subject_alternative_names(certificate: dict[str, Any] | None) -> set[str]:
    """Return the names in a client's certificate as `SSLSocket.getpeercert` tells them: DNS, e-mail, IP, URI."""
    names = certificate.get("subjectAltName", ()) if certificate else ()
    return {value for kind, value in names if kind in ("DNS", "email", "IP Address", "URI")}
