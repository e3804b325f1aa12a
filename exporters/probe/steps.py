"""Work that is done again and again in steps: one that fails is told once, and keeps no other from its turn."""

import logging
from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)


class Steps:
    """Runs steps in their order and remembers which fail, so that each failure is a line of the log and not one a turn.

    For one thread at a time.
    """

    def __init__(self) -> None:
        self._failing: dict[str, str] = {}  # how, by the step's name

    def run(self, steps: Iterable[tuple[str, Callable[[], None]]]) -> None:
        """Run the steps, each under a name that says what it does, such as "rendering /metrics"; raises nothing."""
        for name, step in steps:
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
