"""Canonical form, limits and language of a setup script."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import dropwhile

from hivelore.errors import Invalid, TooLarge

SCRIPT_BYTES = 65_536
"""Most bytes of a script in UTF-8."""
RAW_BYTES = 2 * SCRIPT_BYTES
"""Most bytes before the line ends are made canonical, which can halve a script."""
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh"})
_SCRIPTS = frozenset({"node", "bun"})


class Language(StrEnum):
    SHELL = "shell"
    JAVASCRIPT = "JavaScript"


def normalize(text: str) -> str:
    """Returns a script with Unix line ends and one line end behind its last line; empty for blank text."""
    if not text.strip():
        return ""
    lines = text.rstrip("\r\n").split("\n")
    return "\n".join(line.rstrip("\r") for line in lines) + "\n"


def check(text: str) -> str:
    """Returns the canonical form. Raises TooLarge, and Invalid for characters that no start-up file can have."""
    _check_size(text, RAW_BYTES)
    if "\0" in text:
        raise Invalid("A setup script is text, and this one has a NUL character. Remove it.", field="setupScript")
    script = normalize(text)
    _check_size(script, SCRIPT_BYTES)
    return script


def interpreter_of(first_line: str) -> Sequence[str]:
    """Returns the program and the options that a first line such as ``#!/usr/bin/env -S bash -e`` names; nothing for
    another first line."""
    if not first_line.startswith("#!"):
        return ()
    words = first_line[2:].split()
    if words and words[0].endswith("/env"):
        words = list(dropwhile(lambda word: word.startswith("-") or "=" in word, words[1:]))
    return (words[0].rpartition("/")[2], *words[1:]) if words else ("",)


def language_of(first_line: str) -> Language | None:
    """Returns the language that a first line names; None if it names none. Raises Invalid for other programs."""
    named = interpreter_of(first_line)
    if not named:
        return None
    if named[0] in _SHELLS:
        return Language.SHELL
    if named[0] in _SCRIPTS:
        return Language.JAVASCRIPT
    raise Invalid(
        f"A setup script cannot be for {named[0][:40]!r}, or in a start-up file for it. The first line has to name sh, "
        "bash, node or bun.",
        field="setupScript",
    )


def _check_size(text: str, most: int) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        raise TooLarge(
            f"The setup script has {size:,} bytes; at most {SCRIPT_BYTES:,}. Download large files in it instead.",
            field="setupScript",
        )
