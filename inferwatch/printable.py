"""Words of servers and files, made fit for a terminal."""


def printable(text: str) -> str:
    """Return one line that cannot steer a terminal: control and other unprintable characters become spaces."""
    return "".join(character if character.isprintable() else " " for character in text)
