"""The series that the bench of rules fills Prometheus with: those of engines, GPUs and targets that some rule reads."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.remote_write import Times
from exporters.gpu import metrics as gpu

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "tests" / "rules" / "fixtures" / "vllm-0.32.0-busy.prom"
RULES = [*sorted((ROOT / "prometheus/rules").glob("*.yml")), *sorted((ROOT / "alerting/rules").glob("*.yml"))]
REPLICAS, GPUS_EACH = 4, 8
STEP = 15
SHORT, LONG = 6 * 60, 62 * 60
# What the configuration says of each target; {node} has all of its GPUs.
CONFIGURED = """
llm_target_info 1
llm_target_engine_replicas 4
llm_target_slo_seconds{slo="ttft",quantile="0.95"} 2
llm_target_slo_seconds{slo="tpot",quantile="0.95"} 0.08
llm_target_cost_per_hour{currency="USD",basis="gpu_hour"} 20
llm_target_cost_total{currency="USD",basis="gpu_hour",component="gpu"} 1
"""
_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Template:
    """One series of a page.

    Attributes:
        name: Its metric.
        labels: What the page says of it.
        value: What the page says it is.
        hourly: Whether some rule looks back over an hour of it.
    """

    name: str
    labels: dict[str, str]
    value: float
    hourly: bool

    @property
    def growth(self) -> float:
        """Return by how much it grows from one scrape to the next; a gauge does not.

        Counters grow by their captured value, so that a histogram stays one. XIDs stay at 0, as on most GPUs, and a
        reason holds down the clocks for a fiftieth of the time.
        """
        if self.name == str(gpu.XID_ERRORS) or not self.name.endswith(("_total", "_bucket", "_sum", "_count")):
            return 0.0
        if self.name.endswith("_seconds_total"):
            return STEP / 50
        return self.value if self.value or self.name.endswith("_bucket") else 1.0

    def values(self, count: int, first: int) -> list[float]:
        """Return so many values, beginning with the scrape of this number."""
        growth = self.growth
        return [self.value + growth * index for index in range(first, first + count)]


def templates(page: str) -> list[Template]:
    """Return each series of a page that a rule reads, for nothing else costs anything to evaluate."""
    text = "\n".join(file.read_text(encoding="utf-8") for file in RULES)
    found = []
    for line in page.splitlines():
        match = _LINE.match(line)
        if match and re.search(rf"(?<![\w:]){re.escape(match[1])}(?![\w:])", text):
            hourly = re.search(rf"{re.escape(match[1])}(?:\{{[^}}]*\}})?\[1h\]", text) is not None
            found.append(Template(match[1], dict(_LABEL.findall(match[2] or "")), float(match[3]), hourly))
    return found


@dataclass(frozen=True)
class Fleet:
    """Instances of vLLM, REPLICAS to a target, each on a node of its own with GPUS_EACH GPUs.

    Attributes:
        instances: How many.
        engine: The series of one instance.
        card: The series of one GPU.
        node: The other series of a GPU exporter.
    """

    instances: int
    engine: list[Template]
    card: list[Template]
    node: list[Template]

    @classmethod
    def of(cls, instances: int, gpu_page: str) -> "Fleet":
        """Return a fleet with the captured engine and a page of our GPU exporter that simulates one GPU.

        Raises:
            RuntimeError: If no rule reads anything of them.
        """
        exported = templates(gpu_page)
        card = [one for one in exported if "gpu" in one.labels]
        engine = templates(CAPTURE.read_text(encoding="utf-8"))
        if not (engine and card):
            raise RuntimeError("the capture or the GPU exporter's page holds no series that a rule reads")
        return cls(instances, engine, card, [one for one in exported if "gpu" not in one.labels])

    def each(self) -> Iterator[tuple[Template, dict[str, str]]]:
        """Yield every series, with all of its labels."""
        scraped, configured = Template("up", {}, 1.0, False), templates(CONFIGURED)
        serves = templates("llm_target_gpu_info 1")
        for index in range(self.instances):
            target, node = f"t{index // REPLICAS}", f"n{index}"
            engine = {"job": "llm-engine", "target": target, "instance": f"{node}:8000", "node": node}
            exporter = {"job": "gpu", "instance": f"{node}:9810", "node": node}
            prober = {"job": "probe", "instance": "probe-exporter:9811", "target": target}
            yield from ((one, engine | one.labels) for one in (*self.engine, scraped))
            yield from ((one, exporter | one.labels) for one in (*self.node, scraped))
            for number in range(GPUS_EACH):
                card = {"gpu": f"{number}", "uuid": f"GPU-{node}-{number}"}
                yield from ((one, exporter | one.labels | card) for one in self.card)
                yield from ((one, prober | {"node": node, "gpu": f"{number}"}) for one in serves)
            if index % REPLICAS == 0:
                yield from ((one, prober | one.labels) for one in configured)

    def packed(self, end: float) -> Iterator[bytes]:
        """Yield all series for remote write, up to `end`; what was longest ago comes first, as Prometheus wants it."""
        now = time.time()
        recent = int((end - now + SHORT) // STEP)
        earlier = int((LONG - SHORT) // STEP)
        begin = end - STEP * recent
        long_ago = Times([begin - STEP * (earlier - index) for index in range(earlier)])
        for one, labels in self.each():
            if one.hourly:
                yield long_ago.series({"__name__": one.name, **labels}, one.values(earlier, 0))
        lately = Times([begin + STEP * index for index in range(recent)])
        for one, labels in self.each():
            yield lately.series({"__name__": one.name, **labels}, one.values(recent, earlier))
