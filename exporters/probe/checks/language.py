"""In which language an answer is written, told by its script and by the small words that every text needs.

No model is asked. A text of few words cannot be told from its neighbours' languages, and is not guessed.
"""

import re
from functools import cache
from pathlib import Path

from exporters.probe.checks.script import share_of_script
from inferwatch.config.checks import LEAST_WORDS, Language, Script

# Of the words of a text in its own language, a quarter to a half stand in the lists.
LEAST_SHARE = 0.1
_OWN_SHARE = 0.5
_STOP_WORDS = Path(__file__).with_name("stop_words.txt")
_WORD = re.compile(r"[^\W\d_]+(?:[\u200c'\u2019][^\W\d_]+)*")
# Languages of a script that no other language here uses.
_BY_SCRIPT: dict[Language, Script] = {
    "el": "greek", "he": "hebrew", "hi": "devanagari", "th": "thai", "ko": "hangul",
}  # fmt: skip
_EAST_ASIAN: tuple[tuple[Language, Script], ...] = (("ja", "japanese"), ("zh", "han"))


def language_of(text: str) -> str | None:
    """Return the language of a text, one of `Language`; None if it cannot be told."""
    for language, script in _BY_SCRIPT.items():
        if share_of_script(text, script) > _OWN_SHARE and _letters(text):
            return language
    if found := _east_asian(text):
        return found
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) < LEAST_WORDS:
        return None
    counts = {language: sum(word in known for word in words) for language, known in stop_words().items()}
    (first, most), (_, second) = sorted(counts.items(), key=lambda item: -item[1])[:2]
    return first if most >= LEAST_SHARE * len(words) and most > second else None


def _east_asian(text: str) -> str | None:
    """Return Japanese or Chinese: a Japanese text of some length holds kana."""
    for language, script in _EAST_ASIAN:
        if share_of_script(text, script) > _OWN_SHARE and _letters(text):
            kana = any("\u3040" <= character <= "\u30ff" for character in text)
            return language if kana == (language == "ja") else "zh"
    return None


def _letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


@cache
def stop_words() -> dict[str, frozenset[str]]:
    """Return the commonest words of each language that is told by them."""
    words: dict[str, set[str]] = {}
    for line in _STOP_WORDS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            language, *some = line.split()
            words.setdefault(language, set()).update(some)
    return {language: frozenset(some) for language, some in words.items()}
