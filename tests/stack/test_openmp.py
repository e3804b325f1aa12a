"""The demo's model server finds OpenMP on a system that has none."""

import subprocess
import sys
from pathlib import Path

import pytest

from inferwatch.errors import InferwatchError
from stack.demo import openmp


def test_nothing_is_needed_where_the_system_has_it(tmp_path: Path) -> None:
    assert openmp.environ(tmp_path, found=lambda: True) == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tool("apt-get", "dpkg")
def test_it_is_taken_out_of_the_package_and_loads_from_there(tmp_path: Path) -> None:
    said: list[str] = []
    variables = openmp.environ(tmp_path, said.append, found=lambda: False)
    assert any("libgomp1" in line for line in said)
    code = f"import ctypes; ctypes.CDLL('{openmp.LIBRARY}'); print(open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=variables)
    assert str(tmp_path) in done.stdout
    said.clear()
    assert openmp.environ(tmp_path, said.append, found=lambda: False) == variables
    assert said == []


def test_without_a_package_manager_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InferwatchError, match=r"needs libgomp\.so\.1.*install it \(Debian and Ubuntu: libgomp1"):
        openmp.environ(tmp_path, found=lambda: False)


def test_a_library_that_is_nowhere_does_not_load() -> None:
    assert not openmp.loads("libinferwatch-no-such.so.1")
