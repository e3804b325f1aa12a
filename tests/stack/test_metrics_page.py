import pytest

from inferwatch.metric import Metric
from stack.metrics_page import _declared, unit


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpu_energy_joules_total", "J"),
        ("gpu_pcie_transmit_bytes_per_second", "bytes/s"),
        ("gpu_last_collection_timestamp_seconds", "Unix time, s"),
        ("gpu_clock_hertz", "Hz"),
        ("gpu_up", ""),
        ("gpu_exporter_nvml_reinits_total", ""),
    ],
)
def test_the_unit_is_the_name_s_ending(name: str, words: str) -> None:
    assert unit(name) == words


def test_sources_are_shown_where_there_are_any() -> None:
    plain = Metric("a_total", "counter", "A.")
    assert "Source" not in _declared([plain])
    read = Metric("b_watts", "gauge", "B.", source="GetB", absent="old GPUs")
    assert "| `b_watts` | gauge | W |  | B. | GetB | old GPUs |" in _declared([plain, read])
