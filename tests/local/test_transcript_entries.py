"""Entries of transcript files: identities, shortening, and restoring files."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Conflict
from hivelore.local.transcript_entries import (
    SHORTENED,
    append_digests,
    file_digests,
    parse_entry,
    shorten_entry,
)
from hivelore.local.transcript_restore import EXTENDED, KEPT, WRITTEN, restore_file, restore_part
from support.transcripts import a_line

ENTRIES = st.lists(st.builds(a_line, st.none() | st.sampled_from("abc"), n=st.integers(0, 1)), max_size=12)


def digests(lines: list[str]) -> list[int]:
    return file_digests(lines, [parse_entry(line) or {} for line in lines])


@given(lines=ENTRIES, more=ENTRIES)
def test_lines_have_the_same_identity_when_the_file_has_grown(lines: list[str], more: list[str]) -> None:
    assert digests([*lines, *more])[: len(lines)] == digests(lines)


@given(lines=ENTRIES)
def test_lines_behind_any_place_have_the_same_identity(lines: list[str]) -> None:
    whole = digests(lines)
    anchor, distance = None, 0
    for place, line in enumerate(lines):
        rest = lines[place:]
        assert file_digests(rest, [parse_entry(each) or {} for each in rest], anchor, distance) == whole[place:]
        uuid = json.loads(line).get("uuid")
        anchor, distance = (anchor, distance + 1) if uuid is None else (uuid, 0)


@given(lines=ENTRIES)
def test_different_lines_between_two_uuids_differ(lines: list[str]) -> None:
    plain = [line for line in lines if "uuid" not in json.loads(line)]
    assert len(set(digests(plain))) == len(plain)


def test_appended_entries_without_uuid_have_no_identity() -> None:
    first, second = append_digests([{"uuid": "a"}, {"uuid": 7}])
    assert first is not None
    assert 0 <= first < 2**63
    assert second is None


@pytest.mark.parametrize("line", ["", "null", "[]", "{", "{}x", "NaN", "[" * 100_000])
def test_what_is_no_object_is_no_entry(line: str) -> None:
    assert parse_entry(line) is None


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(content=_JSON)
def test_a_shortened_entry_keeps_its_ids(content: Any) -> None:
    line = json.dumps({"type": "user", "uuid": "u", "parentUuid": "p", "message": content, "toolUseResult": content})
    short = shorten_entry(line, 300)
    if len(line.encode()) <= 300:
        assert short is line
    elif short is not None:
        entry = json.loads(short)
        assert len(short.encode()) <= 300
        assert (entry["type"], entry["uuid"], entry["parentUuid"]) == ("user", "u", "p")


def test_a_thought_is_never_changed() -> None:
    thought = {"type": "thinking", "thinking": "x" * 30_000, "signature": "s"}
    line = json.dumps({"uuid": "u", "content": [thought, {"type": "text", "text": "y" * 60_000}]})
    entry = json.loads(shorten_entry(line, 80_000) or "")
    assert entry["content"][0] == thought
    assert entry["content"][1]["text"].endswith(SHORTENED)


# Restoring


def written(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def test_a_file_is_written_extended_or_kept(tmp_path: Path) -> None:
    file = tmp_path / "projects" / "s.jsonl"
    lines = [a_line("a"), a_line(title="x"), a_line(title="x")]
    assert restore_file(file, lines, file.parent).outcome == WRITTEN
    assert file.stat().st_mode & 0o777 == 0o600
    assert restore_file(file, lines, file.parent).outcome == KEPT
    assert restore_file(file, [*lines, a_line("b")], file.parent).outcome == EXTENDED
    assert restore_file(file, lines, file.parent).outcome == KEPT
    assert written(file) == [*lines, a_line("b")]
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("own", [[a_line("z")], [a_line("a"), a_line("z")], [a_line("a"), a_line(n=1)]])
def test_a_file_with_other_entries_is_not_replaced(tmp_path: Path, own: list[str]) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text("".join(f"{line}\n" for line in own))
    with pytest.raises(Conflict, match="not stored"):
        restore_file(file, [a_line("a"), a_line("b")], file.parent)
    assert written(file) == own
    assert list(tmp_path.iterdir()) == [file]


def test_a_whole_entry_is_not_replaced_by_a_shortened_one(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    whole = a_line("a", text="x" * 100)
    file.write_text(f"{whole}\n")
    assert restore_file(file, [a_line("a", text=SHORTENED), a_line("b")], file.parent).outcome == EXTENDED
    assert written(file) == [whole, a_line("b")]


def test_a_line_that_was_cut_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(f'{a_line("a")}\n{{"uuid": "b", "te')
    assert restore_file(file, [a_line("a"), a_line("b")], file.parent).outcome == EXTENDED
    assert written(file) == [a_line("a"), a_line("b")]


def test_links_and_folders_are_not_replaced(tmp_path: Path) -> None:
    secret, link, folder = tmp_path / "secret", tmp_path / "s.jsonl", tmp_path / "t.jsonl"
    secret.write_text("x")
    link.symlink_to(secret)
    folder.mkdir()
    for file in (link, folder):
        with pytest.raises(Conflict, match="Move it away"):
            restore_file(file, [a_line("a")], file.parent)
    assert secret.read_text() == "x"


def test_a_file_that_grows_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(f"{a_line('a')}\n")

    def lines() -> Any:
        yield a_line("a")
        with file.open("a") as out:
            out.write(f"{a_line('z')}\n")
        yield a_line("b")

    with pytest.raises(Conflict, match="being written"):
        restore_file(file, lines(), file.parent)
    assert written(file) == [a_line("a"), a_line("z")]


def test_the_type_of_a_sub_agent_goes_to_its_own_file(tmp_path: Path) -> None:
    file = tmp_path / "subagents" / "agent-1.jsonl"
    metadata = [json.dumps({"type": "agent_metadata", "agentType": name}) for name in ("old", "new")]
    assert restore_part(file, [metadata[0], a_line("a"), metadata[1]], tmp_path).outcome == WRITTEN
    assert written(file) == [a_line("a")]
    assert json.loads(file.with_name("agent-1.meta.json").read_text()) == {"agentType": "new"}


@pytest.mark.parametrize("own", ["a", "z"])
def test_the_type_that_a_sub_agent_has_stays(tmp_path: Path, own: str) -> None:
    file, kind = tmp_path / "agent-1.jsonl", tmp_path / "agent-1.meta.json"
    file.write_text(f"{a_line(own)}\n")
    kind.write_text('{"agentType": "own"}')
    with suppress(Conflict):
        restore_part(file, [a_line("a"), '{"type": "agent_metadata", "agentType": "stored"}'], tmp_path)
    assert kind.read_text() == '{"agentType": "own"}'


def test_without_its_transcript_the_type_of_a_sub_agent_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "agent-1.jsonl"
    file.write_text(f"{a_line('z')}\n")
    with pytest.raises(Conflict):
        restore_part(file, [a_line("a"), '{"type": "agent_metadata", "agentType": "stored"}'], tmp_path)
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_written_through_a_linked_folder(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (project / "session").symlink_to(outside)
    with pytest.raises(Conflict, match="is a link"):
        restore_part(project / "session" / "subagents" / "agent-1.jsonl", [a_line("a")], project)
    assert list(outside.iterdir()) == []


def test_the_size_that_was_written_does_not_count_what_follows(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    restored = restore_file(file, [a_line("a")], tmp_path)
    assert (restored.inode, restored.size) == (file.stat().st_ino, file.stat().st_size)
    assert not restore_file(file, [a_line("a")], tmp_path).is_written
