"""The temporary SQLite store, which HIVELORE_DATABASE=memory: chooses."""

import tempfile
from pathlib import Path

import pytest

from hivelore.storage.sqlite.store import TemporarySqliteStore
from support.clocks import FixedClock
from support.memories import a_memory
from support.stores import add, listed


def test_a_temporary_store_is_private_and_deleted_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = TemporarySqliteStore(clock=FixedClock())
    memory = add(store, a_memory()).memory
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert listed(store) == [memory]
    store.close()
    store.close()
    assert not list(tmp_path.iterdir())
