"""Differences of setup scripts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.setup_scripts.decisions import MAX_COMPARED_LINES, script_diff
from hivelore.setup_scripts.script_text import normalize

scripts = st.text(st.sampled_from("ab \n\r\u2028\u202e\x0c\x85")).map(normalize)


def compared(older: str, newer: str) -> list[str]:
    return script_diff(older, newer, "old", "new").split("\n")


@given(older=scripts, newer=scripts)
def test_a_diff_is_empty_only_for_equal_scripts_and_readable(older: str, newer: str) -> None:
    diff = script_diff(older, newer, "old", "new")
    assert (diff == "") is (older == newer)
    assert all(one == "\n" or one.isprintable() for one in diff)


@given(older=scripts, newer=scripts, filler=st.booleans())
def test_the_diff_of_long_scripts_has_all_lines_that_differ(older: str, newer: str, filler: bool) -> None:
    more = "echo\n" * MAX_COMPARED_LINES if filler else ""
    diff = compared(f"{more}{older}z\n", f"{more}{newer}z\n")
    for sign, text, other in (("-", older, newer), ("+", newer, older)):
        lines = [line for line in text.split("\n")[:-1] if line.isprintable()]
        new = set(lines) - set(other.split("\n"))
        assert all(f"{sign}{line}" in diff for line in new)


def test_line_ends_within_a_line_are_escaped() -> None:
    assert compared("echo a\rb\u2028c\n", "echo a\n")[3:] == ["-echo a\\rb\\u2028c", "+echo a"]
    assert compared("", "\techo\n")[2:] == ["@@ -0,0 +1 @@", "+\techo"]


def test_the_numbers_of_a_long_diff_are_those_of_the_lines() -> None:
    many = "".join(f"echo {number}\n" for number in range(MAX_COMPARED_LINES))
    assert compared(f"{many}one\nlast\n", f"{many}two\nthree\nlast\n")[2:] == [
        *("@@ -1001,1 +1001,2 @@", "-one", "+two", "+three")
    ]
    assert compared(f"{many}last\n", f"{many}one\nlast\n")[2] == "@@ -1000,0 +1001,1 @@"


@pytest.mark.parametrize("lines", [MAX_COMPARED_LINES, 32_000])
def test_a_diff_takes_little_time(lines: int) -> None:
    alphabet = [f"{number}\n" for number in range(120)]
    older = "".join(alphabet[number % 119] for number in range(lines))
    newer = "".join(alphabet[number * 7 % 120] for number in range(lines))
    start = time.process_time()
    assert script_diff(older, newer, "old", "new")
    assert time.process_time() - start < 5
