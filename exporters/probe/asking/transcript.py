"""What one probe sent and was answered, word for word: with its prompt, its answer and its secrets.

Nothing keeps one but for a person who asks to see it, and only redaction.py prepares it to be shown.
"""

from dataclasses import dataclass, field

from exporters.probe.asking.timeline import Answer
from exporters.probe.wire.exchanged import Exchanged


@dataclass
class Transcript:
    """The requests of one probe in their order, and the events of those that were answered with a stream."""

    exchanges: list[Exchanged] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
