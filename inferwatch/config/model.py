"""What `inferwatch.yml` may hold. Unknown keys are errors; the nearest value wins: scenario, target, defaults."""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from inferwatch.config.quantities import Seconds
from inferwatch.engines import engine_names

SloName = Literal["ttft", "tpot", "e2e"]
SLO_NAMES: tuple[SloName, ...] = ("ttft", "tpot", "e2e")
_NAME = re.compile(r"[a-z0-9-]+")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
OWN_GPU_EXPORTER = "gpu-exporter:9810"
OWN_NODE = "local"


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is not a name; use lower-case letters, digits and hyphens, such as chat-prod")
    return value


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{value!r} is not a URL; write one such as http://10.0.0.7:8000/v1")
    if parts.username or parts.password:
        raise ValueError("a URL must not hold a password; use auth: with bearer_file, bearer_env or header")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(f"{value!r} has a port that is not a number from 0 to 65535") from None
    return value.rstrip("/")


def _plain_name(value: object) -> object:
    return _name(value) if isinstance(value, str) else value


def _plain_url(value: object) -> object:
    return _url(value) if isinstance(value, str) else value


Name = Annotated[str, BeforeValidator(_plain_name)]
Url = Annotated[str, BeforeValidator(_plain_url)]


class Strict(BaseModel):
    """Rejects unknown keys and silent conversions, and cannot be changed after reading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SecretHeader(Strict):
    """A header whose value is a secret from a file or an environment variable."""

    name: str = Field(pattern=r"^[A-Za-z0-9-]+$")
    file: str | None = None
    env: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "SecretHeader":
        if (self.file is None) == (self.env is None):
            raise ValueError("give the value's source: either file: or env:")
        return self


class Auth(Strict):
    """Where the key is; never the key itself."""

    bearer_file: str | None = None
    bearer_env: str | None = None
    header: SecretHeader | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "Auth":
        if sum(way is not None for way in (self.bearer_file, self.bearer_env, self.header)) != 1:
            raise ValueError("give exactly one of bearer_file, bearer_env and header")
        return self


class SloTarget(Strict):
    """The share `quantile` of requests must be at or under `threshold` seconds."""

    threshold: Seconds
    quantile: float = 0.95

    @field_validator("quantile")
    @classmethod
    def _recorded_quantile(cls, value: float) -> float:
        if value not in (0.5, 0.95, 0.99):
            raise ValueError(f"{value} is not recorded; write 0.5, 0.95 or 0.99")
        return value


class Slo(Strict):
    """Latency objectives of one target; each is optional."""

    ttft: SloTarget | None = None
    tpot: SloTarget | None = None
    e2e: SloTarget | None = None


class Gpus(Strict):
    """The GPUs that serve a target: named ones, or a bare count, which prices it but joins no GPU series."""

    node: str | None = None
    indices: list[int] | None = Field(default=None, min_length=1)
    count: float | None = Field(default=None, gt=0, strict=False)

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
    """What a target costs while it is up, used or not."""

    per_gpu_hour: float | None = Field(default=None, ge=0, strict=False)
    per_hour: float | None = Field(default=None, ge=0, strict=False)
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    alert_above_per_mtok: float | None = Field(default=None, gt=0, strict=False)

    @model_validator(mode="after")
    def _one_price(self) -> "Cost":
        if (self.per_gpu_hour is None) == (self.per_hour is None):
            raise ValueError("give exactly one of per_gpu_hour and per_hour (the whole target's price)")
        return self


class ProbeBudget(Strict):
    """What probes of one target may spend; when it is spent they pause until the next day (UTC)."""

    tokens_per_day: int = Field(gt=0)


class Scenario(Strict):
    """One fixed prompt."""

    prompt: str = Field(min_length=1)
    max_tokens: int = Field(gt=0)
    interval: Seconds | None = None
    timeout: Seconds | None = None
    finish_reasons: list[str] = Field(default=["stop", "length"], min_length=1)


class Target(Strict):
    """One endpoint to probe and, where `metrics` is given, to scrape."""

    name: Name
    url: Url
    api: Literal["openai-chat", "openai-completions"] = "openai-chat"
    model: str | None = Field(default=None, min_length=1)
    engine: str = "auto"
    metrics: list[Url] = []
    auth: Auth | None = None
    slo: Slo = Slo()
    gpus: Gpus | None = None
    cost: Cost | None = None
    probe_budget: ProbeBudget | None = None
    labels: dict[str, str] = {}
    scenarios: list[Name] | None = Field(default=None, min_length=1)
    interval: Seconds | None = None
    timeout: Seconds | None = None

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        known = ("auto", *engine_names())
        if value not in known:
            raise ValueError(f"unknown engine {value!r}; write one of {', '.join(known)}")
        return value

    @field_validator("labels")
    @classmethod
    def _label_names(cls, value: dict[str, str]) -> dict[str, str]:
        taken = {"target", "url", "api", "engine", "model_name", "instance", "job"}
        for name in value:
            if not _LABEL.fullmatch(name) or name.startswith("__"):
                raise ValueError(f"{name!r} is not a label name; use letters, digits and underscores")
            if name in taken:
                raise ValueError(f"the label {name!r} is set by inferwatch; choose another name")
        return value

    @model_validator(mode="after")
    def _gpu_price_needs_gpus(self) -> "Target":
        if self.cost and self.cost.per_gpu_hour is not None and self.gpus is None:
            raise ValueError("cost.per_gpu_hour needs gpus: (count or indices), or write cost.per_hour instead")
        return self


class GpuExporter(Strict):
    """A GPU exporter on another machine; the stack's own is scraped without being listed."""

    address: str = Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$")
    node: str = Field(min_length=1)
    expected: int | None = Field(default=None, gt=0)

    @field_validator("address")
    @classmethod
    def _not_our_own(cls, value: str) -> str:
        if value == OWN_GPU_EXPORTER:
            raise ValueError(
                f"{OWN_GPU_EXPORTER} is the stack's own exporter, already scraped as node {OWN_NODE!r}; "
                "list only exporters of other machines"
            )
        return value


