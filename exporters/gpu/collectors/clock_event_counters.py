"""How long the driver says that a reason held the clocks down: counters in nanoseconds, read as NVML field values.

Two ids never changed (NVML_FI_DEV_PERF_POLICY_POWER 74 and _SYNC_BOOST 76). The three slowdown counters came with
driver branch 575 as 251 to 253 and were renumbered inside branch 580 to 269 to 271; the old numbers went to power
smoothing, so a wrong guess reads a value of something else. nvidia-ml-py's constants follow its own version and not
the driver's, and are not used.
"""

import re
import time

from exporters.gpu import metrics
from exporters.gpu.collection import Collection

ALWAYS = {"sw_power_cap": 74, "sync_boost": 76}
# NVML_FI_DEV_PERF_POLICY_THERMAL counts the same as the slowdown counter of sw_thermal_slowdown.
POLICY_THERMAL = 75
SLOWDOWNS = ("sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
OLD_IDS = dict(zip(SLOWDOWNS, (251, 252, 253), strict=True))
NEW_IDS = dict(zip(SLOWDOWNS, (269, 270, 271), strict=True))
# Seen: 580.65 with the old ids, 580.82 with the new ones. What lies between is not known.
LAST_OLD_580 = 65
FIRST_NEW_580 = 82
NANOSECOND = 1e-9
# Two counters read in one call differ by less, also on a machine under load.
SKEW_SECONDS = 1.0
# Only Linux has the clock that goes on while the machine sleeps; elsewhere there are simulated GPUs at most.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Return for how many seconds the machine runs: the driver cannot have counted for longer."""
    return time.clock_gettime(_SINCE_BOOT)


def slowdown_fields(driver_version: str) -> dict[str, int]:
    """Return the field id of each slowdown counter, or nothing where the version does not decide it."""
    parsed = re.match(r"(\d+)\.(\d+)", driver_version)
    if not parsed:
        return {}
    major, minor = int(parsed[1]), int(parsed[2])
    if major == 575 or (major == 580 and minor <= LAST_OLD_580):
        return OLD_IDS
    if major > 580 or (major == 580 and minor >= FIRST_NEW_580):
        return NEW_IDS
    return {}


def collect(gpu: Collection) -> None:
    """Collect the counters in seconds."""
    slowdowns = slowdown_fields(gpu.device.driver_version)
    read = gpu.ask(lambda: gpu.device.counters((*ALWAYS.values(), POLICY_THERMAL, *slowdowns.values())))
    if read is None:
        return
    seconds = {field: nanoseconds * NANOSECOND for field, nanoseconds in read.items()}
    counted = any(field in seconds for field in slowdowns.values()) and _plausible(gpu, slowdowns, seconds)
    gpu.know("slowdown_counters", counted)
    fields = ALWAYS | slowdowns if counted else ALWAYS
    longest = uptime()
    for reason, field in fields.items():
        if field in seconds:
            gpu.add(metrics.CLOCKS_EVENT_SECONDS, seconds[field], reason, at_most=longest)


def _plausible(gpu: Collection, slowdowns: dict[str, int], seconds: dict[int, float]) -> bool:
    policy = seconds.get(POLICY_THERMAL)
    thermal = seconds.get(slowdowns.get("sw_thermal_slowdown", -1))
    if policy is None or thermal is None or abs(policy - thermal) <= SKEW_SECONDS:
        return True
    gpu.notices.warn(
        "slowdown counters",
        f"the driver's slowdown counters are left out: field {slowdowns['sw_thermal_slowdown']} reads {thermal:g} s "
        f"and field {POLICY_THERMAL} {policy:g} s, which must be the same; driver {gpu.device.driver_version} seems "
        "to number them differently. The sampled counters go on",
    )
    return False
