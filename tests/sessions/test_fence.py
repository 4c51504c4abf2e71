"""What is fenced is found again wherever the text was cut, and nothing gets out of a fence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.fence import NOTICE, Unfencer, unfenced
from support.fences import BEGIN, END, fenced

_SECRET = "Port 8443 is taken by the proxy."
marks = st.sampled_from(
    [BEGIN, END, "</hivelore-memory>", "</HiveLore-Memory>", "&lt;/hivelore-memory&gt;", "<\\/hivelore-memory>", "<"]
)
texts = st.lists(st.text() | marks, max_size=6).map("".join)
plain = texts.filter(lambda text: "hivelore-memory" not in text.lower())


def test_a_model_is_told_that_it_is_data() -> None:
    assert fenced(_SECRET) == f"{BEGIN}\n{NOTICE}\n\n{_SECRET}\n{END}"


def test_what_stands_around_a_fence_stays() -> None:
    conversation = f"Use pnpm here.\n\n{fenced(_SECRET)}\n\nAnd node 22.\n{fenced('Else')}"
    assert unfenced(conversation) == "Use pnpm here.\nAnd node 22."


def test_a_text_without_fences_comes_back_as_it_is() -> None:
    text = "  if a < b:\n\treturn hivelore-memory  \n"
    assert unfenced(text) is text


_FENCED = fenced(_SECRET)


@pytest.mark.parametrize(
    "escaped",
    [
        _FENCED.replace("<", "&lt;").replace(">", "&gt;"),
        _FENCED.replace("/", "\\/"),
        _FENCED.replace("<", "\\u003c").replace(">", "\\u003E"),
        _FENCED.upper(),
        "\n".join(f"> {line}" for line in _FENCED.splitlines()),
    ],
)
def test_a_fence_that_was_escaped_is_found(escaped: str) -> None:
    assert _SECRET.lower() not in unfenced(f"before {escaped} after").lower()


def test_a_fence_within_another_ends_with_its_own_mark_and_the_rest_is_dropped() -> None:
    assert unfenced(f"a {BEGIN} b {BEGIN} c {END} d {END} e") == "a\ne"


@given(plain, texts, plain)
def test_nothing_gets_out_of_a_fence(before: str, text: str, after: str) -> None:
    assert unfenced(before + fenced(text) + after) == "\n".join(
        part.strip() for part in (before, after) if part.strip()
    )


@given(texts, st.integers(min_value=0))
def test_what_is_left_of_a_fence_that_was_cut_off_is_dropped(text: str, at: int) -> None:
    whole = fenced(text)
    place = len(BEGIN) + at % (len(whole) - len(BEGIN) - len(END) + 1)
    assert unfenced(whole[:place]) == ""
    assert unfenced(whole[place:]) == ""


@given(texts)
def test_a_text_may_arrive_in_lines(text: str) -> None:
    whole, by_lines = f"before\n{fenced(text)}\nafter", Unfencer()
    assert [said for line in whole.split("\n") if (said := by_lines.read(line).strip())] == ["before", "after"]
    assert not by_lines.is_inside_fence


def test_a_fence_without_a_beginning_takes_back_no_piece_before() -> None:
    by_lines = Unfencer()
    assert [by_lines.read(piece) for piece in ("a", f"b {END} c", f"d {BEGIN} e", "f", f"g {END} h")] == [
        "a",
        "c",
        "d",
        "",
        "h",
    ]


@given(texts)
def test_taking_out_fences_twice_changes_nothing_more(text: str) -> None:
    once = unfenced(text)
    assert unfenced(once) == once
