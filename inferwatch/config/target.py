"""One endpoint: where it is, how it is reached and asked, what it runs on and what is expected of it."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from inferwatch.config.auth import Auth
from inferwatch.config.connection import Connection, Tls
from inferwatch.config.cost import Cost, Gpus, ProbeBudget
from inferwatch.config.fields import (
    AskedUrl,
    BaseUrl,
    Interval,
    LabelName,
    MetricsUrl,
    Name,
    ProxyUrl,
    SecretFile,
    Text,
    Timeout,
)
from inferwatch.config.objectives import Slo
from inferwatch.engines import engine_names
from inferwatch.strict_yaml import Finding, FindingsError, Strict

Api = Literal["openai-chat", "openai-completions", "openai-responses", "ollama", "anthropic", "tgi", "llamacpp"]
# These put their version, if they have one, into the path that is appended to the URL.
_APIS_AT_THE_ROOT = ("ollama", "anthropic", "tgi", "llamacpp")


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
