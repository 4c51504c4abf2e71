"""A program whose processes remember, edit and forget while the keyword index settles, until they halt at a
named point to be killed.

``python -m support.crashing_settler`` imports everything once. For each JSON line ``[path, number, step, place, nth]``
on its stdin it forks a process that writes the notes of this round next to the upkeep of a service, which stops
when it has reached this place of this step this many times. On stdout, as JSON lines: ``["pid", pid]``,
``["kept", id, content]`` and ``["forgotten", id]`` after that was acknowledged, ``["forgetting", id]`` before,
``["reached"]``, ``["idle"]`` where nothing is left to do, and ``["over"]`` after the process has ended.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import TypeVar

from hivelore.changes.journal import ChangeJournal
from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.ids import batch_id, memory_id, proposal_id
from hivelore.core.redaction import Redactor
from hivelore.indexes.keywords.postings.compaction import Begin, Compaction, Fill, Sizes, SwitchOn, Work
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.keywords.postings.sql import Segment
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance import housekeeper
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Lifetimes, Memory
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.service import MemoryService
from hivelore.review.proposals import ProposalQueue
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.storage.sql.view import SqlView
from hivelore.storage.sqlite.store import SqliteStore

T = TypeVar("T")

SIZES = Sizes(newest=3, segment=6, alike=2, postings=8)
"""Small, so that few notes make many steps of every kind."""
AT_ONCE = 8
ONE_BY_ONE = 16
AS_ADA = Viewer(role=Role.WORKER, agent=AgentId("ada"), interface=Interface.PYTHON)
_TENDING = "tending"


class Step(StrEnum):
    """The kind of work that upkeep does."""

    BEGIN = "Begin"
    FILL = "Fill"
    SWITCH_ON = "SwitchOn"
    BEGIN_MERGE = "Begin, merging"
    FILL_MERGE = "Fill, merging"
    SWITCH_ON_MERGE = "SwitchOn, merging"
    EMPTY = "Empty"
    SWEEP = "Sweep"
    WIPE = "Wipe"
    NONE = "none"
    """Nowhere: the killer chooses the moment."""


class Place(StrEnum):
    BEFORE = "before"
    """The changes to write are prepared."""
    INSIDE = "inside"
    """It is written and not yet committed."""
    AFTER = "after"
    """It is committed and nobody knows yet."""


def marker(number: int, note: int) -> str:
    """A word that only this note of this round has."""
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}{note:03}") + "k"


def text(number: int, note: int) -> str:
    return f"The lantern marked {marker(number, note)} hangs in hall {note % 5} of house {number % 3}."


class Halt:
    """The point at which upkeep stops."""

    def __init__(self, step: Step, place: Place, nth: int) -> None:
        self.step = Step.WIPE
        """The one it is at."""
        self._wanted, self._place, self._left = step, place, nth

    def at(self, place: Place, step: Step) -> None:
        if (step, place) == (self._wanted, self._place):
            self._left -= 1
            if self._left == 0:
                say("reached")
                Event().wait()


class HaltingStore(SqliteStore):
    def __init__(self, path: Path, halt: Halt) -> None:
        self._halt = halt
        # What a process has written outlives it without a sync; what outlives a power cut is another test's.
        super().__init__(path, clock=SystemClock(), durable=False)

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        if current_thread().name != _TENDING:
            return super().write(work, deadline)
        step = self._halt.step

        def halting(tx: Transaction) -> T:
            done = work(tx)
            self._halt.at(Place.INSIDE, step)
            return done

        self._halt.at(Place.BEFORE, step)
        done = super().write(halting, deadline)
        self._halt.at(Place.AFTER, step)
        return done


class HaltingCompaction(Compaction):
    """Reports the next step."""

    def __init__(self, sizes: Sizes, halt: Halt) -> None:
        super().__init__(sizes)
        self._halt = halt

    def _next(self, view: SqlView) -> Work | None:
        work = super()._next(view)
        match work:
            case None:
                self._halt.step = Step.WIPE
            case Begin(sources=(_, *_)) | Fill(segment=Segment(sources=(_, *_))) | SwitchOn(Segment(sources=(_, *_))):
                self._halt.step = Step(f"{type(work).__name__}, merging")
            case _:
                self._halt.step = Step(type(work).__name__)
        return work

    def step(self, store: MemoryStore) -> bool:
        did_something = super().step(store)
        self._halt.step = Step.WIPE  # All other writes of upkeep.
        return did_something


class NamingPostings(Postings):
    def __init__(self, halt: Halt) -> None:
        super().__init__(SIZES)
        self._compaction = HaltingCompaction(SIZES, halt)


def say(*words: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(words).encode() + b"\n")


def live(path: Path, number: int, halt: Halt) -> None:
    """Write the notes of a round while upkeep goes on, until killed."""
    clock, lifetimes, keywords = SystemClock(), Lifetimes(), NamingPostings(halt)
    store = HaltingStore(path, halt)
    memory_service = MemoryService(
        store=store,
        index_writer=IndexWriter(keywords),
        normalizer=Normalizer(Redactor(b"a key for tests only"), lifetimes, clock, memory_id),
        proposal_queue=ProposalQueue(clock, proposal_id),
        journal=ChangeJournal(store, clock, batch_id, timedelta(days=7)),
        lifetimes=lifetimes,
        lead_sees=LeadSees.ALL,
        clock=clock,
        written=lambda _viewer, _memories: None,
    )
    begun, written = Event(), Event()

    def tend() -> None:
        house = Housekeeper(store, keywords, clock)
        begun.wait()  # Upkeep writes of itself too: a kill there, with nothing kept, would show nothing.
        while True:
            last = written.is_set()
            house.run_step()
            with store.read() as view:
                tidy = keywords.is_purged(view)
            if last and tidy and not keywords.compact(store):
                say("idle")
                Event().wait()

    Thread(target=tend, name=_TENDING, daemon=True).start()
    write(memory_service, number, begun)
    written.set()
    Event().wait()


def write(memory_service: MemoryService, number: int, begun: Event) -> None:
    def tell(memory: Memory) -> None:
        say("kept", memory.id, memory.content)

    first = memory_service.remember_many([Draft(content=text(number, note)) for note in range(AT_ONCE)], AS_ADA)
    for one in first:
        tell(one.memory)
    begun.set()
    for note in range(AT_ONCE, AT_ONCE + ONE_BY_ONE):
        tell(memory_service.remember(Draft(content=text(number, note)), AS_ADA).memory)
        if note % 8 == 0:
            doomed = first[note // 4].memory.id
            say("forgetting", doomed)
            memory_service.forget(doomed, AS_ADA)
            say("forgotten", doomed)
        if note in (9, 13):
            older = first[note % AT_ONCE].memory
            tell(memory_service.edit(older.id, Edit(content=f"{older.content} It was repaired {note}."), AS_ADA))


def main() -> None:
    housekeeper.PURGE_REST_FACTOR = 0.0
    for line in sys.stdin:
        path, number, step, place, nth = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                live(Path(path), number, Halt(Step(step), Place(place), nth))
            finally:
                os._exit(1)
        say("pid", pid)
        os.waitpid(pid, 0)
        say("over")


if __name__ == "__main__":
    main()
