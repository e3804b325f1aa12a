"""The base of every model that a file is checked against."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Rejects unknown keys and silent conversions, and cannot be changed after reading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
