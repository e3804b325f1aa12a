"""The way to a server: name, connection, TLS; each step says what to do where it ends."""

import contextlib
import queue
import socket
import ssl
import threading
import time
from dataclasses import replace
from urllib.parse import SplitResult, urlsplit

from exporters.probe.failures import ProbeError
from exporters.probe.wire.trust import trusted_context
from inferwatch.config.connection import Tls
from stack.check.container import HOST_ALIAS, inside_container, is_loopback, is_public, listens_on_loopback_only
from stack.check.findings import Finding, fail, ok, warn
from stack.page.figures import plural, seconds

TIMEOUT = 5.0
EXPIRES_SOON_DAYS = 21
# OpenSSL's X509_V_ERR_* of a certificate that is not trusted.
_EXPIRED, _SELF_SIGNED, _NO_ISSUER, _WRONG_NAME = (10,), (18, 19), (2, 20, 21), (62, 64)


def reach(url: str, with_key: bool = False, certificates: Tls | None = None) -> list[Finding]:
    """Try DNS, TCP and TLS; the last finding fails where the way ends.

    Args:
        url: Whose host and port.
        with_key: Whether requests will carry a secret, which a public network must not see.
        certificates: The target's `tls` section.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", _port(parts)
    findings: list[Finding] = []
    addresses = _resolve(host, port)
    if isinstance(addresses, Finding):
        return [addresses]
    if addresses != [host]:
        findings.append(ok("dns", f"{host} is {', '.join(addresses)}"))
    findings.append(_connect(parts, host, port, addresses))
    if findings[-1].level == "fail":
        return findings
    if parts.scheme == "https":
        findings += _tls(parts, host, port, certificates)
    elif with_key and is_public(addresses):
        findings.append(warn("tls", f"the key travels to {host} unencrypted", "write https://"))
    return findings


def speaks_tls(url: str) -> bool:
    """Whether the server answers a TLS handshake, whatever its certificate."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, _port(parts)), timeout=TIMEOUT) as raw,
            context.wrap_socket(raw, server_hostname=host),
        ):
            return True
    except (OSError, ValueError):
        return False


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _resolve(host: str, port: int) -> list[str] | Finding:
    """Return the addresses, resolved in a thread since getaddrinfo takes no timeout."""
    answer: queue.SimpleQueue[list[str] | str] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.put(list(dict.fromkeys(str(one[4][0]) for one in found)))
        except (OSError, UnicodeError) as error:
            answer.put(str(getattr(error, "strerror", None) or "it is no host name"))

    threading.Thread(target=look_up, name="check-resolve", daemon=True).start()
    try:
        found = answer.get(timeout=TIMEOUT)
    except queue.Empty:
        found = f"no answer within {TIMEOUT:g} s"
    if isinstance(found, list):
        return found
    return fail("dns", f"{host} does not resolve: {found[0].lower()}{found[1:]}", _name_advice(host))


def _name_advice(host: str) -> str:
    if host != HOST_ALIAS:
        return "check the host's name and this machine's resolver"
    if inside_container():
        return f'start the container with extra_hosts: ["{HOST_ALIAS}:host-gateway"]'
    return f"{HOST_ALIAS} exists only inside containers; here write 127.0.0.1, or run the check in the compose network"


def _connect(parts: SplitResult, host: str, port: int, addresses: list[str]) -> Finding:
    begun = time.perf_counter()
    try:
        with socket.create_connection((host, port), timeout=TIMEOUT):
            took = time.perf_counter() - begun
    except ConnectionRefusedError:
        return fail("connect", f"{host}:{port} refuses the connection", _refused_advice(host, port, addresses))
    except TimeoutError:
        return fail("connect", f"{host}:{port} does not answer within {TIMEOUT:g} s", _silent_advice(host))
    except OSError as error:
        return fail(
            "connect", f"{host}:{port} cannot be reached: {error.strerror or error}", "check the network and firewall"
        )
    accepts = f"{host}:{port} accepts a connection in {seconds(took)}"
    if not is_loopback(addresses):
        return ok("connect", accepts)
    if inside_container():
        return ok("connect", f"{accepts}, inside this container", f"no other container reaches it at {host}")
    return ok("connect", accepts, _compose_hint(parts, port))


