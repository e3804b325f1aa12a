"""What a scenario may ask of an answer; each rule is optional."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from inferwatch.config.fields import Text
from inferwatch.config.pattern import checked_pattern
from inferwatch.config.schema import InlineSchema, Schema, SchemaFile
from inferwatch.strict_yaml import FindingsError, Strict

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
    def _one_schema(self) -> "Checks":
        if self.json_schema is not None and self.json_schema_file is not None:
            raise FindingsError([(("json_schema_file",), "json_schema stands beside it; keep one of the two")])
        return self

    @property
    def schema_of_answer(self) -> Schema | None:
        """The schema that the whole answer must keep to, wherever it is written."""
        return self.json_schema or self.json_schema_file

    @property
    def wants_text(self) -> bool:
        """Whether a rule is about the text of the answer, beyond what it must never hold."""
        rules = set(type(self).model_fields) - {"tool_call", "special_tokens"}
        return any(getattr(self, rule) not in (None, False) for rule in rules)
