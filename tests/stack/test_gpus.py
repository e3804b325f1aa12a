"""Which GPUs the stack finds, on a machine with the fake NVML library and without any."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "fakenvml" / "fakenvml.c"
ASK = "from stack.gpus import real_gpus; found = real_gpus(); print(found.count, found.simulated, found.sentence)"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function that tells the fake library something and returns what the stack finds."""
    folder = tmp_path_factory.mktemp("nvml")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lpthread"], check=True)

    def find(control: str) -> str:
        (folder / "control").write_text(control)
        environ = os.environ | {"LD_LIBRARY_PATH": str(folder), "FAKENVML_CONTROL": str(folder / "control")}
        done = subprocess.run([sys.executable, "-c", ASK], env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return find


@pytest.mark.tool("gcc")
def test_gpus_are_counted(found: Callable[[str], str]) -> None:
    assert found("gpus 2\n") == "2 False 2 real GPUs of this machine, read through NVML"
    assert found("gpus 1\n") == "1 False 1 real GPU of this machine, read through NVML"


@pytest.mark.tool("gcc")
def test_a_driver_without_a_gpu_is_said(found: Callable[[str], str]) -> None:
    assert found("gpus 0\n").startswith("0 False the NVIDIA driver of this machine sees no GPU")


@pytest.mark.tool("gcc")
def test_a_driver_that_does_not_answer_is_said(found: Callable[[str], str]) -> None:
    assert found("init 9\n").startswith("0 False the NVIDIA driver of this machine does not answer")


def test_no_library_is_said(tmp_path: Path) -> None:
    """The loader of the child finds a file of that name that is no library, whatever this machine has."""
    (tmp_path / "libnvidia-ml.so.1").touch()
    environ = os.environ | {"LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ASK], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("0 False this machine has no NVIDIA driver")
