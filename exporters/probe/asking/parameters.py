"""Parameters of a request that a server refuses: found out by a probe that fails, and left out by those after it.

Nothing is sent a second time inside a probe; the refusal is that probe's outcome, and the next one does without.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus

# The short limit of the request that primes a warm probe; models that reason first may refuse it for the probe's own.
PRIMER_LIMIT = "primer_max_tokens"
# What a probe asks for and can do without; newer models of OpenAI want the limit under another name.
REPLACED = {
    "stream_options": "",
    "max_tokens": "max_completion_tokens",
    "temperature": "",
    "store": "",
    PRIMER_LIMIT: "max_tokens",
}
REFUSING = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
# What opens a list of what a server would take, as serde's "expected one of"; "not a supported parameter" does not.
_ACCEPTED = re.compile(
    r"(?<!n[o']t )(?<!n[o']t a )"
    r"\b(?:expected\b|(?:supported|allowed|valid|permitted|accepted) (?:param|field|arg|key))",
    re.IGNORECASE,
)


def fitted(body: Mapping[str, object], refused: Collection[str]) -> dict[str, object]:
    """Return the request without the parameters that are refused, or with what replaces them."""
    fit = {name: value for name, value in body.items() if name not in refused}
    for name in refused:
        if (other := REPLACED.get(name)) and name in body:
            fit[other] = body[name]
    return fit


def refused_parameter(status: int, answer: object, sent: Collection[str]) -> str | None:
    """Return the parameter of `sent` that an answer names as refused, the first of several; None if it names none.

    Args:
        status: What the server answered.
        answer: Its JSON.
        sent: The names in the request.
    """
    if status not in REFUSING or not isinstance(answer, dict):
        return None
    error = answer.get("error", answer)
    error = error if isinstance(error, dict) else {"message": error}
    details = _details(answer, error)
    sentence = " ".join(text for text in (error.get("message"), *details) if isinstance(text, str))
    # OpenAI names it; a list of `detail` names its place; others only write a sentence.
    places = _named_by_param(error.get("param")) or {place for detail in details for place in _places(detail)}
    candidates = [name for name in REPLACED if name in sent]
    named = [name for name in candidates if name in places] if places else _named_in(sentence, candidates)
    # A limit that is too high is refused too; only a server that names the other parameter wants that one.
    if "max_tokens" in named and REPLACED["max_tokens"] not in sentence:
        named.remove("max_tokens")
    return named[0] if named else None


def _named_by_param(param: object) -> set[str]:
    """Return what `param` names, sent or not, of `stream_options.include_usage` the first part.

    Gateways put "" there, "none" or a status, which name nothing.
    """
    name = re.split(r"[.\[]", param)[0] if isinstance(param, str) else ""
    return {name} if name.isidentifier() and name.lower() not in ("none", "null") else set()


def _named_in(sentence: str, candidates: Sequence[str]) -> list[str]:
    """Return what a sentence names before it lists what is accepted.

    Of several those without a value, since it may quote the whole request.
    """
    sentence = _ACCEPTED.split(sentence, maxsplit=1)[0]
    named = [name for name in candidates if re.search(rf"\b{name}\b", sentence)]
    if len(named) < 2:
        return named
    return [name for name in named if re.search(rf"\b{name}\b(?!['\"`]?\s*[:=])", sentence)]


def _details(answer: Mapping[str, object], error: Mapping[str, object]) -> list[object]:
    """Return what FastAPI calls `detail`, wherever a server puts it: Mistral into its message."""
    holders = (answer, answer.get("message"), error.get("message"))
    return [holder["detail"] for holder in holders if isinstance(holder, dict) and "detail" in holder]


def _places(detail: object) -> set[str]:
    """Return the parameter that each `loc` of FastAPI's list of what is wrong leads to.

    Below `body` that is the next part, whatever lies below it; elsewhere it is the last.
    """
    listed = detail if isinstance(detail, list) else []
    places = [item.get("loc") for item in listed if isinstance(item, dict)]
    found = [place[1:2] if place[0] == "body" else place[-1:] for place in places if isinstance(place, list) and place]
    return {name for part in found for name in part if isinstance(name, str)}
