""".env files and lines for a shell, read by real readers: sh and python-dotenv."""

import os
import subprocess
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from dotenv import dotenv_values
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.configuration.env_text import assigned, differing, export_line, quote, set_variables
from hivelore.errors import Conflict, Invalid
from support.laws import examples

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
TRICKY = st.lists(st.sampled_from(["'", '"', "\\", "$", "`", "${A}", "#", " ", "\n", "a", "=", "!", "é"]), max_size=8)
VALUES = TEXTS | TRICKY.map("".join)
LINES = st.lists(
    st.sampled_from(["# a comment", "", "A=1", "export B='x y'", "KEY = 5", "two", 'D="p\nF=no\nq"', "E=#"]),
    max_size=8,
)


def quotable(value: str) -> bool:
    try:
        quote(value)
    except Invalid:
        return False
    return True


def sourced(text: str, key: str) -> str:
    """Returns the value that a shell has after reading a text."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "x.env")
        file.write_bytes(text.encode())
        script = f'. {file}\nprintf %s "${{{key}}}x"'
        done = subprocess.run(
            ["/bin/sh", "-c", script], capture_output=True, check=True, env={"PATH": os.environ["PATH"]}
        )
    return done.stdout.decode()[:-1]


@settings(max_examples=examples(100))
@given(lines=LINES, first=VALUES.filter(quotable), second=VALUES.filter(quotable))
def test_setting_twice_is_setting_the_second_once(lines: list[str], first: str, second: str) -> None:
    text = "\n".join(lines)
    once = set_variables(text, {"KEY": second})
    assert set_variables(set_variables(text, {"KEY": first}), {"KEY": second}) == once
    assert set_variables(once, {"KEY": second}) == once


@settings(max_examples=examples(100))
@given(lines=LINES, value=VALUES.filter(quotable))
def test_removing_what_was_added_restores_the_lines(lines: list[str], value: str) -> None:
    text = "".join(f"{line}\n" for line in lines if not line.startswith("KEY"))
    assert set_variables(set_variables(text, {"KEY": value, "K": value}), {"K": None, "KEY": None}) == text


@settings(max_examples=examples(100))
@given(lines=LINES, value=VALUES.filter(quotable))
def test_all_other_lines_stay(lines: list[str], value: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    kept = "".join(f"{line}\n" for line in lines if not line.startswith("KEY"))
    assert set_variables(set_variables(text, {"KEY": value}), {"KEY": None}) == kept


def test_an_assignment_keeps_its_place_and_its_export() -> None:
    assert set_variables("A=1\nexport KEY=old\nB=2\nKEY=older\n", {"KEY": "new"}) == "A=1\nexport KEY=new\nB=2\n"


def test_a_value_of_several_lines_is_replaced_whole() -> None:
    assert set_variables('KEY="one\ntwo"\nB=2\n', {"KEY": "x"}) == "KEY=x\nB=2\n"
    assert set_variables("A='one\nB=no\n'\n", {"KEY": "x"}) == "A='one\nB=no\n'\nKEY=x\n"
    assert set_variables("KEY='one\nB=no\n' # two\n", {"KEY": None}) == ""


def test_a_quote_of_another_variable_that_is_never_closed_ends_with_its_line() -> None:
    assert set_variables("A='one\nKEY=1\n", {"KEY": "x"}) == "A='one\nKEY=x\n"


@pytest.mark.parametrize(
    "text",
    [
        "KEY='one\nB=2\n",
        'KEY="one\nB=2\nC="3"\n',
        "KEY='one\nB='2'\n",
        'A="one\nKEY=ours\nB="2"\n',
        "A='one\nKEY=ours\n# don't\n",
        'A="one\nKEY=ours\n"\n',
    ],
)
@pytest.mark.parametrize("value", ["x", None])
def test_a_quote_that_may_hide_other_variables_is_refused(text: str, value: str | None) -> None:
    for attempt in (set_variables, differing):
        with pytest.raises(Conflict, match="not closed"):
            attempt(text, {"KEY": value})


def test_the_variables_of_a_file_are_known() -> None:
    assert assigned("# X=1\nA=1\nexport B='x\nC=2\n'\ntwo\n") == {"A", "B"}


@settings(max_examples=examples(100))
@given(
    lines=LINES, keys=st.dictionaries(st.sampled_from(["A", "B", "KEY", "NEW"]), st.none() | VALUES.filter(quotable))
)
def test_the_differing_variables_are_those_whose_lines_change(lines: list[str], keys: dict[str, str | None]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    expected = {key for key, value in keys.items() if set_variables(text, {key: value}) != text}
    assert differing(text, keys) == expected
    assert differing(set_variables(text, keys), keys) == frozenset()


def test_line_endings_of_the_file_are_used() -> None:
    assert set_variables("A=1\r\nB=2", {"KEY": "x"}) == "A=1\r\nB=2\r\nKEY=x\r\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain-1.2/x:y@z", "plain-1.2/x:y@z"),
        ("", ""),
        ("a b $HOME `x` \\n #", "'a b $HOME `x` \\n #'"),
        ("it's", '"it\'s"'),
        ("-----BEGIN-----\nabc\n", "'-----BEGIN-----\nabc\n'"),
    ],
)
def test_values_are_quoted_without_escapes(value: str, text: str) -> None:
    assert quote(value) == text


@pytest.mark.parametrize("value", ["a\rb", "${HOME}", "a\\", "a\\\\b", "it's $5", "it's `x`", "'\"", "it's \\n"])
def test_values_that_readers_understand_differently_are_refused(value: str) -> None:
    with pytest.raises(Invalid, match="cannot be in a"):
        quote(value)


@settings(max_examples=examples(60), deadline=None)
@given(value=VALUES.filter(quotable), more=VALUES.filter(quotable))
def test_a_shell_and_python_dotenv_read_the_value_that_was_written(value: str, more: str) -> None:
    text = set_variables("# first\nA=1\n", {"KEY": value, "MORE": more, "LAST": "it's"})
    assert (sourced(text, "KEY"), sourced(text, "MORE")) == (value, more)
    assert dotenv_values(stream=StringIO(text)) == {"A": "1", "KEY": value, "MORE": more, "LAST": "it's"}


@settings(max_examples=examples(40), deadline=None)
@given(value=VALUES)
def test_a_shell_reads_exported_values_as_they_are(value: str) -> None:
    assert sourced(export_line("KEY", value), "KEY") == value
