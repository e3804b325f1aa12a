"""The structs that are declared here against pynvml's, which the fake library could not tell apart from a mistake."""

import ctypes

import pynvml
import pytest

from exporters.gpu.nvml import fabric, fields, gpm, platform, processes, samples


def layout(struct: type[ctypes.Structure]) -> list[tuple[int, int]]:
    """Return where each field lies and how long it is."""
    fields = [getattr(struct, field[0]) for field in struct._fields_]
    return [(field.offset, field.size) for field in fields]


@pytest.mark.parametrize(
    ("ours", "pynvmls"),
    [
        (platform._Info, pynvml.c_nvmlPlatformInfo_v1_t),
        (platform._Info, pynvml.c_nvmlPlatformInfo_v2_t),
        (processes.Entry, pynvml.c_nvmlProcessInfo_v2_t),
        (processes.Entry, pynvml.c_nvmlProcessInfo_v3_t),
        (fields.Answer, pynvml.c_nvmlFieldValue_t),
        (samples.Sample, pynvml.c_nvmlSample_t),
    ],
)
def test_fields_lie_where_pynvmls_lie(ours: type[ctypes.Structure], pynvmls: type[ctypes.Structure]) -> None:
    assert layout(ours) == layout(pynvmls)
    assert ctypes.sizeof(ours) == ctypes.sizeof(pynvmls)


def test_the_state_of_the_fabric_is_one_byte_of_what_pynvml_takes_for_four() -> None:
    ours, pynvmls = layout(fabric._Info), layout(pynvml.c_nvmlGpuFabricInfo_v2_t)
    assert [place for place, _ in ours] == [place for place, _ in pynvmls]
    assert ctypes.sizeof(fabric._Info) == ctypes.sizeof(pynvml.c_nvmlGpuFabricInfo_v2_t)


def test_a_gpm_metric_is_as_long_as_pynvmls() -> None:
    assert ctypes.sizeof(gpm._Metric) == ctypes.sizeof(pynvml.c_nvmlGpmMetric_t)
    assert gpm._Request.metrics.offset == pynvml.c_nvmlGpmMetricsGet_t.metrics.offset
    assert max(gpm.METRICS.values()) < pynvml.NVML_GPM_METRIC_MAX
    numbers = {"sm": "SM_UTIL", "tensor": "ANY_TENSOR_UTIL", "dram": "DRAM_BW_UTIL", "pcie_transmit": "PCIE_TX_PER_SEC"}
    assert all(gpm.METRICS[ours] == getattr(pynvml, f"NVML_GPM_METRIC_{name}") for ours, name in numbers.items())  # type: ignore[index]


@pytest.mark.parametrize(
    ("ours", "pynvmls"),
    [
        (platform.VERSION_1, pynvml.nvmlPlatformInfo_v1),
        (platform.VERSION_2, pynvml.nvmlPlatformInfo_v2),
        (fabric.VERSION_2, pynvml.nvmlGpuFabricInfo_v2),
    ],
)
def test_versions_are_pynvmls(ours: int, pynvmls: int) -> None:
    assert ours == pynvmls
