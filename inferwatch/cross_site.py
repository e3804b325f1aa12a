"""Whether a page of another site makes a browser ask: where an answer costs something, it is refused.

A page may point an image, a form or a script at any address that its reader's browser reaches, this port included.
Browsers say with Sec-Fetch-Site whose page asks (https://www.w3.org/TR/fetch-metadata/), but only over HTTPS and to
loopback addresses. A name of the page's own that was made to lead to 127.0.0.1 (DNS rebinding) shows in Host. What no
browser sends, such as a scrape, has neither.
"""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

# The reader typed the address, or follows a link of a page of this server.
_OUR_OWN = ("none", "same-origin")


def refusal(headers: Mapping[str, str], *, on_loopback: bool) -> str | None:
    """Return a sentence that says why a request is refused; None if it is not.

    Args:
        headers: Those of the request, their names in lower case.
        on_loopback: Whether only this machine reaches the server, so that its names are known.
    """
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OUR_OWN:
        return "a page of another site asks for what costs something; type the address, or follow a link of this server"
    host = headers.get("host")
    if on_loopback and host is not None and not _is_loopback(host):
        return "the request is for another host; a server that listens on loopback is asked as localhost or 127.0.0.1"
    return None


def _is_loopback(host: str) -> bool:
    """Say whether a Host header names this machine itself, whose own name may lead to loopback (Debian's does)."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
        return name in ("localhost", socket.gethostname().lower()) or ip_address(name).is_loopback
    except ValueError:
        return False
