"""A program whose processes remember and embed until they halt at a named point to be killed.

``python -m support.crashing_embedder FOLDER`` imports everything once. For each line ``number point batches`` on its
stdin it forks a process that writes the notes of this round next to the embedding thread, which stops at the
point when it has begun this many batches. On stdout, as JSON lines: ``["pid", pid]``, ``["kept", id, content]`` for
every memory after it was acknowledged, ``["reached"]``, and ``["gone"]`` after the process has ended.
"""

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from typing import TypeVar

from hivelore.changes.journal import ChangeJournal
from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.ids import batch_id, memory_id, proposal_id
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.embeddings import queue
from hivelore.embeddings.active_model import ActiveModel, EmbeddingModel
from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexing.model import Vector
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Lifetimes, Memory
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.service import MemoryService
from hivelore.review.proposals import ProposalQueue
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Visibility
from hivelore.storage.ports import Transaction, View
from hivelore.storage.sqlite.store import SqliteStore
from support.hashing_embedder import HashingEmbedder

T = TypeVar("T")

BATCH = 8
"""Small, so that few notes make several batches."""
AT_ONCE = 3 * BATCH
"""Notes of a round that are written before embedding begins; more follow one by one."""
ONE_BY_ONE = 4
AS_ADA = Viewer(role=Role.WORKER, agent=AgentId("ada"), interface=Interface.PYTHON)


class Point(StrEnum):
    LOOKING = "looking"
    """Before the next batch is taken."""
    EMBEDDING = "embedding"
    """The batch is with the provider."""
    WRITING = "writing"
    """The vectors are there and not yet stored."""
    WRITTEN = "written"
    """The vectors are stored and nobody has looked at the queue again."""


def embedder() -> HashingEmbedder:
    return HashingEmbedder(64)


def texts(number: int) -> list[str]:
    """The notes of a round, no two alike in any round; the last one of several passages."""
    notes = [f"The lantern marked r{number}n{note} hangs in hall {note}." for note in range(AT_ONCE + ONE_BY_ONE)]
    return [*notes[:-1], " ".join(f"Part {part} of the long story r{number}p{part} begins." for part in range(40))]


class Halt:
    """The point at which the embedding thread stops."""

    def __init__(self, point: Point, batches: int) -> None:
        self.batches = 0
        self._point = point
        self._wanted = batches

    def at(self, point: Point) -> None:
        if point is self._point and self.batches == self._wanted and current_thread() is not main_thread():
            say("reached")
            Event().wait()


class HaltingStore(SqliteStore):
    """After the start of a batch the embedding thread writes only vectors."""

    def __init__(self, path: Path, halt: Halt) -> None:
        self._halt = halt
        super().__init__(path, clock=SystemClock())

    @contextmanager
    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> Generator[View]:
        self._halt.at(Point.LOOKING)
        with super().read(deadline, sees=sees) as view:
            yield view

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        self._halt.at(Point.WRITING)
        done = super().write(work, deadline)
        self._halt.at(Point.WRITTEN)
        return done


class HaltingEmbedder(HashingEmbedder):
    def __init__(self, halt: Halt) -> None:
        super().__init__(embedder().dimension)
        self._halt = halt

    def embed_documents(self, texts: Sequence[Clean]) -> list[Vector]:
        self._halt.batches += 1
        self._halt.at(Point.EMBEDDING)
        return super().embed_documents(texts)


def say(*words: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(words).encode() + b"\n")


def live(path: Path, number: int, halt: Halt) -> None:
    """Write the notes of a round and embed them, until killed."""
    clock = SystemClock()
    store = HaltingStore(path, halt)
    provider = HaltingEmbedder(halt)
    active_model = ActiveModel(EmbeddingModel(provider, ExactVectors(provider.fingerprint, provider.dimension)))
    embedding = EmbeddingQueue(store, active_model, clock)
    lifetimes = Lifetimes()
    memory_service = MemoryService(
        store=store,
        index_writer=IndexWriter(Postings()),
        normalizer=Normalizer(Redactor(b"a key for tests only"), lifetimes, clock, memory_id),
        proposal_queue=ProposalQueue(clock, proposal_id),
        journal=ChangeJournal(store, clock, batch_id, timedelta(days=7)),
        lifetimes=lifetimes,
        lead_sees=LeadSees.ALL,
        clock=clock,
        written=embedding.note_written,
    )

    def tell(memory: Memory) -> None:
        say("kept", memory.id, memory.content)

    drafts = [Draft(content=text) for text in texts(number)]
    first = memory_service.remember_many(drafts[:AT_ONCE], AS_ADA)
    for one in first:
        tell(one.memory)
    Thread(target=embedding.run, args=(Event(), 60.0)).start()
    for draft in drafts[AT_ONCE:]:
        tell(memory_service.remember(draft, AS_ADA).memory)
    # Of a note that the first batch may hold just now.
    oldest = first[0].memory
    tell(memory_service.edit(oldest.id, Edit(content=f"{oldest.content} It was repaired."), AS_ADA))
    Event().wait()


def main(path: Path) -> None:
    queue.BATCH, queue.NEWEST = BATCH, BATCH // 4
    for line in sys.stdin:
        number, point, batches = line.split()
        pid = os.fork()
        if pid == 0:
            live(path, int(number), Halt(Point(point), int(batches)))
        say("pid", pid)
        os.waitpid(pid, 0)
        say("gone")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
