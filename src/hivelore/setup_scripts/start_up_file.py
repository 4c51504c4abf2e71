"""Sections of setup scripts at the beginning of a start-up file (D40, D42).

A section stands between two markers, behind the line ``#!`` if the file has one:

    # >>> hivelore setup script: global, version 3, 9f86d081884c7d65 >>>
    apt-get install -y jq
    # <<< hivelore setup script 9f86d081884c7d65 <<<

The number at both ends is a digest of the script. A text cannot contain its own digest, so a script may contain any
marker, and an edit is found without a copy. Sections are at the beginning only. A whole section elsewhere was displaced
by an edit of the file; it would go on running after its script changed, so it is reported. Without its sections, a file
has the bytes that it had before.

The program of the file runs all of it, so the line ``#!`` of a script says its language only. In JavaScript, where such
a line may only be the first of a file, it is written as a comment. A file that was made for the sections has the line
of the first script with one, and the markers have a digest of that line. If somebody changes it, the file is theirs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from hivelore.errors import Conflict, Invalid
from hivelore.setup_scripts.script_text import Language, interpreter_of, language_of, normalize

GLOBAL = "global"
"""The owner of the section that all agents have."""
_NAME = "hivelore setup script"
_NEW = ", new file"
_DEFAULT_HEAD = "#!/bin/sh"
_EXAMPLES = {Language.SHELL: "#!/bin/sh", Language.JAVASCRIPT: "#!/usr/bin/env node"}
"""First lines, for remarks."""


class Kind(StrEnum):
    """Kinds of start-up files, by the ending of the name. The first one that exists is used."""

    SH = "sh"
    BASH = "bash"
    JS = "js"
    TS = "ts"
    BUN = "bun"

    @property
    def file_name(self) -> str:
        return f"start-up.{self}"

    @property
    def language(self) -> Language:
        return Language.SHELL if self in (Kind.SH, Kind.BASH) else Language.JAVASCRIPT

    @property
    def comment(self) -> str:
        return "#" if self.language is Language.SHELL else "//"


@dataclass(frozen=True, slots=True)
class Section:
    """A setup script for a start-up file. ``text`` is in canonical form; an empty one has no section."""

    owner: str
    """``GLOBAL``, or the id of an agent."""
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class FoundSection:
    owner: str
    version: int
    content: bytes
    """The script between the markers."""
    digest: str
    """Digest of the script that was written there."""

    @property
    def is_edited(self) -> bool:
        try:
            return _digest(self.text) != self.digest
        except Invalid:
            return True

    @property
    def text(self) -> str:
        """The script as it is in the file. Raises Invalid if it is not UTF-8."""
        try:
            return normalize(self.content.decode())
        except UnicodeDecodeError:
            raise Invalid("The setup script in the start-up file is not UTF-8 text. Correct it there.") from None


@dataclass(frozen=True, slots=True)
class StartUpFile:
    """The parts of a start-up file, in this order."""

    head: bytes
    """The line ``#!`` without its end; empty if there is none."""
    sections: tuple[FoundSection, ...]
    rest: bytes
    is_new: bool
    """True if the file was made for the sections."""


def extract(content: bytes, kind: Kind) -> StartUpFile:
    """Returns the parts of a start-up file. Raises Invalid for a section without its end, Conflict for one that is not
    at the beginning."""
    head, body = _split_head(content)
    before = b"\n" if head else b""
    after = b"" if head else b"\n"
    begin, found, is_new = _begin_pattern(kind), list[FoundSection](), False
    position = 0
    while body.startswith(before, position) and (opened := begin.match(body, position + len(before))):
        closed = _end_pattern(kind, opened["digest"].decode()).search(body, opened.end())
        if closed is None:
            raise Invalid(
                f"{kind.file_name} has a section of a setup script without its end: the line "
                f"'{_end(kind, opened['digest'].decode())}' is missing. Put it back, or remove the whole section."
            )
        owner, version = opened["owner"].decode(), int(opened["version"])
        script = _restored(body[opened.end() : closed.start()], kind)
        found.append(FoundSection(owner, version, script, opened["digest"].decode()))
        is_new = is_new or opened["head"] == _head_digest(head)
        position = closed.end()
        if body.startswith(after, position):
            position += len(after)
    rest = body[position:]
    _check_displaced(rest, content.count(b"\n") - rest.count(b"\n"), kind)
    return StartUpFile(head, tuple(found), rest, is_new)


def prepend(content: bytes | None, scripts: Sequence[Section], kind: Kind) -> bytes | None:
    """Returns a start-up file with these sections instead of its present ones. None for ``content``: there is no file;
    as the answer: there has to be none. Raises Invalid if the file or a script is in another language, and as
    ``extract``."""
    wanted, others = select(scripts, kind)
    if others:
        raise Invalid(others[0])
    if content is None:
        file = StartUpFile(b"", (), b"\n", is_new=True)
    else:
        file = extract(content, kind)
    if file.is_new:
        if not wanted and not file.rest.strip():
            return None
        file = StartUpFile(_new_head(wanted) or file.head, (), file.rest, is_new=bool(wanted))
    elif wanted:
        _check_head(file.head, kind)
    written = [_written(one, kind, file.head if file.is_new else None) for one in wanted]
    if file.head:
        return file.head + b"".join(b"\n" + one for one in written) + file.rest
    return b"".join(one + b"\n" for one in written) + file.rest


