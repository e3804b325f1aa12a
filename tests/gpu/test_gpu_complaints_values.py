"""Complaints of values that are wrong, unreadable, or there when they should not be: through the real pynvml."""

from collections.abc import Callable

import pynvml
import pytest
from gpu_process import Exporter, FakeNvml

from exporters.gpu import metrics
from exporters.gpu.collectors import COLLECTORS
from inferwatch.metric import Metric

pytestmark = pytest.mark.tool("gcc")

Start = Callable[..., Exporter]
QUICK = "--gpu.interval=200ms"
EVERYTHING = [f"--collector.{name}" for name in COLLECTORS]
UNSUPPORTED = 3
# What nvidia-ml-py calls the three slowdown counters.
NAMES = (
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN",
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN",
)


@pytest.mark.complaint(8)
def test_what_a_new_driver_knows_more_takes_nothing_away(exporter: Start, nvml: FakeNvml) -> None:
    # A driver of tomorrow: a type of value that nobody has heard of, and a reason without a name.
    new = {"_0__field__270": 5, "_0__fieldtype__270": 7, "_0__reasons": 1 << 40 | 8}
    nvml.tell(gpus=1, driver="610.12", _0__field__74=10**9, **new)
    running = exporter(QUICK, *EVERYTHING, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="hw_thermal_slowdown") is None
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="sw_power_cap") == 1
    assert scrape.value(metrics.CLOCKS_EVENT_ACTIVE, 0, reason="hw_slowdown") == 1
    assert scrape.value(metrics.TEMPERATURE, 0) == 50
    assert all(value == 1 for (name, _), value in scrape.samples.items() if name == metrics.COLLECTOR_SUCCESS.name)


@pytest.mark.complaint(9)
@pytest.mark.parametrize("binding", [(251, 252, 253), (269, 270, 271), None], ids=["old", "new", "installed"])
@pytest.mark.parametrize(("driver", "hw_thermal"), [("575.57.08", 1.5), ("580.126.09", 2.5)])
def test_the_driver_and_not_the_binding_decides_which_field_is_which(
    driver: str, hw_thermal: float, binding: tuple[int, ...] | None, exporter: Start, nvml: FakeNvml
) -> None:
    # Each driver has something else in the other's fields, which is no counter of this.
    old = {"_0__field__251": 0, "_0__field__252": 1_500_000_000, "_0__field__253": 0}
    new = {"_0__field__269": 0, "_0__field__270": 2_500_000_000, "_0__field__271": 0}
    nvml.tell(gpus=1, driver=driver, _0__field__74=10**9, **old, **new)
    numbers = zip(NAMES, binding or (), strict=False)
    before = "import pynvml\n" + "".join(f"pynvml.{name} = {number}\n" for name, number in numbers)
    scrape = exporter(QUICK, nvml=nvml, before=before).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="hw_thermal_slowdown") == hw_thermal


def test_the_names_of_the_binding_are_its_own() -> None:
    assert {getattr(pynvml, name, None) for name in NAMES} <= {251, 252, 253, 269, 270, 271}


