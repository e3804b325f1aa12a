"""Files of the state folder: replaced as a whole, told when broken, and the seed that tells probers apart."""

import platform
import stat
from pathlib import Path

import pytest

from exporters.probe.state import StateFile, own_seed, replace_file


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    for text in ("one", "two"):
        replace_file(file, text)
        assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]
    # Only the user of this process reads what probes have spent and refused.
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_cannot_be_written_leaves_the_old(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "file", "text")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_file_that_cannot_be_kept_is_told_once_and_told_when_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    folder = tmp_path / "state"
    folder.write_text("a file where the folder should be")
    file = StateFile(folder, "file", "the count")
    assert [file.save(lambda: 1) for _ in range(3)] == [False] * 3
    assert caplog.text.count("the count cannot be kept in ") == 1
    folder.unlink()
    assert file.save(lambda: 1) and file.save(lambda: 2)
    assert caplog.text.count("the count is kept in ") == 1
    assert file.load(int, "begins at 0") == 2


def test_without_a_folder_nothing_is_kept() -> None:
    file = StateFile(None, "file", "the count")
    assert file.save(lambda: 1) and file.load(int, "begins at 0") is None


def test_a_seed_is_drawn_once_for_each_folder(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    seeds = [own_seed(folder) for folder in (one, two, one, two)]
    assert seeds[:2] == seeds[2:] and seeds[0] != seeds[1] and all(len(seed) == 16 for seed in seeds)


@pytest.mark.parametrize("text", ["", "7", "{}", '""', "\0"])
def test_a_broken_seed_is_drawn_again(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "prober-seed.json").write_text(text)
    assert len(own_seed(tmp_path)) == 16 and "is drawn again" in caplog.text
    assert own_seed(tmp_path) == own_seed(tmp_path)


def test_without_a_folder_the_machine_is_the_seed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert own_seed(None) == own_seed(tmp_path / "file") == platform.node()
