"""A running application purges forgotten text from its files."""

import time
from pathlib import Path
from threading import Event

import pytest

import hivelore
from hivelore.memories.model import Memory
from hivelore.python.hive import Hive

PATIENCE = 60.0
WORDS = ("xylophone", "quetzalcoatl", "zwitterion", "vuvuzela")


def holds(folder: Path, word: str) -> bool:
    return any(word.encode() in file.read_bytes().lower() for file in folder.rglob("*") if file.is_file())


def tell(hive: Hive) -> Memory:
    memory = hive.remember("She plays the xylophone.", name="Of Quetzalcoatl", tags=["zwitterion"])
    return hive.edit(memory.id, content="She plays the vuvuzela.")


def test_forgotten_text_leaves_every_file_of_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    monkeypatch.setattr("hivelore.runtime.workers.TEND_EVERY", 0.01)
    with hivelore.open(tmp_path) as hive:
        memory = tell(hive)
        assert all(holds(tmp_path, word) for word in WORDS)
        hive.remember("Something else.")
        hive.forget(memory.id)
        until = time.monotonic() + PATIENCE
        while any(holds(tmp_path, word) for word in WORDS) and time.monotonic() < until:
            Event().wait(0.02)
        assert not any(holds(tmp_path, word) for word in WORDS)
        assert [hit.memory.content for hit in hive.recall("something")] == ["Something else."]


@pytest.mark.parametrize("keywords", ["postings", "fts5"])
def test_a_hive_closed_right_after_forgetting_leaves_no_text_in_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keywords: str
) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    monkeypatch.setenv("HIVELORE_KEYWORDS", keywords)
    monkeypatch.setattr("hivelore.runtime.workers.TEND_EVERY", 3_600.0)
    with hivelore.open(tmp_path) as hive:
        memory = tell(hive)
        for number in range(20):
            hive.remember(f"Something else, number {number}.")
    with hivelore.open(tmp_path) as hive:
        assert all(holds(tmp_path, word) for word in WORDS)
        hive.forget(memory.id)
    assert not any(holds(tmp_path, word) for word in WORDS)


def test_the_recall_log_keeps_no_word_and_no_id_of_a_forgotten_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    with hivelore.open(tmp_path) as hive:
        memory = tell(hive)
        hive.remember("She plays.")
        assert len(hive.recall("Whatever it is that she plays")) == 2
        assert [len(one.hits) for one in hive.recalls().recalls] == [2]
        hive.forget(memory.id)
    assert not any(holds(tmp_path, word) for word in WORDS)
    assert holds(tmp_path, "whatever it is that she plays")
    with hivelore.open(tmp_path) as hive:
        assert [(len(one.hits), one.withheld) for one in hive.recalls().recalls] == [(1, 1)]
