"""GPU exporters: do they answer, are all GPUs there, and do the processes on them fit the configured targets?"""

from collections.abc import Mapping, Sequence

from exporters.gpu import metrics as gpu
from exporters.probe.failures import ProbeError
from inferwatch.config import Config, GpuExporter
from inferwatch.config.consistency import OWN_GPU_EXPORTER, OWN_NODE
from stack.check.container import inside_container
from stack.check.findings import Finding, fail, ok, warn
from stack.check.gpu_page import GpuPage
from stack.check.http import get
from stack.check.reach import reach, speaks_tls
from stack.page.figures import plural
from stack.services import DEFAULT_PORTS

# Exporters of other makers, by a metric that each has for every GPU.
OTHERS = {"DCGM_FI_DEV_GPU_TEMP": "dcgm-exporter", "nvidia_smi_temperature_gpu": "nvidia_gpu_exporter"}
# The indices of `gpus:` of each target of one node, by the target's name.
Serving = Mapping[str, Sequence[int]]


def serving_on(config: Config, node: str) -> dict[str, list[int]]:
    """Return which GPUs of a node serve which target, as the file says."""
    return {
        target.name: target.gpus.indices
        for target in config.targets
        if target.gpus is not None and target.gpus.indices is not None and (target.gpus.node or OWN_NODE) == node
    }


def own_address() -> str:
    """Return where the stack's own exporter would be reached from here."""
    return OWN_GPU_EXPORTER if inside_container() else f"127.0.0.1:{DEFAULT_PORTS['gpu-exporter']}"


def check_own_gpus(serving: Serving, address: str) -> list[Finding]:
    """Compare the targets on this machine's GPUs with its exporter, which may rightly be absent."""
    try:
        answer = get(f"http://{address}/metrics", {"Accept": "text/plain"})
    except ProbeError:
        answer = None
    if answer is None or answer.status != 200:
        text = f"no GPU exporter answers at {address}, so that gpus: of {', '.join(serving)} cannot be compared"
        return [ok("gpus", text, "gpu-exporter, or docker compose --profile gpu up -d, starts one")]
    return _judge(answer.text, None, serving)


def check_gpu_exporter(exporter: GpuExporter, serving: Serving | None = None) -> list[Finding]:
    """Try one exporter, compare the number of its GPUs with what is expected, and the targets with its processes."""
    url = f"http://{exporter.address}/metrics"
    findings = reach(url)
    if findings[-1].level == "fail":
        return findings
    try:
        answer = get(url, {"Accept": "text/plain"})
    except ProbeError as error:
        return [*findings, fail("metrics", str(error), "look at the exporter's log")]
    if answer.status == 400 and speaks_tls(url):
        return [*findings, warn("metrics", f"{exporter.address} speaks TLS, which /sd/gpus cannot say", _OWN_JOB)]
    if answer.status == 401:
        return [*findings, warn("metrics", f"{url} asks for a password, which /sd/gpus cannot say", _OWN_JOB)]
    if answer.status != 200:
        return [*findings, fail("metrics", f"{url} answers {answer.status}", "check address:")]
    return [*findings, *_judge(answer.text, exporter.expected, serving or {})]


_OWN_JOB = "scrape it with a job of its own, as docs/web-config.md shows, and take it out of gpu_exporters:"


def _judge(text: str, expected: int | None, serving: Serving) -> list[Finding]:
    try:
        page = GpuPage.parse(text)
    except ValueError:
        return [fail("metrics", "what answers has no metrics in Prometheus's format", "check address:")]
    for metric, title in OTHERS.items():
        if not page.count(gpu.UP.name) and page.count(metric):
            return [ok("metrics", f"{title} answers, with {plural(page.count(metric), 'GPU')}")]
    if page.value(gpu.NVML_UP) is None:
        return [fail("metrics", "what answers is no GPU exporter", "check address:")]
    if page.value(gpu.NVML_UP) == 0:
        code = page.value(gpu.NVML_INIT_ERROR_CODE)
        problem = f"it cannot use the NVIDIA driver (NVML code {code if code is None else int(code)})"
        return [fail("gpus", problem, "see that nvidia-smi works where the exporter runs")]
    counted = _count(page, expected)
    if page.value(gpu.SIMULATED) == 1:
        todo = "start gpu-exporter without --simulate for real ones"
        return [warn("metrics", "its GPUs are simulated", todo), *counted]
    return [
        *counted,
        *(finding for name, wanted in serving.items() for finding in _compare(page, name, wanted, serving)),
    ]


def _count(page: GpuPage, expected: int | None) -> list[Finding]:
    findings = []
    up, down = len(page.here), page.down
    if expected is not None and up + len(down) != expected:
        said = f"{plural(up + len(down), 'GPU')}, and expected: says {expected}"
        findings.append(fail("gpus", said, "look for the missing GPU with nvidia-smi, or correct expected:"))
    elif up or not down:
        findings.append(ok("gpus", plural(up, "GPU")))
    if down:
        todo = "see gpu_last_error_code, and dmesg for Xid; one that was taken out is forgotten after a day"
        findings.append(fail("gpus", f"{_gpus(down)} cannot be read", todo))
    return findings


def _compare(page: GpuPage, target: str, wanted: Sequence[int], serving: Serving) -> list[Finding]:
    """Say where the GPUs of a target are not there, or no process uses them."""
    findings = []
    unknown = set(wanted) - page.here - page.down
    if unknown:
        known = f"it has {_gpus(page.here | page.down)}" if page.here | page.down else "it has none"
        text = f"{target} is to run on {_gpus(unknown)}, which the exporter does not have; {known}"
        findings.append(fail("mapping", text, f"correct gpus: of {target}"))
    judged = set(wanted) & page.here & page.tells_processes
    unused = judged - page.in_use
    if unused:
        elsewhere = page.in_use - {index for indices in serving.values() for index in indices}
        hint = f"; {_gpus(elsewhere)} is in use and serves no target" if elsewhere else ""
        text = f"{target} is to run on {_gpus(unused)}, and no process is there{hint}"
        findings.append(warn("mapping", text, f"start the engine, or correct gpus: of {target}"))
    elif judged and not unknown:
        findings.append(ok("mapping", f"{target}: processes are on {_gpus(judged)}"))
    return findings


def _gpus(indices: set[int]) -> str:
    return f"GPU {', '.join(map(str, sorted(indices)))}"
