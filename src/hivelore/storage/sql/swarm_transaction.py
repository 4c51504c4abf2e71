"""Writing what belongs to the swarm, and is no memory, to a store that speaks SQL; and how anything is written."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import cast

from hivelore.changes.model import Batch, BatchId, BatchKind, Preimage
from hivelore.core.agents import Agent, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job
from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event, LoggedId
from hivelore.feedback.recalls import Recall
from hivelore.folders.model import KnownFile
from hivelore.indexing.model import DocumentKey
from hivelore.review.model import Proposal, ProposalId
from hivelore.sessions.model import Handover, HandoverState, Session
from hivelore.storage.sql import batches, handovers, proposals, recalls, rows, sessions
from hivelore.storage.sql import events as happenings
from hivelore.storage.sql.codes import BATCH_KIND, HANDOVER_STATE
from hivelore.storage.sql.instants import MICROSECOND, to_micros
from hivelore.storage.sql.swarm import Facts
from hivelore.storage.sql.view import SqlView
from hivelore.storage.sql.where import Param, Params


class SqlSwarmTransaction(SqlView):
    """Implements ``storage.ports.SwarmTransaction``. A dialect brings what writes: how statements are run, and
    units nested."""

    @abstractmethod
    def count(self, name: str, params: Params) -> int:
        """Run a named statement that returns nothing; how many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        """Run one statement, which returns nothing, once for each of these."""

    @abstractmethod
    def claim(self, what: bytes) -> None:
        """See that nobody else decides about the same meanwhile: for what is decided by something not being there."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[object]:
        """An error inside undoes what is inside, and nothing else: who handles it goes on with the rest of the unit."""

    @abstractmethod
    def number_from(self, table: str, last: int) -> None:
        """See that the keys that the engine gives to rows of a table are greater than this one."""

    def run(self, name: str, params: Params) -> int | None:
        """Run a named statement; the first value of its first row where it returns one."""
        found = self.rows(self.SQL[name], params)
        return found[0][0] if found else None

    def _import_rows(self, table: str, each: Sequence[dict[str, Param]]) -> None:
        """Put rows with their keys into a table."""
        self.run_many(self.SQL[f"{table}_move_in"], each)
        if each:
            self.number_from(table, max(cast(int, one["key"]) for one in each))

    def put_agent(self, agent: Agent) -> None:
        with self.savepoint():
            self.run("agent_put", rows.agent_params(agent))

    def put_api_key(self, key: ApiKey) -> None:
        self.run("api_key_put", rows.api_key_params(key))

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        return bool(self.rows(self.SQL["api_key_revoke"], {"id": key, "at": to_micros(at)}))

    def record_audit(self, entry: AuditEntry) -> None:
        self.run("audit_insert", rows.audit_params(entry))

    def import_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        with self.savepoint():
            self._import_rows(
                "audit", [{**rows.audit_params(entry), "key": number} for number, entry in entries.items()]
            )

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        given = {hit.memory for entry in entries for hit in entry.hits}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(given)}))
        self.run_many(self.SQL["recall_insert"], [recalls.recall_params(entry, keys) for entry in entries])

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("recall_nth", newer=keep - 1)
        at, number = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("recalls_prune", {"at": at, "id": number, "limit": limit})

    def log_events(self, events: Sequence[Event]) -> None:
        told_of = {event.memory for event in events if event.memory is not None}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(told_of)})) if told_of else {}
        there = [event for event in events if event.memory is None or event.memory in keys]
        self.run_many(self.SQL["event_insert"], [happenings.event_params(event, keys) for event in there])

    def drop_event(self, event: LoggedId) -> bool:
        return bool(self.count("event_drop", {"id": event}))

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("event_nth", newer=keep - 1)
        at, event = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("events_prune", {"at": at, "id": event, "limit": limit})

    def put_cooldown(self, cooldown: Cooldown) -> None:
        self.run("cooldown_put", happenings.cooldown_params(cooldown))

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        self.run("cooldown_drop", {"service": service, "action": action})

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        return self.count("cooldowns_prune", {"at": to_micros(before), "limit": limit})

    def put_session(self, session: Session) -> None:
        self.run("session_put", sessions.session_params(session))

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        return self.count("sessions_prune", {"at": to_micros(before), "keep": keep, "limit": limit})

    def put_files(self, files: Sequence[KnownFile]) -> None:
        self.run_many(self.SQL["file_put"], [asdict(file) for file in files])

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        self.run_many(self.SQL["file_drop"], [{"place": place, "path": path} for path in paths])

    def put_job(self, job: Job) -> None:
        self.run("job_put", rows.job_params(job))

    def put_handover(self, handover: Handover) -> None:
        self.run("handover_put", handovers.handover_params(handover))

    def prune_handovers(self, before: datetime, limit: int) -> int:
        over = {"done": HANDOVER_STATE[HandoverState.DONE], "failed": HANDOVER_STATE[HandoverState.FAILED]}
        return self.count("handovers_prune", {**over, "before": to_micros(before), "limit": limit})

    def put_proposal(self, proposal: Proposal) -> None:
        self.drop_proposal(proposal.id)
        about = {one.memory for one in proposal.memories}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(about)}))
        concerned = proposals.concerned_params(proposal, keys)
        if concerned:
            self.run("proposal_put", proposals.proposal_params(proposal))
            self.run_many(self.SQL["concerned_put"], concerned)

    def drop_proposal(self, proposal: ProposalId) -> None:
        for name in ("concerned_drop", "proposal_drop"):
            self.run(name, {"id": proposal})

    def prune_proposals(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["proposals_old"], {"before": to_micros(before), "limit": limit})
        for (proposal,) in old:
            self.drop_proposal(proposal)
        return len(old)

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        self.run("batch_put", batches.batch_params(batch))
        self.run_many(self.SQL["preimage_put"], [batches.preimage_params(batch.id, one) for one in preimages])

    def drop_batch(self, batch: BatchId) -> None:
        for name in ("preimages_drop", "batch_drop"):
            self.run(name, {"id": batch})

    def drop_preimages(self, document: DocumentKey) -> None:
        for name in ("batches_silence", "preimages_delete"):
            self.run(name, {"document": document, "decided": BATCH_KIND[BatchKind.DECIDED]})

    def prune_batches(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["batches_old"], {"before": to_micros(before), "limit": limit})
        for (batch,) in old:
            self.drop_batch(batch)
        return len(old)

    def acquire_lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        asked = {"name": name, "holder": holder, "now": to_micros(now), "lease": lease // MICROSECOND}
        return self.run("lease", asked) is not None

    def facts(self) -> Facts:
        """As they are now: a unit may have changed them itself."""
        return self.read_facts()

    def set_setting(self, name: str, value: str) -> None:
        self.run("setting_put", {"name": name, "value": value})
