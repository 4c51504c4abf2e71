"""Memory folders: rules for files, owners and changes."""

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
def test_the_folder_of_a_file_determines_scope_and_agent(path: str, folder: MemoryFolder | None) -> None:
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
def test_hidden_and_temporary_files_and_invalid_names_are_not_memories(name: str) -> None:
    assert not rules.is_memory_file(f"shared/memory/{name}")


@pytest.mark.parametrize(
    "name", ["note.md", "note", "part.md", "lock.txt", "49133", "日本.md", "a\nb.md", "x.tmpl", "-"]
)
def test_other_files_are_memories(name: str) -> None:
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
def test_only_memory_folders_and_their_parents_are_scanned(path: str, is_leader: bool) -> None:
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
def test_a_memory_is_named_after_its_file(path: str, name: str) -> None:
    assert rules.memory_name(path) == name


@given(st.text(min_size=1))
def test_the_name_of_a_memory_is_a_single_line(name: str) -> None:
    made = rules.memory_name(f"shared/memory/{name}")
    assert 1 <= len(made) <= NAME_LENGTH
    assert made == made.strip()
    assert len(made.splitlines()) == 1


def test_injected_text_and_the_byte_order_mark_are_removed() -> None:
    injected = fenced("Old memories.")
    assert rules.decode_content(f"\ufeffMine.\n{injected}\nAnd this.".encode()) == "Mine.\nAnd this."
    assert rules.decode_content(injected.encode()).strip() == ""


@pytest.mark.parametrize("content", [b"caf\xe9", b"\x7fELF\0\0", "wide".encode("utf-16"), b"a\0b", b"\xff\xd8\xff\xe0"])
def test_binary_content_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid, match=r"not (UTF-8 )?text"):
        rules.decode_content(content)


def file(path: str, mark: str = "m", digest: str = "d") -> KnownFile:
    return KnownFile(Clean(":/w"), Clean(path), mark, digest, MemoryId(path))


def known(*files: KnownFile) -> dict[str, KnownFile]:
    return {one.path: one for one in files}


def differences(before: dict[str, str], now: dict[str, str], *files: KnownFile, **more: Any) -> rules.FolderChanges:
    return rules.find_changes(known(*files), FolderScan(before), FolderScan(now, **more))


A, B = "shared/memory/a.md", "shared/memory/b.md"


def test_a_new_file_counts_once_it_is_unchanged() -> None:
    assert differences({}, {A: "1"}) == rules.FolderChanges((), (), ())
    assert differences({A: "1"}, {A: "2"}) == rules.FolderChanges((), (), ())
    assert differences({A: "2"}, {A: "2"}) == rules.FolderChanges((A,), (), ())


def test_a_written_file_counts_and_an_unchanged_one_does_not() -> None:
    assert differences({A: "1"}, {A: "2"}, file(A, "1")) == rules.FolderChanges((), (), ())
    assert differences({A: "2"}, {A: "2"}, file(A, "1")) == rules.FolderChanges((A,), (), ())
    assert differences({A: "1"}, {A: "1"}, file(A, "1")) == rules.FolderChanges((), (), ())


def test_a_file_counts_as_deleted_if_two_scans_miss_it() -> None:
    assert differences({A: "1"}, {}, file(A, "1")).deleted == ()
    assert differences({}, {A: "2"}, file(A, "1")).deleted == ()
    assert differences({}, {}, file(A, "1")).deleted == (file(A, "1"),)


@pytest.mark.parametrize("unread", ["", "shared", "shared/memory"])
def test_files_in_unread_folders_do_not_count_as_deleted(unread: str) -> None:
    assert differences({}, {}, file(A), unread=(unread,)).deleted == ()
    assert rules.find_changes(known(file(A)), FolderScan({}, (unread,)), FolderScan({})).deleted == ()
    assert differences({}, {}, file("shared/memory2/a.md"), unread=("shared/memory",)).deleted != ()


def test_a_new_file_with_the_mark_of_a_deleted_one_was_moved() -> None:
    moved = differences({B: "1"}, {B: "1"}, file(A, "1"))
    assert moved == rules.FolderChanges((), (), ((file(A, "1"), B),))


def test_a_copy_is_new_and_an_overwritten_file_is_changed() -> None:
    both = {A: "1", B: "1"}
    assert differences(both, both, file(A, "1")) == rules.FolderChanges((B,), (), ())
    over = differences({B: "1"}, {B: "1"}, file(A, "1"), file(B, "2"))
    assert over == rules.FolderChanges((B,), (file(A, "1"),), ())


def test_a_renamed_file_is_found_by_content_in_the_same_folder_only() -> None:
    here, namesake, elsewhere = file(A), file("shared/memory/old/c.md"), file("personal/memory/c.md")
    assert rules.find_renamed([here, elsewhere], "shared/memory/c.md", "d") == here
    assert rules.find_renamed([here, namesake], "shared/memory/c.md", "d") == namesake
    assert rules.find_renamed([elsewhere], "shared/memory/c.md", "d") is None
    assert rules.find_renamed([here], "shared/memory/c.md", "other") is None


paths = st.sampled_from([f"shared/memory/{name}.md" for name in "abcde"])
marks = st.dictionaries(paths, st.sampled_from("123"))


@given(was=marks, before=marks, now=marks)
def test_each_path_is_in_one_group_of_changes(was: dict[str, str], before: dict[str, str], now: dict[str, str]) -> None:
    found = differences(before, now, *(file(path, mark) for path, mark in was.items()))
    there = [*found.written, *(path for _, path in found.moved)]
    gone = [*(one.path for one in found.deleted), *(one.path for one, _ in found.moved)]
    assert len(set(there)) == len(there)
    assert len(set(gone)) == len(gone)
    assert all(now.get(path) == before.get(path) is not None for path in there)
    assert all(path in was and path not in now and path not in before for path in gone)


@given(was=marks, now=marks)
def test_applying_the_changes_leaves_none(was: dict[str, str], now: dict[str, str]) -> None:
    found = differences(now, now, *(file(path, mark) for path, mark in was.items()))
    after = known(*(file(path, mark) for path, mark in was.items()))
    for one in [*found.deleted, *(one for one, _ in found.moved)]:
        del after[one.path]
    for path in [*found.written, *(path for _, path in found.moved)]:
        after[path] = file(path, now[path])
    assert after.keys() == now.keys()
    assert rules.find_changes(after, FolderScan(now), FolderScan(now)) == rules.FolderChanges((), (), ())


@given(was=marks)
def test_a_failed_scan_deletes_nothing(was: dict[str, str]) -> None:
    assume(was)
    assert differences({}, {}, *(file(path, mark) for path, mark in was.items()), unread=("",)).deleted == ()