class Defaults(Strict):
    """What targets and scenarios inherit."""

    interval: Seconds = 60.0
    timeout: Seconds = 60.0
    scenarios: list[Name] = Field(default=["short"], min_length=1)


class Prober(Strict):
    """Limits of the probe exporter as a whole."""

    max_concurrent: int = Field(default=16, gt=0, le=256)


BUILT_IN_SCENARIOS = {
    "short": Scenario(prompt="Count from one to twenty in words, separated by commas.", max_tokens=64),
}


class Config(Strict):
    """The whole file."""

    defaults: Defaults = Defaults()
    prober: Prober = Prober()
    gpu_exporters: list[GpuExporter] = []
    targets: list[Target] = []
    scenarios: dict[Name, Scenario] = {}

    @model_validator(mode="after")
    def _references(self) -> "Config":
        names = [target.name for target in self.targets]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two targets are called {name!r}; each name is used once")
        addresses = [exporter.address for exporter in self.gpu_exporters]
        for address in addresses:
            if addresses.count(address) > 1:
                raise ValueError(f"gpu_exporters lists {address!r} twice")
        for owner, wanted in [("defaults", self.defaults.scenarios)] + [
            (f"target {target.name!r}", target.scenarios or []) for target in self.targets
        ]:
            for scenario in wanted:
                if scenario not in self.all_scenarios:
                    known = ", ".join(sorted(self.all_scenarios))
                    raise ValueError(
                        f"{owner} names the scenario {scenario!r}, which is not defined (there are: {known})"
                    )
        return self

    @property
    def all_scenarios(self) -> dict[str, Scenario]:
        """The scenarios by name: those that ship with inferwatch and those of the file, which win."""
        return BUILT_IN_SCENARIOS | self.scenarios

    def scenarios_of(self, target: Target) -> dict[str, Scenario]:
        """Return the scenarios that a target runs, by name, each with its interval and timeout resolved."""
        resolved = {}
        for name in target.scenarios or self.defaults.scenarios:
            scenario = self.all_scenarios[name]
            resolved[name] = scenario.model_copy(
                update={
                    "interval": scenario.interval or target.interval or self.defaults.interval,
                    "timeout": scenario.timeout or target.timeout or self.defaults.timeout,
                }
            )
        return resolved
