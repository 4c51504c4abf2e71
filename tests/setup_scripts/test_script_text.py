"""Canonical form, limits and language of a setup script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Invalid, TooLarge
from hivelore.setup_scripts.script_text import SCRIPT_BYTES, Language, check, interpreter_of, language_of, normalize


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
    assert [interpreter_of(line) for line in ("#!", "#!/usr/bin/env")] == ["", ""]
    with pytest.raises(Invalid, match="perl"):
        language_of("#!/usr/bin/perl")
