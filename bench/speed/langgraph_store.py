"""LangGraph's store on SQLite, in a separate process: sqlite-vec cannot be loaded by two SQLite libraries in one
process.

    python -m bench.speed.langgraph_store FOLDER

FOLDER has texts as JSON lists and their vectors as arrays; ``bench.speed.peers`` puts them there. Says how many seconds
filling took, or, as text, why there is no store; then answers every line, a question as JSON, with how many were found.
"""

# LangGraph need not be installed.
# pyright: reportMissingImports=false

import json
import sqlite3
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench.speed.turns import LIMIT

UNIT = 1_000
"""Memories to a commit."""
NAMESPACE = ("memories",)


def filled(folder: Path) -> tuple[Any, float]:
    """Returns the store, and the seconds it took to fill. Its embedding function looks vectors up: no model is
    measured."""
    base, module = import_module("langgraph.store.base"), import_module("langgraph.store.sqlite")
    texts, vectors = _read(folder, "texts")
    questions = dict(zip(*_read(folder, "questions"), strict=True))
    began = perf_counter()
    known: dict[str, Any] = {}

    def embed(asked: Sequence[str]) -> list[Any]:
        return [questions[text] if text in questions else known[text] for text in asked]

    store = module.SqliteStore(_connection(folder / "langgraph.db"), index={"dims": vectors.shape[1], "embed": embed})
    store.setup()
    for at in range(0, len(texts), UNIT):
        unit = texts[at : at + UNIT]
        known = dict(zip(unit, vectors[at : at + UNIT], strict=True))
        store.batch(
            [base.PutOp(NAMESPACE, str(at + place), {"text": text}, ["text"]) for place, text in enumerate(unit)]
        )
    return store, perf_counter() - began


def _read(folder: Path, name: str) -> tuple[list[str], Any]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8")), np.load(folder / f"{name}.npy", "r")


def _connection(file: Path) -> Any:
    """Opens a connection like ``SqliteStore.from_conn_string``, with a library that loads extensions, unlike many
    Pythons."""
    able = hasattr(sqlite3.Connection, "enable_load_extension")
    library: Any = sqlite3 if able else import_module("pysqlite3")
    return library.connect(str(file), check_same_thread=False, isolation_level=None)


def main() -> None:
    try:
        store, seconds = filled(Path(sys.argv[1]))
    except ImportError as error:
        print(json.dumps(f"not installed ({error.name}): `make bench` does that"))
        return
    print(json.dumps(seconds), flush=True)
    for line in sys.stdin:
        print(len(store.search(NAMESPACE, query=json.loads(line), limit=LIMIT)), flush=True)


if __name__ == "__main__":
    main()
