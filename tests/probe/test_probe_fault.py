"""A fault of our own is told with its kind and place, and never with its text."""

import json
from unittest.mock import patch

import pytest
from hostile import HostileServer
from probe_helpers import scenario, target

from exporters.probe.asking.run import run_probe
from exporters.probe.fault import fault
from exporters.probe.scheduling.budget import Amount


def test_the_place_is_the_last_line_of_ours() -> None:
    with pytest.raises(AttributeError) as ours:
        Amount() + None  # type: ignore[operator]
    failure = fault(ours.value)
    assert failure.outcome == "internal"
    assert str(failure).startswith("inferwatch failed (AttributeError at budget.py:")


def test_its_text_is_left_out() -> None:
    error = ValueError("the answer said so")
    assert str(fault(error)) == "inferwatch failed (ValueError); please report it"
    with pytest.raises(ValueError, match="Expecting") as elsewhere:
        json.loads("the answer")
    assert "the answer" not in str(fault(elsewhere.value))


def test_a_probe_that_meets_one_ends_and_says_where(hostile: HostileServer) -> None:
    with patch("exporters.probe.asking.run.figures", side_effect=KeyError("the answer")):
        result = run_probe(target(hostile.url("good")), "short", scenario(), "m")
    assert result.outcome == "internal"
    assert "KeyError at run.py:" in result.detail and "the answer" not in result.detail
