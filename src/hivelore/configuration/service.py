"""Sets, reads, reveals and resolves configuration entries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.configuration import decisions
from hivelore.configuration.entry_changes import audited_id, current_version, put_current, record_audit
from hivelore.configuration.env_files import EnvFiles
from hivelore.configuration.keyring import Keyring, Keys
from hivelore.configuration.model import (
    DESCRIPTION_LENGTH,
    MASK,
    MAX_ENTRIES,
    MAX_VERSIONS,
    REPO_LENGTH,
    VALUE_LENGTH,
    ConfigChange,
    ConfigEntry,
    ConfigId,
    ConfigItem,
    ConfigRead,
    ConfigScope,
    ConfigVersion,
    ConfigVersionItem,
    CurrentEntry,
    Place,
    ResolvedItem,
)
from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import resolve_id
from hivelore.core.redaction import Redactor, find
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, TooLarge
from hivelore.identity.service import Agents
from hivelore.memories.model import Action
from hivelore.memories.normalizer import clean_line
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

NEWEST_KEY = "configuration.key"
"""The setting with the id of the key that encrypts."""
_READS = 50
"""Most readings of a secret that are shown."""
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
class Environment:
    """The variables of an agent's process."""

    variables: Mapping[str, str]
    withheld: tuple[str, ...]
    """Keys of secrets that the caller may not read."""


