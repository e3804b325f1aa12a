"""How an NVML function is called, and what its return codes mean to the exporter."""

import ctypes
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

import pynvml

from exporters.gpu.errors import (
    DriverError,
    GpuDeadError,
    LifecycleError,
    PermissionDeniedError,
    StillDeniedError,
    TransientError,
    UnknownError,
    UnsupportedError,
)

T = TypeVar("T")

# A right may be given while the exporter runs, but seldom.
ASK_AGAIN_SECONDS = 600.0

_CODE_NAMES = {
    value: name.removeprefix("NVML_ERROR_").lower()
    for name, value in vars(pynvml).items()
    if name[:11] == "NVML_ERROR_"
}
_CLASSES: dict[int, type[DriverError]] = {
    pynvml.NVML_ERROR_UNINITIALIZED: LifecycleError,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: LifecycleError,
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: LifecycleError,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: LifecycleError,
    pynvml.NVML_ERROR_GPU_NOT_FOUND: LifecycleError,
    pynvml.NVML_ERROR_GPU_IS_LOST: GpuDeadError,
    pynvml.NVML_ERROR_RESET_REQUIRED: GpuDeadError,
    pynvml.NVML_ERROR_NOT_SUPPORTED: UnsupportedError,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: UnsupportedError,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: UnsupportedError,
    pynvml.NVML_ERROR_DEPRECATED: UnsupportedError,
    pynvml.NVML_ERROR_NO_PERMISSION: PermissionDeniedError,
    pynvml.NVML_ERROR_UNKNOWN: UnknownError,
}


def error(function: str, code: int) -> DriverError:
    """Return the error that this return code is."""
    return _CLASSES.get(code, TransientError)(function, code, _CODE_NAMES.get(code, f"code_{code}"))


def call(function: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of pynvml.

    Raises:
        DriverError: When it does not answer `NVML_SUCCESS`.
    """
    binding = getattr(pynvml, function, None)
    if binding is None:
        # An older nvidia-ml-py lacks the function; to the caller that is no different from an older library.
        raise error(function, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    try:
        return binding(*arguments, **options)
    except pynvml.NVMLError as failure:
        raise error(function, failure.value) from None


def symbol(function: str) -> Any:
    """Return a function of the library itself, for calls whose arguments pynvml cannot give."""
    try:
        return pynvml._nvmlGetFunctionPointer(function)
    except pynvml.NVMLError as failure:
        raise error(function, failure.value) from None


def check(function: str, code: int) -> None:
    """Raise the error that this return code is, unless it is `NVML_SUCCESS`."""
    if code != pynvml.NVML_SUCCESS:
        raise error(function, code)


def address(handle: Any) -> int | None:
    """Return what tells one handle from another; ctypes makes a new object for each call."""
    return ctypes.cast(handle, ctypes.c_void_p).value


class Caller:
    """Calls the functions of one GPU and remembers which of them it refuses.

    A call that is not supported is not made again: on a vGPU each such call writes a line into the kernel's log. A call
    that is denied is made again after `ASK_AGAIN_SECONDS`. What never changes is asked for once.
    """

    def __init__(self, handle: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self.handle = handle
        self._clock = clock
        self._refused: dict[Hashable, int] = {}
        self._denied: dict[Hashable, tuple[DriverError, float]] = {}
        self._fixed: dict[Hashable, Any] = {}
        # How many calls the library has answered, which what is remembered from before is not.
        self.answered = 0

    def __call__(self, function: str, *arguments: Any, key: Hashable = None, **options: Any) -> Any:
        """Call a function with the handle and these arguments; `key` tells calls apart that `arguments` do not."""
        return self.guard(
            key or (function, *arguments), function, lambda: call(function, self.handle, *arguments, **options)
        )

    def guard(self, key: Hashable, function: str, make: Callable[[], T]) -> T:
        """Make a call of this function unless this key was refused."""
        if key in self._refused:
            raise error(function, self._refused[key])
        if key in self._denied:
            denial, until = self._denied[key]
            if self._clock() < until:
                raise StillDeniedError(denial.function, denial.code, denial.name)
        try:
            answer = make()
        except UnsupportedError as failure:
            self.refuse(key, failure.code)
            raise
        except PermissionDeniedError as failure:
            self._denied[key] = (failure, self._clock() + ASK_AGAIN_SECONDS)
            raise
        self._denied.pop(key, None)
        self.answered += 1
        return answer

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what this call once answered; a failure is not kept."""
        if key not in self._fixed:
            self._fixed[key] = make()
        kept: T = self._fixed[key]
        return kept

    def refuse(self, key: Hashable, code: int) -> None:
        """Remember that what this key names is not supported."""
        self._refused[key] = code

    def refuses(self, key: Hashable) -> bool:
        """Return whether what this key names is not supported."""
        return key in self._refused

    def first(self, new: Callable[[], T], old: Callable[[], T]) -> T:
        """Return what the first answers that is supported."""
        try:
            return new()
        except UnsupportedError:
            return old()


class Number64:
    """One unsigned 64-bit number of one GPU that is read so often that pynvml's way to it would cost too much.

    Once a function has answered, the library is called without pynvml. When it refuses, it is asked again through
    pynvml and the caller, which know what a return code means.

    Args:
        caller: The GPU's.
        new: A function of NVML that writes the number behind its second argument.
        old: Its name in older drivers.
    """

    def __init__(self, caller: Caller, new: str, old: str) -> None:
        self._caller = caller
        self._new = new
        self._old = old
        self._function: Any = None

    def read(self) -> int:
        """Return the number."""
        function = self._function
        if function is not None:
            number = ctypes.c_ulonglong()
            if function(self._caller.handle, ctypes.byref(number)) == pynvml.NVML_SUCCESS:
                return number.value
            self._function = None
        return self._caller.first(partial(self._ask, self._new), partial(self._ask, self._old))

    def _ask(self, name: str) -> int:
        answer = int(self._caller(name))
        self._function = symbol(name)
        return answer