@pytest.mark.complaint(13)
def test_each_reason_is_a_series_of_0_or_1(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(_1__reasons="0x48")
    scrape = exporter(QUICK, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    active = {
        dict(labels)["reason"]: value
        for (name, labels), value in scrape.samples.items()
        if name == metrics.CLOCKS_EVENT_ACTIVE.name and ("gpu", "1") in labels
    }
    assert {reason for reason, value in active.items() if value == 1} == {"hw_slowdown", "hw_thermal_slowdown"}
    assert set(active.values()) == {0, 1}
    assert len(active) == 9


@pytest.mark.complaint(14)
def test_what_never_happened_is_0_and_what_is_not_supported_is_absent(exporter: Start, nvml: FakeNvml) -> None:
    zeros = {f"_0__field__{field}": 0 for field in (74, 75, 76, 269, 270, 271)}
    nvml.tell(**zeros, _0__ecc__0__0=0, _0__ecc__1__0=0)
    scrape = exporter(QUICK, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == s.value(metrics.UP, 1) == 1)
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 0, reason="hw_thermal_slowdown") == 0
    assert scrape.value(metrics.ECC_ERRORS, 0, type="uncorrected") == 0
    assert scrape.value(metrics.XID_ERRORS, 0, xid="79", source="nvml") == 0
    assert scrape.value(metrics.CLOCKS_EVENT_SECONDS, 1, reason="hw_thermal_slowdown") is None
    assert scrape.value(metrics.ECC_ERRORS, 1, type="uncorrected") is None
    for feature in ("slowdown_counters", "ecc"):
        assert [scrape.value(metrics.CAPABILITY, gpu, feature=feature) for gpu in (0, 1)] == [1, 0]


@pytest.mark.complaint(24)
def test_used_free_and_reserved_are_the_total(exporter: Start, nvml: FakeNvml) -> None:
    nvml.tell(gpus=1, memory_total=80 * 2**30, memory_used=0, memory_reserved=300 * 2**20)
    scrape = exporter(QUICK, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    parts = [scrape.value(metric, 0) for metric in (metrics.MEMORY_USED, metrics.MEMORY_FREE, metrics.MEMORY_RESERVED)]
    assert parts == [0, 80 * 2**30 - 300 * 2**20, 300 * 2**20]
    assert scrape.value(metrics.MEMORY_TOTAL, 0) == 80 * 2**30


@pytest.mark.complaint(28)
@pytest.mark.parametrize(
    ("told", "metric"),
    [
        ({"utilization": 4294967295}, metrics.UTILIZATION),
        ({"temperature": 255}, metrics.TEMPERATURE),
        ({"power": 4294967295}, metrics.POWER_USAGE),
        ({"memory_used": 2**63}, metrics.MEMORY_USED),
    ],
)
def test_a_blank_of_the_driver_is_no_value(
    told: dict[str, int], metric: Metric, exporter: Start, nvml: FakeNvml
) -> None:
    nvml.tell(gpus=1, **told)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metric, 0) is None
    assert (scrape.value(metrics.REJECTED_VALUES) or 0) > 0
    assert f"{metric} read" in running.log


@pytest.mark.complaint(29)
def test_a_ratio_that_cannot_be_is_absent_and_comes_back(exporter: Start, nvml: FakeNvml) -> None:
    gpm = {"gpm__5": 55, "gpm__10": 71}
    nvml.tell(gpus=1, gpm=1, gpm__2=130, **gpm)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.TENSOR_ACTIVE, 0) == 0.55)
    assert scrape.value(metrics.SM_ACTIVE, 0) is None
    assert (scrape.value(metrics.REJECTED_VALUES) or 0) > 0
    nvml.tell(gpus=1, gpm=1, gpm__2="nan", **gpm | {"gpm__10": "inf"})
    scrape = running.wait_for(lambda s: s.value(metrics.DRAM_ACTIVE, 0) is None)
    assert scrape.value(metrics.SM_ACTIVE, 0) is None
    nvml.tell(gpus=1, gpm=1, gpm__2=83.5, **gpm)
    running.wait_for(lambda s: s.value(metrics.SM_ACTIVE, 0) == 0.835)


@pytest.mark.complaint(29)
def test_counters_that_show_nothing_on_a_busy_gpu_are_left_out(exporter: Start, nvml: FakeNvml) -> None:
    zeros = {f"gpm__{number}": 0 for number in (2, 5, 10)}
    nvml.tell(gpus=2, gpm=1, **zeros, _0__utilization=97, _1__utilization=0)
    running = exporter(QUICK, nvml=nvml)
    # GPU 1 is idle, so that the same zeros are true.
    scrape = running.wait_for(lambda s: s.value(metrics.SM_ACTIVE, 1) == 0)
    running.wait_for(lambda s: (s.value(metrics.REJECTED_VALUES) or 0) > 0)
    assert scrape.value(metrics.SM_ACTIVE, 0) is None
    assert scrape.value(metrics.DRAM_ACTIVE, 0) is None
    assert scrape.value(metrics.CAPABILITY, 0, feature="activity") == 1


