"""Errors meant for the person who has to act on them."""


class InferwatchError(Exception):
    """A failure whose text says what happened, to what, and what to do next; it is printed without a traceback."""


class ConfigError(InferwatchError):
    """A file that a person writes cannot be used.

    Attributes:
        problems: One sentence per finding, each beginning with its place: ``file:line: path: `` as far as there is one,
            or the environment variable.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
