"""The reasons for which a GPU lowers its clocks, in words for a person."""

from exporters.gpu.metrics import HARMFUL_REASONS

WORDS = {
    "gpu_idle": "idle",
    "applications_clocks_setting": "clocks set by a user",
    "sw_power_cap": "at its power limit",
    "hw_slowdown": "slowed by the hardware",
    "sync_boost": "waits for its sync boost group",
    "sw_thermal_slowdown": "too hot, slowed by the driver",
    "hw_thermal_slowdown": "too hot, slowed by the hardware",
    "hw_power_brake_slowdown": "power brake, slowed by the power supply",
    "display_clock_setting": "clocks set for a display",
    "board_limit": "at a limit of the board",
    "reliability": "at its voltage limit",
}
# The hardware sets the general reason beside each of these.
_SPECIFIC = {"hw_thermal_slowdown", "hw_power_brake_slowdown"}


def in_words(reasons: tuple[str, ...]) -> str:
    """Return the reasons as one phrase, the harmful first; empty for none."""
    told = [reason for reason in reasons if reason != "hw_slowdown" or not _SPECIFIC & set(reasons)]
    ordered = sorted(told, key=lambda reason: reason not in HARMFUL_REASONS)
    return "; ".join(WORDS.get(reason, reason.replace("_", " ")) for reason in ordered)
