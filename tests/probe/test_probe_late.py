import pytest

from exporters.probe.metrics import SKIP_REASONS
from exporters.probe.scheduling.late import QUIET_SECONDS, Late


def test_the_log_tells_of_late_probes_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    late = Late(lambda: now[0])
    for _ in range(50):
        late.saw(("chat", "short"), "misfire")
    assert [record.getMessage().count("max_concurrent") for record in caplog.records] == [1]
    now[0] += QUIET_SECONDS
    late.saw(("other", "long"), "misfire")
    assert len(caplog.records) == 2
    last = caplog.records[1].getMessage()
    assert "target other, scenario long" in last and last.endswith(": 50")


def test_each_reason_has_a_line_of_its_own_and_chosen_pauses_have_none(caplog: pytest.LogCaptureFixture) -> None:
    late = Late(lambda: 0.0)
    for reason in SKIP_REASONS:
        late.saw(("chat", "short"), reason)
    assert sorted(record.getMessage().split("(")[1].split(")")[0] for record in caplog.records) == [
        "misfire",
        "overlap",
    ]
