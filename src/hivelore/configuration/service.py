"""Sets, reads, reveals and resolves configuration entries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.configuration import decisions
from hivelore.configuration.entry_changes import EntryChange, EntryWriter, audited_id, current_version, record_audit
from hivelore.configuration.env_files import EnvFiles
from hivelore.configuration.env_reconciler import EnvReconciler
from hivelore.configuration.env_text import quote
from hivelore.configuration.keyring import Keyring, NoKey
from hivelore.configuration.model import (
    DESCRIPTION_BYTES,
    MASK,
    MAX_BYTES,
    MAX_ENTRIES,
    PAGE,
    ConfigChange,
    ConfigEntry,
    ConfigId,
    ConfigItem,
    ConfigRead,
    ConfigScope,
    ConfigVersion,
    ConfigVersionItem,
    CurrentEntry,
    DeletedConfig,
    EnvProblem,
    Place,
    ResolvedItem,
    WithheldKey,
)
from hivelore.configuration.names import check_key, is_reserved
from hivelore.configuration.secret_reader import SecretReader
from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import resolve_id
from hivelore.core.paging import invalid_cursor
from hivelore.core.redaction import Redactor, find
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, HiveloreError, Invalid, NotFound, TooLarge
from hivelore.identity.profile import OWN
from hivelore.identity.service import Agents
from hivelore.memories.model import Action
from hivelore.memories.normalizer import clean_line
from hivelore.repos.model import RepoId
from hivelore.repos.service import find_repo
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

READS = 50
"""Most readings of a secret that are shown."""
_PROBLEMS = 50
"""Most problems of files in one answer."""
_SECRET_WARNING = (
    "The value looks like a secret, but is stored and shown in clear. Set it again with isSecret true (--secret)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a caller sets. A field that is None keeps its value, and an empty text removes it."""

    key: str
    value: str
    is_secret: bool | None = None
    env_path: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class EntryPage:
    entries: Sequence[ConfigItem]
    next: str | None
    """Cursor of the following page."""
    problems: Sequence[EnvProblem]
    """Lines of .env files that could not be written, or are due for long."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of an agent's process."""

    variables: Mapping[str, str]
    withheld: Sequence[WithheldKey]


@dataclass(frozen=True, slots=True)
class _Step:
    """Another version of an entry becomes current; None: it did not exist, or is deleted."""

    entry: ConfigEntry
    before: ConfigVersion | None
    after: ConfigVersion | None


