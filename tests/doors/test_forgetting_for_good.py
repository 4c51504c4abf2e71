"""A running application cleans up after forgetting by itself."""

import time
from pathlib import Path
from threading import Event

import pytest

import hivelore

PATIENCE = 20.0


def holds(folder: Path, word: str) -> bool:
    return any(word.encode() in file.read_bytes().lower() for file in folder.rglob("*") if file.is_file())


def test_what_was_forgotten_leaves_every_file_of_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    monkeypatch.setattr("hivelore.app.TEND_EVERY", 0.01)
    with hivelore.open(tmp_path) as hive:
        memory = hive.remember("She plays the xylophone.", name="Of Quetzalcoatl", tags=["zwitterion"])
        hive.edit(memory.id, content="She plays the vuvuzela.")
        words = ("xylophone", "quetzalcoatl", "zwitterion", "vuvuzela")
        assert all(holds(tmp_path, word) for word in words)
        hive.remember("Something else.")
        hive.forget(memory.id)
        until = time.monotonic() + PATIENCE
        while any(holds(tmp_path, word) for word in words) and time.monotonic() < until:
            Event().wait(0.02)
        assert not any(holds(tmp_path, word) for word in words)
        assert [hit.memory.content for hit in hive.recall("something")] == ["Something else."]
