"""How the requests to one target travel: its certificates, and a proxy, which is used only if the file names it."""

import base64
from dataclasses import dataclass
from urllib.parse import urlsplit

from exporters.probe.failures import ProbeError
from inferwatch.config import Target
from inferwatch.config.connection import Tls
from inferwatch.secrets import SecretError, secret_from_file


@dataclass(frozen=True, slots=True)
class Way:
    """What the sections `tls`, `proxy` and `proxy_auth_file` of a target say."""

    tls: Tls | None = None
    proxy: str | None = None
    proxy_auth_file: str | None = None

    @property
    def proxy_host(self) -> str:
        """The proxy's host and port, "" without one."""
        return urlsplit(self.proxy).netloc if self.proxy else ""

    def proxy_headers(self) -> dict[str, str]:
        """Return what authorises requests at the proxy; raises ProbeError if the file of it cannot be read."""
        if self.proxy_auth_file is None:
            return {}
        try:
            login = secret_from_file(self.proxy_auth_file, "proxy_auth_file")
        except SecretError as error:
            raise ProbeError("connect", str(error)) from None
        # Basic, as RFC 7617 says; it is what proxies ask for.
        return {"Proxy-Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


DIRECT = Way()


def way_to(target: Target) -> Way:
    """Return how requests to a target's URL travel; its metrics are asked for directly, as Prometheus does it."""
    return Way(target.tls, target.proxy, target.proxy_auth_file)


def refused_by_proxy(way: Way, host: str, status: int | None, late: float | None = None) -> ProbeError:
    """Return the failure of a request that the proxy did not pass on.

    Args:
        way: With the proxy.
        host: Host and port that were asked for.
        status: What the proxy answered; None if that was no HTTP.
        late: The deadline in seconds, if that is what ended it.
    """
    if late is not None:
        sentence = f"the proxy {way.proxy_host} did not connect to {host} within {late:g} s; its log says why"
    elif status is None:
        sentence = f"{way.proxy_host} does not answer as an HTTP proxy; correct proxy:"
    elif status == 407:
        wrong = "refuses the login in" if way.proxy_auth_file else "asks for a login; write its user:password into"
        sentence = f"the proxy {way.proxy_host} {wrong} proxy_auth_file: (407)"
    else:
        sentence = f"the proxy {way.proxy_host} answered {status} instead of connecting to {host}; its log says why"
    return ProbeError("connect", sentence, status)
