"""Reads of agents, keys, logs, sessions and jobs from the reference store."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nlargest, nsmallest
from itertools import islice

from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import Cooldown, Event, EventFilter, LoggedId
from hivelore.feedback.recalls import Recall, RecallFilter
from hivelore.folders.model import KnownFile
from hivelore.memories.model import Action, MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import RecallId, Visibility
from hivelore.sessions.model import EventId, Handover, HandoverState, Session
from support.reference import events as event_state
from support.reference.batches import BatchesView
from support.reference.configuration import ConfigView
from support.reference.links import LinksView
from support.reference.profiles import ProfilesView
from support.reference.proposals import ProposalsView
from support.reference.repos import ReposView
from support.reference.setup_scripts import SetupScriptsView
from support.reference.state import Logged


class ReferenceSwarmView(ProposalsView, LinksView, BatchesView, ConfigView, ProfilesView, ReposView, SetupScriptsView):
    """Implements ``storage.ports.SwarmView``."""

    def agent(self, agent: AgentId) -> Agent | None:
        return self.state.agents.get(agent)

    def agent_named(self, name: str) -> Agent | None:
        return next((agent for agent in self.state.agents.values() if agent.name == name), None)

    def agents(self) -> Sequence[Agent]:
        return sorted(self.state.agents.values(), key=lambda agent: agent.name)

    def api_key(self, key: KeyId) -> ApiKey | None:
        return self.state.api_keys.get(key)

    def api_keys(self) -> Sequence[ApiKey]:
        return sorted(self.state.api_keys.values(), key=lambda key: (key.created_at, key.id))

    def audit(self, limit: int, memory: MemoryId | None = None, action: Action | None = None) -> Sequence[AuditEntry]:
        entries = (self.state.audit[number] for number in sorted(self.state.audit, reverse=True))
        found = (one for one in entries if memory in (None, one.memory) and action in (None, one.action))
        return list(islice(found, limit))

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        return [
            (found, self.state.audit[found]) for found in nsmallest(limit, (n for n in self.state.audit if n > number))
        ]

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        behind = (
            logged
            for logged in self.state.recalls.values()
            if (after is None or (logged.recall.at, logged.recall.id) < after)
            and (where.operators or logged.recall.agent is not None)
            and (where.agent is None or logged.recall.agent == where.agent)
            and (where.since is None or logged.recall.at >= where.since)
        )
        shown = (self._shown(logged, where.seen) for logged in behind)
        counting = (one for one in shown if where.memory is None or any(hit.memory == where.memory for hit in one.hits))
        return nlargest(limit, counting, key=lambda one: (one.at, one.id))

    def recall_times(
        self, documents: Collection[DocumentKey], since: datetime, limit: int
    ) -> Mapping[DocumentKey, Sequence[datetime]]:
        recent = [one for one in self.state.recalls.values() if one.recall.agent is not None and one.recall.at >= since]
        newest = nlargest(limit, recent, key=lambda one: (one.recall.at, one.recall.id))
        times = {key: [one.recall.at for one in newest if key in one.documents] for key in documents}
        return {key: found for key, found in times.items() if found}

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        return event_state.events(self.state, where, after, limit)

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        return event_state.about(self.state, document)

    def event_services(self) -> Collection[Clean]:
        return event_state.services(self.state)

    def same_events(self, event: Event, within: timedelta, limit: int) -> Sequence[Event]:
        return event_state.same(self.state, event, within, limit)

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        return event_state.cooldowns(self.state, at)

    def session(self, agent: AgentId, session: Clean) -> Session | None:
        return self.state.sessions.get((agent, session))

    def sessions_since(self, since: datetime, limit: int) -> Sequence[Session]:
        found = sorted(
            (one for one in self.state.sessions.values() if one.updated_at >= since),
            key=lambda one: (one.agent, one.id),
        )
        return sorted(found, key=lambda one: one.updated_at, reverse=True)[:limit]

    def files_after(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        behind = nsmallest(limit, (one for one in self.state.files if one > (place, path)))
        return [self.state.files[one] for one in behind]

    def job(self, job: JobId) -> Job | None:
        return self.state.jobs.get(job)

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        found = [job for job in self.state.jobs.values() if kind is None or job.kind == kind]
        return sorted(found, key=lambda job: (job.created_at, job.id), reverse=True)

    def handover(self, event: EventId) -> Handover | None:
        return self.state.handovers.get(event)

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        waiting = (one for one in self.state.handovers.values() if one.state is HandoverState.WAITING)
        return nsmallest(limit, (one for one in waiting if one.not_before <= now), key=_age)

    def handovers_after(self, event: EventId, limit: int) -> Sequence[Handover]:
        behind = nsmallest(limit, (one for one in self.state.handovers if one > event))
        return [self.state.handovers[one] for one in behind]

    def handover_counts(self) -> Mapping[HandoverState, int]:
        found = Counter(one.state for one in self.state.handovers.values())
        return {state: found[state] for state in HandoverState}

    def setting(self, name: str) -> str | None:
        return self.state.settings.get(name)

    def _shown(self, logged: Logged, seen: Visibility) -> Recall:
        there = [None if key is None else self.state.documents.get(key) for key in logged.documents]
        hits = tuple(
            hit
            for hit, one in zip(logged.recall.hits, there, strict=True)
            if one is not None and seen.admits(one.memory.owner, one.memory.scope)
        )
        return replace(logged.recall, hits=hits, withheld=logged.recall.withheld + len(there) - len(hits))


def _age(handover: Handover) -> tuple[datetime, EventId]:
    return handover.ended.at, handover.ended.id
