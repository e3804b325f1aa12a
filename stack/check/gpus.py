"""The GPU exporters of other machines that the configuration lists."""

from exporters.gpu import metrics as gpu
from exporters.probe.failures import ProbeError
from inferwatch.config import GpuExporter
from stack.check.engine import samples
from stack.check.findings import Finding, fail, ok, warn
from stack.check.http import get
from stack.check.reach import reach
from stack.page.figures import plural

# Exporters of other makers, by a metric that each has for every GPU.
OTHERS = {"DCGM_FI_DEV_GPU_TEMP": "dcgm-exporter", "nvidia_smi_temperature_gpu": "nvidia_gpu_exporter"}


def check_gpu_exporter(exporter: GpuExporter) -> list[Finding]:
    """Try one exporter and compare the number of its GPUs with what is expected."""
    url = f"http://{exporter.address}/metrics"
    findings = reach(url)
    if findings[-1].level == "fail":
        return findings
    try:
        answer = get(url, {"Accept": "text/plain"})
    except ProbeError as error:
        return [*findings, fail("metrics", str(error), "look at the exporter's log")]
    if answer.status != 200:
        return [*findings, fail("metrics", f"{url} answers {answer.status}", "check address:")]
    return [*findings, *_judge(exporter, answer.text)]


def _judge(exporter: GpuExporter, text: str) -> list[Finding]:
    names = samples(text)
    count = names.count(gpu.UP.name)
    for metric, title in OTHERS.items():
        if not count and metric in names:
            return [ok("metrics", f"{title} answers, with {plural(names.count(metric), 'GPU')}")]
    if gpu.NVML_UP.name not in names:
        return [fail("metrics", "what answers is no GPU exporter", "check address:")]
    found = []
    if _value(text, gpu.SIMULATED.name) == 1:
        found.append(warn("metrics", "its GPUs are simulated", "start gpu-exporter without --simulate for real ones"))
    if _value(text, gpu.NVML_UP.name) == 0:
        code = _value(text, gpu.NVML_INIT_ERROR_CODE.name)
        problem = f"it cannot use the NVIDIA driver (NVML code {code if code is None else int(code)})"
        found.append(fail("gpus", problem, "see that nvidia-smi works where the exporter runs"))
    elif exporter.expected is not None and count != exporter.expected:
        text = f"{plural(count, 'GPU')}, and expected: says {exporter.expected}"
        found.append(fail("gpus", text, "look for the missing GPU with nvidia-smi, or correct expected:"))
    else:
        found.append(ok("gpus", plural(count, "GPU")))
    return found


def _value(text: str, name: str) -> float | None:
    """Return the value of a metric that has no labels."""
    for line in text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.split(" ")[1])
    return None
