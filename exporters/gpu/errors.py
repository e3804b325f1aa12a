"""What can go wrong in a call to the GPU driver, by what the exporter has to do about it."""


class DriverError(Exception):
    """A call to the driver failed.

    Attributes:
        function: The NVML function, such as ``nvmlDeviceGetPowerUsage``.
        code: The NVML return code.
        name: That code's name in lower case, such as ``gpu_is_lost``.
    """

    def __init__(self, function: str, code: int, name: str) -> None:
        super().__init__(f"{function} answered {code} ({name})")
        self.function = function
        self.code = code
        self.name = name


class LifecycleError(DriverError):
    """The driver or its library is not there, or no longer the one that was loaded: initialise again."""


class GpuDeadError(DriverError):
    """This GPU is lost or needs a reset; the others are not concerned."""


class UnsupportedError(DriverError):
    """This GPU or driver cannot answer this call; asking again is of no use."""


class PermissionDeniedError(DriverError):
    """This process may not ask."""


class StillDeniedError(PermissionDeniedError):
    """The call was denied a while ago, and was not made this time."""


class TransientError(DriverError):
    """No answer this time."""


class UnknownError(TransientError):
    """The driver says no more than "unknown error"; from every GPU at once: a container that lost its devices."""
