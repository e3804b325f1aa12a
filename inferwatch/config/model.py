"""What `inferwatch.yml` may hold. Unknown keys are errors; the nearest value wins: scenario, target, defaults."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from inferwatch.config.built_in import BUILT_IN_SCENARIOS
from inferwatch.config.connection import Connection, Tls
from inferwatch.config.consistency import OWN_GPU_EXPORTER as OWN_GPU_EXPORTER
from inferwatch.config.consistency import OWN_NODE as OWN_NODE
from inferwatch.config.consistency import findings
from inferwatch.config.fields import (
    Address,
    AskedUrl,
    BaseUrl,
    HeaderName,
    Interval,
    LabelName,
    MetricsUrl,
    Money,
    Name,
    ProxyUrl,
    Seconds,
    SecretFile,
    SecretVariable,
    Text,
    Timeout,
)
from inferwatch.config.scenario import Scenario as Scenario
from inferwatch.durations import format_duration
from inferwatch.engines import engine_names
from inferwatch.strict_yaml import Finding, FindingsError, Strict

Api = Literal["openai-chat", "openai-completions", "openai-responses", "ollama", "anthropic", "tgi", "llamacpp"]
# These put their version, if they have one, into the path that is appended to the URL.
_APIS_AT_THE_ROOT = ("ollama", "anthropic", "tgi", "llamacpp")
SloName = Literal["ttft", "tpot", "e2e"]
Buckets = Literal["fine", "coarse"]
SLO_NAMES: tuple[SloName, ...] = ("ttft", "tpot", "e2e")
# Where the probes' histograms end (exporters/probe/ladders.py): a quantile above could not be told from it.
LARGEST_SLO_SECONDS: dict[SloName, float] = {"ttft": 60.0, "tpot": 1.0, "e2e": 100.0}
# What a scenario takes from its target, and a target from the defaults.
INHERITED = ("interval", "timeout", "ttft_timeout", "gap_timeout", "connection")
RECORDED_QUANTILES = (0.5, 0.95, 0.99)


class SecretHeader(Strict):
    """A header whose value is a secret from a file or an environment variable."""

    name: HeaderName
    file: SecretFile | None = None
    env: SecretVariable | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "SecretHeader":
        if (self.file is None) == (self.env is None):
            raise ValueError("give the value's source: either file: or env:")
        return self


class Auth(Strict):
    """Where the key is; never the key itself."""

    bearer_file: SecretFile | None = None
    bearer_env: SecretVariable | None = None
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
        if value not in RECORDED_QUANTILES:
            raise ValueError(f"{value} is not recorded; write 0.5, 0.95 or 0.99")
        return value


class Slo(Strict):
    """Latency objectives of one target; each is optional."""

    ttft: SloTarget | None = None
    tpot: SloTarget | None = None
    e2e: SloTarget | None = None

    @model_validator(mode="after")
    def _measurable(self) -> "Slo":
        found: list[Finding] = []
        for name, largest in LARGEST_SLO_SECONDS.items():
            objective = getattr(self, name)
            if objective is not None and objective.threshold > largest:
                limit = format_duration(largest)
                found.append(((name, "threshold"), f"probes measure {name} up to {limit}; write at most {limit}"))
        return FindingsError.raised(found, self)


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


class Target(Strict):
    """One endpoint to probe and, where `metrics` is given, to scrape."""

    name: Name
    url: BaseUrl
    api: Api = "openai-chat"
    model: Text | None = None
    engine: str = "auto"
    metrics: list[MetricsUrl] = Field(default_factory=list)
    metrics_auth: Name | None = None
    auth: Auth | None = None
    tls: Tls | None = None
    proxy: ProxyUrl | None = None
    proxy_auth_file: SecretFile | None = None
    wake: bool = True
    awake_url: AskedUrl | None = None
    awake_text: Text | None = None
    slo: Slo = Slo()
    gpus: Gpus | None = None
    cost: Cost | None = None
    probe_budget: ProbeBudget | None = None
    labels: dict[LabelName, str] = Field(default_factory=dict)
    scenarios: list[Name] | None = Field(default=None, min_length=1)
    interval: Interval | None = None
    timeout: Timeout | None = None
    ttft_timeout: Timeout | None = None
    gap_timeout: Timeout | None = None
    connection: Connection | None = None

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        known = ("auto", *engine_names())
        if value not in known:
            raise ValueError(f"unknown engine {value[:40]!r}; write one of {', '.join(known)}")
        return value

    @model_validator(mode="after")
    def _url_of_the_api(self) -> "Target":
        if self.api in _APIS_AT_THE_ROOT and self.url.endswith(("/v1", "/api")):
            base = self.url.rpartition("/")[0]
            raise FindingsError([(("url",), f"with api: {self.api} write the URL without its version: {base}")])
        return self

    @model_validator(mode="after")
    def _connection_fits(self) -> "Target":
        found: list[Finding] = []
        if self.tls is not None and not self.url.startswith("https:"):
            found.append((("tls",), "this needs an url: that begins with https://"))
        if self.proxy_auth_file is not None and self.proxy is None:
            found.append((("proxy_auth_file",), "this needs proxy: with the address that asks for it"))
        if self.wake and self.awake_url is not None:
            found.append((("awake_url",), "this needs wake: false, or nobody asks there"))
        if not self.wake and self.awake_url is None and self.model is None:
            # The first model that a server lists is not always the one that is loaded.
            found.append((("wake",), "this needs model: with the one that may sleep, or awake_url:"))
        if self.awake_text is not None and self.awake_url is None:
            found.append((("awake_text",), "this needs awake_url: with the address whose answer holds it"))
        return FindingsError.raised(found, self)

    @model_validator(mode="after")
    def _key_needs_metrics(self) -> "Target":
        if self.metrics_auth is not None and not self.metrics:
            raise FindingsError([(("metrics_auth",), "this needs metrics: with the addresses that ask for the key")])
        return self

    @model_validator(mode="after")
    def _gpu_price_needs_gpus(self) -> "Target":
        if self.cost and self.cost.per_gpu_hour is not None and self.gpus is None:
            sentence = "this needs gpus: with indices or count; or write per_hour, the whole target's price"
            raise FindingsError([(("cost", "per_gpu_hour"), sentence)])
        return self

    @model_validator(mode="after")
    def _money_budget_needs_prices(self) -> "Target":
        wanted = self.probe_budget is not None and self.probe_budget.money_per_day is not None
        if wanted and not (self.cost and self.cost.is_per_token):
            sentence = "this needs cost: with input_per_mtok and output_per_mtok; or write tokens_per_day"
            raise FindingsError([(("probe_budget", "money_per_day"), sentence)])
        return self


class GpuExporter(Strict):
    """A GPU exporter on another machine; the stack's own is scraped without being listed."""

    address: Address
    node: Text
    expected: int | None = Field(default=None, gt=0, le=1024)


