"""Memory folders: which files are memories, whose, and what has become of them."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.folders import rules
from hivelore.folders.model import FolderScan, KnownFile, MemoryFolder
from hivelore.memories.model import NAME_LENGTH, MemoryId, Scope
from support.fences import fenced


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("personal/memory/a.md", MemoryFolder("personal/memory", Scope.AGENT)),
        ("personal/memory/deep/down/a.md", MemoryFolder("personal/memory", Scope.AGENT)),
        ("shared/memory/a.md", MemoryFolder("shared/memory", Scope.SWARM)),
        ("shared/thoughts/plan.md", MemoryFolder("shared/thoughts", Scope.SWARM)),
        ("agents/bob/memory/a.md", MemoryFolder("agents/bob/memory", Scope.AGENT, "bob")),
        ("agents/bob/memory", None),
        ("personal/memory", None),
        ("personal/memories/a.md", None),
        ("personal/notes/a.md", None),
        ("shared/a.md", None),
        ("repos/shop/shared/memory/a.md", None),
        ("a.md", None),
    ],
)
def test_where_a_file_lies_says_whose_memory_it_is(path: str, folder: MemoryFolder | None) -> None:
    assert rules.memory_folder(path) == folder
    assert rules.is_memory_file(path) == (folder is not None)


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".hidden.md",
            ".note.md.swp",
            "note.md~",
            "note.md.swp",
            "note.SWX",
            "note.tmp",
            "~$report.docx",
            "#note.md#",
        ),
        *("4913", "___jb_tmp___", "big.part", "page.crdownload", "x.lock", "latin-\udce9.md"),
    ],
)
def test_what_is_hidden_or_unfinished_or_has_no_name_in_text_is_no_memory(name: str) -> None:
    assert not rules.is_memory_file(f"shared/memory/{name}")


@pytest.mark.parametrize(
    "name", ["note.md", "note", "part.md", "lock.txt", "49133", "日本.md", "a\nb.md", "x.tmpl", "-"]
)
def test_any_other_name_is_one(name: str) -> None:
    assert rules.is_memory_file(f"shared/memory/{name}")


@pytest.mark.parametrize(
    ("path", "is_leader"),
    [
        *(("personal", True), ("shared", True), ("agents", True), ("agents/bob", True), ("agents/bob/memory/x", True)),
        *(("shared/thoughts", True), ("personal/memory/a/b", True)),
        *(("repos", False), ("personal/files", False), ("agents/bob/files", False), ("shared/memory/.git", False)),
        *((".hidden", False), ("shared/memory/bad\udce9", False)),
        (f"shared/memory{'/x' * 15}", True),
        (f"shared/memory{'/x' * 16}", False),
    ],
)
def test_only_folders_that_lead_to_memories_are_looked_into(path: str, is_leader: bool) -> None:
    assert rules.is_scanned_folder(path.split("/")) is is_leader


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("shared/memory/auth-header-fix.md", "auth-header-fix"),
        ("shared/memory/sub/notes.tar.gz", "notes.tar"),
        ("shared/memory/README", "README"),
        ("shared/memory/two\nlines\t.md", "two lines"),
        ("shared/memory/ .md", "file"),
        ("shared/memory/Müsli – 日本.txt", "Müsli – 日本"),
        (f"shared/memory/{'x' * 600}.md", "x" * NAME_LENGTH),
    ],
)
def test_a_memory_is_called_as_its_file(path: str, name: str) -> None:
    assert rules.memory_name(path) == name


@given(st.text(min_size=1))
def test_whatever_a_file_is_called_its_memory_has_a_name_of_one_line(name: str) -> None:
    made = rules.memory_name(f"shared/memory/{name}")
    assert 1 <= len(made) <= NAME_LENGTH
    assert made == made.strip()
    assert len(made.splitlines()) == 1


def test_what_we_had_said_ourselves_and_a_byte_order_mark_are_left_out() -> None:
    told = fenced("Old memories.")
    assert rules.decode_content(f"\ufeffMine.\n{told}\nAnd this.".encode()) == "Mine.\nAnd this."
    assert rules.decode_content(told.encode()).strip() == ""


@pytest.mark.parametrize("content", [b"caf\xe9", b"\x7fELF\0\0", "wide".encode("utf-16"), b"a\0b", b"\xff\xd8\xff\xe0"])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid, match="no text"):
        rules.decode_content(content)


def file(path: str, mark: str = "m", digest: str = "d") -> KnownFile:
    return KnownFile(Clean(":/w"), Clean(path), mark, digest, MemoryId(path))


def known(*files: KnownFile) -> dict[str, KnownFile]:
    return {one.path: one for one in files}


def differences(before: dict[str, str], now: dict[str, str], *files: KnownFile, **more: Any) -> rules.FolderChanges:
    return rules.find_changes(known(*files), FolderScan(before), FolderScan(now, **more))


A, B = "shared/memory/a.md", "shared/memory/b.md"


def test_a_new_file_counts_once_it_rests() -> None:
    assert differences({}, {A: "1"}) == rules.FolderChanges((), (), ())
    assert differences({A: "1"}, {A: "2"}) == rules.FolderChanges((), (), ())
    assert differences({A: "2"}, {A: "2"}) == rules.FolderChanges((A,), (), ())


def test_so_does_one_that_was_written_and_one_that_is_as_it_was_does_not() -> None:
    assert differences({A: "1"}, {A: "2"}, file(A, "1")) == rules.FolderChanges((), (), ())
    assert differences({A: "2"}, {A: "2"}, file(A, "1")) == rules.FolderChanges((A,), (), ())
    assert differences({A: "1"}, {A: "1"}, file(A, "1")) == rules.FolderChanges((), (), ())


def test_a_file_is_gone_when_two_looks_miss_it() -> None:
    assert differences({A: "1"}, {}, file(A, "1")).deleted == ()
    assert differences({}, {A: "2"}, file(A, "1")).deleted == ()
    assert differences({}, {}, file(A, "1")).deleted == (file(A, "1"),)


@pytest.mark.parametrize("unread", ["", "shared", "shared/memory"])
def test_where_nobody_could_look_nothing_is_gone(unread: str) -> None:
    assert differences({}, {}, file(A), unread=(unread,)).deleted == ()
    assert rules.find_changes(known(file(A)), FolderScan({}, (unread,)), FolderScan({})).deleted == ()
    assert differences({}, {}, file("shared/memory2/a.md"), unread=("shared/memory",)).deleted != ()


def test_a_file_with_the_mark_of_one_that_is_gone_is_that_one() -> None:
    moved = differences({B: "1"}, {B: "1"}, file(A, "1"))
    assert moved == rules.FolderChanges((), (), ((file(A, "1"), B),))


def test_a_copy_is_new_and_what_was_written_over_keeps_its_place() -> None:
    both = {A: "1", B: "1"}
    assert differences(both, both, file(A, "1")) == rules.FolderChanges((B,), (), ())
    over = differences({B: "1"}, {B: "1"}, file(A, "1"), file(B, "2"))
    assert over == rules.FolderChanges((B,), (file(A, "1"),), ())


def test_of_what_is_gone_the_same_content_is_the_same_file_in_the_same_folder_only() -> None:
    here, namesake, elsewhere = file(A), file("shared/memory/old/c.md"), file("personal/memory/c.md")
    assert rules.find_renamed([here, elsewhere], "shared/memory/c.md", "d") == here
    assert rules.find_renamed([here, namesake], "shared/memory/c.md", "d") == namesake
    assert rules.find_renamed([elsewhere], "shared/memory/c.md", "d") is None
    assert rules.find_renamed([here], "shared/memory/c.md", "other") is None


paths = st.sampled_from([f"shared/memory/{name}.md" for name in "abcde"])
marks = st.dictionaries(paths, st.sampled_from("123"))


@given(was=marks, before=marks, now=marks)
def test_each_file_is_told_once_and_only_what_is_there_or_was_known(
    was: dict[str, str], before: dict[str, str], now: dict[str, str]
) -> None:
    found = differences(before, now, *(file(path, mark) for path, mark in was.items()))
    there = [*found.written, *(path for _, path in found.moved)]
    gone = [*(one.path for one in found.deleted), *(one.path for one, _ in found.moved)]
    assert len(set(there)) == len(there)
    assert len(set(gone)) == len(gone)
    assert all(now.get(path) == before.get(path) is not None for path in there)
    assert all(path in was and path not in now and path not in before for path in gone)


@given(was=marks, now=marks)
def test_doing_what_is_told_leaves_nothing_to_do(was: dict[str, str], now: dict[str, str]) -> None:
    found = differences(now, now, *(file(path, mark) for path, mark in was.items()))
    after = known(*(file(path, mark) for path, mark in was.items()))
    for one in [*found.deleted, *(one for one, _ in found.moved)]:
        del after[one.path]
    for path in [*found.written, *(path for _, path in found.moved)]:
        after[path] = file(path, now[path])
    assert after.keys() == now.keys()
    assert rules.find_changes(after, FolderScan(now), FolderScan(now)) == rules.FolderChanges((), (), ())


@given(was=marks)
def test_an_empty_look_that_failed_takes_nothing_away(was: dict[str, str]) -> None:
    assume(was)
    assert differences({}, {}, *(file(path, mark) for path, mark in was.items()), unread=("",)).deleted == ()