def select(scripts: Sequence[Section], kind: Kind) -> tuple[Sequence[Section], Sequence[str]]:
    """Returns the scripts that are in the language of a start-up file, and a remark about each of the others. A script
    without a line ``#!`` is for the shell. Raises Invalid for scripts that can be in no start-up file."""
    chosen, remarks = list[Section](), list[str]()
    for one in scripts:
        if not one.text:
            continue
        language = language_of(_first_line(one.text)) or Language.SHELL
        if language is kind.language:
            chosen.append(one)
        else:
            remarks.append(
                f"The setup script ({one.owner}) is not in {kind.file_name}: it is for {language}. For a script in "
                f"{kind.language}, begin it with '{_EXAMPLES[kind.language]}'."
            )
    return chosen, remarks


def unused_first_lines(content: bytes, scripts: Sequence[Section], kind: Kind) -> Sequence[str]:
    """Returns a remark about each script whose line ``#!`` names another program than the one of its shell file, or
    other options."""
    if kind.language is not Language.SHELL:
        return ()
    used = interpreter_of(_split_head(content)[0].decode(errors="replace")) or programs(kind)
    lines = [(one.owner, _first_line(one.text)) for one in scripts]
    return [
        f"The line {line[:80]!r} of the setup script ({owner}) has no effect: {kind.file_name} runs with "
        f"'{' '.join(used)}'."
        for owner, line in lines
        if (named := interpreter_of(line)) and tuple(named) != tuple(used)
    ]


def command_of(content: bytes) -> Sequence[str]:
    """Returns the program and the argument that the first line of a start-up file names, as the kernel reads it."""
    return _split_head(content)[0].decode(errors="surrogateescape")[2:].strip().split(maxsplit=1)


def programs(kind: Kind) -> Sequence[str]:
    """Returns the programs that can run a start-up file without a line ``#!``, best first."""
    match kind:
        case Kind.SH:
            return ("sh",)
        case Kind.BASH:
            return ("bash",)
        case Kind.JS:
            return ("node", "bun")
        case Kind.TS:
            return ("bun", "node")
        case Kind.BUN:
            return ("bun",)


def _check_displaced(rest: bytes, lines_before: int, kind: Kind) -> None:
    """Raises Conflict for a section that is not at the beginning of the file."""
    opened: dict[bytes, int] = {}
    for found in _any_marker_pattern(kind).finditer(rest):
        if found["begin"] is not None:
            opened.setdefault(found["begin"], found.start())
        elif (start := opened.get(found["end"])) is not None:
            line = lines_before + rest.count(b"\n", 0, start) + 1
            raise Conflict(
                f"{kind.file_name} has a section of a setup script in line {line}, behind other text. Move the section "
                "to the beginning, directly behind the line '#!' if there is one, or remove it with both markers."
            )


def _split_head(content: bytes) -> tuple[bytes, bytes]:
    if not content.startswith(b"#!"):
        return b"", content
    head, newline, rest = content.partition(b"\n")
    return head, newline + rest


def _new_head(scripts: Sequence[Section]) -> bytes:
    """Returns the first line of a new file: that of the first script that has one."""
    lines = [_first_line(one.text) for one in scripts]
    return next((line for line in lines if line.startswith("#!")), _DEFAULT_HEAD if lines else "").encode()


def _check_head(head: bytes, kind: Kind) -> None:
    if language_of(head.decode(errors="replace")) not in (None, kind.language):
        line = head[:40].decode(errors="replace")
        raise Invalid(
            f"{kind.file_name} begins with {line!r}, so setup scripts for {kind.language} cannot be in it. Correct "
            "this line, or the name of the file."
        )


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _written(script: Section, kind: Kind, new_head: bytes | None) -> bytes:
    """Returns a section. ``new_head``: the first line of a file that was made for the sections."""
    digest = _digest(script.text)
    new = "" if new_head is None else f"{_NEW} {_head_digest(new_head).decode()}"
    begin = f"{kind.comment} >>> {_NAME}: {script.owner}, version {script.version}, {digest}{new} >>>"
    is_commented = kind.language is Language.JAVASCRIPT and script.text.startswith("#!")
    return f"{begin}\n{kind.comment if is_commented else ''}{script.text}{_end(kind, digest)}".encode()


def _restored(written: bytes, kind: Kind) -> bytes:
    """Returns a script as it was before ``_written``."""
    is_commented = kind.language is Language.JAVASCRIPT and written.startswith(b"//#!")
    return written[2:] if is_commented else written


def _end(kind: Kind, digest: str) -> str:
    return f"{kind.comment} <<< {_NAME} {digest} <<<"


def _begin_pattern(kind: Kind) -> re.Pattern[bytes]:
    return re.compile(
        rf"{kind.comment} >>> {_NAME}: (?P<owner>[\w-]{{1,64}}), version (?P<version>\d{{1,9}}), "
        rf"(?P<digest>[0-9a-f]{{16}})(?:{_NEW} (?P<head>[0-9a-f]{{8}}))? >>>[ \t\r]*\n".encode()
    )


def _any_marker_pattern(kind: Kind) -> re.Pattern[bytes]:
    """Matches the first part of any marker, also of an indented one."""
    return re.compile(
        rf"^[ \t]*+{kind.comment} (?:>>> {_NAME}: [\w-]{{1,64}}, version \d{{1,9}}, (?P<begin>[0-9a-f]{{16}})\b"
        rf"|<<< {_NAME} (?P<end>[0-9a-f]{{16}}) <<<)".encode(),
        re.MULTILINE,
    )


def _end_pattern(kind: Kind, digest: str) -> re.Pattern[bytes]:
    return re.compile(rf"^{re.escape(_end(kind, digest))}[ \t\r]*$".encode(), re.MULTILINE)


def _head_digest(head: bytes) -> bytes:
    return sha256(head.rstrip()).hexdigest()[:8].encode()


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
