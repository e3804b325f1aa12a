"""What the layer over pynvml remembers, and what it gives the library."""

import ctypes
from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from exporters.gpu.errors import (
    DriverError,
    GpuDeadError,
    LifecycleError,
    PermissionDeniedError,
    StillDeniedError,
    TransientError,
    UnsupportedError,
)
from exporters.gpu.nvml import calls, fields, gpm, processes, readings
from exporters.gpu.nvml.calls import ASK_AGAIN_SECONDS, Caller, Number64
from exporters.gpu.nvml.fields import Field


class Library:
    """Answers the calls of pynvml with codes from a list, the last one again and again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, function: str, *codes: int) -> None:
        self.codes = list(codes)
        self.calls = 0
        monkeypatch.setattr(pynvml, function, self._answer)

    def _answer(self, *arguments: object) -> int:
        self.calls += 1
        code = self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]
        if code:
            raise pynvml.NVMLError(code)
        return 7


def test_a_denied_call_is_made_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    library, now = Library(monkeypatch, "nvmlDeviceGetPowerUsage", 4, 0), [0.0]
    caller = Caller(object(), clock=lambda: now[0])
    with pytest.raises(PermissionDeniedError) as first:
        caller("nvmlDeviceGetPowerUsage")
    assert not isinstance(first.value, StillDeniedError)
    now[0] = ASK_AGAIN_SECONDS - 1
    with pytest.raises(StillDeniedError):
        caller("nvmlDeviceGetPowerUsage")
    assert library.calls == 1
    now[0] = ASK_AGAIN_SECONDS
    assert caller("nvmlDeviceGetPowerUsage") == caller("nvmlDeviceGetPowerUsage") == 7
    assert library.calls == 3


def test_what_never_changes_is_asked_for_until_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(monkeypatch, "nvmlDeviceGetPowerManagementDefaultLimit", 10, 0)
    caller = Caller(object())
    with pytest.raises(TransientError):
        readings.read(caller, "580.126.09", "default_limit_milliwatts")
    for _ in range(3):
        assert readings.read(caller, "580.126.09", "default_limit_milliwatts") == 7
    assert library.calls == 2


def test_a_field_is_not_asked_for_before_the_driver_knew_it() -> None:
    with pytest.raises(UnsupportedError):
        readings.read(Caller(object()), "535.161.08", "recovery_action")
    with pytest.raises(UnsupportedError):
        readings.read(Caller(object()), "", "recovery_action")


def as_pynvml(room: Any) -> Any:
    """Return the room for field values as pynvml sees it, whose structs the exporter does not use."""
    return (pynvml.c_nvmlFieldValue_t * len(room._obj)).from_buffer(room._obj)


def test_the_library_has_room_for_one_field_more(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def get(handle: object, count: Any, room: Any) -> int:
        seen.append((count.value, ctypes.sizeof(room._obj)))
        for entry in as_pynvml(room)[: count.value]:
            entry.nvmlReturn = pynvml.NVML_ERROR_NOT_SUPPORTED
        return 0

    monkeypatch.setattr(fields, "symbol", lambda _: get)
    assert fields.read(Caller(object()), [Field(138), Field(139)]) == {}
    assert seen == [(2, 3 * ctypes.sizeof(pynvml.c_nvmlFieldValue_t))]


@pytest.mark.parametrize(
    ("kind", "member", "value"),
    [(1, "uiVal", 7), (3, "ullVal", 2**63), (4, "sllVal", -5), (5, "siVal", -8), (6, "usVal", 9)],
)
def test_each_type_of_field_is_read_as_what_it_is(
    kind: int, member: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(handle: object, count: object, room: Any) -> int:
        as_pynvml(room)[0].valueType = kind
        setattr(as_pynvml(room)[0].value, member, value)
        return 0

    monkeypatch.setattr(fields, "symbol", lambda _: get)
    assert fields.read_one(Caller(object()), Field(1)) == value


@pytest.mark.parametrize("kind", [0, 7, 250])
def test_a_type_that_is_no_integer_or_is_new_is_left_out(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(handle: object, count: object, room: Any) -> int:
        as_pynvml(room)[0].valueType = kind
        return 0

    monkeypatch.setattr(fields, "symbol", lambda _: get)
    assert fields.read(Caller(object()), [Field(1)]) == {}


@pytest.fixture
def gpm_calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    calls = dict.fromkeys(("nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmMigSampleGet", "nvmlGpmSampleFree"), 0)

    def counted(name: str) -> Callable[..., Any]:
        def answer(*arguments: object) -> Any:
            calls[name] += 1
            return ctypes.pointer(ctypes.c_int(0))

        return answer

    for name in calls:
        monkeypatch.setattr(pynvml, name, counted(name))
    monkeypatch.setattr(gpm, "symbol", lambda _: lambda request: 0)
    return calls


def test_gpm_reuses_its_samples_and_gives_them_back(gpm_calls: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(gpm.time, "monotonic", lambda: now[0])
    kept = gpm.Gpm()
    assert kept.active(object(), None) == {}
    for now[0] in (5.0, 10.0, 15.0, 20.0):
        assert kept.active(object(), None)["sm"] == 0
    assert gpm_calls["nvmlGpmSampleAlloc"] == 2
    # One that comes too soon is answered from before.
    now[0] = 20.05
    assert kept.active(object(), None)["sm"] == 0
    assert gpm_calls["nvmlGpmSampleGet"] == 5
    kept.free()
    assert gpm_calls["nvmlGpmSampleFree"] == 2


def test_gpm_does_not_compare_with_another_instance(gpm_calls: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(gpm.time, "monotonic", lambda: now[0])
    kept = gpm.Gpm()
    kept.active(object(), 1)
    kept.forget()
    now[0] = 5.0
    assert kept.active(object(), 1) == {}
    assert gpm_calls["nvmlGpmSampleAlloc"] == 1


class OftenRead:
    """A function of the library and pynvml's way to it; `code` is what they return."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.code = pynvml.NVML_SUCCESS
        self.through_pynvml = 0
        for name in ("nvmlOfNow", "nvmlOfOld"):
            monkeypatch.setattr(pynvml, name, self.by_pynvml, raising=False)
        monkeypatch.setattr(calls, "symbol", lambda name: self.directly)
        self.number = Number64(Caller(ctypes.c_void_p(1)), "nvmlOfNow", "nvmlOfOld")

    def by_pynvml(self, handle: object) -> int:
        self.through_pynvml += 1
        if self.code:
            raise pynvml.NVMLError(self.code)
        return 2**63

    def directly(self, handle: object, room: Any) -> int:
        room._obj.value = 2**63
        return self.code


