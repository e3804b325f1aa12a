"""Errors meant for the person who has to act on them."""


class InferwatchError(Exception):
    """A failure whose text says what happened, to what, and what to do next; it is printed without a traceback."""


class ConfigError(InferwatchError):
    """The configuration cannot be used.

    Attributes:
        problems: One sentence per finding, each beginning ``file:line: path: ``.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
