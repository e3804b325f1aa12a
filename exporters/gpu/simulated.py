"""GPUs that do not exist, for a demo on a machine without one. Each says so in its uuid, its name and its driver.

They follow a load curve (a slow swell and a quicker ripple, each GPU at its own phase); power, temperature and
memory follow the load. `control` can order a GPU to throttle, to heat up or to be lost.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence

from exporters.gpu import reasons
from exporters.gpu.answers import Memory, Observed, RemappedRows, Utilization, Versions
from exporters.gpu.collectors.clock_event_counters import ALWAYS, NEW_IDS, POLICY_THERMAL
from exporters.gpu.control import ControlFile, Orders
from exporters.gpu.driver import Device
from exporters.gpu.errors import GpuDeadError, UnsupportedError
from exporters.gpu.questions import Activity, ClockDomain, Fact, Reading, SampleKind
from exporters.gpu.simulated_xids import SimulatedXids

# The figures of an H100 SXM: limits, clocks, and power at idle and at full load.
MEMORY_BYTES = 80 * 2**30
RESERVED_BYTES = 600 * 2**20
IDLE_WATTS, LOADED_WATTS, LIMIT_WATTS = 75, 640, 700
MAX_CLOCKS: dict[ClockDomain, int] = {"graphics": 1980, "sm": 1980, "memory": 2619, "video": 1545}
THROTTLED_SHARE = 0.55
SLOWDOWN_CELSIUS, MEMORY_HOTTER = 87, 6
BOARD: dict[Reading, int] = {
    "ecc_corrected": 0,
    "ecc_uncorrected": 0,
    "recovery_action": 0,
    "pcie_generation": 5,
    "pcie_generation_max": 5,
    "pcie_width": 16,
    "pcie_width_max": 16,
}
ACTIVITY: dict[Activity, float] = {"sm": 0.7, "tensor": 0.3, "dram": 0.85}
SAMPLE_MICROSECONDS, REMEMBERED_SECONDS = 500_000, 15.0
SAMPLE_SECONDS = SAMPLE_MICROSECONDS / 1e6
# The version decides the ids of the slowdown counters, which the simulation has in the newer layout.
DRIVER_VERSION = "580.126.09-simulated"
GPU_IS_LOST, NOT_SUPPORTED = (15, "gpu_is_lost"), (3, "not_supported")
_COUNTED = {field: reasons.BITS[name] for name, field in {**ALWAYS, **NEW_IDS}.items()} | {
    POLICY_THERMAL: reasons.BITS["sw_thermal_slowdown"]
}


def load(index: int, at: float) -> float:
    """Return the load of a GPU, 0.11 to 0.99, at a time in seconds."""
    swell = math.sin(2 * math.pi * at / 600 + index)
    ripple = math.sin(2 * math.pi * at / 47 + 2.4 * index)
    return 0.55 + 0.34 * swell + 0.10 * ripple


class SimulatedDevice(Device):
    """One simulated GPU."""

    driver_version = DRIVER_VERSION
    # It answers always, or is lost.
    answered = 0

    def __init__(self, index: int, control: ControlFile, clock: Callable[[], float]) -> None:
        self.uuid = f"GPU-SIMULATED-{index}"
        self._index = index
        self._control = control
        self._clock = clock
        self._at = clock()
        self._joules = 0.0
        self._held_ns = dict.fromkeys(_COUNTED, 0.0)
        self._lock = threading.Lock()

    def fact(self, fact: Fact) -> str:
        """Return what a simulated GPU is: nothing that a real one could be."""
        told: dict[Fact, str] = {
            "name": "Simulated H100 80GB",
            "architecture": "simulated",
            "pci_bus_id": f"SIMULATED:{self._index:02X}:00.0",
            "vbios_version": "simulated",
        }
        return told.get(fact, "")

    def reading(self, reading: Reading) -> int:
        """Return a number of a healthy board; the heat of the memory and the margin follow that of the die."""
        if reading == "memory_celsius":
            return self.temperature() + MEMORY_HOTTER
        if reading == "margin_celsius":
            return SLOWDOWN_CELSIUS - self.temperature()
        if reading not in BOARD:
            raise UnsupportedError(reading, *NOT_SUPPORTED)
        self._live(reading)
        return BOARD[reading]

    def remapped_rows(self) -> RemappedRows:
        """Return that no row was replaced."""
        self._live("nvmlDeviceGetRemappedRows")
        return RemappedRows(0, 0, 0, 0)

    def samples(self, kind: SampleKind, since: int) -> list[Observed]:
        """Return what was sampled every half second, for as long as a driver remembers; orders count from now on."""
        orders, now = self._live("nvmlDeviceGetSamples"), self._clock()
        first = max(math.floor(since / SAMPLE_MICROSECONDS) + 1, math.ceil((now - REMEMBERED_SECONDS) / SAMPLE_SECONDS))
        found = []
        for number in range(first, math.floor(now / SAMPLE_SECONDS) + 1):
            late = now - number * SAMPLE_SECONDS
            value = (
                100 * self._busy(orders, late) if kind == "utilization_percent" else 1000 * self._watts(orders, late)
            )
            found.append(Observed(number * SAMPLE_MICROSECONDS, round(value)))
        return found

    def activity(self) -> dict[Activity, float]:
        """Return how busy each part was, as when a model decodes: bound by the memory's bandwidth."""
        busy = self._busy(self._live("nvmlGpmSampleGet"))
        return {part: 100 * share * busy for part, share in ACTIVITY.items()}

    def utilization(self) -> Utilization:
        """Return the load in percent."""
        busy = self._busy(self._live("nvmlDeviceGetUtilizationRates"))
        return Utilization(round(100 * busy), round(45 * busy))

    def memory(self) -> Memory:
        """Return weights that stay and a cache that follows the load."""
        busy = self._busy(self._live("nvmlDeviceGetMemoryInfo"))
        used = round(MEMORY_BYTES * (0.55 + 0.3 * busy))
        return Memory(MEMORY_BYTES, used, MEMORY_BYTES - used - RESERVED_BYTES, RESERVED_BYTES)

    def temperature(self) -> int:
        """Return the temperature, which follows the load half a minute late."""
        orders = self._live("nvmlDeviceGetTemperatureV")
        if orders.temperature is not None:
            return orders.temperature
        return round(34 + 36 * self._busy(orders, late=30))

    def clock(self, domain: ClockDomain) -> int:
        """Return the clock, which falls while a reason holds it down."""
        mask = self._mask(self._live("nvmlDeviceGetClockInfo"))
        share = THROTTLED_SHARE if mask & ~reasons.BITS["gpu_idle"] and domain != "memory" else 1
        return round(MAX_CLOCKS[domain] * share)

    def max_clock(self, domain: ClockDomain) -> int:
        """Return the highest clock."""
        self._live("nvmlDeviceGetMaxClockInfo")
        return MAX_CLOCKS[domain]

    def power_usage(self) -> int:
        """Return the power, which follows the load."""
        return round(1000 * self._watts(self._live("nvmlDeviceGetPowerUsage")))

    def power_limit(self) -> int:
        """Return the power limit."""
        self._live("nvmlDeviceGetPowerManagementLimit")
        return LIMIT_WATTS * 1000

    def enforced_power_limit(self) -> int:
        """Return the power limit."""
        self._live("nvmlDeviceGetEnforcedPowerLimit")
        return LIMIT_WATTS * 1000

    def energy(self) -> int:
        """Return the power added up since the simulation began."""
        self._live("nvmlDeviceGetTotalEnergyConsumption")
        with self._lock:
            return round(1000 * self._joules)

    def clocks_event_reasons(self) -> int:
        """Return the ordered reasons, and idleness when there is next to no load."""
        return self._mask(self._live("nvmlDeviceGetCurrentClocksEventReasons"))

    def supported_clocks_event_reasons(self) -> int:
        """Return the nine reasons that every driver knows."""
        self._live("nvmlDeviceGetSupportedClocksEventReasons")
        return reasons.COMMON

    def counters(self, fields: Sequence[int]) -> dict[int, int]:
        """Return for how many nanoseconds each counted reason was set, as a driver of branch 580 counts."""
        self._live("nvmlDeviceGetFieldValues")
        with self._lock:
            return {field: round(self._held_ns[field]) for field in fields if field in self._held_ns}

    def _live(self, function: str) -> Orders:
        """Bring the counters up to now and return the orders; a lost GPU answers nothing."""
        orders = self._control.orders(self._index)
        if orders.lost:
            raise GpuDeadError(function, *GPU_IS_LOST)
        with self._lock:
            now = self._clock()
            elapsed, self._at = max(now - self._at, 0.0), now
            self._joules += elapsed * self._watts(orders)
            mask = self._mask(orders)
            for field, bit in _COUNTED.items():
                if mask & bit:
                    self._held_ns[field] += elapsed * 1e9
        return orders

    def _busy(self, orders: Orders, late: float = 0.0) -> float:
        return orders.utilization if orders.utilization is not None else load(self._index, self._clock() - late)

    def _watts(self, orders: Orders, late: float = 0.0) -> float:
        watts = IDLE_WATTS + (LOADED_WATTS - IDLE_WATTS) * self._busy(orders, late)
        return watts * THROTTLED_SHARE if orders.throttle else watts

    def _mask(self, orders: Orders) -> int:
        return orders.mask() | (reasons.BITS["gpu_idle"] if self._busy(orders) < 0.02 else 0)


class SimulatedDriver:
    """As many simulated GPUs as were asked for."""

    simulated = True

    def __init__(self, count: int, control: ControlFile, clock: Callable[[], float] = time.time) -> None:
        self._devices = [SimulatedDevice(index, control, clock) for index in range(count)]
        self._xids = SimulatedXids([device.uuid for device in self._devices], control)

    def open(self) -> None:
        """Do nothing: there is no library."""

    def close(self) -> None:
        """Do nothing: there is no library."""

    def versions(self) -> Versions:
        """Return versions that say what they are."""
        return Versions(DRIVER_VERSION, "simulated", "simulated")

    def device_count(self) -> int:
        """Return how many there are."""
        return len(self._devices)

    def device(self, index: int) -> SimulatedDevice:
        """Return the GPU at this index."""
        return self._devices[index]

    def xid_events(self) -> SimulatedXids:
        """Return the stream of the XIDs that were ordered."""
        return self._xids
