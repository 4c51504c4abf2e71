"""Agents, their keys and the audit trail."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.memories.model import Action, MemoryId
from hivelore.storage.sql.statements import (
    ACTION,
    ACTIONS,
    INSTANT,
    INTERFACES,
    PLAIN,
    ROLES,
    Codec,
    SqlReader,
    SqlWriter,
    Table,
    plain,
    to_micros,
)

AGENT = Table(Agent, "agent", "id", id=PLAIN, name=PLAIN, role=ROLES, created_at=INSTANT)
API_KEY = Table(
    ApiKey,
    "api_key",
    "id",
    **plain("id agent"),
    role=ROLES,
    digest=Codec(bytes),
    created_at=INSTANT,
    expires_at=INSTANT,
    revoked_at=INSTANT,
)
AUDIT = Table(
    AuditEntry,
    "audit",
    "",
    at=INSTANT,
    actor=PLAIN,
    interface=INTERFACES,
    action=ACTIONS,
    **plain("memory detail"),
)


class IdentityReader(SqlReader):
    """Implements ``identity.ports.IdentityReads``."""

    TABLES = (AGENT, API_KEY, AUDIT)

    def agent(self, agent: AgentId) -> Agent | None:
        return self.read_one(AGENT, "agent_by_id", id=agent)

    def agent_named(self, name: str) -> Agent | None:
        return self.read_one(AGENT, "agent_by_name", name=name)

    def agents(self) -> Sequence[Agent]:
        return self.read_all(AGENT, "agents")

    def api_key(self, key: KeyId) -> ApiKey | None:
        return self.read_one(API_KEY, "api_key_by_id", id=key)

    def api_keys(self) -> Sequence[ApiKey]:
        return self.read_all(API_KEY, "api_keys")

    def audit(self, limit: int, memory: MemoryId | None = None, action: Action | None = None) -> Sequence[AuditEntry]:
        if memory is None:
            return self.read_all(AUDIT, "audit_newest", limit=limit)
        if action is not None:
            return self.read_all(AUDIT, "audit_of_kind", memory=memory, action=ACTION[action], limit=limit)
        return self.read_all(AUDIT, "audit_of", memory=memory, limit=limit)

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        found = self.rows(self.SQL["audit_after"], {"after": number, "limit": limit})
        return [(row[0], AUDIT.read(row[1:])) for row in found]


class IdentityWriter(IdentityReader, SqlWriter):
    """Implements ``identity.ports.IdentityWrites``."""

    def put_agent(self, agent: Agent) -> None:
        with self.savepoint():
            self.run("agent_put", AGENT.params(agent))

    def put_api_key(self, key: ApiKey) -> None:
        self.run("api_key_put", API_KEY.params(key))

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        return self.run("api_key_revoke", {"id": key, "at": to_micros(at)}) is not None

    def record_audit(self, entry: AuditEntry) -> None:
        self.run("audit_insert", AUDIT.params(entry))

    def import_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        with self.savepoint():
            self.import_rows("audit", [{**AUDIT.params(entry), "key": number} for number, entry in entries.items()])
