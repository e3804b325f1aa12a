"""The catalogue of XIDs against NVIDIA's, and against what a person reads of it."""

import re
from pathlib import Path

import pytest

from exporters.gpu.xid import catalogue

# The "immediate action" of docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, as of October 2025.
NVIDIAS: dict[str, tuple[int, ...]] = {
    "RESTART_APP": (8, 13, 31, 32, 68, 69, 80, 94),
    "RESET_GPU": (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158),
    "RESTART_BM": (79,),
    "CHECK_MECHANICALS": (54,),
    "IGNORE": (43, 63, 92, 121, 137, 141, 157, 160, 161),
    "WORKFLOW_XID_45": (45,),
    "WORKFLOW_XID_48": (48,),
    "WORKFLOW_NVLINK_ERR": (74,),
    "WORKFLOW_NVLINK5_ERR": (144, 145, 146, 147, 148, 149, 150),
    "XID_154": (154,),
    "unused since Ampere": (61,),
}
OURS: dict[str, catalogue.Action] = {
    "RESTART_APP": "restart_app",
    "RESET_GPU": "reset_gpu",
    "RESTART_BM": "reboot_node",
    "CHECK_MECHANICALS": "check_power",
    "IGNORE": "see_log",
    "WORKFLOW_XID_45": "see_log",
    "WORKFLOW_XID_48": "reset_gpu",
    "WORKFLOW_NVLINK_ERR": "check_nvlink",
    "WORKFLOW_NVLINK5_ERR": "check_nvlink",
    "XID_154": "see_log",
    "unused since Ampere": "reset_gpu",
}
# A row that waits to be remapped is nothing to hurry for, but the reset is still to come.
OTHERWISE: dict[int, catalogue.Action] = {63: "reset_at_drain"}
RUNBOOK = Path(__file__).parents[2] / "alerting" / "runbooks" / "GPUXid.md"


@pytest.mark.parametrize("number", catalogue.MEANINGS)
def test_the_first_action_is_nvidias(number: int) -> None:
    (theirs,) = (action for action, numbers in NVIDIAS.items() if number in numbers)
    assert catalogue.MEANINGS[number].action == OTHERWISE.get(number, OURS[theirs])


def test_what_is_a_programs_fault_asks_nobody_to_touch_the_gpu() -> None:
    for number in catalogue.of_severity("application"):
        assert catalogue.MEANINGS[number].action in ("restart_app", "see_log"), number
    for number in catalogue.of_severity("critical"):
        assert catalogue.MEANINGS[number].action not in ("restart_app", "see_log"), number


def test_the_catalogue_is_in_order_and_says_what_happened() -> None:
    assert list(catalogue.MEANINGS) == sorted(catalogue.MEANINGS)
    assert "fallen off the bus" in catalogue.sentence(79)
    assert "NVIDIA's XID catalogue" in catalogue.sentence(999)


def test_the_runbook_has_every_xid_that_fires() -> None:
    table = re.findall(r"^\| ([\d, ]+) \|", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [int(number) for cell in table for number in cell.split(",")]
    assert sorted(listed) == catalogue.of_severity("critical")
