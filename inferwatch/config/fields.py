"""The checks of single values: names, URLs, addresses, places of secrets. Each error says what to write instead.

No error repeats a value that may hold a secret.
"""

import ipaddress
import re
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from inferwatch.durations import between, parse_duration

_NAME = re.compile(r"[a-z0-9-]{1,63}")
_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*\.?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
PROXY_EXAMPLE = "http://10.0.0.1:3128"
# What an OpenAI SDK appends to base_url; it is a common mistake to write it out.
_ENDPOINTS = ("/chat/completions", "/completions", "/models", "/responses", "/embeddings", "/v1/messages", "/api/chat")
# Labels of llm_target_info, and what a scrape or a rule sets.
TAKEN_LABELS = frozenset({"target", "url", "api", "engine", "model_name", "instance", "job", "le", "quantile"})


def _shown(value: str) -> str:
    return repr(value if len(value) <= 60 else value[:57] + "...")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"{_shown(value)} is not a name; use lower-case letters, digits and hyphens (at most 63), such as chat-prod"
        )
    return value


def tool_name(value: str) -> str:
    """Return a tool's name that every API takes; raises ValueError."""
    if not _TOOL.fullmatch(value):
        raise ValueError(f"{_shown(value)} is not a tool's name; use letters, digits, _ and - (at most 64)")
    return value


def _split_url(value: str, example: str) -> SplitResult:
    if "@" in value:
        raise ValueError("a URL must not hold a user or a password; use auth: with bearer_file, bearer_env or header")
    if "?" in value or "#" in value:
        raise ValueError("a URL must not hold ? or #; put a key into auth:, and leave out anything else")
    if "$" in value:
        raise ValueError("inferwatch replaces no variables in this file; write the URL out")
    wrong = ValueError(f"{_shown(value)} is not a URL; write one such as {example}")
    if not value.isprintable() or " " in value or "\\" in value:
        raise wrong
    try:
        parts = urlsplit(value)
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not is_host(parts.hostname or "", parts.netloc.startswith("[")):
        raise wrong
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError(f"{_shown(value)} has a port that is not a number from 1 to 65535")
    return parts


def is_host(host: str, in_brackets: bool) -> bool:
    """Say whether this is a host's name or address; an IPv6 address must stand in brackets."""
    if in_brackets:
        try:
            return bool(ipaddress.IPv6Address(host))
        except ValueError:
            return False
    return _HOST.fullmatch(host) is not None


def _base_url(value: str) -> str:
    _split_url(value, "http://10.0.0.7:8000/v1")
    base = value.rstrip("/")
    for endpoint in _ENDPOINTS:
        if base.endswith(endpoint):
            raise ValueError(f"write the base URL, without {endpoint}: {base.removesuffix(endpoint)}")
    return base


def _metrics_url(value: str) -> str:
    example = "http://10.0.0.7:8000/metrics"
    if not _split_url(value, example).path.strip("/"):
        raise ValueError(f"{_shown(value)} has no path; write the metrics' address in full, such as {example}")
    return value


def _asked_url(value: str) -> str:
    """A URL that may hold a query, such as one to Prometheus."""
    base, _, query = value.partition("?")
    _split_url(base, "http://10.0.0.1:8080/status")
    if not query.isprintable() or " " in query or "#" in query:
        raise ValueError("the query of this URL holds a space or a #; write %20 and %23")
    return value


def _label_name(value: str) -> str:
    if not _LABEL.fullmatch(value) or value.startswith("__"):
        raise ValueError(
            f"{_shown(value)} is not a label's name; use letters, digits and underscores, and begin with a letter"
        )
    if value in TAKEN_LABELS:
        raise ValueError(f"the label {value!r} is set by inferwatch; choose another name")
    return value


def _proxy_url(value: str) -> str:
    if "@" in value:
        raise ValueError("a URL must not hold a user or a password; write a file that does into proxy_auth_file:")
    parts = _split_url(value, PROXY_EXAMPLE)
    if parts.scheme != "http":
        raise ValueError(f"a proxy is spoken to over plain HTTP; write one such as {PROXY_EXAMPLE}")
    if parts.path.strip("/"):
        raise ValueError(f"{_shown(value)} has a path; write only host and port, such as {PROXY_EXAMPLE}")
    return value.rstrip("/")


def _file(value: str) -> str:
    if "/" not in value:
        raise ValueError("write a path that holds a slash, such as /etc/ssl/llm-ca.pem or ./llm-ca.pem")
    return value


def _secret_file(value: str) -> str:
    # Asking for a slash keeps a key that was written here by mistake out of every later message.
    if "/" not in value:
        raise ValueError("write the path of a file that holds the key, such as /run/secrets/llm-key, never the key")
    return value


def _secret_variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError("write the name of an environment variable that holds the key, such as LLM_KEY, never the key")
    return value


def _header_name(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError("this is not a header's name; write one such as api-key, without the colon")
    return value


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    good_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) <= 65535
    if not good_port or not is_host(host[1:-1] if bracketed else host, bracketed):
        raise ValueError(f"{_shown(value)} is not an address; write host:port, such as 10.0.0.7:9810")
    return value


Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, AfterValidator(_name)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
MetricsUrl = Annotated[str, AfterValidator(_metrics_url)]
AskedUrl = Annotated[str, AfterValidator(_asked_url)]
ProxyUrl = Annotated[str, AfterValidator(_proxy_url)]
LabelName = Annotated[str, AfterValidator(_label_name)]
File = Annotated[str, AfterValidator(_file)]
SecretFile = Annotated[str, AfterValidator(_secret_file)]
SecretVariable = Annotated[str, AfterValidator(_secret_variable)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
Address = Annotated[str, AfterValidator(_address)]
# Below a second a probe is a load test. Above a day the rules, which look back hours, would see no probes.
Seconds = Annotated[float, BeforeValidator(parse_duration)]
Interval = Annotated[float, BeforeValidator(between("1s", "1d"))]
# A longer one would let a hanging server hold one of the prober's workers for good.
Timeout = Annotated[float, BeforeValidator(between("1ms", "1h"))]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
