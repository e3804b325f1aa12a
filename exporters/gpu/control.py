"""The file that tells simulated GPUs what to do, read again when it changes.

An example: ``{0: {throttle: [hw_thermal_slowdown], temperature: 91}, 3: {lost: true}}``. Instead of orders that hold, a
GPU may have a timeline: ``{1: [{at: 30s, temperature: 70}, {at: 2m, temperature: 92, throttle: [hw_thermal_slowdown]},
{at: 3m, xid: 79, lost: true}, {at: 5m}, {at: 8m, repeat: true}]}``. An absent or empty file leaves every GPU healthy.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from exporters.gpu import reasons
from inferwatch.durations import parse_duration

log = logging.getLogger(__name__)


def _seconds(value: Any) -> float:
    if value in (0, "0", "0s"):
        return 0.0
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; write a duration such as 30s")
    return parse_duration(value)


Reason = Literal[
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
]


class Orders(BaseModel):
    """What one simulated GPU is told; what is not said follows the load curve.

    Attributes:
        throttle: Reasons that hold its clocks down.
        temperature: In degrees Celsius.
        utilization: From 0 to 1.
        lost: Whether it has fallen off the bus.
        xid: The fault that the driver reports once, when these orders begin to hold.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    throttle: tuple[Reason, ...] = ()
    temperature: Annotated[int, Field(ge=-50, le=200)] | None = None
    utilization: Annotated[float, Field(ge=0, le=1)] | None = None
    lost: bool = False
    xid: Annotated[int, Field(ge=1, le=9999)] | None = None

    def mask(self) -> int:
        """Return the reasons as NVML's bits."""
        return reasons.mask(list(self.throttle))


HEALTHY = Orders()


class Step(Orders):
    """Orders that hold from a time on, until the next step of the same GPU.

    Attributes:
        at: Seconds after the file was read; written as a duration, such as ``1m30s``.
        repeat: Whether the timeline begins again here; only the last step may say so.
    """

    at: Annotated[float, BeforeValidator(_seconds)]
    repeat: bool = False


def _as_steps(value: Any) -> Any:
    """Take plain orders as a timeline of one step that holds from the beginning."""
    return [{"at": 0} | value] if isinstance(value, dict) else value


def _in_order(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if any(later.at <= earlier.at for earlier, later in pairwise(steps)):
        raise ValueError("each step must have a later `at` than the one before")
    if any(step.repeat for step in steps[:-1]) or (len(steps) == 1 and steps[0].repeat):
        raise ValueError("only the last of several steps may say `repeat`")
    return steps


Timeline = Annotated[tuple[Step, ...], BeforeValidator(_as_steps), AfterValidator(_in_order)]
_FILE = TypeAdapter(dict[Annotated[int, Field(ge=0)], Timeline])
# What tells one state of the file from another: its time, size and inode; None while it is absent.
_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True)
class Moment:
    """What one GPU is told now, and by which step: two moments are the same step if they have the same `step`."""

    orders: Orders
    step: Hashable


class ControlFile:
    """The orders in a file; on a broken file the last good ones stay in force and the log says why."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._stamp: _Stamp = None
        self._timelines: dict[int, tuple[Step, ...]] = {}
        self._began = clock()
        self._lock = threading.Lock()

    def orders(self, index: int) -> Orders:
        """Return what the GPU at this index is told now."""
        return self.moment(index).orders

    def moment(self, index: int) -> Moment:
        """Return what the GPU at this index is told now, and by which step."""
        with self._lock:
            if self._path is not None:
                self._refresh(self._path)
            steps = self._timelines.get(index, ())
            return _moment(steps, self._clock() - self._began, self._began)

    def _refresh(self, path: Path) -> None:
        stamp = _stamp(path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._timelines = _read(path) if stamp is not None else {}
        except ValueError as error:
            log.warning("%s: %s; the last good orders stay in force", path, error)
            return
        self._began = self._clock()
        log.info("%s: simulated GPUs with orders: %s", path, ", ".join(map(str, sorted(self._timelines))) or "none")


def _moment(steps: tuple[Step, ...], elapsed: float, began: float) -> Moment:
    if not steps or elapsed < steps[0].at:
        return Moment(HEALTHY, (began, None))
    turn = 0.0
    if steps[-1].repeat:
        length = steps[-1].at - steps[0].at
        turn, into = divmod(elapsed - steps[0].at, length)
        elapsed = steps[0].at + into
        steps = steps[:-1]
    number = max(at for at, step in enumerate(steps) if step.at <= elapsed)
    step = steps[number]
    following = steps[number + 1] if number + 1 < len(steps) else None
    orders: Orders = step
    if following is not None and step.temperature is not None and following.temperature is not None:
        # Heat does not jump.
        share = (elapsed - step.at) / (following.at - step.at)
        warmer = step.temperature + share * (following.temperature - step.temperature)
        orders = step.model_copy(update={"temperature": round(warmer)})
    return Moment(orders, (began, turn, number))


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> dict[int, tuple[Step, ...]]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from None
    try:
        return _FILE.validate_python(data or {})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ValueError(
            f"{where}: {first['msg']}; write such as {{0: {{throttle: [hw_thermal_slowdown], temperature: 91}}}}"
        ) from None
