"""Spool folder: other files do not block events."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hivelore.errors import Invalid
from hivelore.sessions.spool import SpoolFolder


def _too_large(file: Path) -> None:
    with file.open("wb") as out:
        out.truncate(100_000_000)


INVALID_FILES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut off": lambda file: file.write_bytes(b'{"id": '),
    "nested without end": lambda file: file.write_bytes(b"[" * 100_000),
    "a folder": Path.mkdir,
    "a link to nowhere": lambda file: file.symlink_to("nowhere"),
    "a link to a file": lambda file: file.symlink_to(__file__),
    "a pipe": os.mkfifo,
    "too large": _too_large,
}


@pytest.mark.parametrize("kind", INVALID_FILES)
def test_files_that_are_not_events_are_refused_and_set_aside(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "spool"
    folder.mkdir()
    spool = SpoolFolder(tmp_path)
    INVALID_FILES[kind](folder / "1.json")
    with pytest.raises(Invalid):
        spool.read("1.json")
    spool.set_aside("1.json")
    assert spool.waiting() == []
    assert [file.name for file in folder.iterdir()] == ["1.unreadable"]


def test_a_missing_file_is_refused_and_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    spool = SpoolFolder(tmp_path)
    with pytest.raises(Invalid):
        spool.read("1.json")
    spool.set_aside("1.json")
    spool.remove("1.json")


def test_only_events_wait_in_the_order_of_their_names(tmp_path: Path) -> None:
    spool = SpoolFolder(tmp_path)
    assert (spool.waiting(), spool.lost()) == ((), 0)
    folder = tmp_path / "spool"
    folder.mkdir()
    for name in ("2.json", "1.json", "3.new", "4.unreadable", "lost"):
        (folder / name).write_bytes(b'{"a": 1}')
    assert (spool.waiting(), spool.lost()) == (["1.json", "2.json"], 8)
    assert spool.read("1.json") == {"a": 1}
