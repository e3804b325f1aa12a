"""Every metric of the GPU exporter, a file for each topic. Hardware series carry `gpu` (NVML's index) and `uuid`."""

# ruff: noqa: F403, I001 - each file's names are these, in the order in which /metrics shows them
from exporters.gpu.metrics.declare import GPU as GPU
from exporters.gpu.metrics.exporter import *
from exporters.gpu.metrics.health import *
from exporters.gpu.metrics.faults import *
from exporters.gpu.metrics.identity import *
from exporters.gpu.metrics.work import *
from exporters.gpu.metrics.memory import *
from exporters.gpu.metrics.memory_health import *
from exporters.gpu.metrics.clocks import *
from exporters.gpu.metrics.heat import *
from exporters.gpu.metrics.power import *
from exporters.gpu.metrics.links import *
from exporters.gpu.metrics.mig import *
from exporters.gpu.metrics.processes import *
from inferwatch.metric import Metric

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
