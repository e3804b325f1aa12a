"""Every metric of the probe exporter: what probes measured, and what the configuration says."""

# ruff: noqa: F403, I001 - each file's names are these, in the order in which docs/METRICS.md shows them
from exporters.probe.metrics.declare import *
from exporters.probe.metrics.measured import *
from exporters.probe.metrics.targets import *
from exporters.probe.metrics.configured import *
from exporters.probe.metrics.process import *
from inferwatch.metric import Metric

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
