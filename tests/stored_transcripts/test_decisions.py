"""Keys, authority, limits, chains and packing of stored transcripts."""

import json
from datetime import UTC, datetime
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.access import visible_to
from hivelore.core.agents import Interface, LeadSees, Role, Viewer
from hivelore.core.values import replace
from hivelore.errors import Broken, Conflict, Forbidden, Invalid
from hivelore.stored_transcripts.chain import continued_session, follow, forked_session, is_copy_of
from hivelore.stored_transcripts.decisions import (
    check_room,
    exact_owner,
    is_audited,
    may_delete,
    may_load,
    may_see,
    stored_key,
    written_at,
)
from hivelore.stored_transcripts.keys import transcript_key
from hivelore.stored_transcripts.model import (
    MAX_CHAIN,
    MAX_TRANSCRIPTS,
    StoredTranscript,
    TranscriptKey,
    TranscriptLimits,
    TranscriptUsage,
)
from hivelore.stored_transcripts.packing import line_size, pack, split_lines, unpack
from support.memories import ADA, BOB, instant
from support.transcripts import SESSION, a_key, a_transcript, session_id

HOSTILE = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "C:x",
    "a\0b",
    "a\nb",
    "é",
    "\ud800",
    'a"b',
    "x" * 256,
]
VIEWERS = [
    Viewer(role=role, agent=agent, interface=Interface.REST, acting=acting)
    for role, agent, acting in product(Role, (None, ADA, BOB), (False, True))
    if agent is not None or (role is Role.OPERATOR and not acting)
]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_file_name_is_no_part_of_a_key(name: str) -> None:
    with pytest.raises(Invalid):
        transcript_key(name, SESSION)
    with pytest.raises(Invalid):
        transcript_key("-work", name)


@pytest.mark.parametrize("sub_key", ["..", "subagents/../../x", "/x", "x/", "a//b", "./x", "x" * 1_001, "a\\..\\b"])
def test_a_sub_key_stays_in_the_folder_of_its_session(sub_key: str) -> None:
    with pytest.raises(Invalid):
        transcript_key("-work", SESSION, sub_key)


def test_keys_of_the_program_are_accepted() -> None:
    assert transcript_key("-home-ada-work", SESSION, "subagents/workflows/r-1/agent-a") == TranscriptKey(
        "-home-ada-work", SESSION, "subagents/workflows/r-1/agent-a"
    )
    assert transcript_key("p", "sess", None).sub_key == transcript_key("p", "sess", "").sub_key == ""


@given(text=st.text(max_size=20))
def test_every_accepted_key_is_one_plain_name(text: str) -> None:
    try:
        key = transcript_key("-work", text)
    except Invalid:
        return
    assert "/" not in key.session
    assert key.session not in ("", ".", "..")


@pytest.mark.parametrize("viewer", VIEWERS, ids=repr)
def test_the_exact_transcript_is_for_the_agent_itself_alone(viewer: Viewer) -> None:
    own = viewer.agent == ADA and not viewer.acting
    assert may_load(viewer, a_transcript()) == own
    if viewer.agent is None or viewer.acting:
        with pytest.raises(Forbidden):
            exact_owner(viewer)
    else:
        assert exact_owner(viewer) == viewer.agent
    assert may_delete(viewer, ADA) == (viewer.role is Role.OPERATOR or viewer.agent == ADA)


@pytest.mark.parametrize(("viewer", "sees"), product(VIEWERS, LeadSees))
def test_who_may_load_or_delete_a_transcript_may_see_it(viewer: Viewer, sees: LeadSees) -> None:
    seen = may_see(visible_to(viewer, sees), a_transcript())
    assert seen or not may_load(viewer, a_transcript())
    assert seen or not may_delete(viewer, ADA)
    if viewer.role is Role.WORKER:
        assert seen == (viewer.agent == ADA)


def test_the_limits_of_a_transcript_and_of_an_agent() -> None:
    limits = TranscriptLimits(transcript_bytes=100, agent_bytes=50)
    before, usage = a_transcript(size=90, stored_size=20, chunks=1), TranscriptUsage(MAX_TRANSCRIPTS, 45)
    check_room(before, replace(before, size=100, stored_size=25), usage, limits)
    with pytest.raises(Conflict, match="HIVELORE_TRANSCRIPT_MB"):
        check_room(before, replace(before, size=101), usage, limits)
    with pytest.raises(Conflict, match="HIVELORE_TRANSCRIPTS_MB"):
        check_room(before, replace(before, stored_size=26), usage, limits)
    new = a_transcript()
    check_room(new, replace(new, chunks=1), TranscriptUsage(MAX_TRANSCRIPTS - 1, 45), limits)
    with pytest.raises(Conflict, match="HIVELORE_TRANSCRIPT_DAYS"):
        check_room(new, replace(new, chunks=1), usage, limits)


