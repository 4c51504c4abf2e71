"""Transcript files: reading the end, and refusing other files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hivelore.errors import NotFound
from hivelore.sessions.transcript_files import TranscriptFiles


def written(folder: Path, text: str, name: str = "s.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def end(folder: Path, path: Path | str, most: int = 1_000) -> tuple[list[str], bool]:
    lines, cut = TranscriptFiles([folder]).read_end(str(path), most)
    return [line for line in lines if line], cut


def test_a_short_file_is_read_completely(tmp_path: Path) -> None:
    assert end(tmp_path, written(tmp_path, "a\nb\n")) == (["a", "b"], False)


def test_the_last_complete_lines_of_a_long_file_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"line {number}\n" for number in range(1_000)))
    lines, cut = end(tmp_path, path, 100)
    assert cut
    assert lines == [f"line {number}" for number in range(1_000 - len(lines), 1_000)]
    assert len(lines) == 11


def test_an_incomplete_last_line_is_returned(tmp_path: Path) -> None:
    assert end(tmp_path, written(tmp_path, 'a\n{"b')) == (["a", '{"b'], False)


def test_invalid_utf8_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"a\n\xc3\xa4\xff\xe4\nb")
    assert end(tmp_path, path) == (["a", "ä\ufffd\ufffd", "b"], False)


def test_only_the_end_of_a_300_megabyte_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        file.truncate(300_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")
    lines, cut = end(tmp_path, path, 1_000)
    assert (lines, cut) == (["last"], True)


@pytest.mark.parametrize("name", ["a b.jsonl", "ä\n'\".jsonl", "deep/er/s.jsonl"])
def test_any_file_name_is_accepted(tmp_path: Path, name: str) -> None:
    assert end(tmp_path, written(tmp_path, "a", name)) == (["a"], False)


def test_links_are_resolved_and_may_not_lead_outside(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    written(inside, "a", "there.jsonl")
    (inside / "link.jsonl").symlink_to(inside / "there.jsonl")
    (inside / "away.jsonl").symlink_to(written(outside, "secret"))
    assert end(inside, inside / "link.jsonl") == (["a"], False)
    with pytest.raises(NotFound, match="HIVELORE_TRANSCRIPTS"):
        end(inside, inside / "away.jsonl")


REFUSED: dict[str, Callable[[Path], object]] = {
    "is not there": lambda folder: folder / "gone.jsonl",
    "is a folder": lambda folder: (folder / "f.jsonl").mkdir() or folder / "f.jsonl",
    "is a pipe": lambda folder: os.mkfifo(folder / "p.jsonl") or folder / "p.jsonl",
    "has another ending": lambda folder: written(folder, "a", "id_rsa"),
    "lies outside": lambda folder: written(folder.parent, "a", "s.jsonl"),
    "climbs out": lambda folder: f"{folder}/../s.jsonl",
    "is no path": lambda folder: "\0",
    "is nothing": lambda folder: "",
    "is too long": lambda folder: f"{folder}/{'x' * 5_000}.jsonl",
    "leads to itself": lambda folder: (folder / "l.jsonl").symlink_to(folder / "l.jsonl") or folder / "l.jsonl",
}


@pytest.mark.parametrize("what", REFUSED)
def test_paths_that_are_not_transcripts_are_not_found(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    with pytest.raises(NotFound):
        end(folder, str(REFUSED[what](folder)))
