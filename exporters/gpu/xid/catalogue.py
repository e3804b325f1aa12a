"""What the XIDs mean that matter to whoever runs a GPU.

After NVIDIA's XID catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, as of October 2025): `what`
is its description in our words, and the action is its "immediate action": RESTART_APP, RESET_GPU, RESTART_BM (reboot),
CHECK_MECHANICALS (power), a workflow for NVLink; IGNORE and what depends on another XID is ``see_log``. Three follow
other pages of NVIDIA's: 48 and 63 its GPU memory error management (a reset, for 63 when it suits), and 61, which that
catalogue no longer uses, its XID errors for older GPUs. The severity is ours:

critical: this GPU, its memory or its link does not work until somebody acts.
warning: a fault of hardware that was contained, or one that foretells another; act when it suits.
application: most often the fault of the program that ran; the GPU goes on.
"""

from typing import Literal, NamedTuple

Severity = Literal["critical", "warning", "application"]
# What to do first, short enough for a label: the runbook says more.
Action = Literal["restart_app", "reset_gpu", "reset_at_drain", "reboot_node", "check_nvlink", "check_power", "see_log"]


class Meaning(NamedTuple):
    """One XID: how bad it is, what to do first, and what happened."""

    severity: Severity
    action: Action
    what: str


MEANINGS: dict[int, Meaning] = {
    8: Meaning("application", "restart_app", "GPU stopped processing for a program"),
    13: Meaning("application", "restart_app", "graphics engine exception, most often an access out of bounds"),
    31: Meaning("application", "restart_app", "memory page fault, most often a program's bad address"),
    32: Meaning("application", "restart_app", "invalid or corrupted push buffer"),
    43: Meaning("application", "see_log", "a program's channel was reset; the program ends, the GPU goes on"),
    45: Meaning("application", "see_log", "channels torn down, after another fault or a killed program"),
    46: Meaning("critical", "reset_gpu", "GPU stopped processing"),
    48: Meaning("critical", "reset_gpu", "uncorrectable ECC error"),
    54: Meaning("critical", "check_power", "auxiliary power is not connected"),
    61: Meaning("critical", "reset_gpu", "internal microcontroller breakpoint"),
    62: Meaning("critical", "reset_gpu", "internal microcontroller halted"),
    63: Meaning("warning", "reset_at_drain", "memory row marked for remapping, or page for retirement"),
    64: Meaning("critical", "reset_gpu", "row remapping or page retirement failed"),
    68: Meaning("application", "restart_app", "video decoder exception"),
    69: Meaning("application", "restart_app", "graphics engine class error"),
    74: Meaning("critical", "check_nvlink", "NVLink error"),
    79: Meaning("critical", "reboot_node", "GPU has fallen off the bus"),
    80: Meaning("application", "restart_app", "corrupted data sent to the GPU"),
    92: Meaning("warning", "see_log", "many corrected ECC errors"),
    94: Meaning("warning", "restart_app", "uncorrectable ECC error, contained in one program"),
    95: Meaning("critical", "reset_gpu", "uncorrectable ECC error, not contained"),
    109: Meaning("critical", "reset_gpu", "context switch timeout"),
    110: Meaning("critical", "reset_gpu", "security fault"),
    119: Meaning("critical", "reset_gpu", "GSP firmware did not answer in time"),
    120: Meaning("critical", "reset_gpu", "GSP firmware error"),
    121: Meaning("warning", "see_log", "corrected error on the link to the CPU (C2C)"),
    136: Meaning("critical", "reset_gpu", "link training failed"),
    137: Meaning("application", "see_log", "NVLink privilege error, most often a program's bad address on another GPU"),
    140: Meaning("critical", "reset_gpu", "unrecovered ECC error"),
    141: Meaning("application", "see_log", "CUDA fast path error"),
    143: Meaning("critical", "reset_gpu", "GPU initialisation failed"),
    # NVLink 5. Of 144 to 148 most kinds are to be ignored, of the other two most need a reset; what the driver asks
    # for is in gpu_recovery_action as well.
    144: Meaning("warning", "check_nvlink", "NVLink error (SAW)"),
    145: Meaning("warning", "check_nvlink", "NVLink error (RLW)"),
    146: Meaning("warning", "check_nvlink", "NVLink error (TLW)"),
    147: Meaning("warning", "check_nvlink", "NVLink error (TREX)"),
    148: Meaning("warning", "check_nvlink", "NVLink error (NVLPW)"),
    149: Meaning("critical", "check_nvlink", "NVLink error (NETIR), such as a link that is down"),
    150: Meaning("critical", "check_nvlink", "NVLink error (MSE)"),
    154: Meaning("warning", "see_log", "recovery action changed; gpu_recovery_action says to what"),
    155: Meaning("critical", "reset_gpu", "NVLink error, defined by software"),
    156: Meaning("critical", "reset_gpu", "a part of the GPU was retired, which takes effect at a reset"),
    157: Meaning("warning", "see_log", "a part of the GPU could not be retired"),
    158: Meaning("critical", "reset_gpu", "GPU fatal timeout"),
    160: Meaning("warning", "see_log", "a memory channel was retired"),
    161: Meaning("warning", "see_log", "a memory channel could not be retired"),
}
# Pre-created at 0, so that the first one is an increase. What a GPU server dies of; the others appear when they happen.
IMPORTANT = (48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140)
# NVML does not report these (NVIDIA/DCGM#162, #235), so that they are pre-created for the kernel's log as well.
OFTEN_ONLY_IN_LOG = (62, 79, 119, 120)


def of_severity(severity: Severity) -> list[int]:
    """Return the numbers of this severity, in order."""
    return [number for number, meaning in MEANINGS.items() if meaning.severity == severity]


def sentence(number: int) -> str:
    """Return what this XID is and what to do first, for the log."""
    meaning = MEANINGS.get(number)
    if meaning is None:
        return f"XID {number}; NVIDIA's XID catalogue says what it is"
    return f"XID {number} ({meaning.what}); severity {meaning.severity}, first action {meaning.action}"
