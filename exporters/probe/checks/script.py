"""In which script an answer is written. Languages of one script are not told apart: that would take a model."""

import unicodedata

from inferwatch.config.checks import Script

# The first words of a character's Unicode name.
_NAMES: dict[Script, tuple[str, ...]] = {
    "latin": ("LATIN",),
    "cyrillic": ("CYRILLIC",),
    "greek": ("GREEK",),
    "arabic": ("ARABIC",),
    "hebrew": ("HEBREW",),
    "devanagari": ("DEVANAGARI",),
    "thai": ("THAI",),
    "hangul": ("HANGUL",),
    "han": ("CJK",),
    "japanese": ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "CJK"),
}


def share_of_script(text: str, script: Script) -> float:
    """Return the share of a text's letters that belong to a script; 1 for a text without letters."""
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return 1.0
    wanted = _NAMES[script]
    return sum(unicodedata.name(letter, "").split(" ", 1)[0] in wanted for letter in letters) / len(letters)
