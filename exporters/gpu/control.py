"""The file that tells simulated GPUs what to do, read again when it changes.

An example: ``{0: {throttle: [hw_thermal_slowdown], temperature: 91}, 3: {lost: true}}``. An absent or empty file
leaves every GPU healthy.
"""

import logging
import threading
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from exporters.gpu import reasons

log = logging.getLogger(__name__)

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
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    throttle: tuple[Reason, ...] = ()
    temperature: Annotated[int, Field(ge=-50, le=200)] | None = None
    utilization: Annotated[float, Field(ge=0, le=1)] | None = None
    lost: bool = False

    def mask(self) -> int:
        """Return the reasons as NVML's bits."""
        return reasons.mask(list(self.throttle))


HEALTHY = Orders()
_FILE = TypeAdapter(dict[Annotated[int, Field(ge=0)], Orders])
# What tells one state of the file from another: its time, size and inode; None while it is absent.
_Stamp = tuple[int, int, int] | None


class ControlFile:
    """The orders in a file; on a broken file the last good ones stay in force and the log says why."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stamp: _Stamp = None
        self._orders: dict[int, Orders] = {}
        self._lock = threading.Lock()

    def orders(self, index: int) -> Orders:
        """Return what the GPU at this index is told now."""
        with self._lock:
            if self._path is not None:
                self._refresh(self._path)
            return self._orders.get(index, HEALTHY)

    def _refresh(self, path: Path) -> None:
        stamp = _stamp(path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._orders = _read(path) if stamp is not None else {}
        except ValueError as error:
            log.warning("%s: %s; the last good orders stay in force", path, error)
            return
        log.info("%s: simulated GPUs with orders: %s", path, ", ".join(map(str, sorted(self._orders))) or "none")


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> dict[int, Orders]:
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
