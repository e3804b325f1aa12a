"""Blots secrets out of what is shown of a probe, also where a server echoes them, token by token or encoded."""

import base64
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from urllib.parse import quote

from exporters.probe.failures import ProbeError
from exporters.probe.wire.way import way_to
from inferwatch.config import Target
from inferwatch.secrets import SecretError, auth_headers

BLOT = "[secret]"
# The word that says how a header authorises is no secret, and blotting it out would hide what was sent.
_SCHEME = re.compile(r"(?i)(bearer|basic) +")
# A shorter key is a placeholder, such as EMPTY or ollama, which a server may say for other reasons.
_WORD = 8
# Keys of somebody else, e.g. in a prompt, in the forms that their makers gave them so that they are recognised.
_SHAPES = (
    r"\b(?:sk|pk|rk|hf|gsk|xai|nvapi|pplx|ghp|gho|glpat|xox[abp])[-_][a-z0-9_-]{12,}|\bAKIA[0-9A-Z]{16}\b"
    r"|(?<=\bbearer )[a-z0-9._~+/=-]{12,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)


class Redaction:
    """Knows the secrets that must not be shown.

    Args:
        secrets: Their values as they are sent, e.g. of a header; empty ones say nothing.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._values = {value for secret in secrets for value in _values(secret)}

    @cached_property
    def _known(self) -> re.Pattern[str] | None:
        exact = _exact(value for value in self._values if len(value) >= _WORD)
        return re.compile("|".join(exact), re.IGNORECASE) if exact else None

    @cached_property
    def _shown(self) -> re.Pattern[str]:
        # A model that repeats a key may be cut off within it.
        begun = [re.escape(value[:_WORD]) + r"[^\s\"']*" for value in self._values if len(value) >= 2 * _WORD]
        return re.compile("|".join([*_exact(self._values), *begun, _SHAPES]), re.IGNORECASE)

    @classmethod
    def of(cls, target: Target, sent: Iterable[str] = ()) -> "Redaction":
        """Return what hides the secrets that requests to a target carry now; one that cannot be read is not sent.

        Args:
            target: Whose secrets they are.
            sent: Values of headers that were sent before; a key may have been replaced since.
        """
        secrets = [*sent]
        with contextlib.suppress(SecretError):
            secrets += auth_headers(target.auth).values()
        with contextlib.suppress(ProbeError):
            secrets += way_to(target).proxy_headers().values()
        return cls(secrets)

    def text(self, text: str) -> str:
        """Return a text without secrets, and without what has the form of one."""
        return self.parts([text])[0]

    def parts(self, parts: Sequence[str]) -> list[str]:
        """Return the parts of one text without secrets; one that is spread over several is blotted out of all."""
        whole = "".join(parts)
        spans = [found.span() for found in self._shown.finditer(whole)]
        shown, end = [], 0
        for part in parts:
            begin, end = end, end + len(part)
            shown.append(_without(whole, begin, end, spans))
        return shown

    def known(self, word: str) -> str:
        """Return a server's word without our secrets; what only looks like one, such as a long name, stays."""
        return self._known.sub(BLOT, word) if self._known else word

    def document(self, value: object) -> object:
        """Return a JSON document without secrets in its keys and texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.document(item) for item in value]
        if isinstance(value, dict):
            return {self.text(str(key)): self.document(item) for key, item in value.items()}
        return value


def _values(header: str) -> Iterator[str]:
    """Yield what is secret in a header's value: without its scheme, and of a login the password too."""
    scheme = _SCHEME.match(header)
    value = header[scheme.end() :] if scheme else header
    if value:
        yield value
    if scheme and scheme[1].lower() == "basic" and (login := _decoded(value)):
        yield from {login, login.partition(":")[2]} - {""}


def _exact(values: Iterable[str]) -> list[str]:
    spellings = {spelling for value in values for spelling in _spellings(value)}
    # The longest first, so that a spelling that holds another is blotted out as a whole.
    return [re.escape(spelling) for spelling in sorted(spellings, key=len, reverse=True)]


def _spellings(value: str) -> set[str]:
    """Return what a secret may look like elsewhere."""
    encoded = value.encode("utf-8")
    in_base64 = {base64.b64encode(encoded), base64.urlsafe_b64encode(encoded)}
    return {value, json.dumps(value)[1:-1], quote(value, safe=""), *(each.decode().rstrip("=") for each in in_base64)}


def _decoded(value: str) -> str | None:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8")
    except ValueError:
        return None


def _without(whole: str, begin: int, end: int, spans: Sequence[tuple[int, int]]) -> str:
    """Return whole[begin:end] without the spans; each leaves a blot where it begins."""
    shown, at = [], begin
    for first, last in spans:
        if last <= begin or first >= end:
            continue
        shown += [whole[at : max(first, at)], BLOT if first >= begin else ""]
        at = min(last, end)
    return "".join([*shown, whole[at:end]])
