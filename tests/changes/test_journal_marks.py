"""Digests in the change journal are stored: a later release must compute the same ones."""

from datetime import UTC, datetime

from hivelore.changes.journal import state_digest
from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.memories.model import Memory, MemoryId, Provenance, Scope, Source, Trust
from hivelore.observations.model import Confidence, Held, Observation, ObservationKind, Operational

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
MEMORY = Memory(
    id=MemoryId("m1"),
    owner=AgentId("ada"),
    scope=Scope.AGENT,
    name=Clean("n"),
    content=Clean("c"),
    summary=Clean("s"),
    source=Source.MANUAL,
    created_at=AT,
    updated_at=AT,
    provenance=Provenance(actor=AgentId("ada"), interface=Interface.REST, trust=Trust.AGENT),
    tags=(Clean("a"), Clean("b")),
    metadata={"x": [1, 2.5, None]},
    subject=Clean("db.port"),
    valid_from=AT,
    operational=Operational.of(Held(base=Confidence(0.7), since=AT), service=Clean("web"), tier=2, persistent=True),
)
CREATED = Observation(
    at=AT, kind=ObservationKind.CREATED, actor=None, text=Clean("t"), to=Confidence(0.7), interface=Interface.MCP
)


def test_a_digest_equals_that_of_earlier_releases() -> None:
    assert state_digest(MEMORY, []) == "aa1427eb4dcf70d3dac181e728b83b0bec370a3a785e603315c22677438d69b1"
    assert state_digest(MEMORY, [CREATED]) == "7d3c230345bf2a9ee1194ee96b783aa099c0f130fcf7320b87b44f72e148fa34"
