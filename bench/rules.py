"""What the rules cost: `python -m bench.rules [INSTANCES ...]`, by default 200 and 1000.

Fills a Prometheus with vLLM instances (four to a target) and eight GPUs for each, from a capture of vLLM and a scrape
of our exporter with simulated GPUs, their counters moving, and with what the configuration says of the targets. Only
series that some rule reads are written, since nothing else costs anything to evaluate. All samples, 15 s apart, are
written before the first rule runs, those of the minutes to come as well: so no scrape disturbs the figures, and windows
are full. Then Prometheus evaluates every rule file of the project for three minutes.

Not part of it: the baselines' windows of a day, which read what was recorded the day before.
"""

import json
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import yaml

from bench.processes import exporter, running
from bench.remote_write import send
from bench.report import Ratio, judge, machine, show_table
from bench.rules_series import GPUS_EACH, RULES, STEP, Fleet
from exporters.gpu import metrics as gpu
from inferwatch.engines import load_engines
from prometheus import vocabulary as names
from stack.ports import free_ports
from stack.tools import assets, ensure_tools

INSTANCES = (200, 1000)
# Prometheus takes no samples that are more than ten minutes ahead.
AHEAD = 580
WARM_SECONDS = 75
MEASURED_SECONDS = 180
# Share of the interval that all groups together may take, by the number of instances.
ALLOWED = {200: 0.05, 1000: 0.25}
FASTER = 10.0
LATENCIES = ("ttft", "tpot", "itl", "e2e")
SHOWN = 8


def api(url: str, path: str) -> Any:
    """Return the data of an answer of Prometheus."""
    with urllib.request.urlopen(f"{url}/api/v1/{path}", timeout=300) as answer:
        return json.load(answer)["data"]


def command(folder: Path, program: Path, port: int) -> list[str]:
    """Return the command that starts a Prometheus without rules."""
    evaluate(folder, [])
    made = [str(program), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    made += [f"--web.listen-address=127.0.0.1:{port}", "--web.enable-lifecycle", "--web.enable-remote-write-receiver"]
    pages = assets(program, "web")
    return made + ([f"--web.local-assets={pages}"] if pages else [])


def evaluate(folder: Path, rules: list[Path]) -> None:
    """Write a configuration with these rules."""
    config = {"global": {"evaluation_interval": f"{STEP}s"}, "rule_files": [str(file) for file in rules]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))


def post(url: str) -> None:
    """Ask for something that has no answer."""
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=60):
        pass


def wait_until_ready(url: str) -> None:
    """Return once Prometheus answers."""
    give_up = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=10):
                return
        except OSError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.1)


Costs = dict[str, float]


def watched(url: str, seconds: float) -> tuple[Costs, Costs]:
    """Return the seconds that each group, and each rule, takes in STEP seconds: the median of its evaluations."""
    groups: dict[str, dict[str, float]] = {}
    rules: dict[str, dict[str, float]] = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(STEP / 2)
        for group in api(url, "rules")["groups"]:
            share = STEP / group["interval"]
            groups.setdefault(group["name"], {})[group["lastEvaluation"]] = group["evaluationTime"] * share
            for index, rule in enumerate(group["rules"]):
                name = f"{group['name']}/{index} {rule['name']}"
                rules.setdefault(name, {})[rule["lastEvaluation"]] = rule["evaluationTime"] * share
    return _medians(groups), _medians(rules)


def _medians(seen: dict[str, dict[str, float]]) -> Costs:
    return {name: median(each.values()) for name, each in seen.items()}


def show(what: str, costs: Costs) -> None:
    """Print the most expensive."""
    dearest = sorted(((cost, name) for name, cost in costs.items()), reverse=True)[:SHOWN]
    print(f"  {what}: " + ", ".join(f"{name} {1000 * cost:.0f} ms" for cost, name in dearest), flush=True)


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


def ask(url: str, expr: str, end: float) -> float:
    """Return how long a panel's query took, over the minute up to `end` in steps of 15 s; the median of three."""
    took = []
    query = urllib.parse.urlencode({"query": expr, "start": end - 60, "end": end, "step": STEP})
    for _ in range(3):
        began = time.perf_counter()
        found = api(url, f"query_range?{query}")["result"]
        took.append(time.perf_counter() - began)
        if not found:
            raise RuntimeError(f"nothing came of {expr}")
    return median(took)


