"""Comparison of observations: two texts about one service say the same, contradict each other, or neither (X8).

A verdict depends on the two texts only, not on their order or on stored vectors; missing vectors are computed.
Comparing is slow and happens before the transaction.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from hivelore.core.text import Clean
from hivelore.core.vectors import cosine
from hivelore.embeddings.active_model import ActiveModel, EmbeddedQuery, EmbeddingModel
from hivelore.errors import Broken, Unavailable
from hivelore.indexing.model import Vector
from hivelore.memories.chunking import chunk
from hivelore.memories.stored import DocumentKey
from hivelore.models.ports import PairReader
from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.judge import Judgement, Verdict, judge
from hivelore.observations.model import MatchingMode, PairScores
from hivelore.storage.ports import MemoryStore

MAX_NEAR = 10
"""Nearest texts without a contradiction that the pair model reads, some milliseconds each."""
MAX_READ = 100
"""Pairs the model reads per observation; rules alone judge the rest."""
MAX_EMBEDDED = 50
"""Texts embedded per observation; the rest is compared by words."""
_SAME = Judgement(Verdict.SAME, 1.0, ("the same service and category",))


class MissingVerdict(Exception):
    """Two texts were not compared beforehand."""


class Verdicts:
    """Verdicts about pairs of texts, each computed once."""

    def __init__(self, judge: Callable[[Clean, Clean], Judgement]) -> None:
        self._judge = judge
        self._known: dict[tuple[Clean, Clean], Judgement] = {}
        self.is_closed = False
        """True if only known verdicts are returned; other pairs raise MissingVerdict."""

    def __call__(self, one: Clean, other: Clean) -> Judgement:
        pair = (one, other) if one <= other else (other, one)
        known = self._known.get(pair)
        if known is None:
            if self.is_closed:
                raise MissingVerdict
            known = self._known[pair] = self._judge(*pair)
        return known


class ObservationComparison:
    def __init__(
        self, store: MemoryStore, active_model: ActiveModel, matching: MatchingMode, reader: PairReader | None
    ) -> None:
        """``reader``: the pair model; without it, rules decide."""
        self._store = store
        self._active_model = active_model
        self._matching = matching
        self._constants = Constants(only_measures=matching is MatchingMode.CAUTIOUS)
        self._reader = None if matching is MatchingMode.CAUTIOUS else reader

    def verdicts(
        self, text: Clean, known: Mapping[DocumentKey, Clean], service: str, deadline: float | None = None
    ) -> Verdicts:
        """Compares ``text`` with each of ``known``; other pairs are compared on demand."""
        if self._matching is MatchingMode.STRUCTURAL:
            return Verdicts(_always_same)
        pairs = _Pairs(self._active_model, self._constants, self._reader, service)
        if known and (embedded := pairs.embed(text)) is not None:
            with self._store.read(deadline) as view:
                chunks = view.chunks_of(known)()
                first = {key: ours[0].passages[0] for key, ours in chunks.items() if ours and ours[0].passages}
                vectors = self._active_model.vectors(view, embedded, list(first.values()))
            pairs.vectors |= {known[key]: vectors[one] for key, one in first.items() if one in vectors}
        verdicts = Verdicts(pairs.judge)
        for other in pairs.nearest_first(text, set(known.values())):
            verdicts(text, other)
        return verdicts

    def by_rules(self, service: str) -> Verdicts:
        """Returns verdicts that use no model."""
        if self._matching is MatchingMode.STRUCTURAL:
            return Verdicts(_always_same)
        return Verdicts(_Pairs(ActiveModel(None), self._constants, None, service).judge)


class _Pairs:
    """Compares pairs of texts for one observation, within limits."""

    def __init__(
        self, active_model: ActiveModel, constants: Constants, reader: PairReader | None, service: str
    ) -> None:
        self._active_model = active_model
        self._constants = constants
        self._reader = reader
        self._service = service
        self.vectors: dict[Clean, Vector | None] = {}
        """Vectors of first passages; None if one could not be computed."""
        self._model: EmbeddingModel | None = None
        self._embedded = 0
        self._read = 0
        self._near = 0

    def embed(self, text: Clean) -> EmbeddedQuery | None:
        """Embeds a text; None if the model is unavailable or the limit is reached."""
        if self._embedded >= MAX_EMBEDDED:
            return None
        embedded = self._active_model.embed_text(_first_passage(text))
        is_same = self._model in (None, embedded.model)  # The active model may change meanwhile.
        self._model = self._model or embedded.model
        self._embedded = self._embedded + 1 if embedded.vector is not None and is_same else MAX_EMBEDDED
        self.vectors[text] = embedded.vector if is_same else None
        return embedded if self.vectors[text] is not None else None

    def nearest_first(self, text: Clean, others: Collection[Clean]) -> list[Clean]:
        likeness = {other: self._similarity(text, other) for other in others}
        return sorted(others, key=lambda other: (-(likeness[other] or -1.0), other))

    def judge(self, one: Clean, other: Clean) -> Judgement:
        """Judges a pair by rules. The pair model confirms contradictions, and reads near texts that may be the same or
        opposite."""
        likeness = None if one == other else self._similarity(one, other)
        judgement = self._judge_texts(one, other, likeness)
        is_certain = judgement.verdict is Verdict.SAME and judgement.confidence == 1.0
        is_clash = judgement.verdict is Verdict.CONFLICT
        is_alike = likeness is not None and likeness >= self._constants.rewording_likeness and self._near < MAX_NEAR
        if self._reader is None or is_certain or self._read >= MAX_READ or not (is_clash or is_alike):
            return judgement
        self._read += 1
        self._near += not is_clash
        with suppress(Broken, Unavailable):  # The rules decide without the model.
            return self._judge_texts(one, other, likeness, self._reader.stance(one, other))
        return judgement

    def _judge_texts(
        self, one: Clean, other: Clean, likeness: float | None, stance: PairScores | None = None
    ) -> Judgement:
        return judge(one, other, likeness, self._constants, service=self._service, stance=stance)

    def _similarity(self, one: Clean, other: Clean) -> float | None:
        """Returns the cosine of the vectors, None if one is missing."""
        ours, theirs = self._vector(one), self._vector(other)
        return None if ours is None or theirs is None else cosine(ours, theirs)

    def _vector(self, text: Clean) -> Vector | None:
        if text not in self.vectors:
            self.embed(text)
        return self.vectors.get(text)


def _always_same(_one: Clean, _other: Clean) -> Judgement:
    return _SAME


def _first_passage(text: Clean) -> Clean:
    """Returns the first passage, whose vector is stored."""
    passage = chunk(text)[0].passages[0]
    return Clean(text[passage.start : passage.stop])
