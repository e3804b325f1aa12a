"""How hot a GPU is, and what cools it."""

from exporters.gpu.metrics.declare import DRIVERS_BEFORE, gauge

TEMPERATURE = gauge(
    "gpu_temperature_celsius", "Temperature of the GPU die.", source="GetTemperatureV, GetTemperature", absent="vGPU"
)
MEMORY_TEMPERATURE = gauge(
    "gpu_memory_temperature_celsius",
    "Temperature of the memory.",
    source="field 82",
    absent="GPUs without HBM, such as GeForce and L40S",
)
TEMPERATURE_MARGIN = gauge(
    "gpu_temperature_margin_celsius",
    "How many degrees are left until the GPU slows down; 0 or below: it does.",
    source="GetMarginTemperature",
    absent="GeForce, drivers before 570",
)
TEMPERATURE_THRESHOLD = gauge(
    "gpu_temperature_threshold_celsius",
    "Temperature at which the GPU shuts down or slows down, or that its memory or chip should not exceed.",
    "threshold",
    source="GetTemperatureThreshold",
    absent="where the driver gives the limits relative to T.Limit instead, from Ada on",
)
TEMPERATURE_TLIMIT = gauge(
    "gpu_temperature_tlimit_celsius",
    "The margin (gpu_temperature_margin_celsius) at which the GPU shuts down or slows down; may be below 0.",
    "threshold",
    source="fields 193 to 196",
    absent="GPUs before Ada, drivers before 550",
)
_NO_FANS = "GPUs without fans, such as SXM boards and L40S"
FAN_RPM = gauge(
    "gpu_fan_rpm",
    "How often the fan turns in a minute.",
    "fan",
    source="GetFanSpeedRPM",
    absent=f"{_NO_FANS}; {DRIVERS_BEFORE.format(570)}",
)
FAN_SPEED = gauge(
    "gpu_fan_speed_ratio",
    "How fast the fan should turn, as a share of its highest speed; may exceed 1.",
    "fan",
    source="GetFanSpeed_v2",
    absent=_NO_FANS,
)
