"""Sections of setup scripts in a start-up file."""

import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hivelore.errors import Conflict, Invalid
from hivelore.setup_scripts.script_text import Language, normalize
from hivelore.setup_scripts.start_up_file import (
    GLOBAL,
    Kind,
    Section,
    command_of,
    extract,
    prepend,
    select,
    unused_first_lines,
)
from support.laws import examples

AGENT = "01890000-0000-7000-8000-000000000001"


def _markers(comment: str, text: str) -> list[str]:
    digest = sha256(text.encode()).hexdigest()[:16]
    return [
        f"{comment} >>> hivelore setup script: global, version 3, {digest} >>>",
        f"{comment} <<< hivelore setup script {digest} <<<",
    ]


LINES = [
    *("echo one", "", " ", "\r", "'", "exit 1", "// note", "# note", "ü", "#!/bin/sh", "#!/usr/bin/env bash"),
    *_markers("#", "echo one\n"),
    *_markers("//", "echo one\n"),
    *_markers("#", "echo two\n"),
]
lines = st.lists(st.sampled_from(LINES) | st.text(st.characters(codec="utf-8"), max_size=8), max_size=6)
ends = st.sampled_from(["\n", "\r\n", ""])


def joined(parts: list[str], end: str, last: str) -> bytes:
    return (end.join(parts) + last).encode()


contents = st.builds(joined, lines, ends, ends)
texts = lines.map("\n".join).map(normalize).filter(lambda text: not text.startswith("#!"))
sections = st.lists(
    st.builds(Section, st.sampled_from([GLOBAL, AGENT]), st.integers(1, 99), texts),
    max_size=2,
    unique_by=lambda one: one.owner,
)
kinds = st.sampled_from(Kind)


def has_no_section(content: bytes, kind: Kind) -> bool:
    """Returns True for a file that may get sections and has none."""
    try:
        prepend(content, in_language([Section(GLOBAL, 1, "first\n")], kind), kind)
        return not extract(content, kind).sections
    except (Conflict, Invalid):
        return False


def in_language(scripts: Sequence[Section], kind: Kind) -> list[Section]:
    """Returns scripts that say that they are for a kind of files."""
    if kind.language is Language.SHELL:
        return list(scripts)
    return [replace(one, text=f"#!/usr/bin/env bun\n{one.text}") if one.text else one for one in scripts]


@settings(max_examples=examples(300))
@given(content=st.none() | contents, scripts=sections, kind=kinds)
def test_twice_is_the_same_as_once(content: bytes | None, scripts: list[Section], kind: Kind) -> None:
    assume(content is None or has_no_section(content, kind))
    scripts = in_language(scripts, kind)
    once = prepend(content, scripts, kind)
    assert prepend(once, scripts, kind) == once


@settings(max_examples=examples(300))
@given(content=st.none() | contents, first=sections, second=sections, kind=kinds)
@example(content=b"#!/bin/sh", first=[Section(GLOBAL, 1, "echo one\n")], second=[], kind=Kind.SH)
@example(content=b"", first=[Section(GLOBAL, 1, "echo one\n")], second=[], kind=Kind.SH)
@example(content=b"\n", first=[Section(GLOBAL, 1, "echo one\n")], second=[], kind=Kind.SH)
def test_changed_scripts_replace_the_sections_and_none_restore_the_file(
    content: bytes | None, first: list[Section], second: list[Section], kind: Kind
) -> None:
    assume(content is None or has_no_section(content, kind))
    first, second = in_language(first, kind), in_language(second, kind)
    changed = prepend(prepend(content, first, kind), second, kind)
    assert changed == prepend(content, second, kind)
    assert prepend(changed, [], kind) == content


@settings(max_examples=examples(300))
@given(content=contents, scripts=sections, kind=kinds)
def test_sections_are_found_as_they_were_written(content: bytes, scripts: list[Section], kind: Kind) -> None:
    assume(has_no_section(content, kind))
    scripts = in_language(scripts, kind)
    written = prepend(content, scripts, kind)
    assert written is not None
    found = extract(written, kind)
    assert [(one.owner, one.version, one.text, one.is_edited) for one in found.sections] == [
        (one.owner, one.version, one.text, False) for one in scripts if one.text
    ]
    assert found.head + found.rest == content


@settings(max_examples=examples(300))
@given(content=contents, script=texts.filter(bool), edit=texts, kind=kinds)
def test_an_edit_is_found(content: bytes, script: str, edit: str, kind: Kind) -> None:
    assume(has_no_section(content, kind) and edit != script)
    written = prepend(content, in_language([Section(AGENT, 1, script)], kind), kind)
    assert written is not None
    if kind.language is Language.JAVASCRIPT:
        written = written.replace(b"//#!/usr/bin/env bun\n", b"", 1)
    begin, _, _ = written.partition(b" >>>\n")
    edited = written.replace(b" >>>\n" + script.encode(), b" >>>\n" + edit.encode(), 1)
    assume(edited.startswith(begin))
    (found,) = extract(edited, kind).sections
    assert found.is_edited
    assert found.text == edit


