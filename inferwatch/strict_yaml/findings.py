"""Errors of a check that looks at several values, each with the path of the value to change."""

from typing import TypeVar

Path = tuple[str | int, ...]
Finding = tuple[Path, str]
Checked = TypeVar("Checked")


class FindingsError(ValueError):
    """What a check across values found; pydantic carries it to `load`, which names each line.

    Attributes:
        found: Path below the model that was checked, and the sentence.
    """

    def __init__(self, found: list[Finding]) -> None:
        super().__init__("; ".join(sentence for _, sentence in found))
        self.found = found

    @classmethod
    def raised(cls, found: list[Finding], checked: Checked) -> Checked:
        """Return what was checked, or raise if anything was found."""
        if found:
            raise cls(found)
        return checked
