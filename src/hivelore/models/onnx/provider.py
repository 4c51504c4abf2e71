"""Embeddings from the model that ships with Hivelore: no network, no key, no GPU.

ONNX Runtime runs on the calling thread in little memory, and its errors are translated.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hivelore.core.text import Clean
from hivelore.errors import Broken, Invalid, Unavailable
from hivelore.indexing.model import (
    QueryTokens,
    TextEmbedding,
    TokenCodes,
    Vector,
)
from hivelore.search.ranking import encode_tokens

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


Places = NDArray[np.intp]


class Directions:
    def __init__(self, file: Path) -> None:
        """``file`` is written by scripts/build_tokens.py."""
        with np.load(file) as arrays:
            self._mean: Vector = arrays["mean"]
            self._basis: Vector = arrays["basis"]
            self._uninformative = np.unpackbits(arrays["silent"]).astype(np.bool_)

    def informative(self, tokens: Tokens) -> Places:
        """Returns the positions of informative tokens, each at its first occurrence; if there are none, of all tokens.

        The marks at both ends of the text are left out."""
        _, first = np.unique(tokens[1:-1], return_index=True)
        first = np.sort(first + 1)
        informative = first[~self._uninformative[tokens[first]]]
        return informative if len(informative) else first

    def codes(self, vectors: Vector) -> TokenCodes:
        """Encodes token vectors of the model, (n, dimension)."""
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return encode_tokens((units - self._mean) @ self._basis)


FILES = ("model.onnx", "tokenizer.json", "tokens.npz")
CACHED_QUERIES = 1_024
MOST_CHARACTERS = 25_600
"""At least what the model reads: 256 words, each of up to 100 characters."""
UNKNOWN = "[UNK]"
CONTINUED = "##"


class OnnxEmbedder:
    """Implements ``models.ports.EmbeddingProvider`` and ``TokenEmbedder`` on the CPU. Thread-safe.

    Texts are embedded one at a time. In a batch, padding and a common scale would make a vector depend on its
    neighbours, and for passages of usual length a batch is no faster.
    """

    def __init__(self, folder: Path | None = None, *, threads: int = 1) -> None:
        """``folder`` is written by scripts/build_model.py; None: the one in this package. ``threads`` is the number of
        documents embedded concurrently; a query is embedded on the calling thread.

        Loading takes about 0.1 s. Raises Broken if a file is missing or damaged.
        """
        if threads < 1:
            raise Invalid("The embedder needs at least 1 thread.", field="threads")
        folder = folder or Path(str(files("hivelore.models.onnx"))) / "model"
        try:
            description = json.loads((folder / "model.json").read_bytes())
            self._fingerprint = str(description["fingerprint"])
            self._dimension = int(description["dimension"])
            graph, tokenizer, tokens = (intact(folder / name, description["sha256"][name]) for name in FILES)
            self._tokenizer = Tokenizer.from_str(tokenizer.read_text("utf-8"))
            self._unknown = self._tokenizer.token_to_id(UNKNOWN)
            self._directions = Directions(tokens)
            self._model = Model(graph)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise Broken(
                f"The embedding model that ships with Hivelore is damaged: {error}. Reinstall it:"
                " pip install --force-reinstall --no-deps hivelore"
            ) from error
        self._threads = threads
        self._query = lru_cache(CACHED_QUERIES)(self._read_only_embedding)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_query(self, text: Clean) -> Vector:
        """Returns a cached, read-only vector."""
        return self._query(self._tokens(text, "text").tobytes()).vector

    def query_tokens(self, text: Clean) -> QueryTokens:
        tokens = self._tokens(text, "text")
        words = self._words(tokens)
        informative = tuple(words[int(place)] for place in self._directions.informative(tokens))
        return QueryTokens(self._query(tokens.tobytes()).tokens, informative)

    def embed_documents(self, texts: Sequence[Clean]) -> list[Vector]:
        return [embedding.vector for embedding in self.embed_in_detail(texts)]

    def embed_in_detail(self, texts: Sequence[Clean]) -> list[TextEmbedding]:
        tokens = [self._tokens(text, str(position)) for position, text in enumerate(texts)]
        if self._threads == 1 or len(texts) < 2:
            return [self._embedding(each) for each in tokens]
        with ThreadPoolExecutor(self._threads, "embed") as pool:
            return list(pool.map(self._embedding, tokens))

    def _tokens(self, text: str, field: str) -> Tokens:
        """Returns the tokens that the model reads, with a mark at both ends; a longer text is cut. Raises Invalid, with
        ``field``, for a text without any known token."""
        tokens = np.array(self._tokenizer.encode(text[:MOST_CHARACTERS]).ids, dtype=np.int64)
        if (tokens[1:-1] == self._unknown).all():
            raise Invalid("The embedding model knows no part of this text.", field=field)
        return tokens

    def _embedding(self, tokens: Tokens) -> TextEmbedding:
        vector, of_tokens = self._model.vectors(tokens)
        return TextEmbedding(vector, self._directions.codes(of_tokens[self._directions.informative(tokens)]))

    def _words(self, tokens: Tokens) -> list[str]:
        """Returns the whole word for each token."""
        words: list[list[str]] = []
        for number in tokens.tolist():
            piece = str(self._tokenizer.id_to_token(number))
            if piece.startswith(CONTINUED) and words:
                words[-1].append(piece.removeprefix(CONTINUED))
            else:
                words.append([piece])
        return ["".join(pieces) for pieces in words for _ in pieces]

    def _read_only_embedding(self, tokens: bytes) -> TextEmbedding:
        embedding = self._embedding(np.frombuffer(tokens, dtype=np.int64))
        embedding.vector.flags.writeable = False
        return embedding


def intact(file: Path, sha256: str) -> Path:
    """Verifies the checksum of a file. Raises ValueError if it differs from the one that was built."""
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
            raise ValueError(f"{file.name} is not the file that was built")
    return file
