"""Embeddings from the model that ships with Hivelore: no network, no key, no GPU."""

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hivelore.core.text import Clean
from hivelore.errors import Broken, Invalid
from hivelore.indexing.model import (
    QueryTokens,
    TextEmbedding,
    TokenCodes,
    Vector,
)
from hivelore.models.onnx.runtime import Model, Tokens
from hivelore.search.late_interaction import encode

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
        return encode((units - self._mean) @ self._basis)


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
