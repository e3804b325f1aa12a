"""What a target runs on, what it costs, and what its probes may spend."""

from pydantic import Field, field_validator, model_validator

from inferwatch.config.fields import Money, Text
from inferwatch.strict_yaml import FindingsError, Strict


class Gpus(Strict):
    """The GPUs that serve a target: named ones, or a bare count, which prices it but joins no GPU series."""

    node: Text | None = None
    indices: list[int] | None = Field(default=None, min_length=1)
    count: float | None = Field(default=None, gt=0, le=100_000, allow_inf_nan=False)

    @model_validator(mode="after")
    def _named_or_counted(self) -> "Gpus":
        if self.count is not None and (self.indices is not None or self.node is not None):
            raise ValueError("give either count, or node and indices")
        if self.count is None and self.indices is None:
            raise ValueError("give indices: [0, 1] (with node: for another machine), or count: 2 for cost alone")
        if self.indices is not None and (min(self.indices) < 0 or len(set(self.indices)) != len(self.indices)):
            raise ValueError("indices are the GPU numbers that nvidia-smi prints, each once")
        return self

    @property
    def number(self) -> float:
        """How many GPUs are paid for."""
        return self.count if self.count is not None else float(len(self.indices or []))


class Cost(Strict):
    """What a target costs: by the hour while it is up, used or not, or by the token as remote APIs are paid."""

    per_gpu_hour: Money | None = None
    per_hour: Money | None = None
    input_per_mtok: Money | None = None
    output_per_mtok: Money | None = None
    currency: str = "USD"
    alert_above_per_mtok: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @field_validator("currency")
    @classmethod
    def _currency_code(cls, value: str) -> str:
        if not (len(value) == 3 and value.isascii() and value.isupper() and value.isalpha()):
            raise ValueError(f"{value[:20]!r} is not a currency; write its three capital letters, such as USD or EUR")
        return value

    @model_validator(mode="after")
    def _one_price(self) -> "Cost":
        by_token = self.input_per_mtok, self.output_per_mtok
        ways = (self.per_gpu_hour is not None, self.per_hour is not None, by_token != (None, None))
        if sum(ways) != 1:
            hourly = "per_gpu_hour, per_hour (the whole target's price)"
            raise ValueError(f"give exactly one of {hourly}, and the pair input_per_mtok, output_per_mtok")
        if ways[2] and None in by_token:
            raise ValueError("give both input_per_mtok and output_per_mtok: a request is charged for both")
        if ways[2] and self.alert_above_per_mtok is not None:
            sentence = "a price per token does not change with traffic; remove this, or give an hourly price"
            raise FindingsError([(("alert_above_per_mtok",), sentence)])
        return self

    @property
    def is_per_token(self) -> bool:
        """Whether the target is paid by the token."""
        return self.output_per_mtok is not None

    def of_tokens(self, prompt: float, output: float) -> float:
        """Return what so many tokens cost; 0 for a target that is paid by the hour."""
        return (prompt * (self.input_per_mtok or 0.0) + output * (self.output_per_mtok or 0.0)) / 1e6


class ProbeBudget(Strict):
    """What probes of one target may spend; when it is spent they pause until the next day (UTC)."""

    tokens_per_day: int | None = Field(default=None, gt=0)
    money_per_day: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _limits_something(self) -> "ProbeBudget":
        if self.tokens_per_day is None and self.money_per_day is None:
            raise ValueError("give tokens_per_day, money_per_day or both")
        return self
