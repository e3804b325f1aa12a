"""The scenarios that ship with inferwatch."""

from inferwatch.config.checks import Checks
from inferwatch.config.scenario import Case, Scenario


def _number(prompt: str, number: float) -> Case:
    return Case(prompt=f"{prompt} Answer with the number only.", checks=Checks(number=number, max_repeats=8))


def _word(prompt: str, word: str) -> Case:
    checks = Checks(regex=rf"(?i)\b{word}\b", script="latin", max_repeats=8)
    return Case(prompt=f"{prompt} Answer with one word.", checks=checks)


# Questions that every instruction-following model of a few billion parameters answers the same way at temperature 0.
CANARY = [
    _number("What is 17 + 25?", 42),
    _number("What is 9 times 8?", 72),
    _number("How many days does a week have?", 7),
    _number("How many minutes does an hour have?", 60),
    _number("What is 100 minus 1?", 99),
    _word("What is the capital of France?", "Paris"),
    _word("What is the capital of Japan?", "Tokyo"),
    _word("What is the opposite of hot?", "cold"),
    _word("Which planet do people live on?", "Earth"),
    _word("Which day comes after Monday?", "Tuesday"),
    Case(
        prompt='Answer with exactly this JSON and nothing else, no code block: {"ok": true}',
        checks=Checks(json_value=True, regex=r'"ok"\s*:\s*true'),
    ),
    Case(
        prompt="Repeat this sentence and write nothing else: The quick brown fox jumps over the lazy dog.",
        checks=Checks(text="The quick brown fox jumps over the lazy dog", max_characters=100),
    ),
]
# Some faults show only after a hundred tokens or more: a KV cache that is overwritten, a loop, a drift of precision.
# 120 numbers with their commas are 360 tokens where each digit group is one, and more where each digit is.
CANARY_LONG = Scenario(
    prompt="Write all whole numbers from 1 to 120 in order, separated by a comma and a space, and nothing else.",
    max_tokens=1024,
    interval="15m",  # type: ignore[arg-type]  # written as in a file
    checks=Checks(text=", ".join(map(str, range(1, 121))), max_repeats=8),
)

BUILT_IN_SCENARIOS = {
    "short": Scenario(prompt="Count from one to twenty in words, separated by commas.", max_tokens=64),
    "canary": Scenario(cases=CANARY, max_tokens=64, interval="5m"),  # type: ignore[arg-type]
    "canary-long": CANARY_LONG,
}
