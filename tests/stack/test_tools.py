"""Finding programs, and what is said when one cannot be had."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inferwatch.errors import InferwatchError
from stack import tools


def _stub(folder: Path, name: str, printed: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{printed}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of one folder; the stubs in it need /bin/sh, which is named by its full path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _prometheus(version: str) -> str:
    return f'echo "prometheus, version {version} (branch: x, revision: y)"'


def test_a_new_enough_program_on_path_is_taken(path: Path, tmp_path: Path) -> None:
    stub = _stub(path, "prometheus", _prometheus("2.42.0+ds"))
    assert tools.find_tool("prometheus", cache=tmp_path / "cache") == stub
    assert tools.version(stub) == (2, 42, 0)


@pytest.mark.parametrize("printed", [_prometheus("2.41.9"), "exit 1", "echo hello"])
def test_an_old_or_broken_program_on_path_is_not_taken(path: Path, tmp_path: Path, printed: str) -> None:
    _stub(path, "prometheus", printed)
    assert tools.find_tool("prometheus", cache=tmp_path / "cache") is None


def test_an_old_program_on_path_gives_way_to_the_cache(path: Path, tmp_path: Path) -> None:
    _stub(path, "prometheus", _prometheus("2.31.0"))
    cached = _stub(tmp_path / "cache/as-installed/prometheus/usr/bin", "prometheus", _prometheus("2.53.0"))
    assert tools.find_tool("prometheus", cache=tmp_path / "cache") == cached


def test_debian_names_alertmanager_differently(path: Path, tmp_path: Path) -> None:
    stub = _stub(path, "prometheus-alertmanager", 'echo "alertmanager, version 0.25.0 (branch: x)" >&2')
    assert tools.find_tool("alertmanager", cache=tmp_path / "cache") == stub


def test_a_suite_is_never_served_from_path(path: Path, tmp_path: Path) -> None:
    _stub(path, "prometheus", _prometheus("3.0.0"))
    assert tools.find_tool("prometheus", suite="sid", cache=tmp_path / "cache") is None


def test_without_apt_one_sentence_says_what_to_install(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InferwatchError) as caught:
        tools.ensure_tools(["promtool"], cache=tmp_path / "cache")
    assert "promtool 2.42 or newer is not on PATH" in str(caught.value)
    assert "install promtool 2.42 or newer" in str(caught.value)


def test_a_failing_apt_is_quoted(path: Path, tmp_path: Path) -> None:
    _stub(path, "apt-get", 'echo "E: Temporary failure resolving the mirror" >&2; exit 100')
    _stub(path, "apt-cache", "exit 0")
    _stub(path, "dpkg", "exit 0")
    with pytest.raises(InferwatchError, match=r"E: Temporary failure resolving the mirror.*install prometheus 2\.42"):
        tools.ensure_tools(["prometheus"], cache=tmp_path / "cache", say=lambda _: None)


def test_a_distribution_that_is_too_old_is_named(path: Path, tmp_path: Path) -> None:
    """The stub of dpkg unpacks a Prometheus that our rules cannot run on."""
    _stub(path, "apt-get", '[ "$2" = download ] && echo > prometheus.deb || true')
    _stub(path, "apt-cache", 'echo "  Candidate: 2.15"')
    inside = "\\n".join(["#!/bin/sh", _prometheus("2.15.2")])
    _stub(
        path,
        "dpkg",
        f"/bin/mkdir -p \"$3/usr/bin\"; printf '%b' '{inside}' > \"$3/usr/bin/prometheus\"; "
        '/bin/chmod +x "$3/usr/bin/prometheus"',
    )
    with pytest.raises(InferwatchError, match=r"the distribution's prometheus is 2\.15\.2, which is too old"):
        tools.ensure_tools(["prometheus"], cache=tmp_path / "cache", say=lambda _: None)


def test_a_missing_package_is_named(path: Path, tmp_path: Path) -> None:
    _stub(path, "apt-get", "exit 0")
    _stub(path, "apt-cache", 'echo "  Candidate: (none)"')
    _stub(path, "dpkg", "exit 0")
    with pytest.raises(InferwatchError, match="no package prometheus-alertmanager in this machine's apt sources"):
        tools.ensure_tools(["alertmanager"], cache=tmp_path / "cache", say=lambda _: None)


@pytest.mark.tool("apt-get", "dpkg", "prometheus", "promtool")
def test_what_is_found_runs(tool: Callable[[str], Path]) -> None:
    for name in ("prometheus", "promtool"):
        assert (tools.version(tool(name)) or ()) >= (2, 42)
        assert os.access(tool(name), os.X_OK)


def test_a_program_that_is_not_ours_comes_from_path_only(path: Path) -> None:
    assert tools.find_tool("gcc") is None
    assert tools.find_tool("gcc", cache=Path("/nowhere")) is None
    stub = _stub(path, "gcc", "exit 0")
    assert tools.find_tool("gcc") == stub


def test_the_folder_in_alertmanager_is_replaced_by_one_of_equal_length() -> None:
    """A name of another length would move everything behind it in the program."""
    assert len(tools._FIXED_FOLDER) == len(tools._WORKING_FOLDER)
