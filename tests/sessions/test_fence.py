"""Fences: injected text is recognized in any excerpt, and no text escapes a fence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.fence import NOTICE, Unfencer, remove_fences
from support.fences import BEGIN, END, fenced

_SECRET = "Port 8443 is taken by the proxy."
marks = st.sampled_from(
    [BEGIN, END, "</hivelore-memory>", "</HiveLore-Memory>", "&lt;/hivelore-memory&gt;", "<\\/hivelore-memory>", "<"]
)
texts = st.lists(st.text() | marks, max_size=6).map("".join)
plain = texts.filter(lambda text: "hivelore-memory" not in text.lower())


def test_fenced_text_begins_with_a_notice() -> None:
    assert fenced(_SECRET) == f"{BEGIN}\n{NOTICE}\n\n{_SECRET}\n{END}"


def test_text_around_a_fence_is_kept() -> None:
    conversation = f"Use pnpm here.\n\n{fenced(_SECRET)}\n\nAnd node 22.\n{fenced('Else')}"
    assert remove_fences(conversation) == "Use pnpm here.\nAnd node 22."


def test_text_without_fences_is_returned_unchanged() -> None:
    text = "  if a < b:\n\treturn hivelore-memory  \n"
    assert remove_fences(text) is text


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
def test_escaped_fences_are_removed(escaped: str) -> None:
    assert _SECRET.lower() not in remove_fences(f"before {escaped} after").lower()


def test_a_nested_fence_ends_at_the_first_end_mark_and_the_rest_is_dropped() -> None:
    assert remove_fences(f"a {BEGIN} b {BEGIN} c {END} d {END} e") == "a\ne"


@given(plain, texts, plain)
def test_no_text_inside_a_fence_is_kept(before: str, text: str, after: str) -> None:
    assert remove_fences(before + fenced(text) + after) == "\n".join(
        part.strip() for part in (before, after) if part.strip()
    )


@given(texts, st.integers(min_value=0))
def test_a_truncated_fence_is_dropped(text: str, at: int) -> None:
    whole = fenced(text)
    place = len(BEGIN) + at % (len(whole) - len(BEGIN) - len(END) + 1)
    assert remove_fences(whole[:place]) == ""
    assert remove_fences(whole[place:]) == ""


@given(texts)
def test_fences_are_removed_from_text_that_arrives_in_lines(text: str) -> None:
    whole, by_lines = f"before\n{fenced(text)}\nafter", Unfencer()
    assert [said for line in whole.split("\n") if (said := by_lines.read(line).strip())] == ["before", "after"]
    assert not by_lines.is_inside_fence


def test_a_fence_without_a_beginning_keeps_earlier_pieces() -> None:
    by_lines = Unfencer()
    assert [by_lines.read(piece) for piece in ("a", f"b {END} c", f"d {BEGIN} e", "f", f"g {END} h")] == [
        "a",
        "c",
        "d",
        "",
        "h",
    ]


@given(texts)
def test_removing_fences_is_idempotent(text: str) -> None:
    once = remove_fences(text)
    assert remove_fences(once) == once
