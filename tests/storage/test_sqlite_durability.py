"""Acknowledged writes of the SQLite store survive a power cut and kill -9, although writes share their syncs."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from hivelore.memories.model import MemoryId
from hivelore.runtime.clock import SystemClock
from hivelore.storage.sqlite import store as sqlite_store
from hivelore.storage.sqlite.store import SqliteStore
from support.memories import EVERYTHING, a_memory
from support.stores import add
from support.vfs import Deed, Disk, Kind

CLIENTS = 8
WRITES_EACH = 25
CUTS = 12
TESTS = Path(__file__).parents[1]


@dataclass
class Run:
    """Eight clients wrote to a disk. ``acknowledged``: what each write was and how many steps the disk had done
    when its answer was there."""

    disk: Disk
    before: int
    """The steps that opening took."""
    syncs: int
    acknowledged: list[tuple[MemoryId, int]]


def nothing() -> None:
    """Does nothing halfway, the default."""


def run(folder: Path, disk: Disk, halfway: Callable[[], None] = nothing) -> Run:
    """Let every client write one after the other, all of them at once, and count."""
    with closing(SqliteStore(folder / "hivelore.db", clock=SystemClock(), readers=1, vfs=disk.name)) as store:
        before, syncs = len(disk.steps), disk.syncs()

        def client(_: int) -> list[tuple[MemoryId, int]]:
            stored: list[tuple[MemoryId, int]] = []
            for number in range(WRITES_EACH):
                if number == WRITES_EACH // 2:
                    halfway()
                memory = add(store, a_memory("Nobody reads the log. " * 20)).memory
                stored.append((memory.id, len(disk.steps)))
            return stored

        with ThreadPoolExecutor(CLIENTS) as clients:
            acknowledged = [one for stored in clients.map(client, range(CLIENTS)) for one in stored]
        return Run(disk, before, disk.syncs() - syncs, acknowledged)


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A run in which the log is copied into the file, and cut, at least once and likely often."""
    monkeypatch.setattr(sqlite_store, "CHECKPOINT_EVERY", 0.002)
    monkeypatch.setattr(sqlite_store, "SMALL_LOG", 0)
    monkeypatch.setattr(sqlite_store, "LOG_STEP", 0)
    disk = Disk()
    yield run(tmp_path, disk, lambda: disk.wait_until(lambda: disk.count[Deed.CUT, Kind.LOG] > 0))
    disk.unregister()


def ids_after_reopening(folder: Path, files: dict[str, bytes]) -> set[MemoryId]:
    """Opens the remaining files as a new store, checks that it is sound and writable, and returns its contents."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with closing(SqliteStore(folder / "hivelore.db", clock=SystemClock(), readers=1)) as store:
        assert list(store.check()) == []
        added = add(store, a_memory())
        with store.read() as view:
            return {memory.id for memory in view.page(EVERYTHING, None, 10_000)} - {added.memory.id}


def test_writes_of_several_clients_share_their_syncs(tmp_path: Path) -> None:
    disk = Disk(latency=0.003)
    done = run(tmp_path, disk)
    disk.unregister()
    assert len(done.acknowledged) == CLIENTS * WRITES_EACH
    assert done.syncs < len(done.acknowledged) / 3


def test_the_run_reaches_every_part_of_the_log_s_life(busy: Run) -> None:
    happened = {(step.deed, step.kind) for step in busy.disk.steps[busy.before :]}
    assert {(Deed.SYNC, Kind.LOG), (Deed.SYNC, Kind.DATABASE), (Deed.CUT, Kind.LOG)} <= happened


def test_acknowledged_writes_survive_a_power_cut(tmp_path: Path, busy: Run) -> None:
    # Right after an answer is when nothing but the sync before it can have saved the write.
    chance = Random(20_260_301)
    written = {memory for memory, _ in busy.acknowledged}
    for number, (_, at) in enumerate(chance.sample(busy.acknowledged, CUTS)):
        found = ids_after_reopening(tmp_path / str(number), dict(busy.disk.after_power_cut(at, chance)))
        assert {memory for memory, when in busy.acknowledged if when <= at} <= found <= written


def test_a_power_cut_while_the_store_is_made_leaves_one_that_can_be_made(tmp_path: Path) -> None:
    disk = Disk()
    SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), vfs=disk.name).close()
    chance = Random(7)
    for at in sorted(chance.sample(range(len(disk.steps)), CUTS)):
        assert ids_after_reopening(tmp_path / str(at), dict(disk.after_power_cut(at, chance))) == set()
    disk.unregister()


def test_acknowledged_writes_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "hivelore.db"
    acknowledged: set[str] = set()
    for enough in (1, 60, 200):
        acknowledged |= killed_writer(path, enough)
        with closing(SqliteStore(path, clock=SystemClock())) as store, store.read() as view:
            assert acknowledged <= {memory.id for memory in view.page(EVERYTHING, None, 10_000)}
            assert list(store.check()) == []


def killed_writer(path: Path, enough: int) -> set[str]:
    """Starts a writer, kills it after a number of acknowledged writes, and returns the ids of all acknowledged ones."""
    command = [sys.executable, "-m", "support.endless_writer", str(path)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [line for line, _ in zip(child.stdout, range(enough), strict=False)]
        child.kill()
        lines += child.stdout.readlines()
    assert len(lines) >= enough
    return {line.strip() for line in lines if line.endswith("\n")}
