"""Chunking (A14): texts are split into chunks within the limit, with their headings."""

from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from hivelore.memories.chunking import (
    CHUNK_LENGTH,
    EXCERPT_RANGE,
    MIN_CHUNK_LENGTH,
    OVERLAP,
    PASSAGE_RANGE,
    chunk,
    excerpts,
)

PROSE = "Every note is a sentence of some length. "


def _headings(text: str) -> list[tuple[str, ...]]:
    return [one.headings for one in chunk(text)]


def _texts(text: str) -> list[str]:
    return [text[one.start : one.stop] for one in chunk(text)]


def test_a_short_text_is_one_chunk() -> None:
    (only,) = chunk("  # A\n\nshort  ")
    assert (only.start, only.stop, only.headings) == (2, 12, ())


def test_siblings_do_not_nest() -> None:
    body = PROSE * 20
    text = f"# A\n{body}\n## B\n{body}\n### C\n{body}\n### D\n{body}\n## E\n{body}"
    assert _headings(text) == [
        ("# A",),
        ("# A", "## B"),
        ("# A", "## B", "### C"),
        ("# A", "## B", "### D"),
        ("# A", "## E"),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_a_comment_inside_a_code_fence_is_no_heading(fence: str) -> None:
    body = PROSE * 60
    text = f"# Setup\n{body}\n{fence}sh\n# install deps\nnpm i\n{fence}\n{body}"
    assert all(headings == ("# Setup",) for headings in _headings(text))


def test_a_heading_of_level_four_is_text() -> None:
    text = f"# A\n{PROSE * 60}\n#### Deep\n{PROSE * 20}"
    assert set(_headings(text)) == {("# A",)}


def test_a_text_of_exactly_the_limit_is_one_chunk_and_one_more_character_makes_two() -> None:
    assert len(chunk("x" * CHUNK_LENGTH)) == 1
    assert len(chunk("x" * (CHUNK_LENGTH + 1))) == 2


def test_blank_text_has_no_chunks() -> None:
    assert chunk(" \n\r\n\t ") == ()


def test_a_whole_text_below_the_minimum_length_is_one_chunk() -> None:
    assert _texts("ok") == ["ok"]


def test_windows_line_endings_change_nothing() -> None:
    text = f"# A\n{PROSE * 30}\n## B ##\n{PROSE * 30}\n"
    assert _headings(text.replace("\n", "\r\n")) == _headings(text) == [("# A",), ("# A", "## B")]


@pytest.mark.parametrize(
    "line", ["#", "# ", "#hashtag", "    # indented code", f"# {'x' * 300}", "text # mark", "####### seven"]
)
def test_a_line_that_resembles_a_heading_is_text(line: str) -> None:
    text = f"{PROSE * 40}\n{line}\n{PROSE * 40}"
    assert set(_headings(text)) == {()}
    assert any(line.strip() in own for own in _texts(text))


@pytest.mark.parametrize(
    ("opening", "inside"), [("```", "~~~"), ("~~~", "```"), ("````", "```"), ("```", "``` not alone"), ("```py", "")]
)
def test_a_code_fence_ends_only_with_its_own_mark(opening: str, inside: str) -> None:
    text = f"# Setup\n{PROSE * 60}\n{opening}\n{inside}\n# install deps\n{PROSE * 60}"
    assert set(_headings(text)) == {("# Setup",)}


@pytest.mark.parametrize("separator", ["\n\n", "\n", ". ", " ", "。"])
def test_a_long_section_is_split_at_the_best_separator_that_fits(separator: str) -> None:
    worse = {"\n\n": "ab\ncd. ef ", "\n": "abc. ef ", ". ": "abc efg ", " ": "abcdefg", "。": "字"}[separator]
    half = (worse * 1_500)[:1_500]
    first, second = _texts(f"{half}{separator}{half}")[:2]
    assert first == f"{half}{separator}".strip()
    assert second.endswith(half[-OVERLAP:].strip())


def test_a_section_without_separators_is_split_at_the_limit() -> None:
    assert [len(own) for own in _texts("x" * 4_500)] == [2_000, 2_000, 700]


def test_pieces_of_a_long_section_overlap_by_100_characters() -> None:
    for text in ("word " * 2_000, "x" * 9_000, PROSE * 300):
        for before, after in pairwise(chunk(text)):
            assert OVERLAP - 1 <= before.stop - after.start <= OVERLAP


def test_a_very_long_grapheme_is_not_split() -> None:
    giant = "e" + "\u0301" * 5_000
    text = f"{PROSE * 30}{giant}{PROSE * 30}"
    assert any(giant in own for own in _texts(text))


def test_a_heading_without_text_appears_in_the_paths_of_its_subheadings() -> None:
    text = f"# Guide\n\n## Setup\n{PROSE * 30}\n## Use\n{PROSE * 30}"
    assert _headings(text) == [("# Guide", "## Setup"), ("# Guide", "## Use")]


@pytest.mark.parametrize(
    ("short", "next_heading", "host"),
    [
        ("## Port\nUse 8080.", "## Below", "Before. "),
        ("## To do", "## Below", "Before. "),
        ("## Port\nUse 8080.", "### Below", "Below. "),
        ("# Part two\nAn intro.", "## Below", "Below. "),
    ],
)
def test_a_short_section_joins_its_closest_relative(short: str, next_heading: str, host: str) -> None:
    text = f"# One\n{PROSE * 10}\n## Before\nBefore. {PROSE * 20}\n{short}\n{next_heading}\nBelow. {PROSE * 20}"
    (found,) = [own for own in _texts(text) if short.splitlines()[-1] in own]
    assert host in found


def test_a_chunk_has_the_headings_in_force_at_its_start() -> None:
    text = f"# Guide\nTiny.\n## Setup\n{PROSE * 120}"
    assert _headings(text) == [("# Guide",), ("# Guide", "## Setup"), ("# Guide", "## Setup")]


SECTION = st.integers(min_value=2, max_value=150).map(lambda sentences: PROSE * sentences)


@given(st.lists(SECTION, min_size=2, max_size=6), st.data())
def test_editing_one_section_does_not_change_the_chunks_of_others(bodies: list[str], data: st.DataObject) -> None:
    edited = data.draw(st.integers(min_value=0, max_value=len(bodies) - 1))
    other = data.draw(SECTION)
    before = "\n".join(f"## Part {number}\n{body}" for number, body in enumerate([PROSE * 60, *bodies]))
    bodies[edited] = other
    after = "\n".join(f"## Part {number}\n{body}" for number, body in enumerate([PROSE * 60, *bodies]))

    def others(text: str) -> list[tuple[str, tuple[str, ...]]]:
        return [
            (text[one.start : one.stop], one.headings)
            for one in chunk(text)
            if one.headings != (f"## Part {edited + 1}",)
        ]

    assert others(before) == others(after)


def test_an_emoji_sequence_is_never_split() -> None:
    family = "👨‍👩‍👧‍👦"
    text = family * 1_000
    for one in chunk(text):
        assert text[one.start : one.stop].replace(family, "") == ""


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.sampled_from(
            ["# A\n", "## B\n", "### C\n", "```\n", "\n\n", "\r\n", PROSE * 30, "x" * 2_500, "🦊" * 700, "字" * 900]
        ),
    ),
    max_size=14,
).map("".join)


