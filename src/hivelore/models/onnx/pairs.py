"""The pair model: classifies how two notes relate, trained on labelled pairs."""

import json
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from hivelore.core.text import Clean
from hivelore.errors import Broken
from hivelore.models.onnx.provider import Session, intact, load_graph, run_graph
from hivelore.observations.model import PairScores

NAME = "model that compares notes"
LONGEST = 1_000
"""Characters of a note that are read; the tokenizer cuts longer inputs of the model."""


class OnnxPairReader:
    """Implements ``models.ports.PairReader`` on the CPU. Thread-safe. Loads the model on first use."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` contains ``model`` and ``judge``; None: the one in this package."""
        self._folder = folder or Path(str(files("hivelore.models.onnx")))
        self._loading = Lock()

    def stance(self, one: Clean, other: Clean) -> PairScores:
        odds = self._odds(*sorted((one, other)))  # sorted, so that the result does not depend on the order
        shares = np.exp(odds - odds.max())
        same, conflict, different = (shares / shares.sum()).tolist()
        return PairScores(same=same, conflict=conflict, different=different)

    def _odds(self, first: Clean, second: Clean) -> NDArray[np.float32]:
        tokenizer, session = self._model
        read = tokenizer.encode(first[:LONGEST], second[:LONGEST])
        ids, of_second = np.array(read.ids, np.int64), np.array(read.type_ids, np.int64)
        return run_graph(session, NAME, ["odds"], ids=ids, second=of_second)[0][0]

    @property
    def _model(self) -> tuple[Tokenizer, Session]:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> tuple[Tokenizer, Session]:
        """Loads the model. Raises Broken if a file is missing or damaged."""
        try:
            sums = {
                name: json.loads((self._folder / name / "model.json").read_bytes())["sha256"]
                for name in ("model", "judge")
            }
            tokenizer = intact(self._folder / "model" / "tokenizer.json", sums["model"]["tokenizer.json"])
            graph = intact(self._folder / "judge" / "model.onnx", sums["judge"]["model.onnx"])
            return Tokenizer.from_str(tokenizer.read_text("utf-8")), load_graph(graph, NAME)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise Broken(
                f"The {NAME} is damaged: {error}. Reinstall it: pip install --force-reinstall --no-deps hivelore"
            ) from error
