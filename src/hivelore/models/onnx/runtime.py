"""ONNX Runtime as we use it: on the thread that asks, in little memory, raising our errors."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hivelore.errors import Broken, Unavailable
from hivelore.indexing.model import Vector

# By itself it keeps a number for this device in the user's folders, and reports what is done with it.
os.putenv("ORT_DISABLE_TELEMETRY", "1")
onnxruntime: Any = import_module("onnxruntime")  # has no types: what we use of it stands in Session

native: dict[str, Any] = onnxruntime.capi.onnxruntime_pybind11_state.__dict__
# Their only common base is Exception.
FAULTS = tuple(kind for kind in native.values() if isinstance(kind, type) and issubclass(kind, Exception))
FATAL = 4
EMBEDDING = "embedding model"

Tokens = NDArray[np.int64]
"""One text, as the numbers of its word pieces."""


class Session(Protocol):
    """A graph that is loaded."""

    def run(self, outputs: Sequence[str], inputs: dict[str, Tokens], /) -> Sequence[NDArray[np.float32]]: ...


class Model:
    """A graph that scripts/build_model.py has built; safe from many threads, and starts none."""

    def __init__(self, graph: Path) -> None:
        """Raises Broken where ONNX Runtime cannot load it."""
        self._session = loaded(graph, EMBEDDING)

    def vectors(self, tokens: Tokens) -> tuple[Vector, Vector]:
        """The unit vector of one text, and those of its tokens, (n, dimension), of any length. Raises Unavailable."""
        vectors, of_tokens = asked(self._session, EMBEDDING, ["vector", "tokens"], ids=tokens)
        return vectors[0], of_tokens[0]


def loaded(graph: Path, name: str) -> Session:
    """``name``: for people. Raises Broken where ONNX Runtime cannot load it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # An arena saves a twentieth of the time, and keeps what the longest texts needed, once for each thread.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = FATAL  # all else is raised as well
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except FAULTS as error:
        raise Broken(
            f"ONNX Runtime {onnxruntime.__version__} cannot load the {name}: {error}. Reinstall both:"
            " pip install --force-reinstall hivelore onnxruntime"
        ) from error


def asked(session: Session, name: str, outputs: Sequence[str], **inputs: Tokens) -> Sequence[NDArray[np.float32]]:
    """Of one text. Raises Unavailable."""
    try:
        return session.run(outputs, {name: tokens[np.newaxis] for name, tokens in inputs.items()})
    except FAULTS as error:
        raise Unavailable(f"The {name} failed: {error}") from error
