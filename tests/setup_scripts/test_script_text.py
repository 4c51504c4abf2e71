"""Canonical form, limits and language of a setup script."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Invalid, TooLarge
from hivelore.setup_scripts.script_text import (
    RAW_BYTES,
    SCRIPT_BYTES,
    Language,
    check,
    interpreter_of,
    language_of,
    normalize,
)


@given(text=st.text(st.sampled_from("a \r\n")) | st.text())
def test_the_canonical_form_does_not_change_again(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert once == "" or once.endswith("\n")
    assert "\r\n" not in once


def test_the_limit_is_in_bytes() -> None:
    assert len(check("x" * (SCRIPT_BYTES - 1))) == SCRIPT_BYTES
    for text in ("x" * SCRIPT_BYTES, "ü" * (SCRIPT_BYTES // 2)):
        with pytest.raises(TooLarge, match="65,537 bytes; at most 65,536"):
            check(text)


@pytest.mark.parametrize("text", ["\r" * 120_000 + "x", "a" + "\r" * 120_000 + "\n", "\r\n" * 40_000 + "x"])
def test_any_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    for call in (normalize, check):
        with suppress(TooLarge):
            call(text)
    assert time.process_time() - start < 0.5


def test_a_text_that_is_large_before_its_line_ends_are_canonical_is_refused() -> None:
    assert len(check("x\r\n" * (SCRIPT_BYTES // 3))) < SCRIPT_BYTES
    with pytest.raises(TooLarge):
        check("x" + "\n" * RAW_BYTES)


def test_blank_text_is_no_script() -> None:
    assert [check(text) for text in ("", " \n\t", "\r\n")] == ["", "", ""]


def test_a_nul_character_is_refused() -> None:
    with pytest.raises(Invalid, match="NUL"):
        check("echo \0")


def test_the_first_line_names_a_language() -> None:
    lines = {
        "echo": None,
        "#!/bin/sh -e": Language.SHELL,
        "#! /usr/bin/env bash": Language.SHELL,
        "#!/usr/bin/env -S bun run": Language.JAVASCRIPT,
    }
    assert {line: language_of(line) for line in lines} == lines
    assert [interpreter_of(line) for line in ("#!", "#!/usr/bin/env")] == [("",), ("",)]
    assert interpreter_of("#!/usr/bin/env -S A=1 bash -e") == ("bash", "-e")
    with pytest.raises(Invalid, match="perl"):
        language_of("#!/usr/bin/perl")