@pytest.mark.parametrize("kind", Kind)
def test_a_section_is_behind_the_first_line_and_before_the_file(kind: Kind) -> None:
    head = "#!/usr/bin/env bash" if kind.language is Language.SHELL else "#!/usr/bin/env node"
    scripts = in_language([Section(GLOBAL, 1, "first\n"), Section(AGENT, 2, "then\n")], kind)
    written = prepend(f"{head}\nlast\n".encode(), scripts, kind)
    assert written is not None
    kept = [line for line in written.decode().split("\n") if "hivelore" not in line and line != "//#!/usr/bin/env bun"]
    assert kept == [head, "first", "then", "last", ""]
    markers = [line for line in written.decode().split("\n") if "hivelore" in line]
    assert all(line.startswith(f"{kind.comment} ") for line in markers)


def test_a_new_file_is_removed_with_its_scripts() -> None:
    made = prepend(None, [Section(GLOBAL, 1, "echo one\n")], Kind.SH)
    assert made is not None
    assert made.startswith(b"#!/bin/sh\n# >>>")
    assert made.endswith(b"<<<\n")
    assert prepend(made, [], Kind.SH) is None
    own = made + b"echo mine\n"
    assert prepend(own, [], Kind.SH) == b"#!/bin/sh\necho mine\n"


def test_a_new_file_has_the_first_line_of_its_scripts() -> None:
    made = prepend(None, [Section(GLOBAL, 1, "a\n"), Section(AGENT, 1, "#!/bin/bash\nb\n")], Kind.SH)
    assert made is not None
    assert made.startswith(b"#!/bin/bash\n")
    assert command_of(made) == ["/bin/bash"]


@pytest.mark.parametrize("head", [b"#!/bin/bash -e\n", b"#!/usr/bin/env bash\n", b""])
def test_a_changed_first_line_of_a_new_file_stays(head: bytes) -> None:
    made = prepend(None, [Section(GLOBAL, 1, "echo one\n")], Kind.SH)
    assert made is not None
    changed = made.replace(b"#!/bin/sh\n", head)
    again = prepend(changed, [Section(GLOBAL, 2, "#!/bin/sh\necho two\n")], Kind.SH)
    assert again is not None
    assert again.startswith(head + b"# >>>")
    assert prepend(again, [], Kind.SH) == head


def test_a_changed_script_changes_the_first_line_of_a_new_file() -> None:
    made = prepend(None, [Section(GLOBAL, 1, "echo one\n")], Kind.SH)
    for text, head in (("#!/bin/bash -e\na\n", b"#!/bin/bash -e\n"), ("b\n", b"#!/bin/sh\n")):
        made = prepend(made, [Section(GLOBAL, 2, text)], Kind.SH)
        assert made is not None
        assert made.startswith(head)


def test_the_first_line_says_what_runs_a_file() -> None:
    lines = {
        b"#!/bin/bash -e": ["/bin/bash", "-e"],
        b"#! /usr/bin/env -S bash -e \r\n": ["/usr/bin/env", "-S bash -e"],
        b"#!/usr/bin/python3\nx": ["/usr/bin/python3"],
        b"#!\n": [],
        b"echo": [],
    }
    assert {line: command_of(line) for line in lines} == lines


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        (Kind.SH, "#!/usr/bin/python3"),
        (Kind.SH, "#!/bin/zsh"),
        (Kind.BASH, "#!/usr/bin/env node"),
        (Kind.TS, "#!/bin/sh"),
    ],
)
def test_a_file_in_another_language_gets_no_sections(kind: Kind, head: str) -> None:
    content = f"{head}\nlast\n".encode()
    assert prepend(content, [], kind) == content
    with pytest.raises(Invalid):
        prepend(content, in_language([Section(GLOBAL, 1, "one\n")], kind), kind)


def test_a_script_without_a_first_line_is_for_the_shell() -> None:
    scripts = [Section(GLOBAL, 1, "apt-get install jq\n"), Section(AGENT, 1, "#!/usr/bin/env node\nlet a\n")]
    for kind, chosen in ((Kind.SH, scripts[:1]), (Kind.BASH, scripts[:1]), (Kind.TS, scripts[1:])):
        found, (remark,) = select(scripts, kind)
        assert found == chosen
        assert "is not in start-up" in remark
    written = prepend(b"last\n", scripts[1:], Kind.JS)
    assert written is not None
    assert b" >>>\n//#!/usr/bin/env node\nlet a\n// <<<" in written


