"""Operational memories: their confidence, and the observations it results from.

Confidence has a separate table: few memories have it, and it changes often.
"""

from collections.abc import Collection, Mapping, Sequence

from hivelore.core.text import Clean
from hivelore.indexing.model import ChangeKind
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import Held, Observation, ObservationKind, Operational
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    INTERFACES,
    PLAIN,
    Codec,
    Columns,
    Param,
    SqlReader,
    SqlWriter,
    Table,
    codes,
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


def observation_params(document: DocumentKey, value: Observation) -> dict[str, Param]:
    return {**OBSERVATION.params(value), "document": document}


class ObservationReader(SqlReader):
    """Implements ``observations.ports.ObservationReads``."""

    TABLES = (OPERATIONAL,)

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        return self.observations_of([document]).get(document, ())

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        found: dict[DocumentKey, list[Observation]] = {}
        for row in self.rows(self.SQL["observations_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(OBSERVATION.read(row[1:]))
        return found

    def services(self) -> Collection[Clean]:
        return self.column("services")


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

    def put_operational(self, documents: Mapping[DocumentKey, Operational | None]) -> None:
        known = [(key, one) for key, one in documents.items() if one is not None]
        self.run_each("operational_put", [{**OPERATIONAL.params(one), "document": key} for key, one in known])
