"""Parameters of a request that a server refuses: found out by a probe that fails, and left out by those after it.

Nothing is sent a second time inside a probe; the refusal is that probe's outcome, and the next one does without.
"""

import re
import threading
from collections.abc import Collection, Mapping
from http import HTTPStatus

from inferwatch.config import Target

# What a probe asks for and can do without; newer models of OpenAI want the limit under another name.
REPLACED = {"stream_options": "", "max_tokens": "max_completion_tokens", "temperature": ""}
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


class Refusals:
    """Remembers by target which parameters it refuses; a target with another URL, API or model is another one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: dict[tuple[str, ...], frozenset[str]] = {}

    def of(self, target: Target, model: str) -> frozenset[str]:
        """Return the parameters that the target refuses for this model, as far as is known."""
        return self._refused.get(_key(target, model), frozenset())

    def add(self, target: Target, model: str, parameter: str) -> bool:
        """Remember a refusal; return whether it was not known."""
        with self._lock:
            known = self.of(target, model)
            self._refused[_key(target, model)] = known | {parameter}
        return parameter not in known

    def forget_all_but(self, targets: Collection[str]) -> None:
        """Drop the targets that are configured no more."""
        with self._lock:
            self._refused = {key: names for key, names in self._refused.items() if key[0] in targets}

    def by_target(self) -> Mapping[str, frozenset[str]]:
        """Return what each target refuses for any model that was asked for."""
        found: dict[str, frozenset[str]] = {}
        for (name, *_), refused in list(self._refused.items()):
            found[name] = found.get(name, frozenset()) | refused
        return found


def _key(target: Target, model: str) -> tuple[str, ...]:
    return target.name, target.url, target.api, model
