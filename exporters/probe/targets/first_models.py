"""Remembers which model is asked for where the file names none: the first that the server listed."""

import threading
from collections.abc import Iterable

from exporters.probe.asking.transcript import Transcript
from exporters.probe.targets.models import served_models
from inferwatch.config import Target


class FirstModels:
    """Knows the models by target and URL; another server may list another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[tuple[str, str], str] = {}

    def of(self, target: Target) -> str:
        """Return the model that is asked for, or "" while it is not known."""
        return target.model or self._models.get((target.name, target.url), "")

    def find(self, target: Target, timeout: float, transcript: Transcript | None = None) -> str:
        """Return the model to ask for; a server is asked what it lists while that is not known.

        Raises:
            ProbeError: If it lists none within `timeout` seconds.
        """
        if model := self.of(target):
            return model
        model = served_models(target, timeout, transcript)[0]
        with self._lock:
            self._models[target.name, target.url] = model
        return model

    def forget(self, target: Target) -> None:
        """Ask again before the next probe, as the server may serve another model since."""
        with self._lock:
            self._models.pop((target.name, target.url), None)

    def forget_all_but(self, targets: Iterable[Target]) -> None:
        """Drop what is probed no more, is elsewhere, or has a model of its own in the file."""
        known = {(target.name, target.url) for target in targets if target.model is None}
        with self._lock:
            self._models = {place: model for place, model in self._models.items() if place in known}
