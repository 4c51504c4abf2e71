"""Sections of setup scripts in a start-up file."""

import time
from hashlib import sha256

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hivelore.errors import Conflict, Invalid
from hivelore.setup_scripts.script_text import normalize
from hivelore.setup_scripts.start_up_file import GLOBAL, Kind, Section, extract, interpreters, prepend
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
    try:
        return not extract(content, kind).sections
    except (Conflict, Invalid):
        return False


@settings(max_examples=examples(300))
@given(content=st.none() | contents, scripts=sections, kind=kinds)
def test_twice_is_the_same_as_once(content: bytes | None, scripts: list[Section], kind: Kind) -> None:
    assume(content is None or has_no_section(content, kind))
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
    changed = prepend(prepend(content, first, kind), second, kind)
    assert changed == prepend(content, second, kind)
    assert prepend(changed, [], kind) == content


@settings(max_examples=examples(300))
@given(content=contents, scripts=sections, kind=kinds)
def test_sections_are_found_as_they_were_written(content: bytes, scripts: list[Section], kind: Kind) -> None:
    assume(has_no_section(content, kind))
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
    written = prepend(content, [Section(AGENT, 1, script)], kind)
    assert written is not None
    begin, _, _ = written.partition(b" >>>\n")
    edited = written.replace(b" >>>\n" + script.encode(), b" >>>\n" + edit.encode(), 1)
    assume(edited.startswith(begin))
    (found,) = extract(edited, kind).sections
    assert found.is_edited
    assert found.text == edit


@pytest.mark.parametrize("kind", Kind)
def test_a_section_is_behind_the_first_line_and_before_the_file(kind: Kind) -> None:
    written = prepend(b"#!/usr/bin/env x\nlast\n", [Section(GLOBAL, 1, "first\n"), Section(AGENT, 2, "then\n")], kind)
    assert written is not None
    kept = [line for line in written.decode().split("\n") if "hivelore" not in line]
    assert kept == ["#!/usr/bin/env x", "first", "then", "last", ""]
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
    assert interpreters(made, Kind.SH) == ("bash",)


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
