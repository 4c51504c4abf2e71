"""Valid times of memories, their earlier states, and differences of versions."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.diff import difference
from hivelore.memories.model import Action, Memory, Scope, Version
from hivelore.memories.validity import end_of_validity, may_supersede, state_at
from support.memories import ADA, BOB, a_memory, instant


def a_version(number: int, content: str = "one", at: datetime | None = None) -> Version:
    return Version(
        number=number,
        at=at or instant(number),
        action=Action.EDITED,
        actor=BOB,
        interface=Interface.CLI,
        reason=Clean("why"),
        scope=Scope.AGENT,
        name=Clean("A note"),
        content=Clean(content),
        summary=Clean("In short."),
        category=Clean("note"),
        tags=(Clean("a"), Clean("b")),
        project=None,
        expires_at=None,
        subject=None,
        valid_from=None,
    )


def test_validity_ends_where_the_first_superseding_memory_begins() -> None:
    memory = a_memory(valid_from=instant(1))
    assert end_of_validity(memory, []) is None
    assert end_of_validity(memory, [a_memory(valid_from=instant(minute)) for minute in (3, 2)]) == instant(2)
    assert end_of_validity(memory, [a_memory(valid_from=instant(0))]) == instant(1)


@pytest.mark.parametrize(
    ("newer", "older", "may"),
    [
        (a_memory(), a_memory(), True),
        (a_memory(scope=Scope.SWARM), a_memory(), True),
        (a_memory(scope=Scope.SWARM), a_memory(scope=Scope.SWARM, owner=BOB), True),
        (a_memory(), a_memory(scope=Scope.SWARM), False),
        (a_memory(), a_memory(owner=BOB), False),
    ],
)
def test_a_superseding_memory_is_visible_to_all_who_saw_the_superseded_one(
    newer: Memory, older: Memory, may: bool
) -> None:
    assert may_supersede(newer, older) is may


def test_the_state_at_a_time_is_the_version_of_that_time() -> None:
    history = [a_version(number, f"text {number}") for number in (1, 2, 3)]
    memory = a_memory("text 3", version=3, updated_at=instant(3))
    assert [state_at(memory, history, instant(at)).content for at in (0, 1, 2, 2.9, 3, 9)] == [
        f"text {number}" for number in (1, 1, 2, 2, 3, 3)
    ]
    was = state_at(memory, history, instant(2))
    assert (was.version, was.updated_at, was.provenance.actor, was.provenance.reason) == (2, instant(2), BOB, "why")
    assert (was.id, was.owner) == (memory.id, ADA)


def test_equal_versions_have_no_differences() -> None:
    assert difference(a_version(1), a_version(2)).fields == {}


def test_each_changed_field_has_its_own_difference() -> None:
    other = replace(
        a_version(2, "two"),
        tags=(Clean("a"), Clean("c")),
        subject=Clean("db.port"),
        valid_from=instant(0),
        scope=Scope.SWARM,
    )
    changes = difference(a_version(1), other)
    assert (changes.older, changes.newer) == (1, 2)
    assert set(changes.fields) == {"content", "tags", "subject", "validFrom", "scope"}
    assert changes.fields["content"].splitlines() == ["--- version 1", "+++ version 2", "@@ -1 +1 @@", "-one", "+two"]
    assert changes.fields["tags"].splitlines()[-3:] == [" a", "-b", "+c"]
    assert "+db.port" in changes.fields["subject"]
    assert changes.fields["validFrom"].endswith("Z")


lines = st.lists(st.sampled_from(["a", "b", "", "  c", "-x", "@@ 1"]), max_size=12)


def applied(before: list[str], diff: list[str]) -> list[str]:
    """Returns the lines after a unified diff is applied."""
    result: list[str] = []
    at = 0
    for line in diff[2:]:
        if line.startswith("@@ "):
            start = int(line.split(" ")[1][1:].partition(",")[0])
            length = line.split(" ")[1].partition(",")[2]
            begin = start if length == "0" else start - 1
            result += before[at:begin]
            at = begin
        elif line[0] == "-":
            assert before[at] == line[1:]
            at += 1
        else:
            if line[0] == " ":
                assert before[at] == line[1:]
                at += 1
            result.append(line[1:])
    return result + before[at:]


@given(start=lines, before=lines, after=lines, end=lines)
def test_a_diff_applied_to_the_older_text_gives_the_newer_one(
    start: list[str], before: list[str], after: list[str], end: list[str]
) -> None:
    one, other = ("\n".join(["x", *start, *middle, *end]) for middle in (before, after))
    changes = difference(a_version(1, one), a_version(2, other)).fields
    found = changes["content"].split("\n") if changes else ["", ""]
    assert applied(one.split("\n"), found) == other.split("\n")


def test_completely_different_long_texts_are_compared_fast() -> None:
    """Half a million different lines: the diff of the standard library would take minutes."""
    one, other = ("\n".join(f"{name} {number}" for number in range(250_000)) for name in ("old", "new"))
    found = difference(a_version(1, one), a_version(2, other)).fields["content"].split("\n")
    assert applied(one.split("\n"), found) == other.split("\n")


def test_a_change_late_in_a_long_text_has_its_line_number() -> None:
    texts = [[f"line {number}" for number in range(5_000)] for _ in range(2)]
    texts[1][4_000] = "other"
    one, other = ("\n".join(text) for text in texts)
    found = difference(a_version(1, one), a_version(2, other)).fields["content"].split("\n")
    assert found[2] == "@@ -3998,7 +3998,7 @@"
    assert len(found) == 11
