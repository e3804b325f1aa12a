"""Whether an answer is what the scenario expects: rules only, no model judges another, and nothing is quoted."""

import json
import re

from exporters.probe.checks.repetition import most_repeats
from exporters.probe.checks.script import share_of_script
from exporters.probe.checks.special_tokens import holds_special_token
from inferwatch.config.scenario import Checks

# Names and loan words of other scripts are common in a right answer.
SCRIPT_SHARE = 0.9
_NUMBER = re.compile(r"[-\u2212]?\d+(?:,\d{3})*(?:\.\d+)?")


def failed_check(text: str, checks: Checks) -> str | None:
    """Return what is wrong with an answer's text in a few words, without any of it; None if it passes every check."""
    if not text:
        return "the answer holds no text"
    if checks.text is not None and checks.text.casefold() not in text.casefold():
        return "text: the answer does not hold the text that it should"
    if checks.regex is not None and re.search(checks.regex, text) is None:
        return "regex: the answer does not match"
    if checks.number is not None and last_number(text) != checks.number:
        return f"number: the last number in the answer is not {checks.number:g}"
    if checks.json_value and not _is_json(text):
        return "json: the answer is not JSON"
    return _wrong_shape(text, checks)


def _wrong_shape(text: str, checks: Checks) -> str | None:
    if checks.min_characters is not None and len(text) < checks.min_characters:
        return f"min_characters: the answer has only {len(text)} characters"
    if checks.max_characters is not None and len(text) > checks.max_characters:
        return f"max_characters: the answer has {len(text)} characters"
    if checks.script is not None and share_of_script(text, checks.script) < SCRIPT_SHARE:
        return f"script: fewer than 90 % of the answer's letters are {checks.script}"
    if checks.max_repeats is not None and (repeats := most_repeats(text)) > checks.max_repeats:
        return f"max_repeats: the answer repeats itself {repeats} times in a row"
    if checks.special_tokens and holds_special_token(text):
        return "special_tokens: the answer holds a special token, as with a wrong chat template or tokenizer"
    return None


def last_number(text: str) -> float | None:
    """Return the last number in a text, `1,234.5` and `-7` included; None without one."""
    found = _NUMBER.findall(text)
    return float(found[-1].replace(",", "").replace("\u2212", "-")) if found else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