@given(TEXTS)
def test_chunks_are_in_order_fit_and_do_not_split_characters(text: str) -> None:
    chunks = chunk(text)
    assert [one.index for one in chunks] == list(range(len(chunks)))
    edges = {0, *(grapheme.end() for grapheme in regex.finditer(r"\X", text))}
    for one in chunks:
        assert 0 <= one.start < one.stop <= len(text)
        assert {one.start, one.stop} <= edges
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.stop < after.stop or before.stop <= after.stop


@given(st.text(alphabet="abc \n#.字é", max_size=6_000))
def test_chunks_are_within_the_limit_and_not_short_next_to_others(text: str) -> None:
    chunks = chunk(text)
    for one in chunks:
        assert one.stop - one.start <= CHUNK_LENGTH
        assert one.stop - one.start >= MIN_CHUNK_LENGTH or len(chunks) == 1


@given(TEXTS)
def test_no_visible_text_except_headings_is_lost(text: str) -> None:
    covered = [False] * len(text)
    headings: set[str] = set()
    for one in chunk(text):
        covered[one.start : one.stop] = [True] * (one.stop - one.start)
        headings.update(heading.lstrip("# ") for heading in one.headings)
    left = "".join(character if not seen else "\n" for character, seen in zip(text, covered, strict=True))
    for line in left.splitlines():
        assert line.strip().strip("#").strip() in headings | {""}


@given(TEXTS)
def test_passages_cover_their_chunk_without_overlap(text: str) -> None:
    for one in chunk(text):
        assert one.passages[0].start == one.start
        assert one.passages[-1].stop == one.stop
        for before, after in pairwise(one.passages):
            assert before.stop <= after.start
            assert not text[before.stop : after.start].strip()
        if one.stop - one.start <= PASSAGE_RANGE[1]:
            assert len(one.passages) == 1


@given(TEXTS)
def test_chunking_is_deterministic(text: str) -> None:
    assert chunk(text) == chunk(text)


@given(st.lists(st.sampled_from([PROSE, "One.\n", "And then another line\n\n", "字字字。"]), max_size=150).map("".join))
def test_passages_are_about_a_thousand_characters(text: str) -> None:
    for one in chunk(text):
        for passage in one.passages[:-1]:
            assert PASSAGE_RANGE[0] - 10 <= passage.stop - passage.start <= PASSAGE_RANGE[1]
        assert one.passages[-1].stop - one.passages[-1].start <= PASSAGE_RANGE[1]


def test_a_chunk_slightly_longer_than_a_passage_becomes_two_of_similar_length() -> None:
    (only,) = chunk(PROSE * 30)
    assert [passage.stop - passage.start for passage in only.passages] == [614, 614]
    (only,) = chunk("x" * 1_300)
    assert [passage.stop - passage.start for passage in only.passages] == [700, 600]


@given(TEXTS)
def test_excerpts_cover_their_passage_and_are_shorter(text: str) -> None:
    for passage in (passage for one in chunk(text) for passage in one.passages):
        parts = excerpts(text, passage)
        assert (parts[0].start, parts[-1].stop) == (passage.start, passage.stop)
        for before, after in pairwise(parts):
            assert before.stop <= after.start
            assert not text[before.stop : after.start].strip()
        if passage.stop - passage.start > EXCERPT_RANGE[1]:
            assert len(parts) > 1


HOSTILE = (
    "\n", "#", "#\n", "# a\n", "a", "```\n", "~~~", " ", "\r\n", "👩‍💻", "👩\u200d", "\u0301", " \u0301",
    ". \u0301", "🇩", "क्", "\u0600", "汉字", "# a\n## b\n### c\n", "> ", "\n" * 200 + "x",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_chunking_a_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (150_000 // len(piece))
    for one in chunk(text):
        assert text[one.start : one.stop].strip()
