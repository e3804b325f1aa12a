"""How much power a GPU draws, and how much it may draw."""

from exporters.gpu.metrics.declare import DRIVERS_BEFORE, counter, gauge

POWER_USAGE = gauge(
    "gpu_power_usage_watts",
    "Power drawn by the board, as the driver averages it.",
    source="GetPowerUsage",
    absent="vGPU",
)
POWER_INSTANT = gauge(
    "gpu_power_instant_watts", "Power drawn at this instant.", source="field 186", absent=DRIVERS_BEFORE.format(535)
)
POWER_MAX = gauge(
    "gpu_power_max_watts",
    "Highest power that the driver sampled in the trailing window (--gpu.window).",
    source="GetSamples(power)",
    absent="where the driver keeps no samples",
)
POWER_LIMIT = gauge(
    "gpu_power_limit_watts", "The power limit that is set on this GPU.", source="GetPowerManagementLimit", absent="vGPU"
)
POWER_LIMIT_ENFORCED = gauge(
    "gpu_power_limit_enforced_watts",
    "The power limit that applies, the lowest of all that are in force.",
    source="GetEnforcedPowerLimit",
    absent="vGPU",
)
POWER_LIMIT_DEFAULT = gauge(
    "gpu_power_limit_default_watts",
    "The power limit as the board comes.",
    source="GetPowerManagementDefaultLimit",
    absent="vGPU",
)
POWER_LIMIT_MIN = gauge(
    "gpu_power_limit_min_watts",
    "The lowest power limit that can be set.",
    source="GetPowerManagementLimitConstraints",
    absent="vGPU",
)
POWER_LIMIT_MAX = gauge(
    "gpu_power_limit_max_watts",
    "The highest power limit that can be set.",
    source="GetPowerManagementLimitConstraints",
    absent="vGPU",
)
MODULE_POWER = gauge(
    "gpu_module_power_watts",
    "Power drawn by GPU and CPU together.",
    source="field 186, scope 1",
    absent="all but Grace modules",
)
MEMORY_POWER = gauge(
    "gpu_memory_power_watts",
    "Power drawn by the memory of the GPU.",
    source="field 186, scope 2",
    absent=f"GPUs before Hopper and GeForce, {DRIVERS_BEFORE.format(550)}",
)
ENERGY = counter(
    "gpu_energy_joules_total",
    "Energy used since the driver was loaded.",
    source="GetTotalEnergyConsumption",
    absent="GPUs before Volta, vGPU",
)
