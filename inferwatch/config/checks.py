"""What a scenario may ask of an answer; each rule is optional."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferwatch.config.fields import Text
from inferwatch.config.pattern import checked_pattern
from inferwatch.config.schema import InlineSchema, Schema, SchemaFile
from inferwatch.strict_yaml import Finding, FindingsError, Strict

Script = Literal[
    "latin", "cyrillic", "greek", "arabic", "hebrew", "devanagari", "thai", "hangul", "han", "japanese"
]  # fmt: skip
Language = Literal[
    "ar", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu", "id", "it", "ja", "ko", "nb", "nl",
    "pl", "pt", "ro", "ru", "sv", "th", "tr", "uk", "vi", "zh",
]  # fmt: skip
# These have a script of their own here; the others are told by their commonest words, of which few words may hold none.
TOLD_BY_SCRIPT = ("el", "he", "hi", "ja", "ko", "th", "zh")
LEAST_WORDS = 15
# A letter each, and a space between them.
_LEAST_CHARACTERS = 2 * LEAST_WORDS - 1
# In which scripts a language can be told; the others are written in Latin. Text in Han alone is Japanese script too.
_SCRIPTS: dict[Language, tuple[Script, ...]] = {
    "ar": ("arabic",), "el": ("greek",), "fa": ("arabic",), "he": ("hebrew",), "hi": ("devanagari",),
    "ja": ("japanese", "han"), "ko": ("hangul",), "ru": ("cyrillic",), "th": ("thai",), "uk": ("cyrillic",),
    "zh": ("han", "japanese"),
}  # fmt: skip
Count = Annotated[int, Field(gt=0, le=1_000_000)]


class CalledTool(Strict):
    """The tool that an answer must call, and what its arguments must be."""

    name: Text
    arguments: InlineSchema | None = None


class Checks(Strict):
    """What an answer must be; each rule is optional."""

    text: Text | None = None
    regex: Annotated[Text, AfterValidator(checked_pattern)] | None = None
    number: float | None = Field(default=None, allow_inf_nan=False)
    json_value: bool = False
    json_schema: InlineSchema | None = None
    json_schema_file: SchemaFile | None = None
    tool_call: CalledTool | None = None
    min_characters: Count | None = None
    max_characters: Count | None = None
    language: Language | None = None
    script: Script | None = None
    max_repeats: Count | None = None
    special_tokens: bool = True

    @model_validator(mode="after")
    def _can_pass(self) -> "Checks":
        found = [*self._of_length(), *self._of_language()]
        if self.json_schema is not None and self.json_schema_file is not None:
            found.append((("json_schema_file",), "json_schema stands beside it; keep one of the two"))
        return FindingsError.raised(found, self)

    def _of_length(self) -> Iterator[Finding]:
        """Yield what needs more characters than an answer may have; else every probe would be blamed on the model."""
        if self.max_characters is None:
            return
        most = f"max_characters: {self.max_characters}"
        if self.min_characters is not None and self.min_characters > self.max_characters:
            yield ("max_characters",), f"must be at least min_characters ({self.min_characters}), or no answer passes"
        if self.text is not None and len(self.text) > self.max_characters:
            yield ("text",), f"it has {len(self.text)} characters, more than {most} lets an answer have"
        if self.number is not None and len(shortest := _decimal(self.number)) > self.max_characters:
            yield ("number",), f"it has {len(shortest)} characters, more than {most} lets an answer have"
        told_by_words = self.language is not None and self.language not in TOLD_BY_SCRIPT
        if told_by_words and self.max_characters < _LEAST_CHARACTERS:
            yield ("language",), f"{self.language} is told from {LEAST_WORDS} words on, more than {most} can hold"

    def _of_language(self) -> Iterator[Finding]:
        """Yield a language and a script that no text has both."""
        if self.language is not None and self.script is not None:
            scripts = _SCRIPTS.get(self.language, ("latin",))
            if self.script not in scripts:
                yield ("script",), f"no answer in {self.language} is in {self.script}; write {' or '.join(scripts)}"

    @property
    def schema_of_answer(self) -> Schema | None:
        """The schema that the whole answer must keep to, wherever it is written."""
        return self.json_schema or self.json_schema_file

    @property
    def wants_text(self) -> bool:
        """Whether a rule is about the text of the answer, beyond what it must never hold."""
        rules = set(type(self).model_fields) - {"tool_call", "special_tokens"}
        return any(getattr(self, rule) not in (None, False) for rule in rules)


def _decimal(number: float) -> str:
    """Return a number as an answer may hold it at the shortest: without an exponent and without zeros at the end."""
    whole, _, fraction = f"{Decimal(repr(number + 0.0)):f}".partition(".")  # no -0
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
