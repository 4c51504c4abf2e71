"""Summaries: one telling line, whatever the content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.policies.summary import SUMMARY_LENGTH, summarise


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
    ],
)
def test_the_first_informative_sentence_is_taken(content: str, expected: str) -> None:
    assert summarise(content) == expected


def test_a_long_sentence_is_cut_between_words() -> None:
    summary = summarise("word " * 100)
    assert summary.endswith("word…")
    assert len(summary) <= SUMMARY_LENGTH


def test_families_are_not_torn_apart() -> None:
    family = "👨‍👩‍👧‍👦"
    assert summarise(family * 60).rstrip("…").replace(family, "") == ""


@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_something_on_one_line_is_always_said(content: str) -> None:
    summary = summarise(content)
    assert summary.strip()
    assert len(summary) <= SUMMARY_LENGTH
    assert "\n" not in summary
