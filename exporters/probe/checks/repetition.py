"""How often an answer says the same thing in a row, which is what a model in a loop does."""

# A longer piece than this many words (or characters) is not looked for.
LONGEST_PIECE = 32
# Below this many characters in a word on average, a text is one with spaces between its words.
_LONG_WORD = 20


def most_repeats(text: str) -> int:
    """Return how many times in a row one piece of up to 32 words stands in a text; at least 1.

    In scripts without spaces the pieces are of characters. Pieces without a letter or digit do not count, so that
    lines drawn with dashes are no repetition.
    """
    words = text.split()
    units = words if len(text) <= _LONG_WORD * len(words) else list("".join(words))
    most = 1
    for length in range(1, min(LONGEST_PIECE, len(units) // 2) + 1):
        same = 0
        for place in range(length, len(units)):
            if units[place] != units[place - length]:
                same = 0
                continue
            same += 1
            repeats = same // length + 1
            if repeats > most and any(
                any(character.isalnum() for character in unit) for unit in units[place - length + 1 : place + 1]
            ):
                most = repeats
    return most