def measure(instances: int, program: Path, gpu_page: str) -> tuple[list[str], list[Ratio]]:
    """Fill, evaluate and ask; returns a line of the table and the ratios to judge."""
    (port,) = free_ports(1)
    url, fleet = f"http://127.0.0.1:{port}", Fleet.of(instances, gpu_page)
    end = time.time() + AHEAD
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (folder / "log").open("wb") as log, running(command(folder, program, port), stderr=log) as process:
            wait_until_ready(url)
            send(url, fleet.packed(end))
            series = api(url, "status/tsdb")["headStats"]["numSeries"]
            evaluate(folder, RULES)
            post(f"{url}/-/reload")
            # The first cycles read what is not recorded yet.
            time.sleep(WARM_SECONDS)
            used = psutil.Process(process.pid)
            before, began = used.cpu_times(), time.monotonic()
            groups, rules = watched(url, MEASURED_SECONDS)
            after = used.cpu_times()
            cpu = (after.user + after.system - before.user - before.system) * STEP / (time.monotonic() - began)
            now = time.time()
            if now > end:
                raise RuntimeError(f"the samples ended {now - end:.0f} s too early on this machine")
            print(f"{instances} instances, of each {STEP} s:")
            show("groups", groups)
            show("rules", rules)
            pairs = [(ask(url, recorded, now), ask(url, raw, now)) for recorded, raw in questions()]
            resident = used.memory_info().rss
            recorded = api(url, "status/tsdb")["headStats"]["numSeries"] - series
    taken = sum(groups.values())
    faster = sum(raw for _, raw in pairs) / sum(recorded for recorded, _ in pairs)
    row = [f"{instances} instances, {instances * GPUS_EACH} GPUs", str(series), str(recorded), f"{taken:.2f}"]
    row += [f"{100 * taken / STEP:.1f}", f"{cpu:.2f}", f"{faster:.1f}", f"{resident / 1e6:.0f}"]
    ratios = [Ratio(f"panels of raw histograms / recorded, {instances} instances", faster, FASTER, 1e6)]
    if instances in ALLOWED:
        ratios.append(Ratio(f"evaluation / interval, {instances} instances", taken / STEP, 0.0, ALLOWED[instances]))
    return row, ratios


def simulated_gpu() -> str:
    """Return a page of our exporter with one GPU."""
    with (
        tempfile.TemporaryDirectory() as folder,
        exporter("exporters.gpu", Path(folder) / "log", "--simulate=1") as (_, url),
    ):
        # It listens before it has collected all.
        give_up = time.monotonic() + 60
        while True:
            with urllib.request.urlopen(f"{url}/metrics") as answer:
                page: str = answer.read().decode()
            if all(f"\n{metric.name}{{" in page for metric in (gpu.UP, gpu.UTILIZATION, gpu.CLOCKS_EVENT_SECONDS)):
                return page
            if time.monotonic() > give_up:
                raise RuntimeError("the GPU exporter shows no simulated GPU")
            time.sleep(0.1)


def main() -> int:
    """Print the table and judge the shares."""
    tools = ensure_tools(["prometheus"], say=lambda line: print(line, file=sys.stderr))
    print(machine())
    gpu_page = simulated_gpu()
    rows, ratios = [], []
    for instances in [int(argument) for argument in sys.argv[1:]] or INSTANCES:
        row, judged = measure(instances, tools["prometheus"], gpu_page)
        rows.append(row)
        ratios += judged
    show_table(
        "Every 15 s: seconds of all rule groups added up (medians), each by its own interval, and their share in %,\n"
        "the processor seconds of all of Prometheus, with its collection of garbage on other cores, and how many times "
        "longer\nthe panels' queries take on raw histograms.",
        ["filled with", "series", "recorded", "seconds", "share", "CPU", "panels", "RSS MB"],
        rows,
    )
    return judge(ratios)


if __name__ == "__main__":
    sys.exit(main())
