"""What a scenario may say: what is asked, within which limits, and what counts as a success."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from inferwatch.config.checks import LEAST_WORDS, TOLD_BY_SCRIPT, CalledTool, Checks
from inferwatch.config.connection import Connection
from inferwatch.config.fields import Interval, Text, Timeout, tool_name
from inferwatch.config.files import TextFile
from inferwatch.config.schema import InlineSchema, Schema
from inferwatch.config.synthetic import synthetic_prompt
from inferwatch.strict_yaml import Finding, FindingsError, Path, Strict

# Below it there is no time per token.
DEFAULT_MIN_OUTPUT_TOKENS = 2


ToolChoice = Literal["auto", "required"]
JsonForm = Literal["json_object", "json_schema"]


class Tool(Strict):
    """A function that the model may call; it is never run."""

    name: Annotated[str, AfterValidator(tool_name)]
    description: Text | None = None
    parameters: InlineSchema = Schema('{"type": "object", "properties": {}}')

    @property
    def declared(self) -> dict[str, Any]:
        """The tool as APIs want it declared."""
        described = {"description": self.description} if self.description is not None else {}
        return {"name": self.name, **described, "parameters": self.parameters.document}


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
    tools: list[Tool] | None = Field(default=None, min_length=1)
    tool_choice: ToolChoice = "auto"
    response_format: JsonForm | None = None
    cold: bool = False
    primed: bool = False
    max_tokens: int = Field(gt=0, le=32_768)
    min_output_tokens: int = Field(default=DEFAULT_MIN_OUTPUT_TOKENS, gt=1, le=32_768)
    stream: bool = True
    interval: Interval | None = None
    timeout: Timeout | None = None
    ttft_timeout: Timeout | None = None
    gap_timeout: Timeout | None = None
    connection: Connection | None = None
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
        if self.cold and self.primed:
            found.append(
                (("primed",), "cold: true gives each prompt a beginning that no cache holds; keep one of both")
            )
        # The default is none that a file with max_tokens: 1 would have to correct.
        if self.min_output_tokens > max(self.max_tokens, DEFAULT_MIN_OUTPUT_TOKENS):
            found.append((("min_output_tokens",), f"an answer has at most max_tokens ({self.max_tokens}); write less"))
        found += self._of_tools()
        found += self._of_form()
        found += self._of_language()
        found += self._of_ends()
        if self.cases is not None and self.checks is not None:
            found.append((("checks",), "with cases: each case has checks of its own; write them there"))
        return FindingsError.raised(found, self)

    def _of_tools(self) -> Iterator[Finding]:
        """Yield what contradicts itself about tools."""
        names = [tool.name for tool in self.tools or ()]
        if self.tool_choice == "required" and not names:
            yield ("tool_choice",), "this needs tools: with what must be called"
        for place, name in enumerate(names):
            if name in names[:place]:
                yield ("tools", place, "name"), f"tools[{names.index(name)}] is called {name!r} already"
        for path, checks in self._all_checks():
            if checks.tool_call is not None and checks.tool_call.name not in names:
                known = f"write one of {', '.join(names)}" if names else "this needs tools: with one of that name"
                yield (*path, "tool_call", "name"), f"there is no tool {checks.tool_call.name!r}; {known}"

    def _of_form(self) -> Iterator[Finding]:
        """Yield what contradicts itself about the form of the answer."""
        if self.response_format == "json_schema":
            for path, checks in self._all_checks() or [(("response_format",), Checks())]:
                if checks.schema_of_answer is None:
                    yield path, "response_format: json_schema needs checks: with json_schema or json_schema_file"
        if self.response_format == "json_object":
            for path, checks in self._all_checks():
                if checks.schema_of_answer is not None and not checks.schema_of_answer.takes_objects:
                    key = "json_schema" if checks.json_schema is not None else "json_schema_file"
                    sentence = "with response_format: json_object every answer is an object; write type: object"
                    yield (*path, key), sentence

    def _of_language(self) -> Iterator[Finding]:
        """Yield each check that no answer can pass: a word has at least one token."""
        for path, checks in self._all_checks():
            if checks.language is not None and checks.language not in TOLD_BY_SCRIPT and self.max_tokens < LEAST_WORDS:
                told = f"{checks.language} is told from {LEAST_WORDS} words on, more than max_tokens: {self.max_tokens}"
                yield (*path, "language"), f"{told} lets an answer have; raise it"

    def _of_ends(self) -> Iterator[Finding]:
        """Yield what makes every end of an answer a failure."""
        if self.finish_reasons == ["tool_calls"] and not self.tools:
            yield ("finish_reasons",), "an answer ends so only where there are tools:; add them, or write stop"

    def _all_checks(self) -> list[tuple[Path, Checks]]:
        if self.cases is not None:
            return [(("cases", place, "checks"), case.checks or Checks()) for place, case in enumerate(self.cases)]
        return [(("checks",), self.checks)] if self.checks is not None else []

    @property
    def ends(self) -> list[str]:
        """Ends of an answer that count as success: what the file says, else with tools a call too."""
        if self.tools is None or "finish_reasons" in self.model_fields_set:
            return self.finish_reasons
        return [*self.finish_reasons, "tool_calls"]

    def schema_of_call(self, call: CalledTool) -> Schema | None:
        """Return what the arguments of a call must be: what the check says, else the tool's parameters."""
        return call.arguments or next((tool.parameters for tool in self.tools or () if tool.name == call.name), None)

    def asked(self) -> dict[str, object]:
        """Return what is asked and what counts as a success: all but when, and for how long."""
        return self.model_dump(exclude={"interval", "timeout", "ttft_timeout", "gap_timeout"})

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
