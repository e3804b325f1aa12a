"""The file, as the Prometheus exporter-toolkit defines it (its docs/web-configuration.md, read in November 2026).

What Python's `ssl` or this server cannot do is refused by name, since a lock that is ignored is worse than none.
"""

import re
from typing import Annotated, Literal, NoReturn

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from inferwatch.strict_yaml import Finding, FindingsError, Strict

TlsVersion = Literal["TLS12", "TLS13"]
ClientAuth = Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"]
# Go's names of the suites of TLS 1.2, and OpenSSL's; those of TLS 1.3 are not configurable in either.
CIPHERS = {
    f"TLS_ECDHE_{kind}_WITH_{go}": f"ECDHE-{kind}-{openssl}"
    for kind in ("ECDSA", "RSA")
    for go, openssl in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("AES_128_CBC_SHA", "AES128-SHA"),
        ("AES_256_CBC_SHA", "AES256-SHA"),
    )
}
CIPHERS_OF_TLS13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
# The headers that the toolkit lets a file set, with the values that it takes; none: any text.
HEADERS: dict[str, tuple[str, ...]] = {
    "Content-Security-Policy": (),
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
}
_HASH = re.compile(r"\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{53}")
# Checking one guess took 60 ms of a CPU at 10 and 0.95 s at 14 (measured), and anyone may guess.
HIGHEST_COST = 14


def _unsupported(advice: str) -> BeforeValidator:
    def refuse(_: object) -> NoReturn:
        raise ValueError(f"not supported here: {advice}")

    return BeforeValidator(refuse)


def _password_hash(value: str) -> str:
    match = _HASH.fullmatch(value)
    if match is None:
        raise ValueError("this is no bcrypt hash; make one with: htpasswd -nBC 10 NAME, and never write the password")
    if not 4 <= int(match[1]) <= HIGHEST_COST:
        raise ValueError(f"the cost of this hash is {int(match[1])}; make one with a cost from 4 to {HIGHEST_COST}")
    return value


def _user(value: str) -> str:
    if ":" in value or not value.isprintable():
        raise ValueError("a user's name cannot hold a colon or a control character; choose another")
    return value


def _cipher(value: str) -> str:
    if value not in CIPHERS and value not in CIPHERS_OF_TLS13:
        raise ValueError(f"{value[:60]!r} is not a cipher suite; write one of {', '.join(CIPHERS)}")
    return value


File = Annotated[str, Field(min_length=1)]
Inline = Annotated[None, _unsupported("keep it in a file, and name that with cert_file, key_file or client_ca_file")]
PasswordHash = Annotated[str, AfterValidator(_password_hash)]
UserName = Annotated[str, Field(min_length=1), AfterValidator(_user)]


class TlsServerConfig(Strict):
    """`tls_server_config`; files are relative to the folder of the configuration."""

    cert_file: File
    key_file: File
    client_ca_file: File | None = None
    client_auth_type: ClientAuth = "NoClientCert"
    client_allowed_sans: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    min_version: TlsVersion = "TLS12"
    max_version: TlsVersion = "TLS13"
    cipher_suites: list[Annotated[str, AfterValidator(_cipher)]] = Field(default_factory=list)
    prefer_server_cipher_suites: bool = True
    cert: Inline = None
    key: Inline = None
    client_ca: Inline = None
    curve_preferences: Annotated[None, _unsupported("remove it, and OpenSSL's own order holds")] = None

    @model_validator(mode="after")
    def _consistent(self) -> "TlsServerConfig":
        found: list[Finding] = []
        if self.min_version > self.max_version:
            found.append((("min_version",), f"is above max_version, {self.max_version}"))
        if self.client_ca_file is None and self.client_auth_type != "NoClientCert":
            sentence = f"{self.client_auth_type} needs client_ca_file, the authority that client certificates come from"
            found.append((("client_auth_type",), sentence))
        if self.client_ca_file is not None and self.client_auth_type == "NoClientCert":
            sentence = "has no effect without client_auth_type: RequireAndVerifyClientCert"
            found.append((("client_ca_file",), sentence))
        if self.client_allowed_sans and self.client_auth_type != "RequireAndVerifyClientCert":
            sentence = "needs client_auth_type: RequireAndVerifyClientCert, else a client could show no certificate"
            found.append((("client_allowed_sans",), sentence))
        if self.cipher_suites and self.min_version == "TLS12" and not set(self.cipher_suites) & set(CIPHERS):
            sentence = f"names no suite of TLS 1.2; add one, such as {next(iter(CIPHERS))}, or write min_version: TLS13"
            found.append((("cipher_suites",), sentence))
        return FindingsError.raised(found, self)


class HttpServerConfig(Strict):
    """`http_server_config`. `http2` is taken and changes nothing: the server speaks HTTP/1."""

    http2: bool = True
    headers: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known_headers(self) -> "HttpServerConfig":
        found: list[Finding] = []
        for name, value in self.headers.items():
            if name not in HEADERS:
                found.append((("headers", name), f"this header cannot be set; known here: {', '.join(HEADERS)}"))
            elif HEADERS[name] and value not in HEADERS[name]:
                found.append((("headers", name), f"write {' or '.join(HEADERS[name])}"))
            elif not (value.isascii() and value.isprintable()):
                found.append((("headers", name), "write plain printable characters on one line"))
        return FindingsError.raised(found, self)


class WebConfig(Strict):
    """The whole file."""

    tls_server_config: TlsServerConfig | None = None
    http_server_config: HttpServerConfig = HttpServerConfig()
    basic_auth_users: dict[UserName, PasswordHash] = Field(default_factory=dict)
    rate_limit: Annotated[None, _unsupported("limit requests in a proxy before this server, or remove it")] = None