@pytest.mark.complaint(31)
def test_what_wsl_does_not_support_is_absent_and_no_fault(exporter: Start, nvml: FakeNvml) -> None:
    kinds = [
        f"nvmlDeviceGet{kind}RunningProcesses_v{v}" for kind in ("Compute", "Graphics", "MPSCompute") for v in (2, 3)
    ]
    refused = ["nvmlDeviceGetUtilizationRates", *kinds]
    nvml.tell(gpus=1, **dict.fromkeys(refused, UNSUPPORTED))
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda _: nvml.calls("nvmlDeviceGetPowerUsage", 0) > 3)
    assert scrape.value(metrics.UP, 0) == 1
    assert scrape.value(metrics.UTILIZATION, 0) is None
    assert scrape.value(metrics.PROCESSES, 0) is None
    assert [nvml.calls(function, 0) for function in refused] == [1] * len(refused)
    assert all(value == 1 for (name, _), value in scrape.samples.items() if name == metrics.COLLECTOR_SUCCESS.name)


@pytest.mark.complaint(34)
def test_no_series_names_the_machine_that_it_runs_on(exporter: Start, nvml: FakeNvml) -> None:
    scrape = exporter(QUICK, *EVERYTHING, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    names = {name.lower() for _, labels in scrape.samples for name, _ in labels}
    # A scrape adds `instance` and `node`; an exporter that wrote them would be called exported_instance.
    assert names.isdisjoint({"hostname", "host", "node", "instance", "nodename", "machine", "pod", "job"})


@pytest.mark.complaint(36)
def test_energy_that_is_not_counted_is_absent_and_a_counter_that_began_anew_is_shown(
    exporter: Start, nvml: FakeNvml
) -> None:
    nvml.tell(_0__nvmlDeviceGetTotalEnergyConsumption=UNSUPPORTED, _1__energy=5_000_000)
    running = exporter(QUICK, nvml=nvml)
    scrape = running.wait_for(lambda s: s.value(metrics.UP, 0) == 1 and s.value(metrics.ENERGY, 1) == 5000)
    assert scrape.value(metrics.ENERGY, 0) is None
    # After a reset of the GPU; Prometheus takes it for the reset that it is.
    nvml.tell(_1__energy=1000)
    running.wait_for(lambda s: s.value(metrics.ENERGY, 1) == 1)


@pytest.mark.complaint(37)
def test_sent_is_not_received_and_traffic_is_not_use(exporter: Start, nvml: FakeNvml) -> None:
    counted = {
        "field__197": 2**33 + 1,
        "field__198": 2**33 + 2,
        "nvlinks": 2,
        "field32__91": 2,
        "field__138": 4,
        "field__139": 8,
    }
    nvml.tell(gpus=1, memory_utilization=62, pcie_tx=4217, pcie_rx=8691, **counted)
    scrape = exporter(QUICK, *EVERYTHING, nvml=nvml).wait_for(lambda s: s.value(metrics.UP, 0) == 1)
    assert scrape.value(metrics.PCIE_TRANSMITTING, 0) == 4_217_000
    assert scrape.value(metrics.PCIE_RECEIVING, 0) == 8_691_000
    assert scrape.value(metrics.NVLINK_TRANSMITTED, 0) == 4 * 1024
    assert scrape.value(metrics.NVLINK_RECEIVED, 0) == 8 * 1024
    assert scrape.value(metrics.PCIE_TRANSMITTED, 0) == 2**33 + 1
    assert scrape.value(metrics.PCIE_RECEIVED, 0) == 2**33 + 2
    assert scrape.value(metrics.MEMORY_COPY_UTILIZATION, 0) == 0.62
    assert "not how full" in metrics.MEMORY_COPY_UTILIZATION.help
