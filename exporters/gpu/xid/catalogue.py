"""What the XIDs mean that matter to whoever runs a GPU.

After NVIDIA's XID catalogue (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html: the resolution for each
number) and its list of common ones (docs.nvidia.com/deploy/xid-errors). The severity is ours:

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
    13: Meaning("application", "restart_app", "graphics engine exception, most often an access out of bounds"),
    31: Meaning("application", "restart_app", "memory page fault, most often a program's bad address"),
    32: Meaning("application", "restart_app", "invalid or corrupted push buffer"),
    43: Meaning("application", "restart_app", "a program's channel was reset"),
    45: Meaning("application", "restart_app", "channels torn down, after another fault or a killed program"),
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
    92: Meaning("warning", "see_log", "many corrected ECC errors"),
    94: Meaning("warning", "restart_app", "uncorrectable ECC error, contained in one program"),
    95: Meaning("critical", "reset_gpu", "uncorrectable ECC error, not contained"),
    109: Meaning("critical", "reset_gpu", "context switch timeout"),
    119: Meaning("critical", "reset_gpu", "GSP firmware did not answer in time"),
    120: Meaning("critical", "reset_gpu", "GSP firmware error"),
    140: Meaning("critical", "reset_gpu", "unrecovered ECC error"),
    143: Meaning("critical", "reset_gpu", "GPU initialisation failed"),
    154: Meaning("warning", "see_log", "recovery action changed"),
}
# Pre-created at 0, so that the first one is an increase. What a GPU server dies of; the others appear when they happen.
IMPORTANT = (48, 62, 64, 74, 79, 94, 95, 119, 120, 140)
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
