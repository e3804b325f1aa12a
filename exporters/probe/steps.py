"""Work that is done again and again in steps: one that fails is told once, and keeps no other from its turn."""

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)


class Steps:
    """Runs steps and remembers which fail, so that a failure is a line of the log once, and not at each turn.

    Several threads may run steps of different names at the same time.
    """

    def __init__(self) -> None:
        self._failing: dict[str, str] = {}  # how, by the step's name

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step under a name that says what it does, such as "rendering /metrics"; raises nothing."""
        try:
            step()
        except Exception as error:
            # By its type: the same failure with another number in its text is no news.
            how = type(error).__name__
            if self._failing.get(name) != how:
                log.exception("inferwatch failed at %s; it is tried again, and the rest goes on", name)
            self._failing[name] = how
        else:
            if self._failing.pop(name, None) is not None:
                log.info("%s works again", name)
