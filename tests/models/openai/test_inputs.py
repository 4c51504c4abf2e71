"""Preparation of texts for a request, and reading of small parts of an answer."""

from datetime import UTC, datetime

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from hivelore.models.openai.protocol import (
    BYTES_PER_TOKEN,
    batches,
    estimated_tokens,
    message_in,
    prepared,
    retry_after,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(st.lists(TEXTS, max_size=30), st.integers(1, 5), st.integers(1, 60))
def test_batches_hold_every_position_once_and_keep_both_limits(texts: list[str], inputs: int, tokens: int) -> None:
    found = list(batches(texts, inputs, tokens))
    assert [position for batch in found for position in batch] == list(range(len(texts)))
    for batch in found:
        assert 1 <= len(batch) <= inputs
        assert len(batch) == 1 or sum(estimated_tokens(texts[position]) for position in batch) <= tokens


@given(st.lists(TEXTS, max_size=30), st.integers(1, 5), st.integers(1, 60))
def test_a_batch_is_as_large_as_it_may_be(texts: list[str], inputs: int, tokens: int) -> None:
    for batch in list(batches(texts, inputs, tokens))[:-1]:
        with_next = range(batch.start, batch.stop + 1)
        assert len(with_next) > inputs or sum(estimated_tokens(texts[position]) for position in with_next) > tokens


@given(TEXTS, st.integers(1, 40))
def test_a_prepared_text_is_a_short_enough_beginning_on_one_line(text: str, tokens: int) -> None:
    line = prepared(text, "", 1_000)
    cut = prepared(text, "", tokens)
    assert "\n" not in line
    assert "\r" not in line
    assert line.startswith(cut)
    assert estimated_tokens(cut) <= tokens


@given(st.lists(st.sampled_from(["a", "é", "語", "e\u0301", FAMILY, "\N{REGIONAL INDICATOR SYMBOL LETTER D}" * 2])))
def test_a_cut_falls_between_two_graphemes(graphemes: list[str]) -> None:
    text = "".join(graphemes)
    cut = prepared(text, "", 20)
    assert cut == text or regex.findall(r"\X", cut) == regex.findall(r"\X", text)[: len(regex.findall(r"\X", cut))]


def test_a_cut_keeps_as_much_as_fits() -> None:
    assert prepared("abcdef", "", 2) == "abcd"
    assert prepared(f"abc{FAMILY}", "", 3) == "abc"


def test_a_grapheme_larger_than_the_limit_is_cut_between_characters() -> None:
    assert prepared("e" + "\u0301" * 100, "", 3) == "e\u0301\u0301"


def test_the_prefix_stays_whole_and_counts() -> None:
    assert prepared("one\ntwo", "Instruct: find\nQuery: ", 100) == "Instruct: find\nQuery: one two"
    assert len(prepared("x" * 100, "query: ", 10)) == 10 * BYTES_PER_TOKEN


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("9e9", 86_400.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("inf", None),
        ("nan", None),
        ("Sun, 01 Mar 99999999999999999999 12:00:00 GMT", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@given(st.text())
def test_retry_after_is_never_an_error(value: str) -> None:
    seconds = retry_after(value, NOW)
    assert seconds is None or 0.0 <= seconds <= 86_400.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "no such\\n model"}}', "no such model"),
        (b'{"error": "no such model"}', "no such model"),
        (b'{"message": "no such model"}', "no such model"),
        (b'{"detail": ["input"]}', '{"detail":["input"]}'),
        (b"<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
        (b"", ""),
    ],
)
def test_the_message_of_an_error_answer_is_found(body: bytes, words: str) -> None:
    assert message_in(body) == words
