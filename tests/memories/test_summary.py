"""Summaries: one informative line for any content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.memories.summary import SUMMARY_LENGTH, summarise


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("The API needs a Bearer prefix. Without it you get a 403.", "The API needs a Bearer prefix."),
        ("# Setup\n\nInstall the wheel first. Then run it.", "Install the wheel first."),
        ("Hello!\nThe build needs Node 24.", "The build needs Node 24."),
        ("---\ntitle: x\n---\n- Use pnpm, never npm.\n- More", "Use pnpm, never npm."),
        ("```\ncode only here\n```", "code only here"),
        ("ok", "ok"),
        ("# Only a heading", "Only a heading"),
        ("> Quoted advice is still advice.", "Quoted advice is still advice."),
        ("这个服务必须先启动。然后再测试。", "这个服务必须先启动。"),
        ("---", "---"),
        ("**Use** `uv sync`, see [the docs](https://example.com/x).", "Use `uv sync`, see the docs."),
        ("Steps:\n\n1. Build the wheel and then upload it.\n2. Tag", "Build the wheel and then upload it."),
        (
            "Thanks for the review!\nThe lock is taken twice in the flush path.",
            "The lock is taken twice in the flush path.",
        ),
        ("Set it, e.g. The default is far too low for us. Next.", "Set it, e.g. The default is far too low for us."),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |\n\nThe table lists the limits of the API.",
            "The table lists the limits of the API.",
        ),
        ("```\nx = 1\n```\nThe snippet above shows the workaround.", "The snippet above shows the workaround."),
        ("- [ ] renew the certificate before June", "renew the certificate before June"),
        ("Use port 8080.", "Use port 8080."),
        ("One line of a\nparagraph goes on. Then more.", "One line of a paragraph goes on."),
        ("---\n---", "--- ---"),
    ],
)
def test_the_first_informative_sentence_is_taken(content: str, expected: str) -> None:
    assert summarise(content) == expected


def test_a_long_sentence_is_cut_between_words() -> None:
    summary = summarise("word " * 100)
    assert summary.endswith("word…")
    assert len(summary) <= SUMMARY_LENGTH


def test_emoji_sequences_are_not_split() -> None:
    family = "👨‍👩‍👧‍👦"
    assert summarise(family * 60).rstrip("…").replace(family, "") == ""


@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_a_summary_is_one_line_that_is_not_empty(content: str) -> None:
    summary = summarise(content)
    assert summary.strip()
    assert len(summary) <= SUMMARY_LENGTH
    assert "\n" not in summary


def test_blank_content_has_no_summary() -> None:
    assert summarise(" \n\t") == ""


def test_a_sentence_without_spaces_is_cut_between_characters() -> None:
    assert summarise("a\u0301" * 300) == "a\u0301" * 99 + "…"


@pytest.mark.parametrize(
    "piece", ["\n", "a", "A. ", "```\n", "---\r\n", "> ", "- ", "[a](", "**", "🇩", "ok.\n\n"], ids=repr
)
def test_hostile_content_of_two_million_characters_is_summarised_fast(piece: str) -> None:
    assert len(summarise(piece * (2_000_000 // len(piece)))) <= SUMMARY_LENGTH