class ConfigService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keyring: Keyring,
        env_files: EnvFiles,
        reconciler: EnvReconciler,
        writer: EntryWriter,
        journal: ChangeJournal,
        agents: Agents,
        redactor: Redactor,
        lead_sees: LeadSees,
        clock: Clock,
        new_id: Callable[[datetime], ConfigId],
        random: Callable[[int], bytes],
    ) -> None:
        self._store = store
        self._keyring = keyring
        self._env_files = env_files
        self._reconciler = reconciler
        self._writer = writer
        self._journal = journal
        self._agents = agents
        self._redactor = redactor
        self._lead_sees = lead_sees
        self._clock = clock
        self._new_id = new_id
        self._random = random

    def place(self, scope: ConfigScope, scope_id: str | None, viewer: Viewer) -> Place:
        """Returns the place that a caller means: agents and repositories by name or id, the caller's own without one.
        Raises Invalid, or NotFound for an agent or repository that is not known."""
        name = (scope_id or "").strip()
        if self._redactor.clean(name, field="scopeId") != name:
            raise Invalid("scopeId looks like a secret. Name the agent or the repository.", field="scopeId")
        if scope is ConfigScope.GLOBAL:
            if name:
                raise Invalid("Global scope has no scopeId. Leave it out, or use scope agent or repo.", field="scopeId")
            return Place(scope)
        if scope is ConfigScope.AGENT:
            return Place(scope, self._agents.find(name or OWN, viewer, "scopeId").id)
        if not name:
            raise Invalid("Say which repository: its name or id as scopeId.", field="scopeId")
        with self._store.read() as view:
            return Place(scope, find_repo(view, name).id)

    def list_entries(
        self,
        viewer: Viewer,
        scope: ConfigScope | None,
        scope_id: str | None,
        *,
        limit: int = PAGE,
        after: str | None = None,
        deadline: float | None = None,
    ) -> EntryPage:
        """Returns entries that the viewer may see, by scope, scope id and key. The first page also has the problems of
        files, for those who may write files."""
        if scope is None and scope_id is not None:
            raise Invalid("A scopeId needs a scope: agent or repo.", field="scope")
        seen = visible_to(viewer, self._lead_sees)
        is_global = scope is ConfigScope.GLOBAL
        place = self.place(scope, scope_id, viewer) if scope is not None and (scope_id or is_global) else None
        with self._store.read(deadline, sees=seen) as view:
            last = None if after is None else view.config_entry(ConfigId(after))
            if after is not None and (last is None or not decisions.may_see(seen, last.place)):
                raise invalid_cursor()
            found = view.config_entries(seen, limit + 1, place=place, scope=scope, after=last)
            page = _cut(found, limit)
            names = _names(view, page)
        items = [ConfigItem(**_fields(one, names)) for one in page]
        problems: Sequence[EnvProblem] = ()
        if after is None and decisions.may_write_files(viewer):
            with self._store.read(deadline, sees=seen) as view:
                problems = self._reconciler.late(view, seen, _PROBLEMS)
        return EntryPage(items, page[-1].entry.id if len(page) < len(found) else None, problems)

    def set(
        self,
        place: Place,
        setting: Setting,
        viewer: Viewer,
        deadline: float | None = None,
        *,
        version: int | None = None,
    ) -> ConfigItem:
        """Sets an entry and returns it, with a warning if a value in clear looks like a secret or a file could not be
        written. The same content again changes nothing. Raises Forbidden, Invalid, or Conflict if the encryption key is
        missing or the file cannot be written.

        ``version``: raises Stale for another content unless this is the current version, 0 if there is no entry."""
        key = check_key(setting.key.strip())
        decisions.check_value(setting.value)
        path = self._env_path(setting.env_path, viewer)
        description = self._description(setting.description)

        def put(tx: Transaction) -> tuple[CurrentEntry, EntryChange]:
            _claim(tx, place)
            known = tx.config_entry_at(place, key)
            last = current_version(tx, known)
            latest = next(iter(tx.config_versions(known.id, 1)), None) if known is not None else None
            now = self._clock.now()
            entry = ConfigEntry(
                id=self._new_id(now) if known is None else known.id,
                place=place,
                key=key,
                created_at=now if known is None or known.version is None else known.created_at,
                updated_at=now,
                version=1 if latest is None else latest.number + 1,
            )
            fresh = self._version(tx, entry, last or latest, setting, viewer)
            fresh = replace(
                fresh,
                env_path=path or None if path is not None or last is None else last.env_path,
                description=description if setting.description is not None or last is None else last.description,
            )
            decisions.permit_change(viewer, entry, last, fresh)
            if fresh.env_path is not None:
                quote(setting.value)
            if last is not None and known is not None:
                is_same = SecretReader(self._keyring).is_same(last, fresh)
                if not decisions.changed_fields(last, fresh, is_same_value=is_same):
                    return CurrentEntry(known, last), self._writer.renew_line(tx, known, last)
            decisions.check_version(last, version)
            (change,) = self._change(tx, [_Step(entry, last, fresh)], viewer)
            return CurrentEntry(entry, fresh), change

        if not decisions.may_change(viewer, place):
            raise decisions.refused_change(place)
        try:
            current, change = self._store.write(put, deadline)
        except NoKey:
            self._keyring.add(only_first=True)
            current, change = self._store.write(put, deadline)
        warnings = [*self._writer.finish([change])]
        if not current.content.is_secret and find(f"{key}={setting.value}"):
            warnings.insert(0, _SECRET_WARNING)
        with self._store.read(deadline) as view:
            names = _names(view, [current])
        return ConfigItem(**_fields(current, names), warning=" ".join(warnings) or None)

    def delete(self, entry: ConfigId, viewer: Viewer, deadline: float | None = None) -> DeletedConfig:
        """Deletes an entry, which can be undone as long as changes are journaled. Raises NotFound and Forbidden."""

        def remove(tx: Transaction) -> EntryChange:
            current = self._get(tx, entry, viewer)
            decisions.permit_change(viewer, current.entry, current.content, None)
            gone = replace(current.entry, updated_at=self._clock.now(), version=None)
            (change,) = self._change(tx, [_Step(gone, current.content, None)], viewer)
            return change

        change = self._store.write(remove, deadline)
        warnings = self._writer.finish([change])
        return DeletedConfig(id=entry, key=change.entry.key, warning=" ".join(warnings) or None)

    def prepare_clear(self, place: Place, viewer: Viewer) -> Callable[[Transaction], Sequence[EntryChange]]:
        """Returns a step of a transaction that deletes all entries of a place, in one batch. What it returns is for
        ``finish``. The step raises Forbidden."""

        def remove_all(tx: Transaction) -> Sequence[EntryChange]:
            _claim(tx, place)
            found = tx.config_entries(EVERYTHING.visibility, MAX_ENTRIES, place=place)
            now = self._clock.now()
            for one in found:
                decisions.permit_change(viewer, one.entry, one.content, None)
            gone = [_Step(replace(one.entry, updated_at=now, version=None), one.content, None) for one in found]
            return self._change(tx, gone, viewer)

        return remove_all

    def finish(self, changes: Sequence[EntryChange]) -> Sequence[str]:
        """Does after the transaction what belongs to the changes. Returns why lines of files could not be written."""
        return self._writer.finish(changes)

    def reveal(self, entry: ConfigId, viewer: Viewer, deadline: float | None = None) -> tuple[ConfigEntry, str]:
        """Returns an entry and its value, which the audit trail records. Raises NotFound, and Forbidden for a secret
        that the viewer may not read."""

        def read(tx: Transaction) -> tuple[ConfigEntry, str]:
            current = self._get(tx, entry, viewer)
            if current.content.is_secret and not decisions.may_reveal(viewer, current.entry.place):
                raise Forbidden(
                    "Only an operator may read this secret. An agent may read the secrets of its own scope."
                )
            value = SecretReader(self._keyring).value(current.content, current.entry.key)
            record_audit(tx, viewer, Action.READ, current.entry, self._clock.now())
            return current.entry, value

        return self._store.write(read, deadline)

    def history(
        self, entry: ConfigId, viewer: Viewer, *, limit: int = 100, deadline: float | None = None
    ) -> tuple[Sequence[ConfigVersionItem], Sequence[ConfigRead]]:
        """Returns the latest versions of an entry, oldest first, and the latest readings of its value, newest first."""
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            current = self._get(view, entry, viewer)
            versions = view.config_versions(entry, limit + 1)
            reads = view.audit(READS, audited_id(entry), Action.READ)
        reader = SecretReader(self._keyring)
        shown = [
            ConfigVersionItem(
                number=one.number,
                at=one.at,
                actor=one.actor,
                interface=one.interface,
                value=MASK if one.value is None else one.value,
                is_secret=one.is_secret,
                env_path=one.env_path,
                description=one.description,
                changed=decisions.changed_fields(
                    before, one, is_same_value=before is not None and reader.is_same(before, one)
                ),
                is_current=one.number == current.content.number,
            )
            for before, one in zip((None, *versions), versions, strict=False)
        ]
        return shown[-limit:], [ConfigRead(at=one.at, actor=one.actor, interface=one.interface) for one in reads]

    def resolved(
        self,
        agent: str | None,
        repo: str | None,
        viewer: Viewer,
        *,
        key: str | None = None,
        deadline: float | None = None,
    ) -> Sequence[ResolvedItem]:
        """Returns the entries that apply to an agent (None: the caller) and a repository, by key. ``key``: only this
        one."""
        found = self._resolve(agent, repo, viewer, key, deadline)
        with self._store.read(deadline) as view:
            names = _names(view, [one.current for one in found])
        return [ResolvedItem(**_fields(one.current, names), overrides=one.overrides) for one in found]

    def environment(
        self,
        agent: str | None,
        repo: str | None,
        viewer: Viewer,
        *,
        key: str | None = None,
        deadline: float | None = None,
    ) -> Environment:
        """Returns the variables of an agent's process, with the secrets that the viewer may read. The audit trail
        records these. Other secrets, those that cannot be read, and entries with a key that was reserved since they
        were set are withheld."""
        reader = SecretReader(self._keyring)
        variables: dict[str, str] = {}
        withheld: list[WithheldKey] = []
        read: list[ConfigEntry] = []
        for one in self._resolve(agent, repo, viewer, key, deadline):
            entry, content = one.current.entry, one.current.content
            if is_reserved(entry.key):
                why = "The key is reserved: programs find code, commands or files by it. Delete the entry."
                withheld.append(WithheldKey(key=entry.key, is_forbidden=True, reason=why))
                continue
            if content.is_secret and not decisions.may_reveal(viewer, entry.place):
                why = "This key may not read it. Use an operator's key that acts for the agent."
                withheld.append(WithheldKey(key=entry.key, is_forbidden=True, reason=why))
                continue
            try:
                variables[entry.key] = reader.value(content, entry.key)
            except HiveloreError as error:
                withheld.append(WithheldKey(key=entry.key, is_forbidden=False, reason=str(error)))
                continue
            if content.is_secret:
                read.append(entry)
        if read:
            now = self._clock.now()
            self._store.write(lambda tx: [record_audit(tx, viewer, Action.READ, one, now) for one in read], deadline)
        return Environment(variables, withheld)

    def resolve_id(self, text: str, viewer: Viewer) -> ConfigId:
        """Returns the id of the entry that a caller means: the whole id, or at least eight characters of its beginning.
        Raises Invalid if several ids begin with them."""

        def find_ids(prefix: str, limit: int) -> Sequence[ConfigId]:
            seen = visible_to(viewer, self._lead_sees)
            with self._store.read(sees=seen) as view:
                return view.config_ids_from(seen, prefix, limit)

        return ConfigId(resolve_id(text, find_ids, "entry"))

    # steps

    def _env_path(self, given: str | None, viewer: Viewer) -> str | None:
        if given is None or not given.strip():
            return given and ""
        if not decisions.may_write_files(viewer):
            raise Forbidden("Only a lead or an operator may keep an entry in a file. Ask one, or leave envPath out.")
        if self._redactor.clean(given, field="envPath") != given:
            raise Invalid("envPath looks like a secret. Choose another path.", field="envPath")
        path = self._env_files.normalize(given.strip())
        self._env_files.check(path)
        return path

    def _version(
        self, tx: Transaction, entry: ConfigEntry, last: ConfigVersion | None, setting: Setting, viewer: Viewer
    ) -> ConfigVersion:
        """Returns the next version of an entry. It is a secret if that is said, or if the last one was."""
        is_secret = setting.is_secret if setting.is_secret is not None else last is not None and last.is_secret
        keys = self._writer.usable_keys(tx) if is_secret else None
        return ConfigVersion(
            entry=entry.id,
            number=entry.version or 1,
            at=entry.updated_at,
            actor=viewer.agent,
            interface=viewer.interface,
            is_secret=is_secret,
            value=None if is_secret else setting.value,
            sealed=None if keys is None else keys.seal(entry.id, setting.value, self._random),
        )

    def _description(self, given: str | None) -> Clean | None:
        description = clean_line(self._redactor, given, "description", DESCRIPTION_BYTES)
        if description is not None and len(description.encode()) > DESCRIPTION_BYTES:
            raise TooLarge(f"description has more than {DESCRIPTION_BYTES:,} bytes.", field="description")
        return description

    def _change(self, tx: Transaction, steps: Sequence[_Step], viewer: Viewer) -> Sequence[EntryChange]:
        """Makes other versions current, with their batch and audit entries."""
        done = [self._writer.put(tx, one.entry, one.before, one.after) for one in steps]
        is_private = any(one.entry.place.scope is ConfigScope.AGENT for one in steps)
        batch = self._journal.new_batch(BatchKind.CONFIGURED, viewer, changes=len(steps), is_private=is_private)
        if batch is not None and steps:
            tx.put_batch(batch)
            changes = [ConfigChange(one.entry.id, _number(one.before), _number(one.after)) for one in steps]
            tx.put_config_changes(batch.id, changes)
        for one in steps:
            if batch is None and one.after is None:
                tx.drop_config_entry(one.entry.id)
            action = Action.FORGOTTEN if one.after is None else Action.CREATED if one.before is None else Action.EDITED
            record_audit(tx, viewer, action, one.entry, self._clock.now())
        return done

    def _get(self, view: View, entry: ConfigId, viewer: Viewer) -> CurrentEntry:
        known = view.config_entry(entry)
        content = current_version(view, known)
        seen = visible_to(viewer, self._lead_sees)
        if known is None or content is None or not decisions.may_see(seen, known.place):
            raise NotFound("No configuration entry has this id. 'hivelore config list' (GET /api/config) shows them.")
        return CurrentEntry(known, content)

    def _resolve(
        self, agent: str | None, repo: str | None, viewer: Viewer, key: str | None, deadline: float | None
    ) -> Sequence[decisions.Resolved]:
        places = [Place(ConfigScope.GLOBAL)]
        if agent is not None or viewer.agent is not None:
            places.append(self.place(ConfigScope.AGENT, agent, viewer))
        if repo is not None:
            places.append(self.place(ConfigScope.REPO, repo, viewer))
        seen = visible_to(viewer, self._lead_sees)
        for place in places:
            if place.scope is ConfigScope.AGENT and not decisions.may_see(seen, place):
                raise Forbidden("You may read the configuration of your own agent only. Leave agentId out.")
        with self._store.read(deadline, sees=seen) as view:
            found = [one for place in places for one in view.config_entries(seen, MAX_ENTRIES, place=place)]
        return decisions.resolve(one for one in found if key in (None, one.entry.key))


