"""Limits of profiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Invalid, TooLarge
from hivelore.identity.profile import (
    CAPABILITY_BYTES,
    DESCRIPTION_BYTES,
    LIMITS,
    MAX_CAPABILITIES,
    MAX_VERSION_BYTES,
    MAX_VERSIONS,
    ROLE_BYTES,
    ProfileField,
)
from hivelore.identity.profile_defaults import default_content
from hivelore.identity.profile_limits import check_capabilities, check_text, last_dropped
from hivelore.memories.model import NAME_LENGTH

MEMORY_TOOLS = ("memory-search", "memory-store")


@pytest.mark.parametrize("field", LIMITS)
def test_the_limit_of_a_text_counts_bytes(field: ProfileField) -> None:
    check_text(field, "ü" * (LIMITS[field] // 2))
    with pytest.raises(TooLarge, match=rf"{field.value} has {LIMITS[field] + 1:,} bytes .* at most {LIMITS[field]:,}"):
        check_text(field, "ü" * (LIMITS[field] // 2) + "x")


def test_a_soul_has_64_kilobytes() -> None:
    assert LIMITS[ProfileField.SOUL] == 65_536


def test_capabilities_are_limited_in_number_and_size() -> None:
    check_capabilities(["x" * CAPABILITY_BYTES] * MAX_CAPABILITIES)
    with pytest.raises(TooLarge, match="at most 100"):
        check_capabilities(["x"] * (MAX_CAPABILITIES + 1))
    with pytest.raises(TooLarge, match="256 bytes"):
        check_capabilities(["ü" * CAPABILITY_BYTES])
    with pytest.raises(Invalid, match="empty"):
        check_capabilities(["x", " "])


def test_default_texts_of_the_longest_values_are_within_the_limits() -> None:
    content = default_content(
        "\U0001f600" * NAME_LENGTH,
        Clean("x" * ROLE_BYTES),
        Clean("x" * DESCRIPTION_BYTES),
        [Clean("x" * CAPABILITY_BYTES)] * MAX_CAPABILITIES,
        tools=MEMORY_TOOLS,
        workspace="x" * 4_096,
    )
    for field in LIMITS:
        check_text(field, str(content.get(field)))


def test_default_texts_say_who_the_agent_is_and_how_it_learns() -> None:
    """D01, D44, A48"""
    content = default_content(
        "Ada {x}", Clean("reviewer"), Clean("Reads diffs."), [Clean("python")], tools=MEMORY_TOOLS, workspace=None
    )
    assert "Embody this persona" in content.soul
    assert "This file is yours to evolve" in content.soul
    assert "reflect on what you learned" in content.soul
    assert "propose them for your setup script" in content.soul
    assert "Your memories persist across sessions" in content.soul
    headings = [line for line in content.notes.splitlines() if line.startswith("#")]
    assert headings[:5] == ["# Agent: Ada {x}", "## Role", "## Description", "## Capabilities", "## Memory"]
    assert headings[-3:] == ["### Learnings", "### Preferences", "### Important Context"]
    assert "search your memory for earlier knowledge: `memory-search`" in content.notes
    for text in (content.soul, content.identity, content.notes):
        assert "Ada {x}" in text
        assert "reviewer" in text
    assert "Reads diffs." in content.notes
    assert "- python" in content.notes


def test_default_notes_name_no_tool_that_is_off() -> None:
    content = default_content("ada", Clean(""), Clean(""), [], tools=(), workspace=None)
    assert "memory-" not in content.soul + content.identity + content.notes
    assert "(not set)" in content.notes


_SIZES = st.lists(st.sampled_from([1, 1_000, MAX_VERSION_BYTES // 3, MAX_VERSION_BYTES]), min_size=1, max_size=12)


@given(sizes=_SIZES, data=st.data())
def test_the_current_version_and_the_newest_others_are_kept(sizes: list[int], data: st.DataObject) -> None:
    numbered = [(len(sizes) - place, size) for place, size in enumerate(sizes)]
    current = data.draw(st.integers(1, len(sizes)))
    last = last_dropped(numbered, current)
    kept = [number for number, _ in numbered if number > last or number == current]
    bytes_of = dict(numbered)
    if kept != [current]:
        assert sum(bytes_of[number] for number in kept) <= MAX_VERSION_BYTES
    if last:
        assert sum(bytes_of[number] for number in {*kept, last}) > MAX_VERSION_BYTES


def test_old_versions_beyond_the_greatest_number_are_dropped() -> None:
    sizes = [(number, 1) for number in range(MAX_VERSIONS + 3, 0, -1)]
    assert last_dropped(sizes, MAX_VERSIONS + 3) == 3
    assert last_dropped(sizes, 2) == 4
    assert last_dropped(sizes[3:], MAX_VERSIONS) == 0
