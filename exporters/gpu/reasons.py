"""The reasons for which a GPU lowers its clocks, by NVML's bit (nvmlClocksEventReason* in nvml.h)."""

BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
    "board_limit": 0x200,
    "reliability": 0x400,
}
# What a driver reports that does not tell which reasons it knows: the nine that all of them share.
COMMON = 0x1FF


def names(mask: int) -> list[str]:
    """Return the reasons in a bit mask; bits that are not known here are left out."""
    return [name for name, bit in BITS.items() if mask & bit]


def mask(reasons: list[str]) -> int:
    """Return the bit mask of these reasons."""
    return sum(BITS[name] for name in set(reasons))
