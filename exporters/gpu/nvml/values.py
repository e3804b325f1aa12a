"""NVML's values of many types (nvmlValue_t). pynvml's structs are not used: each attribute of theirs costs a call."""

import ctypes

import pynvml

UNSIGNED_64: int = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
# By nvmlValueType_t; a type that is not here (a double, or one of a newer driver) is no integer.
MEMBERS = {1: "unsigned", 2: "unsigned_long", 3: "unsigned_64", 4: "signed_64", 5: "signed", 6: "unsigned_16"}


class Value(ctypes.Union):
    """One value, of the type that stands beside it."""

    _fields_ = (
        ("double", ctypes.c_double),
        ("unsigned", ctypes.c_uint),
        ("unsigned_long", ctypes.c_ulong),
        ("unsigned_64", ctypes.c_ulonglong),
        ("signed_64", ctypes.c_longlong),
        ("signed", ctypes.c_int),
        ("unsigned_16", ctypes.c_ushort),
    )
