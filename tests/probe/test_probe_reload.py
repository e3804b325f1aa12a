"""The last good configuration stays in force, across broken edits, lost files and restarts."""

import contextlib
import errno
import json
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporters.probe.last_good import FILE_NAME
from exporters.probe.reload import ConfigKeeper
from inferwatch.config import Config

ONE = "targets: [{name: one, url: 'http://127.0.0.1:1/v1'}]\n"
TWO = ONE.replace("one", "two")
BROKEN = "targets:\n- name: one\n  url: http://127.0.0.1:1/v1\n  colour: red\n"


class Kept:
    """A keeper and what it handed over."""

    def __init__(self, folder: Path, state: Path | None = None) -> None:
        self.file = folder / "inferwatch.yml"
        self.applied: list[list[str]] = []
        self.keeper = ConfigKeeper(self.file, state or folder / "state", self._apply, clock=lambda: 7.0)

    def _apply(self, config: Config) -> None:
        self.applied.append([target.name for target in config.targets])

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def polled(self) -> None:
        """Poll twice: once to see the change, once to see that it lies still."""
        self.keeper.poll()
        self.keeper.poll()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_a_good_file_is_in_force_and_copied(kept: Kept, tmp_path: Path) -> None:
    kept.write(ONE)
    kept.keeper.start()
    assert kept.applied == [["one"]]
    assert (kept.keeper.successful, kept.keeper.from_state, kept.keeper.loaded_at) == (True, False, 7.0)
    assert json.loads((tmp_path / "state" / FILE_NAME).read_text()) == {"configuration": ONE, "files": {}}
    assert [path.name for path in (tmp_path / "state").iterdir()] == [FILE_NAME]


def test_an_edit_is_seen_by_polling(kept: Kept) -> None:
    kept.write(ONE)
    kept.keeper.start()
    kept.polled()
    assert kept.applied == [["one"]]
    kept.write(TWO)
    kept.polled()
    assert kept.applied == [["one"], ["two"]]


def test_an_editor_s_rename_is_seen(kept: Kept, tmp_path: Path) -> None:
    kept.write(ONE)
    kept.keeper.start()
    stat = kept.file.stat()
    new = tmp_path / "new"
    new.write_text(TWO)
    # Same size and time: only the inode tells.
    os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    new.replace(kept.file)
    kept.polled()
    assert kept.applied[-1] == ["two"]


def test_a_swapped_link_is_seen(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "v1").write_text(ONE)
    (tmp_path / "v2").write_text(TWO)
    kept.file.symlink_to(tmp_path / "v1")
    kept.keeper.start()
    kept.file.unlink()
    kept.file.symlink_to(tmp_path / "v2")
    kept.polled()
    assert kept.applied == [["one"], ["two"]]


def test_a_file_that_is_being_written_is_left_alone_until_it_lies_still(kept: Kept) -> None:
    kept.write(ONE)
    kept.keeper.start()
    kept.write("")
    kept.keeper.poll()
    kept.write(TWO)
    kept.keeper.poll()
    assert kept.applied == [["one"]]
    kept.keeper.poll()
    assert kept.applied == [["one"], ["two"]]


