"""Every store: known files of memory folders."""

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.folders.model import KnownFile
from hivelore.storage.ports import MemoryStore
from support.memories import memory_id

HERE, THERE = Clean("host:/workspace"), Clean("host:/workspace2")


def file(path: str, place: Clean = HERE, memory: int = 1) -> KnownFile:
    return KnownFile(place, Clean(path), "12-1700000000123456789-42", "ab" * 32, memory_id(memory))


NOTE, ODD = file("personal/memory/note.md"), file("shared/memory/a\nb – 日本.md", memory=2)


def put(store: MemoryStore, *files: KnownFile) -> None:
    store.write(lambda tx: tx.put_files(files))


def found(store: MemoryStore, place: str = "", path: str = "", limit: int = 9) -> list[KnownFile]:
    with store.read() as view:
        return list(view.files_after(place, path, limit))


def test_files_are_read_as_they_were_written(store: MemoryStore) -> None:
    assert found(store) == []
    put(store, ODD, NOTE)
    assert found(store) == [NOTE, ODD]


def test_writing_again_replaces_the_earlier_value(store: MemoryStore) -> None:
    later = replace(NOTE, mark="13-1-1", digest="cd", memory=memory_id(9))
    put(store, NOTE)
    put(store, later)
    assert found(store) == [later]


def test_files_are_listed_by_place_and_path_in_pages(store: MemoryStore) -> None:
    files = [file("B.md"), file("a.md"), file("b.md"), file("A.md", THERE)]
    put(store, *reversed(files))
    assert found(store) == files
    assert found(store, limit=2) == files[:2]
    assert found(store, HERE, "a.md", 1) == files[2:3]
    assert found(store, HERE, "b.md") == files[3:]
    assert found(store, THERE, "A.md") == []


def test_dropping_a_file_affects_only_its_place(store: MemoryStore) -> None:
    elsewhere = replace(NOTE, place=THERE)
    put(store, NOTE, ODD, elsewhere)
    for _ in range(2):
        store.write(lambda tx: tx.drop_files(HERE, [NOTE.path, "never/was.md"]))
    assert found(store) == [ODD, elsewhere]


def test_a_failed_transaction_writes_nothing(store: MemoryStore) -> None:
    with pytest.raises(RuntimeError):
        store.write(lambda tx: (tx.put_files([NOTE]), _fail()))
    assert found(store) == []


def _fail() -> None:
    raise RuntimeError
