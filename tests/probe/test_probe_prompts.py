"""What a scenario asks: cold and warm, synthetic, several turns."""

import pytest
from probe_helpers import scenario

from exporters.probe.asking.prompts import case_of, question_of
from exporters.probe.protocols import PROTOCOLS, Question
from inferwatch.config import Scenario


def asked(wanted: Scenario) -> Question:
    return question_of(wanted, case_of(wanted))


def test_a_warm_prompt_is_always_the_same_and_a_cold_one_never_begins_alike() -> None:
    assert asked(scenario()) == asked(scenario())
    first, second = (asked(scenario(cold=True)).messages[0]["content"] for _ in range(2))
    assert first.endswith("] the prompt") and second.endswith("] the prompt")
    assert first[:16] != second[:16]


def test_a_synthetic_prompt_has_as_many_words_and_a_question() -> None:
    texts = [asked(scenario(prompt=None, synthetic_words=words)).messages[0]["content"] for words in (500, 500, 8000)]
    assert texts[0] == texts[1]
    assert [len(text.partition("\n")[0].split()) for text in texts] == [500, 500, 8000]
    assert all(text.endswith("separated by commas.") for text in texts)
    assert len(set(texts[2].split())) > 30


TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Name a river."},
    {"role": "assistant", "content": "The Danube."},
    {"role": "user", "content": "Where does it end?"},
]


@pytest.mark.parametrize("cold", [False, True])
def test_several_turns_in_each_api(cold: bool) -> None:
    wanted = scenario(prompt=None, messages=TURNS, cold=cold)
    question = asked(wanted)
    assert [message["role"] for message in question.messages] == ["system", "user", "assistant", "user"]
    assert question.messages[0]["content"].startswith("[") == cold
    first = question.messages[0]["content"]
    for api in ("openai-chat", "ollama"):
        assert PROTOCOLS[api].body("m", question)["messages"] == [*map(dict, question.messages)]
    anthropic = PROTOCOLS["anthropic"].body("m", question)
    assert anthropic["system"] == first
    assert anthropic["messages"] == TURNS[1:]
    joined = f"{first}\n\nName a river.\n\nThe Danube.\n\nWhere does it end?"
    assert PROTOCOLS["openai-completions"].body("m", question)["prompt"] == joined
