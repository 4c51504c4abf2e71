"""Other engines on the same texts and vectors: plain engines, and LangGraph's store on SQLite."""

# apsw's types name a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import apsw
import numpy as np
import sqlite_vec

from bench.material import ROOT
from bench.quality.baselines import any_word
from bench.running import environment
from bench.speed.turns import LIMIT, Ask
from hivelore.core.vectors import to_blob
from hivelore.indexing.model import Vector

FTS5, NUMPY, SQLITE_VEC, LANGGRAPH = "plain FTS5", "numpy float32", "sqlite-vec", "LangGraph `SqliteStore`"
UNIT = 1_000
"""Rows to a commit."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Peer:
    """A search function, and the seconds that filling took; ``ask`` None: unavailable, for the given reason."""

    ask: Ask | None
    filling: float = 0.0
    why_not: str = ""


def opened(
    stack: ExitStack, folder: Path, texts: Iterable[str], vectors: Vector, questions: Mapping[str, Vector]
) -> dict[str, Peer]:
    """Opens all engines, filled with texts and vectors, and closes them with the stack. ``questions`` have vectors
    too."""
    held = list(texts)
    return {
        NUMPY: Peer(lambda text: nearest(vectors, questions[text])),
        SQLITE_VEC: _sqlite_vec(stack, folder / "vec.db", vectors, questions),
        FTS5: _fts5(stack, folder / "fts5.db", held),
        LANGGRAPH: _langgraph(stack, folder, held, vectors, questions),
    }


def nearest(vectors: Vector, query: Vector) -> object:
    scores = vectors @ query
    return np.argpartition(scores, max(0, len(scores) - LIMIT))[-LIMIT:]


def _fts5(stack: ExitStack, file: Path, texts: Sequence[str]) -> Peer:
    began = perf_counter()
    connection = _connected(stack, file, "CREATE VIRTUAL TABLE note USING fts5(text, tokenize='porter unicode61')")
    for unit in _units(texts):
        with connection:
            connection.executemany("INSERT INTO note VALUES (?)", ((text,) for text in unit))
    sql = "SELECT text FROM note WHERE note MATCH ? ORDER BY bm25(note) LIMIT ?"
    return Peer(lambda text: list(connection.execute(sql, (any_word(text), LIMIT))), perf_counter() - began)


def _sqlite_vec(stack: ExitStack, file: Path, vectors: Vector, questions: Mapping[str, Vector]) -> Peer:
    began = perf_counter()
    table = f"CREATE VIRTUAL TABLE note USING vec0(vector float[{vectors.shape[1]}] distance_metric=cosine)"
    connection = _connected(stack, file, table)
    for unit in _units(vectors):
        with connection:
            connection.executemany("INSERT INTO note (vector) VALUES (?)", ((to_blob(vector),) for vector in unit))
    sql = "SELECT rowid, distance FROM note WHERE vector MATCH ? AND k = ?"
    return Peer(lambda text: list(connection.execute(sql, (to_blob(questions[text]), LIMIT))), perf_counter() - began)


def _connected(stack: ExitStack, file: Path, table: str) -> apsw.Connection:
    connection = apsw.Connection(str(file))
    stack.callback(connection.close)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.pragma("journal_mode", "WAL")
    list(connection.execute(table))
    return connection


def _langgraph(
    stack: ExitStack, folder: Path, texts: Sequence[str], vectors: Vector, questions: Mapping[str, Vector]
) -> Peer:
    given = {"texts": (texts, vectors), "questions": (list(questions), np.array(list(questions.values())))}
    for name, (said, array) in given.items():
        (folder / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")
        np.save(folder / f"{name}.npy", array)
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "bench.speed.langgraph_store", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(folder, LANGSMITH_TRACING="false"),
        )
    )
    assert process.stdin is not None
    assert process.stdout is not None
    questioned, answers = process.stdin, process.stdout

    def ask(text: str) -> str:
        """Sends a query to the process; the round trip takes less than 0.1 ms."""
        questioned.write(json.dumps(text) + "\n")
        questioned.flush()
        return answers.readline()

    said = json.loads(answers.readline())
    return Peer(None, why_not=said) if isinstance(said, str) else Peer(ask, said)


def _units(rows: Iterable[T]) -> Iterator[list[T]]:
    left = iter(rows)
    while unit := list(islice(left, UNIT)):
        yield unit
