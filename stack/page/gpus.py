"""The page's row of each GPU, from fresh samples."""

from collections.abc import Callable
from dataclasses import dataclass

from exporters.gpu import metrics as gpu
from inferwatch.config.consistency import OWN_NODE
from prometheus import vocabulary as words
from stack.page.figures import NO_FIGURE, Figure, finite, number, percent
from stack.page.prometheus_api import Sample, Samples
from stack.page.targets import UP

GPU_JOB = "gpu"
NAMES = (
    gpu.UP, gpu.LAST_ERROR_CODE, gpu.INFO, gpu.TEMPERATURE, gpu.POWER_USAGE, gpu.CLOCKS_EVENT_ACTIVE,
    gpu.SIMULATED, gpu.NVML_UP, gpu.NVML_INIT_ERROR_CODE, UP,
    words.GPU_UTILIZATION, words.GPU_MEMORY_USED, words.GPU_THROTTLED,
)  # fmt: skip
# Less than this share of five minutes is a passing event and not worth a warning.
HARMLESS = 0.02


@dataclass(frozen=True)
class GpuRow:
    """What the page shows of one GPU, or, without an index, of a node whose exporter does not answer."""

    node: str
    index: str
    name: str
    simulated: bool
    trouble: str = ""
    utilization: Figure = NO_FIGURE
    memory: Figure = NO_FIGURE
    temperature: Figure = NO_FIGURE
    power: Figure = NO_FIGURE
    throttled: Figure = NO_FIGURE


def read_gpus(samples: Samples) -> list[GpuRow]:
    """Return one row per GPU that any exporter reports, by node and index, and one per node that does not answer.

    The stack's own exporter may be absent, as on a machine without GPUs; those of other nodes are configured.
    """
    seen: dict[tuple[str, str], str] = {}
    for name in (gpu.UP, words.GPU_UTILIZATION, words.GPU_MEMORY_USED):
        for one in samples.of(name):
            key = (one.labels.get("node", ""), one.labels.get("uuid", ""))
            seen[key] = seen.get(key) or one.labels.get("gpu", "")
    rows = [_row(node, uuid, index, samples) for (node, uuid), index in seen.items()]
    silent = {one.labels.get("node", "") for one in samples.of(UP, job=GPU_JOB) if one.value == 0} - {"", OWN_NODE}
    rows += [GpuRow(node, "", "", False, trouble="its exporter does not answer") for node in silent]
    return sorted(rows, key=lambda row: (row.node, len(row.index), row.index))


def _row(node: str, uuid: str, index: str, samples: Samples) -> GpuRow:
    def of(name: object) -> list[Sample]:
        return [one for one in samples.of(name, uuid=uuid) if one.labels.get("node", "") == node]

    simulated = any(one.value == 1 and one.labels.get("node", "") == node for one in samples.of(gpu.SIMULATED))
    title = next((one.labels.get("name", "") for one in of(gpu.INFO)), "")
    if any(one.value == 0 for one in of(gpu.UP)):
        code = next((f" (NVML code {one.value:.0f})" for one in of(gpu.LAST_ERROR_CODE) if one.value), "")
        return GpuRow(node, index, title, simulated, trouble=f"cannot be read{code}")
    return GpuRow(
        node,
        index,
        title,
        simulated,
        utilization=_figure(of(words.GPU_UTILIZATION), percent),
        memory=_figure(of(words.GPU_MEMORY_USED), percent),
        temperature=_figure(of(gpu.TEMPERATURE), lambda value: f"{value:.0f} °C"),
        power=_figure(of(gpu.POWER_USAGE), lambda value: f"{number(value)} W"),
        throttled=_throttled(of(gpu.CLOCKS_EVENT_ACTIVE), of(words.GPU_THROTTLED)),
    )


def _throttled(active: list[Sample], ratios: list[Sample]) -> Figure:
    now = sorted(one.labels.get("reason", "") for one in active if one.value == 1)
    harmful = [reason for reason in now if reason in gpu.HARMFUL_REASONS]
    share = max((one.value for one in finite(ratios)), default=None)
    if harmful:
        return Figure(f"now: {', '.join(harmful)}", "" if share is None else f"{percent(share)} of 5 minutes", bad=True)
    if share is None:
        return Figure("not now") if active else NO_FIGURE
    return Figure("no") if share == 0 else Figure(percent(share), "of 5 minutes", bad=share > HARMLESS)


def gpu_sentence(samples: Samples, rows: list[GpuRow]) -> str:
    """Say why no GPU is shown, or that those shown are simulated; empty when there is nothing to say."""
    found = [row for row in rows if row.index]
    simulated = sum(row.simulated for row in found)
    if found and simulated == len(found):
        return "All of these GPUs are simulated: their numbers are made up."
    if simulated:
        return f"{simulated} of these GPUs are simulated: their numbers are made up."
    if rows:
        return ""
    if any(one.value == 0 for one in samples.of(gpu.NVML_UP)):
        code = next((f"{one.value:.0f}" for one in samples.of(gpu.NVML_INIT_ERROR_CODE)), "unknown")
        return f"The GPU exporter runs but cannot use the NVIDIA driver (NVML code {code})."
    if any(one.value == 1 for one in samples.of(UP, job=GPU_JOB)):
        return "The GPU exporter answers and finds no GPU."
    return "No GPU exporter answers. On a machine without NVIDIA GPUs that is as it should be."


def _figure(found: list[Sample], show: Callable[[float], str]) -> Figure:
    values = finite(found)
    return Figure(show(values[0].value)) if values else NO_FIGURE