def test_a_number_that_is_read_often_is_read_without_pynvml(monkeypatch: pytest.MonkeyPatch) -> None:
    library = OftenRead(monkeypatch)
    assert [library.number.read() for _ in range(5)] == [2**63] * 5
    assert library.through_pynvml == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [(pynvml.NVML_ERROR_GPU_IS_LOST, GpuDeadError), (pynvml.NVML_ERROR_UNINITIALIZED, LifecycleError)],
)
def test_such_a_number_that_fails_says_why(
    code: int, expected: type[DriverError], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = OftenRead(monkeypatch)
    library.number.read()
    library.code = code
    with pytest.raises(expected, match="nvmlOfNow"):
        library.number.read()
    library.code = pynvml.NVML_SUCCESS
    assert library.number.read() == 2**63


def test_such_a_number_that_is_no_longer_supported_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    library = OftenRead(monkeypatch)
    library.number.read()
    library.code = pynvml.NVML_ERROR_NOT_SUPPORTED
    for _ in range(3):
        with pytest.raises(UnsupportedError):
            library.number.read()
    assert library.through_pynvml == 1 + 2


@pytest.mark.parametrize("code", [0, 6])
def test_no_process_that_used_anything_is_an_empty_list(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*arguments: object) -> None:
        # pynvml raises "success" as well when the driver says that there are none.
        raise pynvml.NVMLError(code)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetProcessUtilization", none)
    assert processes.use(Caller(object()), 0) == []
