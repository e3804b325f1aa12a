"""Saying that the disk gets full."""

from pathlib import Path

from stack.disk import DiskWatch


def test_a_disk_that_fills_is_said_once_and_so_is_room(tmp_path: Path) -> None:
    said: list[str] = []
    free = iter([900, 199, 150, 210, 260])
    watch = DiskWatch(tmp_path, said.append, lambda _: next(free) * 1_000_000)
    for _ in range(5):
        watch.look()
    assert [line.split(";")[0] for line in said] == [
        f"only 199 MB are free on the disk of {tmp_path}",
        f"the disk of {tmp_path} has room again (260 MB)",
    ]


def test_a_run_folder_that_is_gone_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    watch = DiskWatch(tmp_path / "gone", said.append)
    watch.look()
    watch.look()
    assert len(said) == 1
    assert "cannot be looked at" in said[0]
