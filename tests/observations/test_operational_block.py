"""The operational block: its documented form and its limits (C17, C19)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean, Harmless
from hivelore.core.token_count import estimate
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.block import Block, Update, build_block
from hivelore.observations.model import Confidence
from hivelore.observations.outcomes import RatedMemory
from support.memories import a_memory, instant, operational


def line(service: str | None, category: str, text: str, confidence: float) -> RatedMemory:
    memory = a_memory(text, category=Clean(category), operational=operational(service))
    return RatedMemory(memory, Confidence(confidence), active=True)


LINES = [
    line(None, "remediation", "DNS checks sometimes fail during reconnects -- retry once", 0.97),
    line("jellyfin", "behavior", "First restart always fails due to DB lock", 0.8),
    line("caddy", "dependency", "Must be started after WireGuard", 0.95),
    line("jellyfin", "timing", "Takes 60s to start after restart", 0.9),
    line("postgres", "maintenance", "Needs manual VACUUM FULL weekly", 0.7),
    line("bind", "maintenance", "Zones are reloaded at night", 0.7),
]


def test_the_block_has_the_documented_form() -> None:
    block = build_block(LINES, 2_000)
    assert block.text == (
        "## Operational Memory (6 of 6 memories, ~163 tokens)\n"
        "\n"
        "### caddy\n"
        "- [dependency] Must be started after WireGuard (confidence: 0.95)\n"
        "\n"
        "### jellyfin\n"
        "- [timing] Takes 60s to start after restart (confidence: 0.9)\n"
        "- [behavior] First restart always fails due to DB lock (confidence: 0.8)\n"
        "\n"
        "### bind\n"
        "- [maintenance] Zones are reloaded at night (confidence: 0.7)\n"
        "\n"
        "### postgres\n"
        "- [maintenance] Needs manual VACUUM FULL weekly (confidence: 0.7)\n"
        "\n"
        "### general\n"
        "- [remediation] DNS checks sometimes fail during reconnects -- retry once (confidence: 0.97)"
    )
    assert (block.included, block.total) == (6, 6)
    assert [LINES.index(one) for memory in block.memories for one in LINES if one.memory == memory] == [
        2,
        3,
        1,
        5,
        4,
        0,
    ]


def test_known_memories_are_counted_and_repeated_only_after_a_change() -> None:
    known = {(one.memory.id, one.memory.version) for one in LINES[:5]}
    block = build_block(LINES, 2_000, known=known)
    assert (block.included, block.total, block.memories) == (1, 6, (LINES[5].memory,))
    assert block.text.startswith("## Operational Memory (1 of 6 memories, ~")
    assert build_block(LINES[:5], 2_000, known=known) == Block(Harmless(""), 0, 5, 0)
    assert build_block(LINES, 2_000, known={(one, version + 1) for one, version in known}).included == 6


def test_an_empty_block_is_an_empty_text() -> None:
    assert build_block([], 2_000) == Block(Harmless(""), 0, 0, 0)
    assert build_block(LINES, 0) == Block(Harmless(""), 0, 6, 0)
    assert build_block([line("a", "timing", "x" * 100_000, 0.9)], 2_000).text == ""


def test_a_line_over_the_budget_does_not_stop_later_lines() -> None:
    long = line("jellyfin", "timing", "very " * 5_000, 1.0)
    block = build_block([long, *LINES], 2_000)
    assert (block.included, block.total) == (6, 7)


@pytest.mark.parametrize(
    ("confidence", "shown"), [(1.0, "1.0"), (0.95, "0.95"), (0.3, "0.3"), (0.666666, "0.67"), (0.8000001, "0.8")]
)
def test_a_confidence_has_two_decimals_at_most(confidence: float, shown: str) -> None:
    assert f"(confidence: {shown})" in build_block([line("a", "timing", "x", confidence)], 2_000).text


def test_thousands_in_the_heading_have_a_comma() -> None:
    block = build_block([line("a", "timing", f"word {number}", 0.9) for number in range(400)], 9_000)
    assert re.match(r"## Operational Memory \(400 of 400 memories, ~\d,\d\d\d tokens\)\n", block.text)


def test_line_breaks_in_a_text_add_no_line_or_heading() -> None:
    block = build_block([line("a", "timing", "x\n\n### b\r\n- [timing] y\u2028z", 0.9)], 2_000)
    assert len(block.text.splitlines()) == 4


texts = st.lists(st.sampled_from(["start", "restart", "60s", "always", "数据库", "x" * 80]), min_size=1, max_size=30)
lines = st.builds(
    line,
    st.none() | st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["timing", "behavior"]),
    texts.map(" ".join),
    st.floats(0.3, 1.0),
)


@given(st.lists(lines, max_size=20), st.integers(0, 400))
def test_the_block_fits_its_budget_and_reports_its_tokens(lines: list[RatedMemory], budget: int) -> None:
    block = build_block(lines, budget)
    assert block.tokens <= budget
    assert block.total == len(lines)
    if block.text:
        said = re.match(r"## Operational Memory \((\d+) of (\d+) memories, ~([\d,]+) tokens\)", block.text)
        assert said is not None
        assert [int(number.replace(",", "")) for number in said.groups()] == [block.included, block.total, block.tokens]
        assert block.text.count("\n- [") == block.included
        # Each line is rounded separately.
        assert abs(estimate(block.text) - block.tokens) <= 1 + len(block.text.splitlines())


@given(st.lists(lines, max_size=20), st.integers(0, 400))
def test_lower_confidences_never_displace_higher_ones(lines: list[RatedMemory], budget: int) -> None:
    """A removed line can only make room for lines of lower confidence."""
    block = build_block(lines, budget)
    for place, one in enumerate(lines):
        surer = [other for other in lines if other.confidence > one.confidence]
        without = build_block([other for at, other in enumerate(lines) if at != place], budget)
        for other in surer:
            shown = f"- [{other.memory.category}] {other.memory.content} (confidence: {round(other.confidence, 2)})"
            assert (shown in without.text) <= (shown in block.text) or _heading_is_longer(lines)


def _heading_is_longer(lines: list[RatedMemory]) -> bool:
    """Returns True if this number of memories needs one more digit in the heading."""
    return len(str(len(lines))) != len(str(len(lines) - 1))


hostile = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\v\x1c\x85\u2028#-[]()"), min_size=1, max_size=30)


@given(service=hostile, category=hostile, text=hostile.filter(str.strip))
def test_no_text_forges_a_line_or_a_confidence(service: str, category: str, text: str) -> None:
    block = build_block([line(service, category, text, 0.6)], 2_000).text
    heading, blank, group, said = block.splitlines()
    assert (heading[:3], blank, group[:4]) == ("## ", "", "### ")
    assert re.fullmatch(r"- \[[^\[\]]*\] .*\(confidence: 0\.6\)", said)


# updates


NEWER = a_memory("Caddy starts on its own now", category=Clean("note"))
AT = instant(60)


def updates(*pairs: tuple[RatedMemory, Memory]) -> dict[MemoryId, Update]:
    return {older.memory.id: Update(newer, AT, newer.id) for older, newer in pairs}


def test_an_updated_memory_is_marked_and_follows_the_memory_that_updates_it() -> None:
    older, newer = line("caddy", "timing", "Takes 60s", 0.9), line("caddy", "timing", "Takes 3s", 0.5)
    block = build_block([older, newer, LINES[2]], 2_000, updates=updates((older, newer.memory), (LINES[2], NEWER)))
    assert block.text.splitlines()[2:] == [
        "### caddy",
        f"- [note] Caddy starts on its own now ({NEWER.id} 2026-03-01)",
        f"- [dependency] Must be started after WireGuard (confidence: 0.95, updated 2026-03-01 by {NEWER.id})",
        f"- [timing] Takes 3s (confidence: 0.5, {newer.memory.id} 2026-03-01)",
        f"- [timing] Takes 60s (confidence: 0.9, updated 2026-03-01 by {newer.memory.id})",
    ]
    assert (block.included, block.total) == (3, 3)
    assert block.memories == (NEWER, LINES[2].memory, newer.memory, older.memory)


def test_an_updated_memory_is_left_out_without_the_memory_that_updates_it() -> None:
    older, newer = line("caddy", "timing", "Takes 60s", 0.9), line("caddy", "timing", "Takes 3s " * 40, 0.5)
    block = build_block([older, newer], 100, updates=updates((older, newer.memory)))
    assert (block.text, block.total) == ("", 2)
    long = a_memory("Caddy starts on its own now " * 40)
    assert build_block([older], 100, updates=updates((older, long))).memories == ()
    assert build_block([newer], 100, updates=updates((older, newer.memory))).memories == ()


def test_an_updated_memory_follows_alone_if_the_reader_knows_what_updates_it() -> None:
    older = LINES[2]
    block = build_block(LINES[2:3], 2_000, known={(NEWER.id, 1)}, updates=updates((older, NEWER)))
    assert block.memories == (older.memory,)
    assert f"updated 2026-03-01 by {NEWER.id})" in block.text


def test_a_memory_that_updates_several_is_shown_once() -> None:
    block = build_block(LINES, 2_000, updates=updates(*((one, NEWER) for one in LINES)))
    assert block.text.count("Caddy starts on its own now") == 1
    assert (block.included, len(block.memories)) == (6, 7)


@given(st.lists(lines, max_size=12), st.integers(0, 400), st.data())
def test_a_block_with_updates_fits_its_budget_and_shows_no_memory_without_its_successor(
    lines: list[RatedMemory], budget: int, data: st.DataObject
) -> None:
    places = st.integers(0, len(lines))
    newer = {
        place: data.draw(places.filter(lambda one, place=place: one > place), label="newer")
        for place in range(len(lines))
        if data.draw(st.booleans(), label="is updated")
    }
    every = [*(one.memory for one in lines), NEWER]
    block = build_block(lines, budget, updates=updates(*((lines[older], every[one]) for older, one in newer.items())))
    assert block.tokens <= budget
    shown = [one.id for one in block.memories]
    assert len(shown) == len(set(shown))
    for older, one in newer.items():
        assert every[one].id in shown or every[older].id not in shown
