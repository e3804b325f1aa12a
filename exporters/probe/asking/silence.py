"""How long an answer may be silent: to its first token, and from each token to the next, judged by their stamps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from exporters.probe.asking.reader import LIMIT_MARGIN_SECONDS
from exporters.probe.protocols import StreamEvent
from inferwatch.config import Scenario


@dataclass(slots=True)
class Silence:
    """What is allowed at a moment of one answer.

    Attributes:
        since: When the silence began: the start of sending, or the last token, in seconds of `time.perf_counter`.
        seconds: How long it may last, None without a limit.
        gap: The same from the first token on.
    """

    since: float
    seconds: float | None
    gap: float | None

    @property
    def longest_hold(self) -> float:
        """How many seconds pieces may add up unseen: a token among them begins a limit that must be kept too."""
        return math.inf if self.gap is None else max(self.gap - LIMIT_MARGIN_SECONDS, 0.0)

    def broken_by(self, at: float, events: Sequence[StreamEvent]) -> bool:
        """Say whether these events bring a token that came later than allowed."""
        late = self.seconds is not None and at - self.since > self.seconds
        return late and any(event.channel is not None for event in events)

    def hear(self, at: float, events: Sequence[StreamEvent]) -> bool:
        """Wait for the next token from `at` on, if these events hold one; for none after the reason of the end.

        Returns:
            Whether the server says that nothing follows.
        """
        token = ended = done = False
        for event in events:
            token = token or event.channel is not None
            ended = ended or event.finish_reason is not None
            done = done or event.done
        if ended or done:
            self.seconds = self.gap = None
        elif token:
            self.since, self.seconds = at, self.gap
        return done


def silence_of(scenario: Scenario, sent_at: float) -> Silence:
    """Return what a scenario allows an answer whose request was sent then; one in one piece has no tokens to time."""
    if not scenario.stream:
        return Silence(sent_at, None, None)
    return Silence(sent_at, scenario.ttft_timeout, scenario.gap_timeout)
