"""A process that stores and embeds is killed: acknowledged memories are embedded later, each passage once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel, EmbeddingModel
from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.vectors.scan import ScanVectors
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import PassageKey, StoredChunk
from hivelore.runtime.clock import SystemClock
from hivelore.search.tokenizer import query_terms
from hivelore.storage.ports import MemoryStore
from hivelore.storage.sqlite.connection import connect, rows
from hivelore.storage.sqlite.store import SqliteStore
from support.crashing_embedder import AT_ONCE, BATCH, Point, embedder, texts
from support.memories import EVERYTHING

ROUNDS = 6
"""Each of another length; `make soak` makes more."""
TESTS = Path(__file__).parents[1]


class Program:
    """The program of ``support.crashing_embedder`` on one database."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def killed(self, number: int, point: Point, batches: int) -> dict[MemoryId, str]:
        """Let a process live until it has reached the point, kill it, and tell what it had acknowledged."""
        print(number, point, batches, file=self._stdin, flush=True)
        kept: dict[MemoryId, str] = {}
        pid, reached, gone = 0, False, False
        # It goes on writing while its embedding thread stands still: now and then it gets some further.
        enough = AT_ONCE + number % 6
        while not gone:
            match self._heard():
                case ["pid", stated]:
                    pid = stated
                case ["kept", memory, content]:
                    kept[MemoryId(memory)] = content
                    enough -= 1
                case ["reached"]:
                    reached = True
                case other:
                    gone = other == ["gone"]
            if pid and reached and enough <= 0:
                os.kill(pid, signal.SIGKILL)
                pid = 0
        return kept

    def _heard(self) -> list[Any]:
        line = self._stdout.readline()
        assert line, "the program has ended"
        return json.loads(line)


@contextmanager
def program(path: Path) -> Generator[Program]:
    command, pipe = [sys.executable, "-m", "support.crashing_embedder", str(path)], subprocess.PIPE
    with subprocess.Popen(command, cwd=TESTS, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Program(process.stdin, process.stdout)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # Where the test failed, one may stand still for ever.


@pytest.mark.parametrize("point", Point)
@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(5 * ROUNDS, marks=pytest.mark.slow)])
def test_memories_acknowledged_before_a_kill_are_embedded_after_it(point: Point, rounds: int, tmp_path: Path) -> None:
    path = tmp_path / "hivelore.db"
    kept: dict[MemoryId, str] = {}
    before = 0
    with program(path) as running:
        for number in range(rounds):
            # One batch is always left, and none or one was finished: a round has three and more.
            begun = number % 2 + (point is not Point.LOOKING)
            finished = begun if point in (Point.LOOKING, Point.WRITTEN) else begun - 1
            new = running.killed(number, point, begun)
            kept |= new
            with closing(SqliteStore(path, clock=SystemClock())) as store:
                # The edit takes one vector away, where it came this far and its note had one.
                assert before + finished * BATCH - count_of_vectors(path) in (0, 1)
                embed_all(store)
                look_at(store, kept if number == rounds - 1 else new)
                look_for(store, texts(number)[1:AT_ONCE:3])
            before = count_of_vectors(path)
            assert before == len(numbers(path, "SELECT key FROM passage"))


def embed_all(store: MemoryStore) -> None:
    """Runs the next process, without any request."""
    provider = embedder()
    active_model = ActiveModel(EmbeddingModel(provider, ScanVectors(provider.fingerprint, provider.dimension)))
    embedding = EmbeddingQueue(store, active_model, SystemClock())
    while embedding.step():
        pass
    assert embedding.pending() == 0
    assert embedding.last_error is None


def look_at(store: MemoryStore, kept: dict[MemoryId, str]) -> None:
    """All of it is there, and each passage has the vector that its words have."""
    assert list(store.check()) == []
    with store.read() as view:
        model = view.model_key(embedder().fingerprint)
        assert model is not None
        assert view.stats(EVERYTHING, model, SystemClock().now()).failed == 0
        for memory, content in kept.items():
            stored = view.get(memory)
            assert stored is not None
            # The edit may be there though its answer did not get out any more.
            assert stored.memory.content.startswith(content)
            spoken = words(view.chunks(stored.key), stored.memory.content)
            found = view.vectors(model, list(spoken))
            assert found.keys() == spoken.keys()
            expected = embedder().embed_documents(list(spoken.values()))
            np.testing.assert_array_equal([found[passage] for passage in spoken], expected)


def words(chunks: Sequence[StoredChunk], content: str) -> dict[PassageKey, Clean]:
    return {
        key: Clean(content[passage.start : passage.stop])
        for stored in chunks
        for key, passage in zip(stored.passages, stored.chunk.passages, strict=True)
    }


def look_for(store: MemoryStore, contents: Sequence[str]) -> None:
    """Each is found by meaning and by keywords."""
    provider = embedder()
    index = ScanVectors(provider.fingerprint, provider.dimension)
    with store.read() as view:
        index.build(view)
        for content in contents:
            (near,) = index.nearest(view, provider.embed_query(Clean(content)), EVERYTHING, 1).nearest
            (match,) = Postings().search(view, query_terms(content), EVERYTHING, 1)
            assert near.cosine == pytest.approx(1.0)
            assert near.document == match.document
            (memory,) = view.memories_of([near.document], EVERYTHING).values()
            assert memory.content == content


def count_of_vectors(path: Path) -> int:
    """Whosever they are, also of passages that are gone."""
    return len(numbers(path, "SELECT passage FROM vector"))


def numbers(path: Path, statement: str) -> list[int]:
    with closing(connect(path)) as connection:
        return [row[0] for row in rows(connection, statement)]
