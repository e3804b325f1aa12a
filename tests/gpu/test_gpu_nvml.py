import pynvml
import pytest

from exporters.gpu import advice
from exporters.gpu.errors import (
    DriverError,
    GpuDeadError,
    LifecycleError,
    PermissionDeniedError,
    TransientError,
    UnknownError,
    UnsupportedError,
)
from exporters.gpu.nvml import NvmlDevice, NvmlDriver


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        (1, LifecycleError, "uninitialized"),
        (2, TransientError, "invalid_argument"),
        (3, UnsupportedError, "not_supported"),
        (4, PermissionDeniedError, "no_permission"),
        (6, TransientError, "not_found"),
        (9, LifecycleError, "driver_not_loaded"),
        (12, LifecycleError, "library_not_found"),
        (13, UnsupportedError, "function_not_found"),
        (15, GpuDeadError, "gpu_is_lost"),
        (16, GpuDeadError, "reset_required"),
        (18, LifecycleError, "lib_rm_version_mismatch"),
        (25, UnsupportedError, "argument_version_mismatch"),
        (26, UnsupportedError, "deprecated"),
        (28, LifecycleError, "gpu_not_found"),
        (777, TransientError, "code_777"),
        (999, UnknownError, "unknown"),
    ],
)
def test_each_code_has_its_kind(code: int, kind: type[DriverError], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise pynvml.NVMLError(code)

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    with pytest.raises(DriverError) as raised:
        NvmlDriver().open()
    error = raised.value
    assert type(error) is kind
    assert (error.function, error.code, error.name) == ("nvmlInit", code, name)
    assert f"nvmlInit answered {code} ({name}); " in advice.sentence(error)


def test_a_binding_without_the_new_function_takes_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pynvml, "nvmlDeviceGetTemperatureV")
    monkeypatch.setattr(pynvml, "nvmlDeviceGetTemperature", lambda handle, sensor: 61)
    assert NvmlDevice(object(), "GPU-0", "470.256.02").temperature() == 61


def test_an_unsupported_call_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def refuse(handle: object, domain: int) -> int:
        calls.append(domain)
        raise pynvml.NVMLError(3)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetClockInfo", refuse)
    device = NvmlDevice(object(), "GPU-0", "580.126.09")
    for _ in range(3):
        for domain in ("sm", "video"):
            with pytest.raises(UnsupportedError) as raised:
                device.clock(domain)  # type: ignore[arg-type]
            assert raised.value.function == "nvmlDeviceGetClockInfo"
    assert calls == [pynvml.NVML_CLOCK_SM, pynvml.NVML_CLOCK_VIDEO]
