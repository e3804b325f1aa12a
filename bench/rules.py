"""What the rules cost: `python -m bench.rules [INSTANCES ...]`, by default 200 and 1000.

Fills a Prometheus with vLLM instances (four to a target) and eight GPUs for each, from a capture of vLLM and a scrape
of our exporter with simulated GPUs, their counters moving. Only series that some rule reads are written, each as far
back as the longest window that reads it, since nothing else costs anything to evaluate. The samples are written as
blocks, so that no scrape disturbs the figures. Then Prometheus evaluates every rule file of the project for two
minutes. As the blocks end where it starts, windows of five minutes are then filled by two thirds; their samples are
10 s apart and not 15, so that a window holds as many as it would.

Not part of it: the baselines' windows of a day, which read what was recorded the day before.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, TextIO

import psutil
import yaml

from bench.processes import exporter
from bench.report import Ratio, judge, machine, show_table
from exporters.gpu import metrics as gpu
from inferwatch.engines import load_engines
from prometheus import vocabulary as names
from stack.ports import free_ports
from stack.tools import assets, ensure_tools

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "tests" / "rules" / "fixtures" / "vllm-0.32.0-busy.prom"
RULES = [*sorted((ROOT / "prometheus/rules").glob("*.yml")), *sorted((ROOT / "alerting/rules").glob("*.yml"))]
INSTANCES = (200, 1000)
REPLICAS, GPUS_EACH = 4, 8
STEP, DENSE = 15, 10
SHORT, LONG = 6 * 60, 65 * 60
# Seconds that writing the blocks takes for each instance, generously: they end where Prometheus starts.
WRITING = 0.5
CYCLES = 6
# Share of the interval that all groups together may take, by the number of instances.
ALLOWED = {200: 0.05, 1000: 0.25}
FASTER = 10.0
LATENCIES = ("ttft", "tpot", "itl", "e2e")

Template = tuple[str, str, float]


def rule_text() -> str:
    """Return the text of all rule files."""
    return "\n".join(file.read_text(encoding="utf-8") for file in RULES)


def templates(page: str, text: str) -> list[Template]:
    """Return name, labels and value of each series of a page that a rule reads."""
    found = []
    for line in page.splitlines():
        match = re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)", line)
        if match and re.search(rf"(?<![\w:]){re.escape(match[1])}(?![\w:])", text):
            found.append((match[1], match[2] or "", float(match[3])))
    return found


def write_series(file: TextIO, template: Template, labels: str, end: int, text: str) -> int:
    """Write the samples of one series; returns how many."""
    name, own, value = template
    hourly = re.search(rf"{re.escape(name)}(?:\{{[^}}]*\}})?\[1h\]", text)
    counter = name.endswith(("_total", "_bucket", "_sum", "_count"))
    # Each bucket grows with its captured count, so that histograms stay histograms. XIDs stay at 0, as on most GPUs.
    growth = (value or 1) / 1000 if counter and name != str(gpu.XID_ERRORS) else 0.0
    series = f"{name}{{{labels}{',' if own else ''}{own}}}"
    times = [*range(end - LONG, end - SHORT, STEP)] * bool(hourly) + [*range(end - SHORT, end, DENSE)]
    file.writelines(f"{series} {value + growth * index:.6g} {at}\n" for index, at in enumerate(times))
    return len(times)


def fill(folder: Path, promtool: Path, instances: int, gpu_page: str) -> tuple[int, int]:
    """Write the blocks of so many instances; returns the number of series and of samples."""
    text, end = rule_text(), int(time.time() + 20 + WRITING * instances)
    engine = templates(CAPTURE.read_text(), text)
    card = [one for one in templates(gpu_page, text) if 'gpu="0"' in one[1]]
    if not (engine and card):
        raise RuntimeError("the capture or the GPU exporter's page holds no series that a rule reads")
    written, count = folder / "samples", 0
    with written.open("w") as file:
        for index in range(instances):
            target, node = f"t{index // REPLICAS}", f"n{index}"
            place = f'job="llm-engine",target="{target}",instance="{node}:8000",node="{node}"'
            count += sum(write_series(file, one, place, end, text) for one in [*engine, ("up", "", 1.0)])
            for number in range(GPUS_EACH):
                for name, labels, value in card:
                    mine = labels.replace('gpu="0"', f'gpu="{number}"').replace("SIMULATED-0", f"{node}-{number}")
                    place = f'job="gpu",instance="{node}:9810",node="{node}"'
                    count += write_series(file, (name, mine, value), place, end, text)
        file.write("# EOF\n")
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", written, folder / "data"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    written.unlink()
    if time.time() > end:
        raise RuntimeError(f"writing took {time.time() - end:.0f} s more than was planned; raise WRITING")
    time.sleep(end - time.time())
    return instances * (len(engine) + 1 + GPUS_EACH * len(card)), count


def api(port: int, path: str) -> Any:
    """Return the data of an answer of Prometheus."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=300) as answer:
        return json.load(answer)["data"]


