"""Data directories filled with many memories: words through the product, vectors and tokens composed of those of lines.

The shipped model embeds the lines, and a passage gets the sum of the vectors of its lines with a little noise, as unit
vector, and the tokens of its lines one after the other. That is for speed only: nothing is measured of its quality.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from hivelore.core.agents import Interface, Viewer
from hivelore.identity.service import LOCAL_AGENT
from hivelore.indexing.model import TextEmbedding, Vector
from hivelore.local import endpoint
from hivelore.memories.drafts import Draft
from hivelore.runtime.app import Application
from hivelore.runtime.settings import load
from hivelore.search.ranking import TOKEN_BYTES

NOISE = 0.02
"""Standard deviation per dimension, on sums of unit vectors: about a third of a line's length with 384 dimensions."""
MOST_TOKENS = 128
"""Of a passage. The model keeps a piece of a word that comes several times once, which is not done here."""
UNIT = 500
"""Memories to a commit."""
SETTLED = 10_000
"""Memories after which the keyword index is settled."""
PROGRESS_EVERY = 100_000
PASSAGES = 5_000
"""Vectors to a commit."""
_SEED = 20_26


@dataclass(frozen=True, slots=True)
class Filled:
    """A data directory, and the seconds that each step of filling it took."""

    home: Path
    memories: int
    words: float
    """To clean, cut and write the drafts, and to index their words."""
    vectors: float
    """To compose and write vectors and tokens; the model is not in it."""


class Lines:
    """The lines that memories are composed of, with their vectors and tokens."""

    def __init__(self, embedded: Mapping[str, TextEmbedding]) -> None:
        self._numbers = {line: number for number, line in enumerate(embedded)}
        self._vectors: Vector = np.array([one.vector for one in embedded.values()])
        self._tokens = [one.tokens for one in embedded.values()]
        self._noise = np.random.default_rng(_SEED)

    def __len__(self) -> int:
        return len(self._numbers)

    def composed(self, texts: Sequence[str]) -> list[TextEmbedding]:
        """Returns vectors and tokens of passages, each composed of one or more lines."""
        held = [[self._numbers[line] for line in text.split("\n") if line in self._numbers] for text in texts]
        starts = np.cumsum([0, *map(len, held[:-1])])
        sums = np.add.reduceat(self._vectors[[number for numbers in held for number in numbers]], starts)
        sums += NOISE * self._noise.standard_normal(sums.shape, np.float32)
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        tokens = (
            b"".join([self._tokens[number] for number in numbers])[: MOST_TOKENS * TOKEN_BYTES] for numbers in held
        )
        return [TextEmbedding(vector, codes) for vector, codes in zip(sums, tokens, strict=True)]


def fill(home: Path, drafts: Iterable[Draft], lines: Lines, say: Callable[[str], None]) -> Filled:
    """Stores the drafts as the local agent, in a new data directory."""
    app = Application(load(home=home))
    try:
        app.make_keys()
        began = perf_counter()
        count = _keep(app, drafts, say)
        kept = perf_counter()
        _put_vectors(app, lines)
        return Filled(home, count, kept - began, perf_counter() - kept)
    finally:
        app.close()


def _keep(app: Application, drafts: Iterable[Draft], say: Callable[[str], None]) -> int:
    """Stores the drafts like a service, which compacts its index from time to time."""
    viewer, left, count = local(app), iter(drafts), 0
    while unit := list(islice(left, UNIT)):
        app.memory_service.remember_many(unit, viewer)
        count += len(unit)
        if count % SETTLED == 0 or len(unit) < UNIT:
            while app.keywords.compact(app.store):
                pass
        if count % PROGRESS_EVERY == 0:
            say(f"{count:,} memories are kept")
    return count


def _put_vectors(app: Application, lines: Lines) -> None:
    wanted = app.active_model.wanted
    assert wanted is not None
    provider = wanted.provider
    model = app.store.write(lambda tx: tx.register_model(provider.fingerprint, provider.dimension))
    while True:
        with app.store.read() as view:
            waiting = view.queued_passages(model, app.clock.now(), PASSAGES)
        if not waiting:
            break
        found = dict(zip((one.passage for one in waiting), lines.composed([one.text for one in waiting]), strict=True))
        vectors = {passage: one.vector for passage, one in found.items()}
        tokens = {passage: one.tokens for passage, one in found.items()}
        app.store.write(lambda tx, vectors=vectors, tokens=tokens: tx.put_vectors(model, vectors, tokens))
    while app.embedding.step():
        pass


def local(app: Application) -> Viewer:
    """Returns the operator acting for the local agent."""
    key = (app.settings.home / endpoint.OPERATOR_KEY).read_text(encoding="ascii").strip()
    return app.agents.viewer(key, Interface.PYTHON, LOCAL_AGENT)
