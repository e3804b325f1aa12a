"""What a scenario may say: what is asked, within which limits, and what counts as a success."""

from typing import Literal

from pydantic import Field, model_validator

from inferwatch.config.checks import Checks
from inferwatch.config.fields import Interval, Text, Timeout
from inferwatch.config.files import TextFile
from inferwatch.config.synthetic import synthetic_prompt
from inferwatch.strict_yaml import Finding, FindingsError, Strict

# Below it there is no time per token.
DEFAULT_MIN_OUTPUT_TOKENS = 2


class Message(Strict):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: Text


class Case(Strict):
    """One question whose answer is known."""

    prompt: Text
    checks: Checks | None = None


class Scenario(Strict):
    """One fixed prompt, or several that are asked in turn."""

    prompt: Text | None = None
    prompt_file: TextFile | None = None
    messages: list[Message] | None = Field(default=None, min_length=1)
    synthetic_words: int | None = Field(default=None, gt=0, le=1_000_000)
    cases: list[Case] | None = Field(default=None, min_length=1)
    cold: bool = False
    max_tokens: int = Field(gt=0, le=32_768)
    min_output_tokens: int = Field(default=DEFAULT_MIN_OUTPUT_TOKENS, gt=1, le=32_768)
    stream: bool = True
    interval: Interval | None = None
    timeout: Timeout | None = None
    ttft_timeout: Timeout | None = None
    gap_timeout: Timeout | None = None
    finish_reasons: list[Text] = Field(default=["stop", "length"], min_length=1)
    checks: Checks | None = None

    @model_validator(mode="after")
    def _one_question(self) -> "Scenario":
        found: list[Finding] = []
        ways = (self.prompt, self.prompt_file, self.messages, self.synthetic_words, self.cases)
        if sum(way is not None for way in ways) != 1:
            found.append(((), "give exactly one of prompt, prompt_file, messages, synthetic_words and cases"))
        if self.messages is not None and self.messages[-1].role != "user":
            found.append((("messages", len(self.messages) - 1, "role"), "the last turn must be the user's"))
        # The default is none that a file with max_tokens: 1 would have to correct.
        if self.min_output_tokens > max(self.max_tokens, DEFAULT_MIN_OUTPUT_TOKENS):
            found.append((("min_output_tokens",), f"an answer has at most max_tokens ({self.max_tokens}); write less"))
        if self.cases is not None and self.checks is not None:
            found.append((("checks",), "with cases: each case has checks of its own; write them there"))
        return FindingsError.raised(found, self)

    def asked(self) -> dict[str, object]:
        """Return what is asked and what counts as a success: all but when, and for how long."""
        return self.model_dump(exclude={"interval", "timeout", "ttft_timeout", "gap_timeout"})

    @property
    def prompt_characters(self) -> int:
        """The length of what is asked; of several, the longest."""
        return max(sum(len(message.content) for message in self.messages_of(case)) for case in self.all_cases)

    def messages_of(self, case: Case) -> list[Message]:
        """Return the conversation that asks a case."""
        return self.messages or [Message(role="user", content=case.prompt)]

    @property
    def all_cases(self) -> list[Case]:
        """The questions that are asked in turn; mostly one."""
        if self.cases is not None:
            return self.cases
        if self.synthetic_words is not None:
            return [Case(prompt=synthetic_prompt(self.synthetic_words), checks=self.checks)]
        prompt = self.messages[-1].content if self.messages else self.prompt or ""
        if self.prompt_file is not None:
            prompt = self.prompt_file.text
        return [Case(prompt=prompt, checks=self.checks)]
