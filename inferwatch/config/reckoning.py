"""How many tokens a probe may use at most, reckoned from the file alone."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inferwatch.config.scenario import Case, Scenario
    from inferwatch.config.target import Target

# Of English text; JSON has more signs between its words.
CHARACTERS_PER_TOKEN = 4
CHARACTERS_PER_TOKEN_OF_JSON = 3
# As bytes of UTF-8: digits, and what is not ASCII.
_TOKENS_EACH = b"0123456789" + bytes(range(128, 256))
# What a cold prompt begins with: "[", 32 hexadecimal digits, "] ". Tokenizers make about a token of each.
COLD_TOKENS = 35
# The least that every API takes as a limit: OpenAI's Responses refuse fewer than 16.
PRIMER_TOKENS = {"openai-responses": 16}


def text_tokens(text: str, characters_per_token: int = CHARACTERS_PER_TOKEN) -> int:
    """Return about how many tokens a text has at most.

    Tokenizers cut numbers into digits, and Chinese, Japanese and Korean into about a character each, so digits and
    whatever is not ASCII count as one token; other characters share one.
    """
    plain = len(text.encode("utf-8", "surrogatepass").translate(None, _TOKENS_EACH))
    return len(text) - plain - (-plain // characters_per_token)


def prompt_tokens(scenario: "Scenario") -> int:
    """Return about how many tokens the prompt of a scenario has at most: of several cases, the longest.

    All that is sent is counted, with tools, the schema of the answer and the beginning of a cold prompt. What a
    server's chat template adds is not known here.
    """
    return max(_tokens_of(scenario, case) for case in scenario.all_cases)


def primer_tokens(target: "Target") -> int:
    """Return the most tokens that the answer may have whose request fills the prefix cache."""
    return PRIMER_TOKENS.get(target.api, 1)


def most_tokens(
    target: "Target", scenario: "Scenario", prompt: int | None = None, primer: int | None = None
) -> tuple[int, int]:
    """Return the most prompt and output tokens that a probe may use, with the request that primes it.

    Args:
        target: Who is asked.
        scenario: What is asked.
        prompt: How many tokens the prompt has; by default as `prompt_tokens` reckons them.
        primer: The most that the answer may have which primes it; by default as `primer_tokens` says.
    """
    if prompt is None:
        prompt = prompt_tokens(scenario)
    if scenario.primed:
        return 2 * prompt, scenario.max_tokens + (primer_tokens(target) if primer is None else primer)
    return prompt, scenario.max_tokens


def _tokens_of(scenario: "Scenario", case: "Case") -> int:
    tokens = sum(text_tokens(message.content) for message in scenario.messages_of(case))
    schema = case.checks.schema_of_answer if case.checks is not None else None
    documents = [tool.declared for tool in scenario.tools or ()]
    if scenario.response_format == "json_schema" and schema is not None:
        documents.append(schema.document)
    texts = (json.dumps(document, ensure_ascii=False) for document in documents)
    tokens += sum(text_tokens(text, CHARACTERS_PER_TOKEN_OF_JSON) for text in texts)
    return tokens + COLD_TOKENS if scenario.cold else tokens
