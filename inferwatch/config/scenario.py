"""What a scenario may say: what is asked, within which limits, and what counts as a success."""

from pydantic import Field

from inferwatch.config.fields import Interval, Text, Timeout
from inferwatch.strict_yaml import Strict


class Scenario(Strict):
    """One fixed prompt."""

    prompt: Text
    max_tokens: int = Field(gt=0, le=32_768)
    stream: bool = True
    interval: Interval | None = None
    timeout: Timeout | None = None
    ttft_timeout: Timeout | None = None
    gap_timeout: Timeout | None = None
    finish_reasons: list[Text] = Field(default=["stop", "length"], min_length=1)

    def asked(self) -> dict[str, object]:
        """Return what is asked and what counts as a success: all but when, and for how long."""
        return self.model_dump(exclude={"interval", "timeout", "ttft_timeout", "gap_timeout"})


BUILT_IN_SCENARIOS = {
    "short": Scenario(prompt="Count from one to twenty in words, separated by commas.", max_tokens=64),
}
