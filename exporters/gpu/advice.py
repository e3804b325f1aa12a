"""What a person can do when NVML does not start, by the name of its return code."""

from exporters.gpu.errors import DriverError

_ADVICE = {
    "library_not_found": (
        "libnvidia-ml.so.1 is not here: install the NVIDIA driver, or give this container its GPUs "
        "(Compose: the NVIDIA reservation; docker run: --gpus all); without a GPU, --simulate 4 makes some up"
    ),
    "driver_not_loaded": "the NVIDIA driver is not loaded: run nvidia-smi, then see dmesg for why it did not load",
    "lib_rm_version_mismatch": (
        "the driver was upgraded and its kernel module was not reloaded: reload the module or reboot. This exporter "
        "keeps the library that it once loaded, so it ends if it had worked before, to be started anew"
    ),
    "no_permission": "this user may not open /dev/nvidiactl: correct its permissions or the container's devices",
    "unknown": (
        "in a container this means that it lost its /dev/nvidia* devices (a systemctl daemon-reload does that): "
        "restart the container; on a bare host, run nvidia-smi and see dmesg"
    ),
}


def sentence(error: DriverError) -> str:
    """Return what happened and what to do about it."""
    hint = _ADVICE.get(error.name, "run nvidia-smi on this machine and see dmesg")
    return f"NVML cannot be used: {error}; {hint}"
