"""kill -9 of a process that writes while its keyword index settles: every acknowledged memory is found by its words,
once, and settling goes on where it was."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import IO, Any

import numpy as np
import pytest

from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.keywords.postings.sql import SEARCHED
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.runtime.clock import SystemClock
from hivelore.search.tokenizer import query_terms
from hivelore.storage.ports import Transaction, View
from hivelore.storage.sqlite.store import SqliteStore
from support.crashing_settler import AT_ONCE, ONE_BY_ONE, SIZES, Place, Step
from support.memories import EVERYTHING

ROUNDS = 2
RANDOM_ROUNDS = 6
TESTS = Path(__file__).parents[1]
Found = Mapping[str, list[tuple[DocumentKey, float]]]


class Report:
    """The reports of a process until it was killed."""

    def __init__(self) -> None:
        self.kept: dict[MemoryId, str] = {}
        self.forgotten: set[MemoryId] = set()
        self.unsure: set[MemoryId] = set()
        self.reached = False

    def add(self, other: "Report") -> None:
        self.kept |= other.kept
        self.forgotten |= other.forgotten
        self.unsure |= other.unsure


class Program:
    """The program of ``support.crashing_settler``."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def killed(self, path: Path, number: int, step: Step, place: Place, *, nth: int = 1, after: int = 1_000) -> Report:
        """Lets a process live until it has reached the place this many times, has reported this much, or has
        nothing left to do; then kills it."""
        print(json.dumps([str(path), number, step, place, nth]), file=self._stdin, flush=True)
        report = Report()
        pid, enough, over = 0, False, False
        while not over:
            match self._heard():
                case ["pid", started]:
                    pid = started
                case ["kept", memory, content]:
                    report.kept[MemoryId(memory)] = content
                case ["forgetting", memory]:
                    report.unsure.add(MemoryId(memory))
                case ["forgotten", memory]:
                    report.forgotten.add(MemoryId(memory))
                case ["reached"]:
                    report.reached = enough = True
                case ["idle"]:
                    enough = True
                case other:
                    over = other == ["over"]
            after -= 1
            if pid and (enough or after <= 0):
                os.kill(pid, signal.SIGKILL)
                pid = 0
        return report

    def _heard(self) -> list[Any]:
        line = self._stdout.readline()
        assert line, "the program has ended"
        return json.loads(line)


@pytest.fixture(scope="module")
def program() -> Generator[Program]:
    command, pipe = [sys.executable, "-m", "support.crashing_settler"], subprocess.PIPE
    with subprocess.Popen(command, cwd=TESTS, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Program(process.stdin, process.stdout)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # Where the test failed, one may stand still for ever.


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("step", [step for step in Step if step is not Step.NONE])
def test_a_kill_at_any_step_of_settling_loses_nothing(
    program: Program, step: Step, place: Place, tmp_path: Path
) -> None:
    path, all_reports = tmp_path / "hivelore.db", Report()
    for number in range(ROUNDS):
        report = program.killed(path, number, step, place, nth=1 + number)
        assert report.reached
        all_reports.add(report)
        look(path, all_reports, settled=number % 2 == 1)
    look_at_all(path, all_reports)


@pytest.mark.parametrize("rounds", [RANDOM_ROUNDS, pytest.param(5 * RANDOM_ROUNDS, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_nothing(program: Program, rounds: int, tmp_path: Path) -> None:
    path, all_reports, chance = tmp_path / "hivelore.db", Report(), Random(7)
    for number in range(rounds):
        after = chance.randrange(AT_ONCE, AT_ONCE + ONE_BY_ONE)
        all_reports.add(program.killed(path, number, Step.NONE, Place.AFTER, after=after))
        look(path, all_reports, settled=number % 5 == 4)
    look_at_all(path, all_reports)


def look(path: Path, report: Report, *, settled: bool) -> None:
    """Checks what the next process finds, before compaction and, now and then, after it."""
    with closing(SqliteStore(path, clock=SystemClock(), durable=False)) as store:
        index = Postings(SIZES)
        look_for(store, index, report)
        if settled:
            settle(store, index)
            look_for(store, index, report)


def look_for(store: SqliteStore, index: Postings, report: Report) -> None:
    assert list(store.check()) == []
    with store.read() as view:
        assert repeated(view) == []
        for memory, content in report.kept.items():
            stored, found = view.get(memory), index.search(view, [marker_of(content)], EVERYTHING, 10)
            if memory in report.forgotten or (memory in report.unsure and stored is None):
                assert (stored, list(found)) == (None, [])
                continue
            assert stored is not None
            # An edit may be there though its answer did not get out any more.
            assert stored.memory.content.startswith(content)
            assert [one.document for one in found] == [stored.key]


def marker_of(content: str) -> str:
    (term,) = query_terms(content.split()[3])
    return term


def repeated(view: View) -> list[tuple[object, ...]]:
    """Chunks that are in two segments that are searched, and terms that a segment has twice for one chunk."""
    snapshot = sql.require_view(view)
    searched = [one for one in sql.read_segments(snapshot) if one.state == SEARCHED]
    slots = Counter(int(slot) for one in searched for slot in sql.read_rows(snapshot, one.key).slots)
    found: list[tuple[object, ...]] = [("slot", slot) for slot, count in slots.items() if count > 1]
    for term, segment, places, counts in snapshot.rows("SELECT term, segment, places, counts FROM posting"):
        held = np.frombuffer(places, "<u4")[np.frombuffer(counts, np.uint8) > 0]
        if len(np.unique(held)) != len(held):
            found.append((term, segment))
    return found


def settle(store: SqliteStore, index: Postings) -> None:
    """To the end, and everything that is to be wiped is."""
    while index.compact(store):
        pass
    while not is_tidy(store, index):
        store.write(index.purge_step)
    while index.compact(store):
        pass
    with store.read() as view:
        assert {one.state for one in sql.read_segments(sql.require_view(view))} == {SEARCHED}


def is_tidy(store: SqliteStore, index: Postings) -> bool:
    with store.read() as view:
        return index.is_purged(view)


def look_at_all(path: Path, report: Report) -> None:
    """In the end the index answers like a rebuilt one, and holds no word of forgotten memories."""
    with closing(SqliteStore(path, clock=SystemClock(), durable=False)) as store:
        index, terms = Postings(SIZES), [marker_of(content) for content in report.kept.values()]
        settle(store, index)
        for memory in report.forgotten:
            term = marker_of(report.kept[memory])
            with store.read() as view:
                assert sql.require_view(view).rows("SELECT 1 FROM posting WHERE term = :term", {"term": term}) == []
        before = answers(store, index, ["lantern", "hall", *terms])
        fresh = Postings(SIZES)
        store.write(lambda tx: index_anew(tx, fresh))
        assert before == answers(store, fresh, ["lantern", "hall", *terms])


def answers(store: SqliteStore, index: Postings, terms: list[str]) -> Found:
    with store.read() as view:
        return {
            term: [(one.document, one.score) for one in index.search(view, [term], EVERYTHING, 1_000)] for term in terms
        }


def index_anew(tx: Transaction, index: Postings) -> None:
    index.clear(tx)
    for key, memory in tx.memories_of(tx.matching_keys(EVERYTHING), EVERYTHING).items():
        IndexWriter(index).index_all(tx, [Stored(key, memory)])