def test_lines_of_a_file_join_the_transcript_that_the_agent_has_of_the_session() -> None:
    old = a_transcript(1, key=a_key(1, "", "-old"))
    new = a_transcript(2, key=a_key(1, "subagents/a", "-new"), updated_at=instant(1))
    here = a_key(1, "subagents/b", "-here")
    assert stored_key(here, [old, new], from_file=True) == replace(here, project_key="-new")
    assert stored_key(here, [old, new], from_file=False) == here
    assert stored_key(here, [], from_file=True) == here
    assert stored_key(replace(here, project_key="-old"), [old, new], from_file=True).project_key == "-old"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([{"type": "summary"}, {"sessionId": "new"}], None),
        ([{"sessionId": "old"}, {"sessionId": "new"}], "old"),
        ([{"sessionId": 7}, {"forkedFrom": "x"}, {"forkedFrom": {"sessionId": None}}], None),
    ],
)
def test_the_session_that_one_continues(entries: list[dict[str, Any]], expected: str | None) -> None:
    assert continued_session(entries, "new") == expected
    assert forked_session(entries, "new") is None


def test_the_session_of_which_one_is_a_branch() -> None:
    entries = [{"sessionId": "new", "forkedFrom": {"sessionId": "old", "messageUuid": "u"}}]
    assert forked_session(entries, "new") == "old"
    assert continued_session(entries, "new") is None


@given(links=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=12))
def test_the_newest_session_wins_and_circles_end(links: list[tuple[int, int]]) -> None:
    sessions = {number: a_transcript(number, updated_at=instant(number * 5 % 7)) for number in range(1, 7)}

    def successors(one: StoredTranscript) -> list[StoredTranscript]:
        return [sessions[later] for earlier, later in links if session_id(earlier) == one.key.session]

    chain = follow(sessions[1], successors)
    assert len({one.id for one in chain}) == len(chain) <= MAX_CHAIN
    for one, after in pairwise(chain):
        assert after in successors(one)
    reached = [sessions[1]]
    for one in reached:
        reached += [each for each in successors(one) if each not in reached]
    assert chain[0] == sessions[1]
    assert chain[-1] == max(reached, key=lambda one: one.updated_at)


@given(hours=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=5))
def test_of_two_copies_at_most_one_continues_the_other(hours: list[tuple[int, int]]) -> None:
    copies = [
        a_transcript(number, last_entry_at=instant(hour), entries=entries)
        for number, (hour, entries) in enumerate(hours)
    ]
    for one, other in product(copies, copies):
        assert not (is_copy_of(one, other) and is_copy_of(other, one))
        is_equal = (one.last_entry_at, one.entries) == (other.last_entry_at, other.entries)
        assert is_copy_of(one, other) or is_copy_of(other, one) or is_equal
    branch = replace(copies[0], forked_from=session_id(9))
    assert not any(is_copy_of(branch, one) for one in copies)


def test_the_newest_entry_says_when_a_transcript_was_used() -> None:
    entries: list[dict[str, Any]] = [
        {"timestamp": "2026-01-01T00:00:00Z"},
        {"timestamp": "2026-01-01T05:00:00+02:00"},
        {"timestamp": 7},
        {"timestamp": "yesterday"},
        {},
    ]
    assert written_at(entries, datetime(2026, 2, 1, tzinfo=UTC)) == datetime(2026, 1, 1, 3, tzinfo=UTC)
    assert written_at(entries, datetime(2025, 2, 1, tzinfo=UTC)) == datetime(2025, 2, 1, tzinfo=UTC)
    assert written_at(entries[2:], datetime(2026, 2, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize("viewer", VIEWERS, ids=repr)
def test_only_the_agent_itself_is_not_audited(viewer: Viewer) -> None:
    assert is_audited(viewer, ADA) != (viewer.agent == ADA and not viewer.acting)


_LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30), min_size=1)


@given(lines=_LINES, most=st.integers(1, 60))
def test_chunks_have_all_lines_in_order(lines: list[str], most: int) -> None:
    parts = list(split_lines(lines, most))
    assert [line for part in parts for line in part] == lines
    assert all(len(part) == 1 or sum(map(line_size, part)) <= most for part in parts)


@given(lines=_LINES)
def test_what_was_packed_is_unpacked(lines: list[str]) -> None:
    assert unpack(pack(lines), sum(map(line_size, lines))) == lines


@pytest.mark.parametrize("data", [b"", b"x", pack(["a" * 10_000]), pack(["ab"])[:-3]])
def test_an_altered_chunk_is_refused_before_it_fills_the_memory(data: bytes) -> None:
    with pytest.raises(Broken):
        unpack(data, 3)


def test_json_keeps_its_exact_text() -> None:
    line = '{"b": 1.0,  "a": "\\ud800", "a": 1e400}'
    assert unpack(pack([line]), line_size(line)) == [line]
    assert json.loads(line)