def test_a_broken_edit_leaves_the_old_one_in_force(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.write(ONE)
    kept.keeper.start()
    kept.write(BROKEN)
    kept.polled()
    kept.polled()
    assert kept.applied == [["one"]]
    assert (kept.keeper.successful, kept.keeper.from_state) == (False, False)
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert errors[0].startswith("inferwatch.yml:4: targets[0].colour: unknown key")
    assert errors[0].endswith("the last good configuration stays in force")
    kept.write(TWO)
    kept.polled()
    assert kept.applied == [["one"], ["two"]] and kept.keeper.successful


def test_a_restart_with_a_broken_file_takes_the_copy(kept: Kept, tmp_path: Path) -> None:
    kept.write(ONE)
    kept.keeper.start()
    kept.write(BROKEN)
    restarted = Kept(tmp_path)
    restarted.keeper.start()
    assert restarted.applied == [["one"]]
    assert (restarted.keeper.successful, restarted.keeper.from_state) == (False, True)
    restarted.write(TWO)
    restarted.polled()
    assert restarted.applied == [["one"], ["two"]]
    assert (restarted.keeper.successful, restarted.keeper.from_state) == (True, False)


def test_a_restart_without_the_file_takes_the_copy(kept: Kept, tmp_path: Path) -> None:
    kept.write(ONE)
    kept.keeper.start()
    kept.file.unlink()
    restarted = Kept(tmp_path)
    restarted.keeper.start()
    assert restarted.applied == [["one"]] and restarted.keeper.from_state


def test_without_any_configuration_nothing_is_applied_until_the_file_appears(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.keeper.start()
    assert (kept.applied, kept.keeper.config, kept.keeper.successful) == ([], None, False)
    assert "there is no such file" in caplog.text and "nothing is in force" in caplog.text
    kept.write(ONE)
    kept.polled()
    assert kept.applied == [["one"]] and kept.keeper.successful


def test_a_broken_copy_is_said_and_not_used(kept: Kept, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / FILE_NAME).write_text(json.dumps({"configuration": BROKEN, "files": {}}))
    kept.write(BROKEN)
    kept.keeper.start()
    assert kept.keeper.config is None
    assert "the copy of the last good configuration cannot be used" in caplog.text


def test_a_state_folder_that_cannot_be_written_is_said_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("a file in the folder's place")
    kept = Kept(tmp_path)
    kept.write(ONE)
    kept.keeper.start()
    assert kept.applied == [["one"]] and kept.keeper.successful
    assert "cannot be kept" in caplog.text


def test_reload_returns_every_problem(kept: Kept) -> None:
    kept.write(ONE)
    kept.keeper.start()
    kept.write("targets: 7\ndefaults: 8\n")
    error = kept.keeper.reload()
    assert error is not None and len(error.problems) == 2


# Files that the configuration names

PROMPT = ONE + "scenarios: {mine: {prompt_file: prompt.txt, max_tokens: 9}}\n"


def prompt_in_force(kept: Kept) -> str:
    assert kept.keeper.config is not None
    return kept.keeper.config.scenarios["mine"].all_cases[0].prompt


def test_a_changed_prompt_is_seen_by_polling(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("first")
    kept.write(PROMPT)
    kept.keeper.start()
    kept.polled()
    assert (len(kept.applied), prompt_in_force(kept)) == (1, "first")
    (tmp_path / "prompt.txt").write_text("second")
    kept.polled()
    assert (len(kept.applied), prompt_in_force(kept)) == (2, "second")


def test_a_prompt_that_is_gone_leaves_the_last_one_in_force(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("first")
    kept.write(PROMPT)
    kept.keeper.start()
    (tmp_path / "prompt.txt").unlink()
    kept.polled()
    assert (kept.keeper.successful, prompt_in_force(kept)) == (False, "first")
    # Another process finds the copy, and what the prompt held.
    again = Kept(tmp_path)
    again.keeper.start()
    assert (again.keeper.from_state, prompt_in_force(again)) == (True, "first")
    (tmp_path / "prompt.txt").write_text("back")
    again.polled()
    assert (again.keeper.successful, again.keeper.from_state, prompt_in_force(again)) == (True, False, "back")


# What may happen while the copy is written

NAMED = ONE + "scenarios: {mine: {prompt_file: FILE, max_tokens: 9}}\n"


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


class Failing:
    """Lets so many steps of writing and removing files succeed, and none after them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: int, error: BaseException) -> None:
        self.failed = False
        self._left = steps
        self._error = error
        for owner, name in ((tempfile, "NamedTemporaryFile"), (os, "fsync"), (Path, "replace"), (Path, "unlink")):
            monkeypatch.setattr(owner, name, self._counting(getattr(owner, name)))

    def _counting(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **more: Any) -> Any:
            if self._left == 0:
                self.failed = True
                raise self._error
            self._left -= 1
            return work(*args, **more)

        return counted


def restarted_after(folder: Path, steps: int, error: BaseException, *, earlier: bool) -> tuple[str, bool]:
    """Return the prompt that a new process has in force if an edit was cut off, and whether it was."""
    kept = Kept(folder)
    for name in ("first", "second"):
        (folder / f"{name}.txt").write_text(name)
    kept.write(NAMED.replace("FILE", "first.txt"))
    kept.keeper.start()
    if earlier:
        in_two_files(folder / "state", kept.file.read_text(), {"first.txt": "first"})
    kept.write(NAMED.replace("FILE", "second.txt"))
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        failing = Failing(patch, steps, error)
        kept.keeper.reload()
    kept.write(BROKEN)
    again = Kept(folder)
    again.keeper.start()
    assert again.keeper.from_state
    return prompt_in_force(again), failing.failed


def in_two_files(state: Path, text: str, texts: dict[str, str]) -> None:
    """Leave the state folder as earlier versions did."""
    for file in state.iterdir():
        file.unlink()
    (state / "last-good-inferwatch.yml").write_text(text)
    (state / "last-good-files.json").write_text(json.dumps(texts))


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Killed()], ids=["full", "killed"])
def test_a_copy_that_was_cut_off_anywhere_can_be_used(tmp_path: Path, error: BaseException, earlier: bool) -> None:
    found: list[str] = []
    cut_off = True
    while cut_off:
        folder = tmp_path / str(len(found))
        folder.mkdir()
        prompt, cut_off = restarted_after(folder, len(found), error, earlier=earlier)
        found.append(prompt)
    assert set(found) == {"first", "second"} and found == sorted(found)


def test_the_copy_of_an_earlier_version_is_read_and_replaced(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    in_two_files(tmp_path / "state", PROMPT, {"prompt.txt": "kept"})
    kept.write(BROKEN)
    kept.keeper.start()
    assert (kept.keeper.from_state, prompt_in_force(kept)) == (True, "kept")
    kept.write(ONE)
    kept.polled()
    assert [path.name for path in (tmp_path / "state").iterdir()] == [FILE_NAME]


def test_a_copy_that_could_not_be_written_is_tried_again(kept: Kept, tmp_path: Path) -> None:
    kept.write(ONE)
    with pytest.MonkeyPatch.context() as patch:
        Failing(patch, 0, OSError(errno.ENOSPC, "No space left on device"))
        kept.keeper.start()
    assert not (tmp_path / "state" / FILE_NAME).exists()
    kept.keeper.poll()
    kept.write(BROKEN)
    again = Kept(tmp_path)
    again.keeper.start()
    assert again.applied == [["one"]]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "\0", '{"configuration": 7, "files": {}}', '{"configuration": "", "files": 7}', "[" * 9999]
)
def test_a_copy_that_is_none_is_said_and_not_used(
    kept: Kept, tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / FILE_NAME).write_text(text)
    kept.write(BROKEN)
    kept.keeper.start()
    assert kept.keeper.config is None
    assert "the copy of the last good configuration cannot be used" in caplog.text
    assert "nothing is in force" in caplog.text
