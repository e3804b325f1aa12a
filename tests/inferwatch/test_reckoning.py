"""How many tokens a prompt is reckoned to have, beside what tokenizers make of it."""

import json
from typing import Any

import pytest

from inferwatch.config import Scenario, Target
from inferwatch.config.reckoning import COLD_TOKENS, most_tokens, prompt_tokens, text_tokens
from inferwatch.config.synthetic import synthetic_prompt

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The name of the city"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def scenario(**more: Any) -> Scenario:
    question = {} if {"messages", "cases"} & more.keys() else {"prompt": "p" * 40}
    return Scenario.model_validate({"max_tokens": 64, **question, **more})


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 1),
        ("words", 2),
        ("2 x 12", 4),
        ("请用一句话解释什么是人工智能,并给出一个例子。", 23),
        ("名 name", 3),
        # A schema from a file may hold half a character.
        ("\ud800", 1),
    ],
)
def test_the_tokens_of_a_text(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "counted"),
    # The larger count of two tokenizers of Mistral's: sentencepiece with 32,000 tokens, and Tekken with 131,072.
    [
        ("Count from one to twenty in words, separated by commas.", 13),
        (synthetic_prompt(500), 520),
        ("请用一句话解释什么是人工智能,并给出一个例子。", 23),
        ("Назови столицу России одним предложением.", 13),
        ("Write all whole numbers from 1 to 120 in order, separated by a comma and a space, and nothing else.", 28),
    ],
)
def test_tokenizers_count_no_more(text: str, counted: int) -> None:
    assert text_tokens(text) >= counted


def test_all_that_is_sent_is_reckoned() -> None:
    plain = prompt_tokens(scenario())
    assert plain == 10
    # 35 characters, of which the tokenizers above make 31 tokens: hexadecimal digits are no words.
    assert prompt_tokens(scenario(cold=True)) == plain + COLD_TOKENS
    tool = {"name": "weather", "description": "Weather of a city", "parameters": SCHEMA}
    with_tool = prompt_tokens(scenario(tools=[tool]))
    assert with_tool == plain + text_tokens(json.dumps(tool), 3)
    # They make 58 tokens of the schema.
    checks = {"json_schema": SCHEMA}
    assert prompt_tokens(scenario(checks=checks, response_format="json_schema")) == plain + 67
    # One that is only checked is not sent.
    assert prompt_tokens(scenario(checks=checks)) == plain
    turns = [{"role": "system", "content": "p" * 20}, {"role": "user", "content": "p" * 20}]
    assert prompt_tokens(scenario(messages=turns)) == plain


def test_the_longest_case_counts() -> None:
    cases: list[dict[str, Any]] = [{"prompt": "p" * 80}, {"prompt": "是" * 30}, {"prompt": "p"}]
    assert prompt_tokens(scenario(cases=cases)) == 30
    cases[2]["checks"] = {"json_schema": SCHEMA}
    assert prompt_tokens(scenario(cases=cases, response_format="json_object")) == 30


@pytest.mark.parametrize(("api", "output"), [("openai-chat", 65), ("openai-responses", 80), ("anthropic", 65)])
def test_a_primed_probe_is_two_requests(api: str, output: int) -> None:
    target = Target.model_validate({"name": "chat", "url": "http://127.0.0.1:1", "api": api})
    assert most_tokens(target, scenario()) == (10, 64)
    assert most_tokens(target, scenario(primed=True)) == (20, output)
    assert most_tokens(target, scenario(primed=True), 30) == (60, output)
