"""Memory by step: ``python -m bench.stages HOME`` loads the service step by step, with a line of JSON for each.

Everything is imported where it is needed, so that each step is counted separately.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from bench.running import memory


def steps(home: Path) -> Iterator[str]:
    yield "Python with the standard library"
    import_module("hivelore.http.server")
    yield "everything imported (numpy, ONNX Runtime, Starlette, MCP, SQLite, ...)"
    from hivelore.core.text import Clean
    from hivelore.models.onnx.provider import OnnxEmbedder

    embedder = OnnxEmbedder()
    yield "embedding model loaded"
    embedder.embed_query(Clean("What does the first question take?"))
    yield "first query embedded"
    from hivelore.runtime.clock import SystemClock
    from hivelore.storage.sqlite.store import SqliteStore

    store = SqliteStore(home / "hivelore.db", clock=SystemClock())
    yield "store open"
    from hivelore.indexes.vectors.scan import ScanVectors

    index = ScanVectors(embedder.fingerprint, embedder.dimension)
    with store.read() as view:
        index.build(view)
    yield f"vector index of {index.count:,} passages"
    store.close()


def main() -> None:
    for name in steps(Path(sys.argv[1])):
        print(json.dumps([name, memory()]), flush=True)


if __name__ == "__main__":
    main()
