"""What a web configuration means for a server: with which context it shakes hands, and whom it lets in."""

import ssl
from dataclasses import dataclass

from inferwatch.web_config.passwords import Passwords


@dataclass(frozen=True)
class Access:
    """One good state of the file and of the certificates that it names.

    Attributes:
        tls: The context of new connections; None for plain HTTP.
        client_names: Subject alternative names of which a client's certificate must hold one; empty allows any.
        passwords: Who may ask; None lets everyone.
        headers: Further headers of every answer.
        summary: What is in force, in words.
    """

    tls: ssl.SSLContext | None = None
    client_names: frozenset[str] = frozenset()
    passwords: Passwords | None = None
    headers: tuple[tuple[str, str], ...] = ()
    summary: str = "plain HTTP without passwords"
