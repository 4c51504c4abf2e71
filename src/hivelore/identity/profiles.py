"""Profiles of agents: joining, reading, updating, and restoring versions (D01, D05, D07)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.access import visible_to
from hivelore.core.agents import Agent, AgentId, LeadSees, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound, Stale
from hivelore.events.log import EventLog
from hivelore.events.model import Level
from hivelore.identity.profile import (
    CARD_CHARACTERS,
    OWN,
    Profile,
    ProfileCard,
    ProfileChange,
    ProfileContent,
    ProfileField,
    ProfileHead,
    ProfileVersion,
    ProfileVersionItem,
)
from hivelore.identity.profile_access import may_rename, may_use
from hivelore.identity.profile_defaults import default_content
from hivelore.identity.profile_limits import check_capabilities, check_text
from hivelore.identity.profile_merge import Changes, Merged, changed_fields, merge
from hivelore.identity.profile_versions import append_version, current_version, known_agent
from hivelore.identity.service import Agents, clean_name
from hivelore.memories.diff import compare_values
from hivelore.memories.model import Action, MemoryId
from hivelore.search.model import Difference
from hivelore.storage.ports import MemoryStore, Transaction, View

_PROFILE = Clean("profile")


@dataclass(frozen=True, slots=True)
class GivenProfile:
    """Fields of a profile as a caller gives them; None: not given."""

    name: str | None = None
    role: str | None = None
    description: str | None = None
    capabilities: Sequence[str] | None = None
    soul: str | None = None
    identity: str | None = None
    notes: str | None = None


class ProfileService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        agents: Agents,
        journal: ChangeJournal,
        events: EventLog,
        redactor: Redactor,
        lead_sees: LeadSees,
        clock: Clock,
        tools: Collection[str],
        workspace: str,
        audit: Callable[[AuditEntry], None],
    ) -> None:
        """``tools``: names of the enabled tools, and ``workspace`` its path in words, for default texts."""
        self._store = store
        self._agents = agents
        self._journal = journal
        self._events = events
        self._redactor = redactor
        self._lead_sees = lead_sees
        self._clock = clock
        self._tools = tools
        self._workspace = workspace
        self._audit = audit

    def join(self, given: GivenProfile, viewer: Viewer, deadline: float | None = None) -> tuple[Profile, bool]:
        """Creates the profile of the caller with default texts, if it has none. Returns the profile, and True if it is
        new; an existing one does not change."""
        caller = self._agents.find(OWN, viewer)
        changes = self._clean(given)
        if not may_rename(viewer, caller.id, caller.name):
            changes.pop(ProfileField.NAME, None)

        def put(tx: Transaction) -> tuple[ProfileVersion, bool]:
            known = current_version(tx, tx.profile(caller.id))
            if known is not None:
                return known, False
            agent = known_agent(tx, caller.id)
            return append_version(tx, agent, self._default_content(agent, changes), viewer, self._clock.now()), True

        version, is_new = self._store.write(put, deadline)
        if version.content.name != caller.name:
            self._agents.report_change()
        return _profile_of(version), is_new

    def read(self, agent: Agent, viewer: Viewer, deadline: float | None = None) -> Profile:
        """Returns the current profile; the default one for an agent that has not joined."""
        with self._read(agent, viewer, deadline) as view:
            version = current_version(view, view.profile(agent.id))
        self._audit_read(agent, viewer)
        if version is not None:
            return _profile_of(version)
        content = self._default_content(agent, {})
        default = ProfileVersion(
            agent=agent.id, number=0, at=agent.created_at, actor=None, interface=viewer.interface, content=content
        )
        return _profile_of(default)

    def cards(self) -> Mapping[AgentId, ProfileCard]:
        """Returns the public part of every profile."""
        with self._store.read() as view:
            return {head.agent: _card_of(head) for head in view.profiles()}

    def card(self, agent: AgentId) -> ProfileCard | None:
        with self._store.read() as view:
            head = view.profile(agent)
        return None if head is None else _card_of(head)

    def update(
        self,
        agent: Agent,
        given: GivenProfile,
        viewer: Viewer,
        *,
        expected: int | None = None,
        also: Callable[[Transaction], None] | None = None,
        deadline: float | None = None,
    ) -> Profile:
        """Changes the given fields. ``expected``: the version that the caller read. ``also``: another change, which is
        made in the same transaction unless this one conflicts.

        Raises Stale if the same field was changed since then. What the caller gave is then kept as a version, and the
        current version stays as it is.
        """
        self._check_permission(agent, viewer)
        changes = self._clean(given)
        name = changes.get(ProfileField.NAME)
        if name is not None and name != agent.name and not may_rename(viewer, agent.id, agent.name):
            raise Forbidden("Others know you by your name. Ask an operator or a lead to change it.")

        def put(tx: Transaction) -> tuple[ProfileVersion, ProfileVersion | None]:
            """Returns the current version, and the one that conflicts with it."""
            known = known_agent(tx, agent.id)
            current = self._current_or_new(tx, known, viewer)
            merged = _merge_update(tx, changes, expected, current)
            now = self._clock.now()
            if merged.conflicts:
                same = _newest_conflict(tx, current, merged.content, viewer)
                return current, same or append_version(tx, known, merged.content, viewer, now, is_conflict=True)
            if also is not None:
                also(tx)
            return self._make_current(tx, known, current, merged.content, viewer), None

        current, conflicting = self._store.write(put, deadline)
        if current.content.name != agent.name:
            self._agents.report_change()
        if conflicting is not None:
            self._report_conflict(current, conflicting, viewer)
        self._audit_read(agent, viewer)
        return _profile_of(current)

    def prepare_reset(self, agent: Agent, viewer: Viewer) -> Callable[[Transaction], bool]:
        """Returns a step of a transaction that gives an agent the default profile, as a new version with its name. The
        step returns False if it had that. Raises Forbidden."""
        self._check_permission(agent, viewer)

        def reset(tx: Transaction) -> bool:
            known = known_agent(tx, agent.id)
            current = current_version(tx, tx.profile(agent.id))
            if current is None:
                return False
            return self._make_current(tx, known, current, self._default_content(known, {}), viewer) != current

        return reset

    def restore(self, agent: Agent, number: int, viewer: Viewer, deadline: float | None = None) -> Profile:
        """Makes the texts of a version current again, as a new version. The name of the agent does not change."""
        self._check_permission(agent, viewer)

        def put(tx: Transaction) -> ProfileVersion:
            known = known_agent(tx, agent.id)
            current = self._current_or_new(tx, known, viewer)
            wanted = tx.profile_version(agent.id, number)
            if wanted is None:
                raise _unknown_version(agent, number)
            return self._make_current(tx, known, current, replace(wanted.content, name=known.name), viewer)

        version = self._store.write(put, deadline)
        self._audit_read(agent, viewer)
        return _profile_of(version)

    def history(
        self, agent: Agent, viewer: Viewer, before: int | None, limit: int, deadline: float | None = None
    ) -> tuple[Sequence[ProfileVersionItem], int | None]:
        """Returns a page of versions, newest first, and ``before`` of the next page."""
        with self._read(agent, viewer, deadline) as view:
            head = view.profile(agent.id)
            if head is None:
                return (), None
            found = view.profile_versions(agent.id, head.last + 1 if before is None else before, limit + 1)
            by_number = {one.number: one for one in found}
            items = [_item(one, _followed(view, one, by_number), head) for one in found[:limit]]
        return items, found[limit - 1].number if len(found) > limit else None

    def difference(
        self, agent: Agent, viewer: Viewer, older: int | None, newer: int | None, deadline: float | None = None
    ) -> Difference:
        """Returns the differences between two versions by field. Default: the current version, and the one that the
        newer version follows."""
        with self._read(agent, viewer, deadline) as view:
            head = view.profile(agent.id)
            last = newer if newer is not None else 0 if head is None else head.version
            to = view.profile_version(agent.id, last)
            if to is None:
                raise _unknown_version(agent, last)
            first = older if older is not None else to.follows or to.number
            since = view.profile_version(agent.id, first)
        if since is None:
            raise _unknown_version(agent, first)
        self._audit_read(agent, viewer)
        values = {field.value: (since.content.get(field), to.content.get(field)) for field in ProfileField}
        return compare_values(first, last, values)

    # steps

    def _read(self, agent: Agent, viewer: Viewer, deadline: float | None) -> AbstractContextManager[View]:
        self._check_permission(agent, viewer)
        return self._store.read(deadline, sees=visible_to(viewer, self._lead_sees))

    def _audit_read(self, agent: Agent, viewer: Viewer) -> None:
        """Audits an answer that contains the texts of another agent (X3)."""
        if viewer.agent != agent.id:
            entry = AuditEntry.by_viewer(viewer, Action.READ, MemoryId(agent.id), self._clock.now(), _PROFILE)
            self._audit(entry)

    def _check_permission(self, agent: Agent, viewer: Viewer) -> None:
        if not may_use(viewer, agent.id, self._lead_sees):
            raise Forbidden(
                f"You may not read or change the profile of {agent.name}. Use 'me' for your own; the list of agents "
                "shows what others do."
            )

    def _current_or_new(self, tx: Transaction, agent: Agent, viewer: Viewer) -> ProfileVersion:
        known = current_version(tx, tx.profile(agent.id))
        return known or append_version(tx, agent, self._default_content(agent, {}), viewer, self._clock.now())

    def _make_current(
        self, tx: Transaction, agent: Agent, current: ProfileVersion, content: ProfileContent, viewer: Viewer
    ) -> ProfileVersion:
        if content == current.content:
            return current
        version = append_version(tx, agent, content, viewer, self._clock.now())
        batch = self._journal.new_batch(BatchKind.PROFILED, viewer, changes=1, is_private=True)
        if batch is not None:
            tx.put_batch(batch)
            tx.put_profile_changes(batch.id, [ProfileChange(agent.id, current.number, version.number)])
        return version

    def _report_conflict(self, current: ProfileVersion, conflicting: ProfileVersion, viewer: Viewer) -> None:
        """Records an event and raises Stale."""
        name = current.content.name
        self._events.record(
            Level.WARNING,
            f"Two writers changed the profile of {name} at the same time. Both texts are kept: compare them with "
            f"'hivelore agent history {name}'.",
            viewer,
        )
        raise Stale(
            f"The profile was changed since you read it; version {current.number} is current. Nothing is lost: your "
            f"change is kept as version {conflicting.number}. Compare them ('hivelore agent diff {name} "
            f"{current.number} {conflicting.number}'), and update version {current.number}.",
            current=current.number,
        )

    def _clean(self, given: GivenProfile) -> dict[ProfileField, Clean | tuple[Clean, ...]]:
        """Returns the given fields after redaction. Raises Invalid or TooLarge."""
        found: dict[ProfileField, Clean | tuple[Clean, ...]] = {}
        for field in ProfileField:
            value = getattr(given, field.value)
            if field is ProfileField.NAME and value is not None:
                found[field] = Clean(clean_name(value))
            elif field is ProfileField.CAPABILITIES and value is not None:
                check_capabilities(value)
                cleaned = (Clean(self._redactor.clean(one, field=field.value).strip()) for one in value)
                found[field] = tuple(dict.fromkeys(one for one in cleaned if one))
            elif value is not None:
                found[field] = self._clean_text(field, value)
        return found

    def _clean_text(self, field: ProfileField, text: str) -> Clean:
        check_text(field, text)
        clean = self._redactor.clean(text, field=field.value)
        check_text(field, clean)  # A mask may be longer than the secret.
        return clean

    def _default_content(self, agent: Agent, changes: Changes) -> ProfileContent:
        given: dict[str, Any] = {field.value: value for field, value in changes.items()}
        content = default_content(
            given.get("name", agent.name),
            given.get("role", Clean("")),
            given.get("description", Clean("")),
            given.get("capabilities", ()),
            tools=self._tools,
            workspace=self._workspace,
        )
        texts = {field.value: self._redactor.clean(str(content.get(field))) for field in _GENERATED}
        return replace(content, **texts)


_GENERATED = (ProfileField.SOUL, ProfileField.IDENTITY, ProfileField.NOTES)


def _merge_update(tx: View, changes: Changes, expected: int | None, current: ProfileVersion) -> Merged:
    if expected is None:
        return merge(changes, current.content, current.content)
    head = tx.profile(current.agent)
    if head is not None and expected > head.last:
        raise Invalid(f"There is no version {expected}; version {current.number} is current.", field="version")
    # Version 0 are the default texts, which version 1 stores.
    base = tx.profile_version(current.agent, max(expected, 1))
    return merge(changes, None if base is None else base.content, current.content)


def _newest_conflict(
    view: View, current: ProfileVersion, content: ProfileContent, viewer: Viewer
) -> ProfileVersion | None:
    """Returns the newest version if it is an earlier attempt of the same caller to store the same content."""
    head = view.profile(current.agent)
    newest = None if head is None else view.profile_version(current.agent, head.last)
    is_same = newest is not None and newest.is_conflict and newest.content == content and newest.actor == viewer.agent
    return newest if is_same else None


def _followed(view: View, version: ProfileVersion, known: Mapping[int, ProfileVersion]) -> ProfileVersion | None:
    """Returns the version that was current when another arrived; None if it is not kept."""
    if version.follows is None:
        return None
    return known.get(version.follows) or view.profile_version(version.agent, version.follows)


def _item(version: ProfileVersion, before: ProfileVersion | None, head: ProfileHead) -> ProfileVersionItem:
    known = before is not None or version.follows is None
    return ProfileVersionItem(
        number=version.number,
        at=version.at,
        actor=version.actor,
        interface=version.interface,
        bytes=version.content.size,
        changed=changed_fields(None if before is None else before.content, version.content) if known else (),
        follows=version.follows,
        is_conflict=version.is_conflict,
        is_current=version.number == head.version,
    )


def _profile_of(version: ProfileVersion) -> Profile:
    content = version.content
    return Profile(
        agent=version.agent,
        name=content.name,
        role=content.role,
        description=content.description,
        capabilities=content.capabilities,
        soul=content.soul,
        identity=content.identity,
        notes=content.notes,
        version=version.number,
        updated_at=version.at,
        actor=version.actor,
        interface=version.interface,
    )


def _card_of(head: ProfileHead) -> ProfileCard:
    return ProfileCard(
        role=head.role[:CARD_CHARACTERS],
        description=head.description[:CARD_CHARACTERS],
        capabilities=head.capabilities,
        version=head.version,
        updated_at=head.updated_at,
    )


def _unknown_version(agent: Agent, number: int) -> NotFound:
    return NotFound(
        f"The profile of {agent.name} has no version {number}, or it is not kept any more. 'hivelore agent history "
        f"{agent.name}' (GET /api/agents/{{agentId}}/profile/history) lists the versions."
    )