def start(folder: Path, program: Path, port: int) -> subprocess.Popen[bytes]:
    """Start Prometheus on the blocks, with every rule."""
    config = {"global": {"evaluation_interval": f"{STEP}s"}, "rule_files": [str(file) for file in RULES]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = [str(program), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--query.timeout=5m"]
    pages = assets(program, "web")
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([*command, *([f"--web.local-assets={pages}"] if pages else [])], stdout=log, stderr=log)


def evaluations(port: int) -> Iterator[dict[str, float]]:
    """Yield the seconds that each group takes in STEP seconds, once for each cycle; some are evaluated less often."""
    while True:
        time.sleep(STEP)
        try:
            groups = api(port, "rules")["groups"]
        except OSError:
            continue
        yield {group["name"]: group["evaluationTime"] * STEP / group["interval"] for group in groups}


def questions() -> list[tuple[str, str]]:
    """Return each question of a dashboard's latency panels, of recorded series and of raw histograms."""
    asked = []
    vllm = load_engines()["vllm"]
    for latency in LATENCIES:
        bucket = f"{vllm.histograms[latency][0]}_bucket"
        for name, value in names.QUANTILES.items():
            raw = f"histogram_quantile({value}, sum by (target, model_name, le) (rate({bucket}[5m])))"
            recorded = f'{names.quantile(latency, name)}{{target=~".+"}}'
            asked.append((f"max by (target) ({recorded})", f"max by (target) ({raw})"))
    asked.append((f"avg({names.GPU_UTILIZATION})", f"avg(max by (node, gpu, uuid) ({gpu.UTILIZATION}))"))
    return asked


def ask(port: int, expr: str) -> float:
    """Return how long a panel's query took, over the last minute in steps of 15 s; the median of three."""
    took = []
    for _ in range(3):
        now = time.time()
        query = urllib.parse.urlencode({"query": expr, "start": now - 60, "end": now, "step": STEP})
        began = time.perf_counter()
        found = api(port, f"query_range?{query}")["result"]
        took.append(time.perf_counter() - began)
        if not found:
            raise RuntimeError(f"nothing came of {expr}")
    return median(took)


def measure(instances: int, tools: dict[str, Path], gpu_page: str) -> tuple[list[str], list[Ratio]]:
    """Fill, evaluate and ask; returns a line of the table and the ratios to judge."""
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        series, samples = fill(folder, tools["promtool"], instances, gpu_page)
        process = start(folder, tools["prometheus"], port)
        try:
            cycles = evaluations(port)
            next(cycles)
            # The first cycles read what is not recorded yet.
            next(cycles)
            used = psutil.Process(process.pid)
            before, began = used.cpu_times(), time.monotonic()
            each = [next(cycles) for _ in range(CYCLES)]
            after = used.cpu_times()
            cpu = (after.user + after.system - before.user - before.system) / (time.monotonic() - began)
            pairs = [(ask(port, recorded), ask(port, raw)) for recorded, raw in questions()]
            resident = used.memory_info().rss
        finally:
            process.terminate()
            process.wait()
    taken = [sum(groups.values()) for groups in each]
    slowest = sorted(((median(one[name] for one in each), name) for name in each[0]), reverse=True)[:4]
    print(f"{instances} instances: " + ", ".join(f"{name} {seconds:.2f} s" for seconds, name in slowest), flush=True)
    share = median(taken) / STEP
    faster = sum(raw for _, raw in pairs) / sum(recorded for recorded, _ in pairs)
    row = [f"{instances} instances, {instances * GPUS_EACH} GPUs", str(series), f"{samples / 1e6:.1f}"]
    row += [f"{median(taken):.2f}", f"{100 * share:.1f}", f"{100 * cpu:.0f}", f"{faster:.1f}", f"{resident / 1e6:.0f}"]
    ratios = [Ratio(f"panels of raw histograms / recorded, {instances} instances", faster, FASTER, 1e6)]
    if instances in ALLOWED:
        ratios.append(Ratio(f"evaluation / interval, {instances} instances", share, 0.0, ALLOWED[instances]))
    return row, ratios


def main() -> int:
    """Print the table and judge the shares."""
    tools = ensure_tools(["prometheus", "promtool"], say=lambda line: print(line, file=sys.stderr))
    print(machine())
    with (
        tempfile.TemporaryDirectory() as folder,
        exporter("exporters.gpu", Path(folder) / "log", "--simulate=1") as (_, url),
        urllib.request.urlopen(f"{url}/metrics") as answer,
    ):
        gpu_page = answer.read().decode()
    rows, ratios = [], []
    for instances in [int(argument) for argument in sys.argv[1:]] or INSTANCES:
        row, judged = measure(instances, tools, gpu_page)
        rows.append(row)
        ratios += judged
    show_table(
        "Every 15 s: seconds of all rule groups added up (median), each by its own interval, and their share in %,\n"
        "the processor time of Prometheus in % of a core, and how many times longer the panels' "
        "queries take on raw histograms.",
        ["filled with", "series", "M samples", "seconds", "share", "CPU", "panels", "RSS MB"],
        rows,
    )
    return judge(ratios)


if __name__ == "__main__":
    sys.exit(main())
