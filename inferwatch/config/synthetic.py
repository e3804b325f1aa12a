"""A prompt of a wanted length."""

import random
from functools import lru_cache

# Words that the usual tokenizers keep whole, so that their number is about that of the tokens.
_WORDS = """
time year people way day man thing woman life child world school state family student group country problem hand part
place case week company system program question work number night point home water room mother area money story fact
month lot right study book eye job word business issue side kind head house service friend father
"""


@lru_cache(maxsize=8)
def synthetic_prompt(words: int) -> str:
    """Return a prompt of about so many words, always the same: filler, then a question that does not depend on it."""
    chosen = random.Random(words).choices(_WORDS.split(), k=words)  # noqa: S311 - no secret, only filler
    return f"{' '.join(chosen)}\n\nLeave these words aside and count from one to fifty in words, separated by commas."