class Defaults(Strict):
    """What targets and scenarios inherit."""

    interval: Interval = 60.0
    timeout: Timeout = 60.0
    ttft_timeout: Timeout | None = None
    gap_timeout: Timeout | None = None
    connection: Connection = "new"
    scenarios: list[Name] = Field(default=["short"], min_length=1)


class Prober(Strict):
    """Limits of the probe exporter as a whole."""

    max_concurrent: int = Field(default=16, gt=0, le=256)
    max_lag: Timeout = 0.02
    buckets: Buckets = "fine"


class Config(Strict):
    """The whole file."""

    defaults: Defaults = Defaults()
    prober: Prober = Prober()
    gpu_exporters: list[GpuExporter] = Field(default_factory=list)
    targets: list[Target] = Field(default_factory=list)
    scenarios: dict[Name, Scenario] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> "Config":
        return FindingsError.raised(list(findings(self)), self)

    @property
    def all_scenarios(self) -> dict[str, Scenario]:
        """The scenarios by name: those that ship with inferwatch and those of the file, which win."""
        return BUILT_IN_SCENARIOS | self.scenarios

    def scenarios_of(self, target: Target) -> dict[str, Scenario]:
        """Return the scenarios that a target runs, by name, each with its interval and limits resolved."""
        resolved = {}
        for name in target.scenarios or self.defaults.scenarios:
            scenario = self.all_scenarios[name]
            nearest = {
                key: getattr(scenario, key) or getattr(target, key) or getattr(self.defaults, key) for key in INHERITED
            }
            resolved[name] = scenario.model_copy(update=nearest)
        return resolved
