"""Ports of the observations of operational memories."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import Held, Observation


class ObservationReads(Protocol):
    """Observations of operational memories."""

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        """Returns the observations of a memory by time; those of the same instant in the order they were added."""
        ...

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        """Returns observations by document; documents without any are omitted."""
        ...

    def services(self) -> Collection[Clean]:
        """Returns each spelling of a service that an operational memory has; also those of memories that the viewer may
        not see, so compare with them only."""
        ...


class ObservationWrites(Protocol):
    """Observations of operational memories. No call makes a new version. Keys that are unknown, or of a memory that is
    not operational, are ignored."""

    def add_observation(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        """Adds an observation and sets the confidence after it."""
        ...

    def replace_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        """Replaces all observations of a memory. Those of the same instant keep the given order."""
        ...

    def erase_quotes(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        """Deletes these texts wherever a contradiction quotes them; returns the affected memories. Reads all
        observations."""
        ...
