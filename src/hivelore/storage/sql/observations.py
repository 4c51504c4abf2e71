"""Operational memories: their confidence, and the observations it results from.

Confidence has a separate table: few memories have it, and it changes often.
"""

from collections.abc import Collection, Mapping, Sequence, Set

from hivelore.core.text import Clean
from hivelore.indexing.model import ChangeKind
from hivelore.links.judge import PairScores
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import Held, Observation, ObservationKind, Operational, Pair
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    INTERFACES,
    PLAIN,
    Codec,
    Columns,
    Param,
    Params,
    SqlReader,
    SqlWriter,
    Table,
    codes,
    digest,
    plain,
)


def _write_confidence(confidence: float) -> float:
    """Normalizes -0.0, which SQLite stores as 0.0."""
    return abs(float(confidence))


CONFIDENCE = Codec(None, _write_confidence, "confidence")
HELD = Columns(Held, None, base=CONFIDENCE, since=INSTANT.named("confident_at"), is_off=FLAG)
OPERATIONAL = Table(
    Operational,
    "operational",
    "document",
    **plain("service tier"),
    persistent=FLAG,
    confidence=CONFIDENCE,
    confident_at=INSTANT,
    off=FLAG.named("is_off"),
)
OBSERVATION = Table(
    Observation,
    "observation",
    "",
    at=INSTANT,
    kind=codes(
        {
            ObservationKind.CREATED: 1,
            ObservationKind.REINFORCED: 2,
            ObservationKind.CONTRADICTED: 3,
            ObservationKind.SET: 4,
            ObservationKind.SWITCHED_OFF: 5,
            ObservationKind.MADE_PERSISTENT: 6,
            ObservationKind.MADE_PASSING: 7,
            ObservationKind.DISPROVED: 8,
        }
    ),
    actor=PLAIN,
    interface=INTERFACES,
    **plain("session text"),
    to=CONFIDENCE,
)

VERDICT = Table(
    PairScores,
    "verdict",
    "pair model",
    "older newer",
    same=PLAIN.named("p_same"),
    conflict=PLAIN.named("p_conflict"),
    update=PLAIN.named("p_update"),
    different=PLAIN.named("p_different"),
)


def _text_digest(text: Clean) -> str:
    return digest("observation", text).hex()


def _pair_digest(pair: Pair) -> str:
    return digest("observations", *pair).hex()


def observation_params(document: DocumentKey, value: Observation) -> dict[str, Param]:
    return {**OBSERVATION.params(value), "document": document}


class ObservationReader(SqlReader):
    """Implements ``observations.ports.ObservationReads``."""

    TABLES = (OPERATIONAL, VERDICT)

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        return self.observations_of([document]).get(document, ())

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        found: dict[DocumentKey, list[Observation]] = {}
        for row in self.rows(self.SQL["observations_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(OBSERVATION.read(row[1:]))
        return found

    def services(self) -> Collection[Clean]:
        return self.column("services")

    def verdicts(self, model: Clean, pairs: Collection[Pair]) -> Mapping[Pair, PairScores]:
        by_digest = {_pair_digest(pair): pair for pair in pairs}
        params: Params = {"model": model, "pairs": self.array(by_digest)}
        return {by_digest[pair]: VERDICT.read(scores) for pair, *scores in self.rows(self.SQL["verdicts"], params)}

    def observation_counts(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, int]:
        return dict(self.rows(self.SQL["observation_counts"], {"documents": self.array(documents)}))

    def unjudged(self, mark: Clean) -> Sequence[DocumentKey]:
        return [DocumentKey(key) for (key,) in self.rows(self.SQL["unjudged"], {"model": mark})]

    def kept(self, documents: Collection[DocumentKey]) -> Set[DocumentKey]:
        found = self.rows(self.SQL["judged_kept"], {"documents": self.array(documents)})
        return {DocumentKey(key) for (key,) in found}


class ObservationWriter(ObservationReader, SqlWriter):
    """Implements ``observations.ports.ObservationWrites``."""

    def add_observation(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        self.record_state(key)
        if self.count("confidence_set", {**HELD.params(held), "document": key}):
            self.run("observation_insert", observation_params(key, observation))
            self.log_change(ChangeKind.ATTRIBUTES, key)

    def replace_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        self.record_state(key)
        if self.count("confidence_set", {**HELD.params(held), "document": key}):
            self.run("observations_delete", {"document": key})
            self.run_each("observation_insert", [observation_params(key, one) for one in observations])
            self.log_change(ChangeKind.ATTRIBUTES, key)

    def erase_quotes(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        quoting = self.rows(self.SQL["quotes_erase"], {"words": self.array(words)})
        return sorted({DocumentKey(row[0]) for row in quoting})

    def put_verdicts(self, model: Clean, verdicts: Mapping[Pair, PairScores]) -> None:
        rows: list[Params] = [
            {
                **VERDICT.params(scores),
                "pair": _pair_digest(pair),
                "model": model,
                "older": _text_digest(pair[0]),
                "newer": _text_digest(pair[1]),
            }
            for pair, scores in verdicts.items()
        ]
        self.run_each("verdict_put", rows)

    def drop_verdicts(self, texts: Collection[Clean]) -> None:
        params: Params = {"texts": self.array([_text_digest(text) for text in texts])}
        for name in ("verdicts_of_older_delete", "verdicts_of_newer_delete"):
            self.run(name, params)

    def drop_other_verdicts(self, model: Clean) -> None:
        self.run("verdicts_of_others_delete", {"model": model})

    def put_judged(self, documents: Collection[DocumentKey], mark: Clean | None) -> None:
        self.run_each("judged_put", [{"document": key, "model": mark} for key in documents])

    def keep(self, documents: Collection[DocumentKey]) -> None:
        self.run_each("judged_keep", [{"document": key} for key in documents])

    def put_operational(self, documents: Mapping[DocumentKey, Operational | None]) -> None:
        known = [(key, one) for key, one in documents.items() if one is not None]
        self.run_each("operational_put", [{**OPERATIONAL.params(one), "document": key} for key, one in known])
