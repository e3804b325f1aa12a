"""The one file a user edits, `inferwatch.yml`: its model, how it is read, and what its errors say."""

from inferwatch.config.auth import Auth
from inferwatch.config.cost import Cost, Gpus
from inferwatch.config.load import load_config, parse_config
from inferwatch.config.model import Config, GpuExporter
from inferwatch.config.objectives import Slo, SloTarget
from inferwatch.config.scenario import Scenario
from inferwatch.config.target import Target

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
