"""Snippets: examples by hand, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.token_count import estimate
from hivelore.memories.chunking import EXCERPT_RANGE, chunk
from hivelore.memories.model import Chunk, Passage
from hivelore.search.snippets import excerpt, shorten, trim_partial_words

FILLER = "Nothing of note was said in this sentence, which is of some length. "
pieces = st.sampled_from(
    ["word ", "Other. ", "e.g. this ", "\n", "\n\n", "- item\n", "# Title\n", "言葉。", "x" * 300, "needle ", "A? B! "]
)
texts = st.lists(pieces, min_size=1, max_size=60).map("".join).filter(str.strip)


def whole(text: str) -> Chunk:
    (only,) = chunk(text)
    return only


def shown(text: str, *terms: str, within: Passage | None = None) -> str:
    one = whole(text)
    span = excerpt(text, one, within or Passage(start=one.start, stop=one.stop), dict.fromkeys(terms, 1.0))
    return text[span.start : span.stop]


def test_a_short_text_is_shown_whole() -> None:
    assert shown("Use pnpm here. Never npm.", "npm") == "Use pnpm here. Never npm."


def test_whole_sentences_around_the_terms_are_shown() -> None:
    text = FILLER * 12 + "The needle lies in the haystack. " + FILLER * 12
    part = shown(text, "needl")
    assert "The needle lies in the haystack." in part
    assert part.startswith("Nothing of note")
    assert part.endswith("some length.")
    assert part.count("Nothing of note") == 7
    assert abs(part.index("The needle") - len(part) / 2) < 150
    assert 400 <= len(part) <= EXCERPT_RANGE[1]


def test_the_end_of_a_line_is_not_the_end_of_a_sentence() -> None:
    wrapped = (FILLER * 12 + "The needle lies in the haystack. " + FILLER * 12).replace(", which", ",\nwhich")
    part = shown(wrapped, "needl")
    assert part.startswith("Nothing of note")
    assert part.endswith("some length.")


def test_distant_terms_are_shown_together_if_they_fit() -> None:
    text = (
        FILLER * 8 + "The needle is old. " + FILLER * 4 + "The thread is new. " + FILLER * 8 + "A needle. " + FILLER * 3
    )
    part = shown(text, "needl", "thread")
    assert "The needle is old." in part
    assert "The thread is new." in part


def test_headings_and_list_items_are_shown_whole() -> None:
    items = "".join(f"- item number {number} of the list, with some words\n" for number in range(15))
    part = shown(f"## Setup\n{items}- the needle\n{items}", "needl")
    assert "- the needle" in part
    assert all(line.startswith("- ") for line in part.splitlines())


def test_a_sentence_that_the_passage_cuts_is_shown_whole() -> None:
    text = FILLER * 5 + "The needle lies in the very middle of this sentence here. " + FILLER * 5
    at = text.index("middle")
    part = shown(text, "needl", within=Passage(start=at, stop=len(text) - 1))
    assert part.startswith("The needle lies")


def test_an_abbreviation_ends_no_sentence() -> None:
    text = FILLER * 12 + "Tools, e.g. A needle, are here. " + FILLER * 12
    assert "Tools, e.g. A needle, are here." in shown(text, "needl")


def test_a_rare_term_outweighs_several_common_ones() -> None:
    text = "Boats and nets lie here. " + FILLER * 15 + "The needle lies here."
    one = whole(text)
    weights = {"boat": 0.2, "net": 0.2, "needl": 5.0}
    span = excerpt(text, one, Passage(start=one.start, stop=one.stop), weights)
    assert text[span.start : span.stop].endswith("The needle lies here.")


@pytest.mark.parametrize("tokens", [25, 40, 60, 100])
def test_shortening_leaves_out_whole_sentences_around_the_terms(tokens: int) -> None:
    text = (FILLER * 4 + "The needle lies in the haystack. " + FILLER * 4).strip()
    part = shorten(text, tokens, {"needl": 1.0, "haystack": 1.0})
    assert "The needle lies in the haystack." in part
    assert part.startswith(("… Nothing", "… The needle"))
    assert part.endswith(". …")
    assert tokens / 2 - 10 < estimate(part) <= tokens


def test_a_long_sentence_is_shortened_to_words_around_the_terms() -> None:
    text = "and then " * 50 + "the needle lies in the haystack " + "and so on " * 50
    part = shorten(text, 20, {"needl": 1.0, "haystack": 1.0})
    assert "the needle lies in the haystack" in part
    assert set(part.split()) <= {"…", *text.split()}


def test_a_text_without_the_terms_is_shown_from_its_beginning() -> None:
    text = "The first sentence is longer than the others. " + "A short one. " * 50
    assert shorten(text, 30, {"needl": 1.0}).startswith("The first sentence is longer than the others. A short one.")


@given(st.one_of(texts, st.text(max_size=300)), st.integers(5, 60), st.sampled_from(["needl", "word", "x", "言葉"]))
def test_a_shortened_text_fits_and_is_part_of_the_text(text: str, tokens: int, term: str) -> None:
    part = shorten(text, tokens, {term: 1.0})
    assert estimate(part) <= tokens
    assert part.removeprefix("… ").removesuffix(" …") in text
    if any(term in word for word in text.split() if estimate(word) <= tokens - 2):
        assert term in part


def test_a_part_of_a_word_is_not_shown() -> None:
    text = "The boats dry in the harbour towns."
    begin, end = text.index("ats"), text.index("our")
    span = trim_partial_words(text, begin, end)
    assert text[span.start : span.stop].strip() == "dry in the"
    assert trim_partial_words(text, 4, len(text)) == Passage(start=4, stop=len(text))
    within = text.index("arb")
    assert trim_partial_words(text, within, within + 2) == Passage(start=within, stop=within + 2)


def test_a_script_without_spaces_has_no_partial_words() -> None:
    text = "言葉は大切である。" * 10
    assert trim_partial_words(text, 31, 65) == Passage(start=31, stop=65)


@given(texts, st.lists(st.sampled_from(["needl", "word", "x"]), max_size=3, unique=True))
def test_an_excerpt_is_a_part_of_its_chunk_of_bounded_length(text: str, terms: list[str]) -> None:
    for one in chunk(text):
        for passage in one.passages:
            span = excerpt(text, one, passage, dict.fromkeys(terms, 1.0))
            assert one.start <= span.start < span.stop <= one.stop
            assert span.stop - span.start <= EXCERPT_RANGE[1]
            assert span.start < passage.stop
            assert span.stop > passage.start
            part = text[span.start : span.stop]
            assert part == part.strip()


@given(texts)
def test_no_sentence_contains_more_terms_than_the_excerpt(text: str) -> None:
    for one in chunk(text):
        span = excerpt(text, one, Passage(start=one.start, stop=one.stop), {"needl": 1.0})
        if "needl" in text[one.start : one.stop]:
            assert "needl" in text[span.start : span.stop]


@pytest.mark.parametrize("piece", ["a.\nA", ".", "\n", "-\n", "# a\n", "? ", "。", "a. B "], ids=repr)
def test_a_hostile_chunk_is_shown_in_bounded_time(piece: str) -> None:
    for one in chunk("x" + piece * (2_000 // len(piece))):
        for passage in one.passages:
            excerpt("x" + piece * (2_000 // len(piece)), one, passage, {f"t{n}": 1.0 for n in range(32)})
