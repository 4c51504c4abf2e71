""".env files and lines for a shell."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.configuration.env_text import export_line, quote, set_variable
from support.laws import examples

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
LINES = st.lists(
    st.sampled_from(["# a comment", "", "A=1", "export B='x y'", "KEY = 5", "two", 'D="p\nKEY=no\nq"', "E=#"]),
    max_size=8,
)


def sourced(text: str, key: str) -> str:
    """Returns the value that a shell has after reading a text."""
    script = f'{text}\nprintf %s "${{{key}}}x"'
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout.decode()[:-1]


@settings(max_examples=examples(100))
@given(lines=LINES, first=VALUES, second=VALUES)
def test_setting_twice_is_setting_the_second_once(lines: list[str], first: str, second: str) -> None:
    text = "\n".join(lines)
    assert set_variable(set_variable(text, "KEY", first), "KEY", second) == set_variable(text, "KEY", second)


@settings(max_examples=examples(100))
@given(lines=LINES, value=VALUES)
def test_removing_what_was_added_restores_the_lines(lines: list[str], value: str) -> None:
    text = "".join(f"{line}\n" for line in lines if not line.startswith("KEY"))
    assert set_variable(set_variable(text, "KEY", value), "KEY", None) == text


@settings(max_examples=examples(100))
@given(lines=LINES, value=VALUES)
def test_all_other_lines_stay(lines: list[str], value: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    kept = "".join(f"{line}\n" for line in lines if not line.startswith("KEY"))
    assert set_variable(set_variable(text, "KEY", value), "KEY", None) == kept


def test_an_assignment_keeps_its_place_and_its_export() -> None:
    assert set_variable("A=1\nexport KEY=old\nB=2\nKEY=older\n", "KEY", "new") == "A=1\nexport KEY=new\nB=2\n"


def test_a_value_of_several_lines_is_replaced_whole() -> None:
    assert set_variable('KEY="one\ntwo"\nB=2\n', "KEY", "x") == "KEY=x\nB=2\n"
    assert set_variable("A='one\nKEY=no\n'\n", "KEY", "x") == "A='one\nKEY=no\n'\nKEY=x\n"


def test_a_quote_that_is_never_closed_ends_with_its_line() -> None:
    assert set_variable("KEY='one\nB=2\n", "KEY", "x") == "KEY=x\nB=2\n"


def test_line_endings_of_the_file_are_used() -> None:
    assert set_variable("A=1\r\nB=2", "KEY", "x") == "A=1\r\nB=2\r\nKEY=x\r\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [("plain-1.2/x:y@z", "plain-1.2/x:y@z"), ("", ""), ("a b $HOME", "'a b $HOME'"), ("it's $5\n", '"it\'s \\$5\\n"')],
)
def test_values_are_quoted_in_one_line(value: str, text: str) -> None:
    assert quote(value) == text


@settings(max_examples=examples(30))
@given(value=VALUES)
def test_a_shell_reads_exported_values_as_they_are(value: str) -> None:
    assert sourced(export_line("KEY", value), "KEY") == value
