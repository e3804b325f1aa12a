"""The one file a user edits, `inferwatch.yml`: its model, how it is read, and what its errors say."""

from inferwatch.config.load import load_config, parse_config
from inferwatch.config.model import (
    Auth,
    Config,
    Cost,
    GpuExporter,
    Gpus,
    Scenario,
    Slo,
    SloTarget,
    Target,
)

__all__ = [
    "Auth",
    "Config",
    "Cost",
    "GpuExporter",
    "Gpus",
    "Scenario",
    "Slo",
    "SloTarget",
    "Target",
    "load_config",
    "parse_config",
]
