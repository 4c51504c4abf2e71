"""Restoring of transcript files while a program writes to them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hivelore.errors import Conflict
from hivelore.local.transcript_restore import restore_file
from support.transcripts import said

FIRST, SECOND, THIRD = (said("user", name, name) for name in "abc")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "session.jsonl"
    file.write_text(f"{FIRST}\n")
    return file


def append(file: Path, line: str) -> None:
    with file.open("a") as out:
        out.write(f"{line}\n")


def test_an_entry_that_is_appended_until_the_file_is_on_disk_is_not_lost(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def appending(descriptor: int) -> None:
        append(file, THIRD)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", appending)
    with pytest.raises(Conflict, match="being written"):
        restore_file(file, [FIRST, SECOND], file.parent)
    assert file.read_text().splitlines() == [FIRST, THIRD]


def test_an_entry_that_is_appended_while_the_file_is_replaced_is_moved(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def appending(source: str, target: str) -> None:
        append(file, THIRD)
        replace(source, target)

    monkeypatch.setattr(os, "replace", appending)
    restored = restore_file(file, [FIRST, SECOND], file.parent)
    assert file.read_text().splitlines() == [FIRST, SECOND, THIRD]
    assert restored.size == len(f"{FIRST}\n{SECOND}\n")


def test_nothing_is_written_if_the_lines_end_early(file: Path) -> None:
    def lines() -> Iterator[str]:
        yield FIRST
        yield SECOND
        raise Conflict("stopped")

    with pytest.raises(Conflict, match="stopped"):
        restore_file(file, lines(), file.parent)
    assert [one.name for one in file.parent.iterdir()] == [file.name]
    assert file.read_text().splitlines() == [FIRST]
