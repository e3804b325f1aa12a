"""Field values: numbers that NVML has no function for, each with an id of its own."""

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple

import pynvml

from exporters.gpu.errors import UnsupportedError
from exporters.gpu.nvml.calls import Caller, check, error, symbol
from exporters.gpu.nvml.values import MEMBERS, Value

FUNCTION = "nvmlDeviceGetFieldValues"
ALL_LINKS = 0xFFFFFFFF


class Field(NamedTuple):
    """A field id; the scope is a link, a lane or a kind of power."""

    id: int
    scope: int = 0


class FieldValue(NamedTuple):
    """A field's value and NVML's type of it."""

    type: int
    value: int


class Answer(ctypes.Structure):
    """nvmlFieldValue_t."""

    _fields_ = (
        ("id", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("type", ctypes.c_uint),
        ("code", ctypes.c_uint),
        ("value", Value),
    )


def read(caller: Caller, fields: Iterable[Field]) -> dict[Field, FieldValue]:
    """Return the integers among these fields; what is not supported is left out and not asked for again.

    Raises:
        DriverError: When one of them failed for another reason.
    """
    wanted = [field for field in fields if not caller.refuses(field)]
    if not wanted:
        return {}
    found = {}
    for field, answer in zip(
        wanted, caller.guard(FUNCTION, FUNCTION, lambda: _values(caller.handle, wanted)), strict=True
    ):
        code = answer.code
        if code == pynvml.NVML_SUCCESS:
            member = MEMBERS.get(answer.type)
            if member is not None:
                found[field] = FieldValue(answer.type, getattr(answer.value, member))
            continue
        failure = error(FUNCTION, code)
        # A driver that does not know a field id or a link answers either of these.
        if not isinstance(failure, UnsupportedError) and code != pynvml.NVML_ERROR_INVALID_ARGUMENT:
            raise failure
        caller.refuse(field, code)
    return found


def read_one(caller: Caller, field: Field) -> int:
    """Return the value of one field.

    Raises:
        UnsupportedError: When there is none.
    """
    found = read(caller, [field]).get(field)
    if found is None:
        raise error(FUNCTION, pynvml.NVML_ERROR_NOT_SUPPORTED)
    return found.value


def _values(handle: Any, fields: list[Field]) -> list[Any]:
    # One entry more than is asked for: drivers were seen to write past the end when they were asked for NVLinks.
    room = (Answer * (len(fields) + 1))()
    for slot, field in zip(room, fields, strict=False):
        slot.id, slot.scope = field
    check(FUNCTION, symbol(FUNCTION)(handle, ctypes.c_int(len(fields)), ctypes.byref(room)))
    return list(room)[: len(fields)]
