"""ONNX Runtime, configured to run on the calling thread in little memory, with errors translated."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hivelore.errors import Broken, Unavailable
from hivelore.indexing.model import Vector

# By default it stores a device id in the user's folders and reports usage.
os.putenv("ORT_DISABLE_TELEMETRY", "1")
onnxruntime: Any = import_module("onnxruntime")  # It has no types; ``Session`` declares what we use.

native: dict[str, Any] = onnxruntime.capi.onnxruntime_pybind11_state.__dict__
# Their only common base is Exception.
FAULTS = tuple(kind for kind in native.values() if isinstance(kind, type) and issubclass(kind, Exception))
FATAL = 4
EMBEDDING = "embedding model"

Tokens = NDArray[np.int64]
"""One text as the ids of its word pieces."""


class Session(Protocol):
    """A loaded graph."""

    def run(self, outputs: Sequence[str], inputs: dict[str, Tokens], /) -> Sequence[NDArray[np.float32]]: ...


class Model:
    """The embedding model built by scripts/build_model.py. Thread-safe; starts no threads."""

    def __init__(self, graph: Path) -> None:
        """Raises Broken if ONNX Runtime cannot load it."""
        self._session = load_graph(graph, EMBEDDING)

    def vectors(self, tokens: Tokens) -> tuple[Vector, Vector]:
        """Returns the unit vector of a text, and the vectors (n, dimension) of its tokens, which have any length.
        Raises Unavailable."""
        vectors, of_tokens = run_graph(self._session, EMBEDDING, ["vector", "tokens"], ids=tokens)
        return vectors[0], of_tokens[0]


def load_graph(graph: Path, name: str) -> Session:
    """Loads a graph; ``name`` is used in messages. Raises Broken if ONNX Runtime cannot load it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # An arena saves 5 % of the time, but keeps the memory of the longest text for each thread.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = FATAL  # Other errors are raised anyway.
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except FAULTS as error:
        raise Broken(
            f"ONNX Runtime {onnxruntime.__version__} cannot load the {name}: {error}. Reinstall both:"
            " pip install --force-reinstall hivelore onnxruntime"
        ) from error


def run_graph(session: Session, name: str, outputs: Sequence[str], **inputs: Tokens) -> Sequence[NDArray[np.float32]]:
    """Runs a graph for one text. Raises Unavailable."""
    try:
        return session.run(outputs, {name: tokens[np.newaxis] for name, tokens in inputs.items()})
    except FAULTS as error:
        raise Unavailable(f"The {name} failed: {error}") from error
