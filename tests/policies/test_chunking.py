"""Chunking (A14): whole texts in pieces that fit, under their headings."""

import itertools

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.policies.chunking import CHUNK_LENGTH, OVERLAP, PASSAGE_RANGE, chunk, prefixed

PROSE = "Every note is a sentence of some length. "


def _headings(text: str) -> list[tuple[str, ...]]:
    return [one.headings for one in chunk(text)]


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


def test_four_marks_are_no_heading_of_ours() -> None:
    text = f"# A\n{PROSE * 60}\n#### Deep\n{PROSE * 20}"
    assert set(_headings(text)) == {("# A",)}


def test_a_chunk_is_shown_under_its_path() -> None:
    text = f"## Setup\n{PROSE * 40}\n### Prerequisites\n{PROSE * 40}"
    last = chunk(text)[-1]
    assert prefixed(text, last).startswith("## Setup > Prerequisites\n\n")


def test_pieces_of_a_long_section_overlap_by_a_hundred() -> None:
    text = "word " * 2_000
    chunks = chunk(text)
    for before, after in itertools.pairwise(chunks):
        assert 0 < before.stop - after.start <= OVERLAP + len("word ")


def test_editing_one_section_leaves_the_others_as_they_were() -> None:
    sections = [f"# Section {n}\n{PROSE * 30}" for n in range(5)]
    before = "\n".join(sections)
    sections[2] = f"# Section 2\n{PROSE * 10}Something new. {PROSE * 25}"
    after = "\n".join(sections)
    old = {before[one.start : one.stop] for one in chunk(before)}
    new = {after[one.start : one.stop] for one in chunk(after)}
    assert len(new - old) <= 2


def test_a_family_is_never_cut() -> None:
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
@settings(deadline=None)
def test_chunks_are_in_order_fit_and_do_not_tear_characters(text: str) -> None:
    chunks = chunk(text)
    assert [one.index for one in chunks] == list(range(len(chunks)))
    edges = {0, *(grapheme.end() for grapheme in regex.finditer(r"\X", text))}
    for one in chunks:
        assert 0 <= one.start < one.stop <= len(text)
        assert {one.start, one.stop} <= edges
    for before, after in itertools.pairwise(chunks):
        assert before.start < after.start
        assert before.stop < after.stop or before.stop <= after.stop


@given(st.text(alphabet="abc \n#.", max_size=6_000))
@settings(deadline=None)
def test_plain_text_never_makes_a_chunk_over_the_limit_by_more_than_a_short_neighbour(text: str) -> None:
    for one in chunk(text):
        assert one.stop - one.start <= CHUNK_LENGTH + 200


@given(TEXTS)
@settings(deadline=None)
def test_nothing_visible_but_headings_is_lost(text: str) -> None:
    covered = [False] * len(text)
    headings: set[str] = set()
    for one in chunk(text):
        covered[one.start : one.stop] = [True] * (one.stop - one.start)
        headings.update(heading.lstrip("# ") for heading in one.headings)
    left = "".join(character if not seen else "\n" for character, seen in zip(text, covered, strict=True))
    for line in left.splitlines():
        assert line.strip().strip("#").strip() in headings | {""}


@given(TEXTS)
@settings(deadline=None)
def test_passages_cover_their_chunk_without_overlap(text: str) -> None:
    for one in chunk(text):
        assert one.passages[0].start == one.start
        assert one.passages[-1].stop == one.stop
        for before, after in zip(one.passages, one.passages[1:], strict=False):
            assert before.stop <= after.start
            assert not text[before.stop : after.start].strip()
        if one.stop - one.start <= PASSAGE_RANGE[1]:
            assert len(one.passages) == 1


@given(TEXTS)
@settings(deadline=None)
def test_cutting_again_is_cutting_the_same(text: str) -> None:
    assert chunk(text) == chunk(text)
