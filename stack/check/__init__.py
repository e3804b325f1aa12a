"""`inferwatch check`: validates the configuration, then tries each part and says what to do."""

from stack.check.run import check

__all__ = ["check"]
