"""Models that read two texts together: how two notes relate, and whether a note helps with a prompt."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hivelore.core.text import Clean
from hivelore.errors import Broken, Unavailable
from hivelore.links.judge import PairScores
from hivelore.models.onnx.provider import Session, intact, load_graph, run_graph
from hivelore.models.onnx.rough_english import WORD_LISTS, RoughEnglish

LONGEST = 1_000
"""Characters of a note that are read; the tokenizer cuts longer inputs of the model."""
LONGEST_QUERY = 4_000
"""Characters of a query that are read, half from its beginning and half from its end."""
QUERY_TOKENS, END_TOKENS, TEXT_TOKENS = 96, 24, 150
"""Word pieces: of a longer query, the beginning and the end are read. As in scripts/train_relevance.py."""

PAIR_TOKENS = 128
"""Word pieces of each of two notes that are compared."""
JUDGE = "hivelore-judge-5"
"""Name of the model that compares notes."""

Ids = list[int]


class Loaded(NamedTuple):
    """A model in memory."""

    tokenizer: Tokenizer
    session: Session
    in_english: RoughEnglish | None
    """Applied to texts before they are read; None for a model without lists of words."""


class PairGraph:
    """A graph from the word pieces of two texts to ``odds``. Thread-safe. Loads the model on first use; if that fails,
    it fails until the process ends."""

    def __init__(self, folder: Path | None, name: str, kind: str) -> None:
        """``folder`` contains ``model``, whose tokenizer is used, and the folder ``name``; None: the one in this
        package. ``kind``: the model for people."""
        self._folder = folder or Path(str(files("hivelore.models.onnx")))
        self._name, self._kind = name, kind
        self._loading = Lock()
        self._loaded: Loaded | str | None = None
        """The model, or why it could not be loaded. Reading and hashing the files again would delay each call."""
        self._is_used = False
        self.outage: str | None = None
        """Why the last call failed; None if it succeeded, or before the first one."""

    def load(self) -> Loaded:
        """Raises Broken, as ``odds``."""
        with self._loading:
            self._is_used = True
            if self._loaded is None:
                try:
                    self._loaded = self._read_files()
                except Broken as error:
                    self._loaded = str(error)
                    self.outage = self._loaded.rstrip(".")
            loaded = self._loaded
        if isinstance(loaded, str):
            raise Broken(loaded)
        return loaded

    def release_unused(self) -> bool:
        """Forgets the model if it was not used since the last call; the next use loads it again. Returns True if it
        did."""
        with self._loading:
            is_unused = isinstance(self._loaded, Loaded) and not self._is_used
            self._is_used = False
            if is_unused:
                self._loaded = None
            return is_unused

    def odds(self, ids: Ids, second: Ids) -> NDArray[np.float32]:
        """Returns the log odds of each class. ``second``: 1 for word pieces of the second text. Raises Unavailable, or
        Broken if a file is missing or damaged."""
        session = self.load().session
        given = {"ids": np.array(ids, np.int64), "second": np.array(second, np.int64)}
        try:
            odds = run_graph(session, self._kind, ["odds"], **given)[0][0]
        except Unavailable as error:
            self.outage = str(error).rstrip(".")
            raise
        self.outage = None
        return odds

    def _read_files(self) -> Loaded:
        try:
            sums = {
                name: json.loads((self._folder / name / "model.json").read_bytes())["sha256"]
                for name in ("model", self._name)
            }
            tokenizer = intact(self._folder / "model" / "tokenizer.json", sums["model"]["tokenizer.json"])
            own = {name: intact(self._folder / self._name / name, sum_) for name, sum_ in sums[self._name].items()}
            return Loaded(
                Tokenizer.from_str(tokenizer.read_text("utf-8")),
                load_graph(own["model.onnx"], self._kind),
                RoughEnglish.read(*(own[name] for name in WORD_LISTS)) if own.keys() > set(WORD_LISTS) else None,
            )
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise Broken(
                f"The {self._kind} is damaged: {error}. Reinstall it: pip install --force-reinstall --no-deps hivelore"
            ) from error


class OnnxPairReader:
    """Implements ``models.ports.PairReader`` on the CPU. Thread-safe. Loads the model on first use."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: see ``PairGraph``."""
        self._graph = PairGraph(folder, "judge", "model that compares notes")

    @property
    def name(self) -> str:
        return JUDGE

    @property
    def outage(self) -> str | None:
        return self._graph.outage

    def release_unused(self) -> bool:
        return self._graph.release_unused()

    def scores(self, older: Clean, newer: Clean) -> PairScores:
        first, second = self._ids(older), self._ids(newer)[1:]
        odds = self._graph.odds([*first, *second], [0] * len(first) + [1] * len(second))
        shares = np.exp(odds - odds.max())
        same, conflict, update, different = (shares / shares.sum()).tolist()
        return PairScores(same=same, conflict=conflict, update=update, different=different)

    def _ids(self, text: Clean) -> Ids:
        """Returns the first word pieces of a text with a mark at both ends, as in scripts/train_judge.py."""
        loaded, read = self._graph.load(), text[:LONGEST]
        ids = loaded.tokenizer.encode(loaded.in_english(read) if loaded.in_english else read).ids
        return ids if len(ids) <= PAIR_TOKENS else [*ids[: PAIR_TOKENS - 1], ids[-1]]


class OnnxRelevanceReader:
    """Implements ``models.ports.RelevanceReader`` on the CPU. Thread-safe. Loads the model on first use."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``: see ``PairGraph``."""
        self._graph = PairGraph(folder, "relevance", "relevance model")

    @property
    def outage(self) -> str | None:
        return self._graph.outage

    def read(self, query: Clean) -> Callable[[Clean], float]:
        whole = query if len(query) <= LONGEST_QUERY else query[: LONGEST_QUERY // 2] + query[-LONGEST_QUERY // 2 :]
        first = self._ids(whole)
        if len(first) > QUERY_TOKENS:
            first = first[: QUERY_TOKENS - END_TOKENS] + first[-END_TOKENS:]

        def odds(text: Clean) -> float:
            second = self._ids(text[:LONGEST])[1:TEXT_TOKENS]
            return float(self._graph.odds([*first, *second], [0] * len(first) + [1] * len(second))[0])

        return odds

    def _ids(self, text: str) -> Ids:
        """Returns all word pieces of a text with a mark at both ends."""
        encoded = self._graph.load().tokenizer.encode(text)
        parts = [encoded, *encoded.overflowing]
        return [parts[0].ids[0], *(piece for part in parts for piece in part.ids[1:-1]), parts[0].ids[-1]]
