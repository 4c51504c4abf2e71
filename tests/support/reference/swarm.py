"""Writes of agents, keys, logs, sessions and jobs to the reference store."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nlargest, nsmallest

from hivelore.changes.model import Batch, BatchId, Preimage
from hivelore.configuration.model import ConfigChange, ConfigEntry, ConfigId, ConfigVersion, EnvLine
from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.events.model import Cooldown, Event, LoggedId
from hivelore.feedback.recalls import Recall
from hivelore.folders.model import KnownFile
from hivelore.identity.profile import ProfileChange, ProfileHead, ProfileVersion
from hivelore.links.model import LinkKind, StoredLink
from hivelore.memories.stored import DocumentKey
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport
from hivelore.review.model import Proposal, ProposalId
from hivelore.search.model import RecallId
from hivelore.sessions.model import Handover, HandoverState, Session
from hivelore.setup_scripts.model import ScriptVersion
from support.reference import batches, configuration, links, profiles, proposals, repos, setup_scripts
from support.reference import events as event_state
from support.reference.state import Lease, Logged
from support.reference.view import ReferenceView


class ReferenceSwarm(ReferenceView):
    """Implements ``storage.ports.SwarmTransaction``."""

    def put_agent(self, agent: Agent) -> None:
        namesake = self.agent_named(agent.name)
        if namesake is not None and namesake.id != agent.id:
            raise Conflict(f"Another agent has the name {agent.name}. Choose another name.")
        self.state = replace(self.state, agents=self.state.agents.put(agent.id, agent))

    def put_api_key(self, key: ApiKey) -> None:
        self.state = replace(self.state, api_keys=self.state.api_keys.put(key.id, key))

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        found = self.api_key(key)
        if found is None or found.revoked_at is not None:
            return False
        self.put_api_key(replace(found, revoked_at=at))
        return True

    def record_audit(self, entry: AuditEntry) -> None:
        self.state = replace(self.state, audit=self.state.audit.put(max(self.state.audit, default=0) + 1, entry))

    def import_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        audit = self.state.audit
        for number, entry in entries.items():
            if number in audit:
                raise Conflict(f"The number {number} of the audit trail is taken.")
            audit = audit.put(number, entry)
        self.state = replace(self.state, audit=audit)

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        kept = self.state.recalls
        for recall in entries:
            found = [self.get(hit.memory) for hit in recall.hits]
            kept = kept.put(recall.id, Logged(recall, tuple(None if one is None else one.key for one in found)))
        self.state = replace(self.state, recalls=kept)

    def drop_recalls(self, recalls: Collection[RecallId], since: datetime) -> None:
        kept = self.state.recalls
        for number in recalls:
            logged = kept.get(number)
            if logged is not None and logged.recall.at >= since:
                kept = kept.drop(number)
        self.state = replace(self.state, recalls=kept)

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        kept = self.state.recalls
        ages = {number: (logged.recall.at, number) for number, logged in kept.items()}
        newest = set(nlargest(keep, ages.values()))
        doomed = nsmallest(limit, (age for age in ages.values() if age[0] < before or age not in newest))
        for _, number in doomed:
            kept = kept.drop(number)
        self.state = replace(self.state, recalls=kept)
        return len(doomed)

    def log_events(self, events: Sequence[Event]) -> None:
        subjects = [None if event.memory is None else self.get(event.memory) for event in events]
        keys = [None if one is None else one.key for one in subjects]
        self.state = event_state.logged(self.state, list(zip(events, keys, strict=True)))

    def drop_event(self, event: LoggedId) -> bool:
        known = event in self.state.events
        self.state = event_state.dropped(self.state, [event])
        return known

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        doomed = event_state.too_old(self.state, before, keep, limit)
        self.state = event_state.dropped(self.state, doomed)
        return len(doomed)

    def put_cooldown(self, cooldown: Cooldown) -> None:
        place = cooldown.service, cooldown.action
        self.state = replace(self.state, cooldowns=self.state.cooldowns.put(place, cooldown))

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        self.state = replace(self.state, cooldowns=self.state.cooldowns.drop((service, action)))

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        over = [place for place, one in self.state.cooldowns.items() if one.until <= before][:limit]
        for service, action in over:
            self.drop_cooldown(service, action)
        return len(over)

    def put_session(self, session: Session) -> None:
        self.state = replace(self.state, sessions=self.state.sessions.put((session.agent, session.id), session))

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        kept = self.state.sessions
        ages = defaultdict[AgentId, list[datetime]](list)
        for one in kept.values():
            ages[one.agent].append(one.updated_at)
        oldest = {agent: max([before, *nlargest(keep, of_it)[keep - 1 :]]) for agent, of_it in ages.items()}
        old = ((one.updated_at, name) for name, one in kept.items() if one.updated_at < oldest[one.agent])
        doomed = nsmallest(limit, old)
        for _, name in doomed:
            kept = kept.drop(name)
        self.state = replace(self.state, sessions=kept)
        return len(doomed)

    def put_files(self, files: Sequence[KnownFile]) -> None:
        kept = self.state.files
        for file in files:
            kept = kept.put((file.place, file.path), file)
        self.state = replace(self.state, files=kept)

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        kept = self.state.files
        for path in paths:
            kept = kept.drop((place, path))
        self.state = replace(self.state, files=kept)

    def put_job(self, job: Job) -> None:
        self.state = replace(self.state, jobs=self.state.jobs.put(job.id, job))

    def put_handover(self, handover: Handover) -> None:
        self.state = replace(self.state, handovers=self.state.handovers.put(handover.ended.id, handover))

    def prune_handovers(self, before: datetime, limit: int) -> int:
        over = [one for one in self.state.handovers.values() if one.state is not HandoverState.WAITING]
        doomed = [one.ended.id for one in over if one.not_before < before][:limit]
        kept = self.state.handovers
        for event in doomed:
            kept = kept.drop(event)
        self.state = replace(self.state, handovers=kept)
        return len(doomed)

    def put_proposal(self, proposal: Proposal) -> None:
        self.state = proposals.put(self.state, proposal)

    def drop_proposal(self, proposal: ProposalId) -> None:
        drafts = self.state.script_drafts.drop(proposal)
        self.state = replace(self.state, proposals=self.state.proposals.drop(proposal), script_drafts=drafts)

    def put_script_draft(self, proposal: ProposalId, text: Clean) -> None:
        self.state = replace(self.state, script_drafts=self.state.script_drafts.put(proposal, text))

    def put_setup_script(self, version: ScriptVersion) -> None:
        self.state = setup_scripts.put(self.state, version)

    def drop_setup_scripts(self, agent: AgentId | None, last: int) -> None:
        self.state = setup_scripts.without(self.state, agent, last)

    def prune_proposals(self, before: datetime, limit: int) -> int:
        old = proposals.decided_before(self.state, before, limit)
        for proposal in old:
            self.drop_proposal(proposal)
        return len(old)

    def put_link(self, link: StoredLink) -> None:
        self.state = links.put(self.state, link)

    def drop_link(self, source: DocumentKey, target: DocumentKey, kind: LinkKind) -> None:
        self.state = replace(self.state, links=self.state.links.drop((source, target, kind)))

    def put_compared(self, document: DocumentKey, version: int, model: Clean) -> None:
        if document in self.state.documents:
            self.state = replace(self.state, compared=self.state.compared.put(document, (version, model)))

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        self.state = batches.put(self.state, batch, preimages)

    def drop_batch(self, batch: BatchId) -> None:
        self.state = replace(self.state, batches=self.state.batches.drop(batch))

    def drop_preimages(self, document: DocumentKey) -> None:
        self.state = batches.without(self.state, document)

    def prune_batches(self, before: datetime, limit: int) -> int:
        old = batches.too_old(self.state, before, limit)
        for batch in old:
            self.drop_batch(batch)
        return len(old)

    def put_config_entry(self, entry: ConfigEntry) -> None:
        self.state = configuration.put(self.state, entry)

    def put_config_version(self, version: ConfigVersion) -> None:
        self.state = configuration.put_version(self.state, version)

    def drop_config_versions(self, entry: ConfigId, last: int) -> None:
        self.state = configuration.without_versions(self.state, entry, last)

    def drop_config_entry(self, entry: ConfigId) -> None:
        self.state = configuration.without(self.state, entry)

    def put_config_changes(self, batch: BatchId, changes: Sequence[ConfigChange]) -> None:
        self.state = configuration.with_changes(self.state, batch, changes)

    def touch_env_file(self, path: str, at: datetime) -> None:
        self.state = configuration.touched(self.state, path, at)

    def put_env_line(self, line: EnvLine) -> None:
        lines = self.state.env_lines.put((line.workspace, line.path, line.key), line)
        self.state = replace(self.state, env_lines=lines)

    def drop_env_line(self, workspace: str, path: str, key: str) -> None:
        lines = self.state.env_lines.drop((workspace, path, key))
        self.state = replace(self.state, env_lines=lines)

    def prune_config(self, before: datetime, limit: int) -> int:
        self.state, pruned = configuration.pruned(self.state, before, limit)
        return pruned

    def put_repo(self, repo: Repo) -> None:
        self.state = repos.put(self.state, repo)

    def drop_repo(self, repo: RepoId) -> None:
        self.state = repos.without(self.state, repo)

    def put_repo_report(self, report: RepoReport) -> None:
        self.state = repos.put_report(self.state, report)

    def drop_repo_report(self, repo: RepoId, owner: AgentId | None) -> None:
        self.state = repos.without_report(self.state, repo, owner)

    def drop_repo_reports(self, repo: RepoId) -> None:
        self.state = repos.without_reports(self.state, repo)

    def put_repo_changes(self, batch: BatchId, changes: Sequence[RepoChange]) -> None:
        self.state = repos.with_changes(self.state, batch, changes)

    def put_profile(self, profile: ProfileHead) -> None:
        self.state = replace(self.state, profiles=self.state.profiles.put(profile.agent, profile))

    def put_profile_version(self, version: ProfileVersion) -> None:
        place = version.agent, version.number
        self.state = replace(self.state, profile_versions=self.state.profile_versions.put(place, version))

    def drop_profile_versions(self, agent: AgentId, last: int, kept: int) -> None:
        self.state = profiles.without_versions(self.state, agent, last, kept)

    def put_profile_changes(self, batch: BatchId, changes: Sequence[ProfileChange]) -> None:
        self.state = profiles.with_changes(self.state, batch, changes)

    def acquire_lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        held = self.state.leases.get(name)
        if held is not None and held.holder != holder and held.until > now:
            return False
        self.state = replace(self.state, leases=self.state.leases.put(name, Lease(holder, now + lease)))
        return True

    def set_setting(self, name: str, value: str) -> None:
        self.state = replace(self.state, settings=self.state.settings.put(name, value))