class ConfigService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keyring: Keyring,
        env_files: EnvFiles,
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
        self._journal = journal
        self._agents = agents
        self._redactor = redactor
        self._lead_sees = lead_sees
        self._clock = clock
        self._new_id = new_id
        self._random = random

    def place(self, scope: ConfigScope, scope_id: str | None, viewer: Viewer) -> Place:
        """Returns the place that a caller means: agents by name or id, the caller's own without one. Raises Invalid, or
        NotFound for an unknown agent."""
        name = (scope_id or "").strip()
        if scope is ConfigScope.GLOBAL:
            if name:
                raise Invalid("Global scope has no scopeId. Leave it out, or use scope agent or repo.", field="scopeId")
            return Place(scope)
        if scope is ConfigScope.AGENT:
            if not name and viewer.agent is None:
                raise Invalid("Say which agent: its name or id as scopeId.", field="scopeId")
            return Place(scope, self._agents.agent(AgentId(name)).id if name else str(viewer.agent))
        if not 1 <= len(name) <= REPO_LENGTH or not name.isprintable() or self._redactor.clean(name) != name:
            raise Invalid(
                f"Say which repository: its name as scopeId, 1 to {REPO_LENGTH} printable characters and no secret.",
                field="scopeId",
            )
        return Place(scope, name)

    def list_entries(
        self, viewer: Viewer, scope: ConfigScope | None, scope_id: str | None, deadline: float | None = None
    ) -> Sequence[ConfigItem]:
        """Returns the entries that the viewer may see, by scope, scope id and key."""
        if scope is None and scope_id is not None:
            raise Invalid("A scopeId needs a scope: agent or repo.", field="scope")
        seen = visible_to(viewer, self._lead_sees)
        only = None if scope is None or scope_id is None else self.place(scope, scope_id, viewer)
        with self._store.read(deadline, sees=seen) as view:
            found = view.config_entries(seen, only)
        return [item(one) for one in found if scope in (None, one.entry.place.scope)]

    def set(self, place: Place, setting: Setting, viewer: Viewer, deadline: float | None = None) -> ConfigItem:
        """Sets an entry and returns it, with a warning if a value in clear looks like a secret. The same content again
        changes nothing. Raises Forbidden, Invalid, or Conflict if the encryption key is missing or the file of the
        entry cannot be written."""
        self._permit(place, viewer)
        key = decisions.check_key(setting.key.strip())
        _check_value(setting.value)
        path = self._env_path(setting.env_path, viewer)
        description = clean_line(self._redactor, setting.description, "description", DESCRIPTION_LENGTH)
        self._create_key(place, key, setting)

        def put(tx: Transaction) -> tuple[CurrentEntry, ConfigVersion | None]:
            tx.claim(f"configuration {place.scope} {place.scope_id}".encode())
            known = tx.config_entry_at(place, key)
            last = current_version(tx, known)
            is_secret = setting.is_secret if setting.is_secret is not None else last is not None and last.is_secret
            now = self._clock.now()
            entry_id = self._new_id(now) if known is None else known.id
            keys = self._usable_keys(tx) if is_secret else None
            sealed = None if keys is None else keys.seal(entry_id, setting.value, self._random)
            fresh = ConfigVersion(
                entry=entry_id,
                number=1 + max((one.number for one in tx.config_versions(entry_id)), default=0),
                at=now,
                actor=viewer.agent,
                interface=viewer.interface,
                is_secret=is_secret,
                value=None if is_secret else setting.value,
                sealed=sealed,
                env_path=path or None if path is not None or last is None else last.env_path,
                description=description if setting.description is not None or last is None else last.description,
            )
            if last is not None and known is not None and not self._changed(last, fresh):
                return CurrentEntry(known, last), last
            if last is None and len(tx.config_entries(EVERYTHING.visibility, place)) >= MAX_ENTRIES:
                raise Conflict(f"There are {MAX_ENTRIES} entries already. Delete some first.")
            entry = ConfigEntry(
                id=entry_id,
                place=place,
                key=key,
                created_at=now if known is None or known.version is None else known.created_at,
                updated_at=now,
                version=fresh.number,
            )
            self._change(tx, entry, last, fresh, viewer)
            if keys is not None:
                self._seal_earlier(tx, entry_id, keys)
            return CurrentEntry(entry, fresh), last

        current, last = self._store.write(put, deadline)
        if current.content.is_secret and last is not None and not last.is_secret:
            self._store.purge_log()  # It has the value in clear.
        self.update_file(key, last, current.content)
        is_suspicious = not current.content.is_secret and bool(find(f"{key}={setting.value}"))
        return item(current, warning=_SECRET_WARNING if is_suspicious else None)

    def delete(self, entry: ConfigId, viewer: Viewer, deadline: float | None = None) -> None:
        """Deletes an entry, which can be undone as long as changes are journaled. Raises NotFound and Forbidden."""

        def remove(tx: Transaction) -> tuple[ConfigEntry, ConfigVersion]:
            current = self._get(tx, entry, viewer)
            self._permit(current.entry.place, viewer)
            gone = replace(current.entry, updated_at=self._clock.now(), version=None)
            self._change(tx, gone, current.content, None, viewer)
            return current.entry, current.content

        gone, content = self._store.write(remove, deadline)
        self.update_file(gone.key, content, None)

    def reveal(self, entry: ConfigId, viewer: Viewer, deadline: float | None = None) -> tuple[ConfigEntry, str]:
        """Returns an entry and its value, which the audit trail records. Raises NotFound, and Forbidden for a secret
        that the viewer may not read."""

        def read(tx: Transaction) -> tuple[ConfigEntry, str]:
            current = self._get(tx, entry, viewer)
            if current.content.is_secret and not decisions.may_reveal(viewer, current.entry.place):
                raise Forbidden(
                    "Only an operator may read this secret. An agent may read the secrets of its own scope."
                )
            value = self._open(current, self._keyring.load())
            record_audit(tx, viewer, Action.READ, current.entry, self._clock.now())
            return current.entry, value

        return self._store.write(read, deadline)

    def history(
        self, entry: ConfigId, viewer: Viewer, deadline: float | None = None
    ) -> tuple[Sequence[ConfigVersionItem], Sequence[ConfigRead]]:
        """Returns the versions of an entry, oldest first, and the latest readings of its secret, newest first."""
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            current = self._get(view, entry, viewer)
            versions = view.config_versions(entry)
            audit = view.audit(_READS, audited_id(entry))
        before: ConfigVersion | None = None
        shown: list[ConfigVersionItem] = []
        keys = self._keyring.load()
        for one in versions:
            same = before is not None and self._same_value(before, one, keys)
            shown.append(
                ConfigVersionItem(
                    number=one.number,
                    at=one.at,
                    actor=one.actor,
                    interface=one.interface,
                    value=MASK if one.value is None else one.value,
                    is_secret=one.is_secret,
                    env_path=one.env_path,
                    description=one.description,
                    changed=decisions.changed_fields(before, one, is_same_value=same),
                    is_current=one.number == current.content.number,
                )
            )
            before = one
        reads = [one for one in audit if one.action is Action.READ]
        return shown, [ConfigRead(at=one.at, actor=one.actor, interface=one.interface) for one in reads]

    def resolved(
        self, agent: str | None, repo: str | None, viewer: Viewer, deadline: float | None = None
    ) -> Sequence[ResolvedItem]:
        """Returns the entries that apply to an agent (None: the caller) and a repository, by key."""
        return [_resolved_item(one) for one in self._resolve(agent, repo, viewer, deadline)]

    def environment(
        self, agent: str | None, repo: str | None, viewer: Viewer, deadline: float | None = None
    ) -> Environment:
        """Returns the variables of an agent's process, with the secrets that the viewer may read. The audit trail
        records these."""
        found = [one.current for one in self._resolve(agent, repo, viewer, deadline)]
        secrets = [one for one in found if one.content.is_secret]
        withheld = [one for one in secrets if not decisions.may_reveal(viewer, one.entry.place)]
        keys = self._keyring.load()
        variables = {one.entry.key: self._open(one, keys) for one in found if one not in withheld}
        read = [one for one in secrets if one not in withheld]
        if read:
            now = self._clock.now()
            self._store.write(
                lambda tx: [record_audit(tx, viewer, Action.READ, one.entry, now) for one in read], deadline
            )
        return Environment(variables, tuple(one.entry.key for one in withheld))

    def resolve_id(self, text: str, viewer: Viewer) -> ConfigId:
        """Returns the id of the entry that a caller means: the whole id, or at least eight characters of its beginning.
        Raises Invalid if several ids begin with them."""

        def find_ids(prefix: str, limit: int) -> list[ConfigId]:
            seen = visible_to(viewer, self._lead_sees)
            with self._store.read(sees=seen) as view:
                ids = sorted(one.entry.id for one in view.config_entries(seen))
            return [one for one in ids if one.startswith(prefix)][:limit]

        return ConfigId(resolve_id(text, find_ids, "entry"))

    def update_file(self, key: str, before: ConfigVersion | None, after: ConfigVersion | None) -> None:
        """Brings the files of an entry up to date after its current version changed. Raises Conflict if that fails."""
        old, new = (None if one is None else one.env_path for one in (before, after))
        try:
            if old is not None and old != new:
                self._env_files.update(old, key, None)
            if new is not None and after is not None:
                value = after.value
                if value is None:
                    value = self._keyring.load().open(after.entry, key, after.sealed)
                self._env_files.update(new, key, value)
        except Conflict as error:
            raise Conflict(f"The change is stored, but {error}") from None

    # steps

    def _permit(self, place: Place, viewer: Viewer) -> None:
        if decisions.may_change(viewer, place):
            return
        if place.scope is ConfigScope.AGENT:
            raise Forbidden("Only an operator may change the configuration of another agent. Ask one.")
        raise Forbidden(
            f"Only a lead or an operator may change the {place.scope} configuration. Ask one, or use scope agent."
        )

    def _env_path(self, given: str | None, viewer: Viewer) -> str | None:
        if given is None or not given.strip():
            return given and ""
        if not decisions.may_write_files(viewer):
            raise Forbidden("Only a lead or an operator may keep an entry in a file. Ask one, or leave envPath out.")
        path = self._env_files.normalize(given.strip())
        if self._redactor.clean(path) != path:
            raise Invalid("envPath must not contain a secret. Choose another path.", field="envPath")
        self._env_files.check(path)
        return path

    def _create_key(self, place: Place, key: str, setting: Setting) -> None:
        """Creates the first encryption key if this change needs it."""
        if setting.is_secret is False:
            return
        with self._store.read() as view:
            known = view.setting(NEWEST_KEY)
            last = current_version(view, view.config_entry_at(place, key))
        if known is None and (setting.is_secret or (last is not None and last.is_secret)):
            keys = self._keyring.load()
            if keys.newest is None:
                self._keyring.add()

    def _usable_keys(self, tx: Transaction) -> Keys:
        """Returns the keys to encrypt with. Raises Conflict if the last key that encrypted is missing here: a secret
        would be encrypted with a key that other services, or a later restore, do not have."""
        keys = self._keyring.load()
        known = tx.setting(NEWEST_KEY)
        if keys.newest is None or (known is not None and known not in keys.by_id):
            raise Conflict(
                f"No secret can be stored: the encryption key {known} is missing. {keys.missing(str(known))}"
            )
        if known != keys.newest:
            tx.set_setting(NEWEST_KEY, keys.newest)
        return keys

    def _seal_earlier(self, tx: Transaction, entry: ConfigId, keys: Keys) -> None:
        """Encrypts the earlier versions of an entry that became a secret: they may have the same value."""
        for one in tx.config_versions(entry):
            if one.value is not None:
                sealed = keys.seal(entry, one.value, self._random)
                tx.put_config_version(replace(one, is_secret=True, value=None, sealed=sealed))

    def _change(
        self,
        tx: Transaction,
        entry: ConfigEntry,
        before: ConfigVersion | None,
        after: ConfigVersion | None,
        viewer: Viewer,
    ) -> None:
        """Makes another version current (None: deletes the entry), with its batch and audit entry."""
        put_current(tx, entry, before, after)
        if after is not None:
            tx.drop_config_versions(entry.id, after.number - MAX_VERSIONS)
        is_private = entry.place.scope is ConfigScope.AGENT
        batch = self._journal.new_batch(BatchKind.CONFIGURED, viewer, changes=1, is_private=is_private)
        if batch is not None:
            tx.put_batch(batch)
            tx.put_config_changes(batch.id, [ConfigChange(entry.id, _number(before), _number(after))])
        elif after is None:
            tx.drop_config_entry(entry.id)
        action = Action.FORGOTTEN if after is None else Action.CREATED if before is None else Action.EDITED
        record_audit(tx, viewer, action, entry, self._clock.now())

    def _get(self, view: View, entry: ConfigId, viewer: Viewer) -> CurrentEntry:
        known = view.config_entry(entry)
        content = current_version(view, known)
        seen = visible_to(viewer, self._lead_sees)
        if known is None or content is None or not decisions.may_see(seen, known.place):
            raise NotFound(
                f"No configuration entry {entry[:60]!r}. 'hivelore config list' (GET /api/config) shows them."
            )
        return CurrentEntry(known, content)

    def _resolve(
        self, agent: str | None, repo: str | None, viewer: Viewer, deadline: float | None
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
            found = [one for place in places for one in view.config_entries(seen, place)]
        return decisions.resolve(found)

    def _open(self, current: CurrentEntry, keys: Keys) -> str:
        content = current.content
        return (
            content.value if content.value is not None else keys.open(content.entry, current.entry.key, content.sealed)
        )

    def _changed(self, before: ConfigVersion, after: ConfigVersion) -> tuple[str, ...]:
        same = self._same_value(before, after, self._keyring.load())
        return decisions.changed_fields(before, after, is_same_value=same)

    def _same_value(self, before: ConfigVersion, after: ConfigVersion, keys: Keys) -> bool:
        """Returns False for a value that cannot be decrypted any more."""
        try:
            values = [
                one.value if one.value is not None else keys.open(one.entry, "", one.sealed) for one in (before, after)
            ]
        except HiveloreError:
            return False
        return values[0] == values[1]


def item(current: CurrentEntry, *, warning: str | None = None) -> ConfigItem:
    """Returns an entry as callers see it, with a secret masked."""
    return ConfigItem(**_fields(current), warning=warning)


def _resolved_item(one: decisions.Resolved) -> ResolvedItem:
    return ResolvedItem(**_fields(one.current), overrides=one.overrides)


def _fields(current: CurrentEntry) -> dict[str, Any]:
    entry, content = current.entry, current.content
    return {
        "id": entry.id,
        "scope": entry.place.scope,
        "scope_id": entry.place.scope_id or None,
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


def _number(version: ConfigVersion | None) -> int | None:
    return None if version is None else version.number


def _check_value(value: str) -> None:
    if value == MASK:
        raise Invalid("This is the mask of a secret, not its value. Send the value.", field="value")
    if len(value) > VALUE_LENGTH:
        raise TooLarge(f"value has {len(value):,} characters; at most {VALUE_LENGTH:,}.", field="value")
    if "\0" in value:
        raise Invalid("value has a NUL character, which no environment variable can have.", field="value")
