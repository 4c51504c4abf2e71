"""Ports of the observations of operational memories."""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.links.judge import PairScores
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import Held, Observation, Pair


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

    def verdicts(self, model: Clean, pairs: Collection[Pair]) -> Mapping[Pair, PairScores]:
        """Returns what this model answered about these pairs; pairs that it did not read are omitted."""
        ...

    def observation_counts(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, int]:
        """Returns numbers of observations by document; documents without any are omitted."""
        ...

    def unjudged(self, mark: Clean) -> Sequence[DocumentKey]:
        """Returns operational memories whose observations were not placed with this mark: the one with the latest key
        of each spelling of a service and category, the latest first. Reads all operational memories."""
        ...

    def kept(self, documents: Collection[DocumentKey]) -> Set[DocumentKey]:
        """Returns those of these memories that stay as they are (``keep``)."""
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

    def put_verdicts(self, model: Clean, verdicts: Mapping[Pair, PairScores]) -> None:
        """Stores answers of a model. A store keeps digests of the texts, and no words."""
        ...

    def drop_verdicts(self, texts: Collection[Clean]) -> None:
        """Deletes the answers of all models about pairs with one of these texts."""
        ...

    def drop_other_verdicts(self, model: Clean) -> None:
        """Deletes the answers of all other models."""
        ...

    def put_judged(self, documents: Collection[DocumentKey], mark: Clean | None) -> None:
        """Records that memories were placed with all verdicts; None: they are judged again. ``mark`` names everything
        that the verdicts depend on besides the texts. The record is deleted with the memory. Unknown keys are ignored.
        """
        ...

    def keep(self, documents: Collection[DocumentKey]) -> None:
        """Records that memories stay as they are whenever they are judged again."""
        ...
