"""Reading one snapshot of a store that speaks SQL: how statements are run, and what is no memory."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage
from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId
from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event
from hivelore.folders.model import KnownFile
from hivelore.indexing.model import DocumentKey, ModelKey, Vector
from hivelore.memories.model import MemoryId
from hivelore.review.model import Proposal, ProposalFilter, ProposalId, ProposalSubject
from hivelore.search.model import Filter
from hivelore.sessions.model import EventId, Handover, HandoverState, Session
from hivelore.storage.ports import Deferred
from hivelore.storage.sql import batches, events, handovers, proposals, rows, sessions
from hivelore.storage.sql.codes import HANDOVER_STATE
from hivelore.storage.sql.instants import to_micros
from hivelore.storage.sql.where import Param, Params, condition


@dataclass(frozen=True, slots=True)
class Facts:
    settings: Mapping[str, str]
    models: Mapping[str, ModelKey]
    """By fingerprint."""


class SqlSwarm(ABC):
    """Implements ``storage.ports.SwarmView`` but for recalls and events. A dialect brings its statements and a way
    to run them."""

    SQL: ClassVar[Mapping[str, str]]
    """The named statements of this dialect."""
    dialect: ClassVar[str]
    """The name of its folder; engines that bring SQL of their own have a file for each."""

    _facts: Facts | None = None

    @property
    @abstractmethod
    def namespace(self) -> int: ...

    @abstractmethod
    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """Run one statement and fetch all it answers. ``:namespace`` is always bound."""

    def later(self, sql: str, params: Params | None = None) -> Deferred[list[Any]]:
        """``rows``, which a server need not have answered until that is called."""
        found = self.rows(sql, params)
        return lambda: found

    @abstractmethod
    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        """The same row by row, for what may not fit into memory."""

    @abstractmethod
    def array(self, keys: Collection[int] | Collection[str]) -> Param:
        """A set as the parameter of a statement."""

    @abstractmethod
    def vector(self, vector: Vector) -> Param:
        """A vector as the parameter of a statement; what ``floats`` reads again."""

    @abstractmethod
    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        """Vectors of one dimension as they come from the table, (n, dimension)."""

    @contextmanager
    def of_everybody(self) -> Generator[None]:
        """Read what belongs to anybody meanwhile, for an index that holds everything: nothing of it is to be shown."""
        yield

    def row(self, statement: str, /, **params: Param) -> Any:
        """The first row of a named statement, or None."""
        found = self.rows(self.SQL[statement], params)
        return found[0] if found else None

    def agent(self, agent: AgentId) -> Agent | None:
        row = self.row("agent_by_id", id=agent)
        return None if row is None else rows.agent(row)

    def agent_named(self, name: str) -> Agent | None:
        row = self.row("agent_by_name", name=name)
        return None if row is None else rows.agent(row)

    def agents(self) -> Sequence[Agent]:
        return [rows.agent(row) for row in self.rows(self.SQL["agents"])]

    def api_key(self, key: KeyId) -> ApiKey | None:
        row = self.row("api_key_by_id", id=key)
        return None if row is None else rows.api_key(row)

    def api_keys(self) -> Sequence[ApiKey]:
        return [rows.api_key(row) for row in self.rows(self.SQL["api_keys"])]

    def audit(self, limit: int, memory: MemoryId | None = None) -> Sequence[AuditEntry]:
        name, params = ("audit_newest", {}) if memory is None else ("audit_of", {"memory": memory})
        return [rows.audit_entry(row) for row in self.rows(self.SQL[name], {**params, "limit": limit})]

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        found = self.rows(self.SQL["audit_after"], {"after": number, "limit": limit})
        return [(row[0], rows.audit_entry(row[1:])) for row in found]

    def session(self, agent: AgentId, session: Clean) -> Session | None:
        row = self.row("session", agent=agent, id=session)
        return None if row is None else sessions.session(row)

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        return [events.cooldown(row) for row in self.rows(self.SQL["cooldowns"], {"at": to_micros(at)})]

    def cooldown(self, service: Clean, action: Clean) -> Cooldown | None:
        row = self.row("cooldown", service=service, action=action)
        return None if row is None else events.cooldown(row)

    def files_behind(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        found = self.rows(self.SQL["files_behind"], {"place": place, "path": path, "limit": limit})
        return [KnownFile(*row) for row in found]

    def job(self, job: JobId) -> Job | None:
        row = self.row("job_by_id", id=job)
        return None if row is None else rows.job(row)

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        found = self.rows(self.SQL["jobs"]) if kind is None else self.rows(self.SQL["jobs_of_kind"], {"kind": kind})
        return [rows.job(row) for row in found]

    def handover(self, event: EventId) -> Handover | None:
        row = self.row("handover_by_id", id=event)
        return None if row is None else handovers.handover(row)

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        asked = {"waiting": HANDOVER_STATE[HandoverState.WAITING], "now": to_micros(now), "limit": limit}
        return [handovers.handover(row) for row in self.rows(self.SQL["handovers_due"], asked)]

    def handovers_behind(self, event: EventId, limit: int) -> Sequence[Handover]:
        found = self.rows(self.SQL["handovers_behind"], {"after": event, "limit": limit})
        return [handovers.handover(row) for row in found]

    def handover_counts(self) -> Mapping[HandoverState, int]:
        found = dict(self.rows(self.SQL["handover_counts"]))
        return {state: found.get(code, 0) for state, code in HANDOVER_STATE.items()}

    def proposal(self, proposal: ProposalId) -> Proposal | None:
        return next(iter(self._proposals(self.SQL["proposal_by_id"], {"id": proposal})), None)

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        seen, own = condition(Filter(visibility=where.seen))
        sql, params = proposals.asked(where)
        if after is not None:
            sql += " AND (pr.at, pr.id) < (:after_at, :after_id)"
            params |= {"after_at": to_micros(after[0]), "after_id": after[1]}
        statement = self.SQL["proposals"].replace("{where}", seen).replace("{proposed}", sql)
        return self._proposals(statement, {**own, **params, "limit": limit})

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        return self._proposals(self.SQL["proposals_about"], {"document": document})

    def open_proposals(self, actor: AgentId | None) -> int:
        if actor is None:
            return self.row("proposals_open_of_nobody")[0]
        return self.row("proposals_open", actor=actor)[0]

    def waiting_proposals(self, actor: AgentId | None) -> Sequence[Proposal]:
        if actor is None:
            return self._proposals(self.SQL["proposals_waiting_of_nobody"], {})
        return self._proposals(self.SQL["proposals_waiting"], {"actor": actor})

    def _proposals(self, statement: str, asked: Params) -> list[Proposal]:
        found = self.rows(statement, asked)
        memories: dict[str, list[ProposalSubject]] = {row[0]: [] for row in found}
        if found:
            for proposal, memory, version in self.rows(self.SQL["concerned_of"], {"ids": self.array(memories.keys())}):
                memories[proposal].append(ProposalSubject(memory, version))
        return [proposals.proposal(row, memories[row[0]]) for row in found if memories[row[0]]]

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        return [events.event(row) for row in self.rows(self.SQL["events_about"], {"document": document})]

    def same_event(self, event: Event, within: timedelta) -> Event | None:
        row = self.row("event_same", **events.same_params(event, within))
        return None if row is None else events.event(row)

    def batch(self, batch: BatchId) -> Batch | None:
        row = self.row("batch_by_id", id=batch)
        return None if row is None else batches.batch(row)

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        sql, params = batches.asked(where, after)
        found = self.rows(self.SQL["batches"].replace("{batched}", sql), {**params, "limit": limit})
        return [batches.batch(row) for row in found]

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None:
        row = self.row("preimage_of", batch=batch, document=document)
        return None if row is None else batches.preimage(row)

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        return [batches.preimage(row) for row in self.rows(self.SQL["preimages"], {"batch": batch})]

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        row = self.row("preimage_last", memory=memory)
        return None if row is None else batches.preimage(row)

    def setting(self, name: str) -> str | None:
        return self.facts().settings.get(name)

    def facts(self) -> Facts:
        """What every question needs several of, in one exchange with the database, which shows the same throughout."""
        if self._facts is None:
            self._facts = self.read_facts()
        return self._facts

    def read_facts(self) -> Facts:
        found = self.rows(self.SQL["facts"])
        return Facts(
            settings={name: value for name, value, model in found if model is None},
            models={name: ModelKey(model) for name, _, model in found if model is not None},
        )