def _fields(current: CurrentEntry, names: Mapping[Place, str | None]) -> dict[str, Any]:
    """Returns the fields of an entry as callers see it, with a secret masked."""
    entry, content = current.entry, current.content
    return {
        "id": entry.id,
        "scope": entry.place.scope,
        "scope_id": entry.place.scope_id or None,
        "scope_name": names[entry.place],
        "key": entry.key,
        "value": MASK if content.value is None else content.value,
        "is_secret": content.is_secret,
        "env_path": content.env_path,
        "description": content.description,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "version": content.number,
        "actor": content.actor,
    }


def _names(view: View, entries: Sequence[CurrentEntry]) -> Mapping[Place, str | None]:
    """Returns the names of the agents and repositories of entries."""
    return {place: _name(view, place) for place in dict.fromkeys(one.entry.place for one in entries)}


def _name(view: View, place: Place) -> str | None:
    if place.scope is ConfigScope.GLOBAL:
        return None
    is_agent = place.scope is ConfigScope.AGENT
    known = view.agent(AgentId(place.scope_id)) if is_agent else view.repo(RepoId(place.scope_id))
    return None if known is None else known.name


def _claim(tx: Transaction, place: Place) -> None:
    """Makes two transactions that write entries of a place run one after the other."""
    tx.claim(f"configuration {place.scope} {place.scope_id}".encode())


def _number(version: ConfigVersion | None) -> int | None:
    return None if version is None else version.number


def _cut(found: Sequence[CurrentEntry], limit: int) -> Sequence[CurrentEntry]:
    """Returns the entries of a page: at least one if there are any, and about as many bytes as one place may have."""
    size = 0
    for count, one in enumerate(found[:limit]):
        size += decisions.content_size(one.content)
        if count and size > MAX_BYTES:
            return found[:count]
    return found[:limit]