def _compose_hint(parts: SplitResult, port: int) -> str:
    alias = f"{parts.scheme}://{HOST_ALIAS}:{port}{parts.path}"
    if listens_on_loopback_only(port):
        return (
            "right for `inferwatch up`; it listens on 127.0.0.1 only, which the containers of docker compose cannot "
            f"reach: for them start the server with --host 0.0.0.0 and write {alias}"
        )
    return f"right for `inferwatch up`; for docker compose write {alias}"


def _refused_advice(host: str, port: int, addresses: list[str]) -> str:
    if host == HOST_ALIAS:
        return (
            "the server does not run, or it listens on the host's 127.0.0.1 only, which no container reaches: "
            f"start it with --host 0.0.0.0, or with --host {addresses[0]}, the host's address on Docker's network"
        )
    if inside_container() and is_loopback(addresses):
        return (
            f"inside a container {host} is the container itself: for a server on the host, write {HOST_ALIAS} instead "
            "and start the server with --host 0.0.0.0"
        )
    return f"start the server, or correct the port; nothing listens on {port}"


def _silent_advice(host: str) -> str:
    if host == HOST_ALIAS:
        return "the host's firewall keeps containers out: allow Docker's bridge network to reach this port"
    return "a firewall drops the packets, or the address is wrong"


def reach_proxy(proxy: str) -> list[Finding]:
    """Try the way to a proxy; what lies behind it only a request tells."""
    found = [replace(one, step="proxy") for one in reach(proxy)]
    return [*found[:-1], replace(found[-1], todo="")] if found[-1].level == "ok" else found


def _tls(parts: SplitResult, host: str, port: int, certificates: Tls | None) -> list[Finding]:
    try:
        context = trusted_context(certificates)
    except ProbeError as error:
        return [fail("tls", str(error))]
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT) as raw,
            context.wrap_socket(raw, server_hostname=host) as session,
        ):
            version, certificate = session.version(), session.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return [_distrusted(host, error, certificates)]
    except (ssl.SSLError, OSError, ValueError) as error:
        if _speaks_plainly(host, port):
            plain = parts._replace(scheme="http").geturl()
            return [fail("tls", f"{host}:{port} speaks plain HTTP, not TLS", f"write {plain}")]
        reason = (getattr(error, "reason", None) or getattr(error, "strerror", None) or "it broke").lower()
        return [
            fail(
                "tls",
                f"the TLS handshake with {host}:{port} fails: {reason.replace('_', ' ')}",
                "check the server's TLS settings",
            )
        ]
    return [_expiry(version or "TLS", str(certificate.get("notAfter", "")))]


def _expiry(version: str, not_after: str) -> Finding:
    days = int((ssl.cert_time_to_seconds(not_after) - time.time()) // 86400) if not_after else None
    if days is None:
        return ok("tls", f"{version}, the certificate is trusted")
    text = f"{version}, the certificate is trusted and expires in {plural(days, 'day')}"
    return warn("tls", text, "renew it") if days < EXPIRES_SOON_DAYS else ok("tls", text)


def _distrusted(host: str, error: ssl.SSLCertVerificationError, certificates: Tls | None) -> Finding:
    trust = "write tls: with ca_file:, the file that holds its authority's certificate"
    if certificates is not None and certificates.ca_file is not None:
        trust = f"{certificates.ca_file} does not hold its authority; write the one that signed it"
    code = error.verify_code
    if code in _EXPIRED:
        return fail("tls", f"the certificate of {host} has expired", "renew it")
    if code in _SELF_SIGNED:
        return fail("tls", f"the certificate of {host} is self-signed or from a private authority", trust)
    if code in _NO_ISSUER:
        return fail(
            "tls",
            f"the issuer of {host}'s certificate is unknown",
            f"let the server send its whole chain, or, for a private authority, {trust}",
        )
    if code in _WRONG_NAME:
        return fail("tls", f"the certificate is not for {host}", "write the host name that the certificate holds")
    return fail("tls", f"the certificate of {host} is not trusted: {error.verify_message}", trust)


def _speaks_plainly(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=TIMEOUT) as raw:
        raw.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        return raw.recv(5) == b"HTTP/"
    return False
