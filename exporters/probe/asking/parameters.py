"""Parameters of a request that a server refuses: found out by a probe that fails, and left out by those after it.

Nothing is sent a second time inside a probe; the refusal is that probe's outcome, and the next one does without.
"""

import re
from collections.abc import Collection, Mapping
from http import HTTPStatus

# What a probe asks for and can do without; newer models of OpenAI want the limit under another name.
REPLACED = {"stream_options": "", "max_tokens": "max_completion_tokens", "temperature": "", "store": ""}
_REFUSING = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


def fitted(body: Mapping[str, object], refused: Collection[str]) -> dict[str, object]:
    """Return the request without the parameters that are refused, or with what replaces them."""
    fit = {name: value for name, value in body.items() if name not in refused}
    for name in refused:
        if (other := REPLACED.get(name)) and name in body:
            fit[other] = body[name]
    return fit


def refused_parameter(status: int, answer: object, sent: Collection[str]) -> str | None:
    """Return the parameter of `sent` that an answer names as refused; None if it names none, or several.

    Args:
        status: What the server answered.
        answer: Its JSON.
        sent: The names in the request.
    """
    if status not in _REFUSING or not isinstance(answer, dict):
        return None
    error = answer.get("error", answer)
    error = error if isinstance(error, dict) else {"message": error}
    candidates = [name for name in REPLACED if name in sent]
    # OpenAI names it; a list of `detail` names its place; others only write a sentence.
    places = {error.get("param")} if isinstance(error.get("param"), str) else _places(answer.get("detail"))
    named = [name for name in candidates if name in places]
    if not places:
        sentence = _sentence(error.get("message")) or _sentence(answer.get("detail"))
        named = [name for name in candidates if re.search(rf"\b{name}\b", sentence)]
    # A limit that is too high is refused too; only a server that names the other parameter wants that one.
    if named == ["max_tokens"] and REPLACED["max_tokens"] not in _sentence(error.get("message")):
        return None
    return named[0] if len(named) == 1 else None


def _sentence(value: object) -> str:
    return value if isinstance(value, str) else ""


def _places(detail: object) -> set[object]:
    """Return the last part of each `loc` in FastAPI's list of what is wrong."""
    listed = detail if isinstance(detail, list) else []
    places = [item.get("loc") for item in listed if isinstance(item, dict)]
    return {place[-1] for place in places if isinstance(place, list) and place and isinstance(place[-1], str)}
