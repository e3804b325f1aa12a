"""Which parameters each target refuses, remembered for a while and across restarts."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.probe.asking.parameters import REPLACED
from exporters.probe.state import StateFile
from inferwatch.config import Target

FILE_NAME = "probe-refused-parameters.json"
# A server that was updated may take by now what it refused; then a probe sends it again, and fails if it does not.
VALID_SECONDS = 7 * 86400.0


@dataclass(frozen=True)
class _Place:
    """Who refuses: a target with another URL, API, engine or model is another one."""

    target: str
    url: str
    api: str
    engine: str
    model: str

    @classmethod
    def of(cls, target: Target, model: str) -> "_Place":
        return cls(target.name, target.url, target.api, target.engine, model)


_Key = tuple[_Place, str]  # and the parameter


class Refusals:
    """Remembers refusals for a week, in memory and in the state folder.

    Args:
        clock: Returns Unix time.
        folder: Where they are kept across restarts; None keeps them in memory alone.
    """

    def __init__(self, clock: Callable[[], float] = time.time, folder: Path | None = None) -> None:
        self._clock = clock
        self._file = StateFile(folder, FILE_NAME, "what targets refuse")
        self._lock = threading.Lock()
        self._changed = False
        # When each refusal was found out.
        self._since = self._file.load(_read, "is found out again") or {}

    def of(self, target: Target, model: str) -> frozenset[str]:
        """Return the parameters that the target refuses for this model, as far as is known."""
        place = _Place.of(target, model)
        return frozenset(parameter for known, parameter in self._valid() if known == place)

    def add(self, target: Target, model: str, parameter: str) -> bool:
        """Remember a refusal; return whether it was not known."""
        key = _Place.of(target, model), parameter
        known = key in self._valid()
        with self._lock:
            self._since[key] = self._clock()
            self._changed = True
        return not known

    def apply(self, targets: Iterable[Target]) -> None:
        """Drop what belongs to targets that are configured no more, or otherwise than when it was found out."""
        configured = {target.name: target for target in targets}
        with self._lock:
            self._since = {
                key: since for key, since in self._since.items() if _is_of(key[0], configured.get(key[0].target))
            }
            self._changed = True

    def by_target(self) -> Mapping[str, frozenset[str]]:
        """Return what each target refuses for any model that was asked for."""
        found: dict[str, frozenset[str]] = {}
        for place, parameter in self._valid():
            found[place.target] = found.get(place.target, frozenset()) | {parameter}
        return found

    def save(self) -> None:
        """Write them to their file if they have changed; the next call tries again what fails."""
        if self._changed and not self._file.save(self._kept):
            self._changed = True

    def _valid(self) -> list[_Key]:
        with self._lock:
            return [key for key, since in self._since.items() if self._holds(since)]

    def _kept(self) -> object:
        with self._lock:
            self._changed = False
            return [
                vars(place) | {"parameter": parameter, "since": since}
                for (place, parameter), since in self._since.items()
                if self._holds(since)
            ]

    def _holds(self, since: float) -> bool:
        # A clock that was put back must not keep them for longer.
        return abs(self._clock() - since) < VALID_SECONDS


def _is_of(place: _Place, target: Target | None) -> bool:
    return target is not None and place == _Place.of(target, target.model or place.model)


def _read(kept: Any) -> dict[_Key, float]:
    found = {}
    for one in kept:
        place = _Place(*(str(one[name]) for name in ("target", "url", "api", "engine", "model")))
        if one["parameter"] in REPLACED:
            found[place, str(one["parameter"])] = float(one["since"])
    return found