def test_a_first_line_that_has_no_effect_is_reported() -> None:
    def remarks(content: bytes, text: str, kind: Kind = Kind.SH) -> int:
        return len(unused_first_lines(content, [Section(GLOBAL, 1, text)], kind))

    assert remarks(b"#!/bin/sh\n", "#!/bin/bash\n") == 1
    assert remarks(b"#!/bin/bash\n", "#!/bin/bash -e\n") == 1
    assert remarks(b"last\n", "#!/bin/bash\n") == 1
    assert remarks(b"#!/usr/bin/bash -e\n", "#!/usr/bin/env -S bash -e\n") == 0
    assert remarks(b"#!/bin/bash\n", "one\n") == 0
    assert remarks(b"last\n", "#!/bin/bash\n", Kind.BASH) == 0


def test_line_ends_of_an_editor_are_no_edit() -> None:
    written = prepend(b"last\n", [Section(GLOBAL, 1, "one\ntwo\n")], Kind.SH)
    assert written is not None
    (found,) = extract(written.replace(b"\n", b"\r\n"), Kind.SH).sections
    assert not found.is_edited


def test_a_section_without_its_end_is_reported() -> None:
    written = prepend(b"", [Section(GLOBAL, 1, "one\n")], Kind.SH)
    assert written is not None
    damaged = written.partition(b"# <<<")[0]
    for call in (lambda: extract(damaged, Kind.SH), lambda: prepend(damaged, [], Kind.SH)):
        with pytest.raises(Invalid, match="without its end"):
            call()


@pytest.mark.parametrize("head", [b"", b"#!/bin/sh\n"])
@pytest.mark.parametrize("line", [b"\n", b"# note\n", b"set -e\n", b"\xef\xbb\xbf#!/bin/sh\n"])
@pytest.mark.parametrize("indent", [b"", b"\t "])
def test_a_section_behind_other_text_is_reported(head: bytes, line: bytes, indent: bytes) -> None:
    scripts = [Section(GLOBAL, 1, "one\n"), Section(AGENT, 1, "two\n")]
    written = prepend(head + b"last\n", scripts, Kind.SH)
    assert written is not None
    displaced = head + line + written.removeprefix(head).replace(b"# ", indent + b"# ")
    for call in (lambda: extract(displaced, Kind.SH), lambda: prepend(displaced, scripts, Kind.SH)):
        with pytest.raises(Conflict, match=f"in line {2 + bool(head)}"):
            call()


def test_a_section_between_others_and_the_file_is_reported() -> None:
    written = prepend(b"last\n", [Section(GLOBAL, 1, "one\n"), Section(AGENT, 1, "two\n")], Kind.SH)
    assert written is not None
    with pytest.raises(Conflict, match="in line 5"):
        extract(written.replace(b"# >>> hivelore setup script: 0", b"note\n# >>> hivelore setup script: 0"), Kind.SH)


@given(content=contents, kind=kinds)
def test_one_marker_alone_is_text(content: bytes, kind: Kind) -> None:
    assume(has_no_section(content, kind))
    for marker in _markers(kind.comment, "echo three\n"):
        assert has_no_section(b"first\n" + content + b"\n" + marker.encode() + b"\nlast\n", kind)


def test_many_markers_take_linear_time() -> None:
    begins = [f"# >>> hivelore setup script: global, version 3, {one:016x} >>>\n" for one in range(14_000)]
    start = time.process_time()
    assert has_no_section(("first\n" + "".join(begins)).encode(), Kind.SH)
    wholes = [f"{one}# <<< hivelore setup script {number:016x} <<<\n" for number, one in enumerate(begins[:8_000])]
    assert len(extract("".join(wholes).encode(), Kind.SH).sections) == 8_000
    assert time.process_time() - start < 2


def test_a_script_in_another_language_is_refused() -> None:
    for text, kind in (("#!/bin/sh\n", Kind.TS), ("#!/usr/bin/env node\n", Kind.SH), ("#!/usr/bin/python3\n", Kind.SH)):
        with pytest.raises(Invalid):
            prepend(b"", [Section(GLOBAL, 1, text)], kind)


def test_a_section_that_is_not_text_counts_as_edited() -> None:
    written = prepend(b"", [Section(GLOBAL, 1, "one\n")], Kind.SH)
    assert written is not None
    (found,) = extract(written.replace(b"one", b"\xff"), Kind.SH).sections
    assert found.is_edited
    with pytest.raises(Invalid, match="UTF-8"):
        _ = found.text
