"""Changes of the current version of entries, which services and undo share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hivelore.configuration.decisions import check_file, check_room
from hivelore.configuration.env_reconciler import EnvReconciler
from hivelore.configuration.keyring import Keyring, Keys, NoKey
from hivelore.configuration.model import (
    MAX_ENTRIES,
    MAX_LINES,
    MAX_VERSIONS,
    ConfigEntry,
    ConfigId,
    ConfigVersion,
)
from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.memories.model import Action, MemoryId
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

NEWEST_KEY = "configuration.key"
"""The setting with the id of the key that encrypts."""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """An entry, and its current versions before and after a change."""

    entry: ConfigEntry
    before: ConfigVersion | None
    after: ConfigVersion | None
    was_in_clear: bool = False
    """True if values in clear were encrypted."""

    @property
    def paths(self) -> Sequence[str]:
        return [one.env_path for one in (self.before, self.after) if one is not None and one.env_path is not None]

    @property
    def left_path(self) -> str | None:
        """The file from which the entry was removed."""
        path = None if self.before is None else self.before.env_path
        return None if self.after is not None and self.after.env_path == path else path


class EntryWriter:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keyring: Keyring,
        reconciler: EnvReconciler,
        clock: Clock,
        random: Callable[[int], bytes],
        purge_log_later: Callable[[], None],
    ) -> None:
        """``purge_log_later`` is called if a reader of the store does not let its log be purged now."""
        self._store = store
        self._keyring = keyring
        self._reconciler = reconciler
        self._clock = clock
        self._random = random
        self._purge_log_later = purge_log_later

    def put(
        self, tx: Transaction, entry: ConfigEntry, before: ConfigVersion | None, after: ConfigVersion | None
    ) -> EntryChange:
        """Stores an entry with another current version; None: there was none, or it is deleted. If it is a secret, no
        version stays in clear. Raises Conflict if there is no room for it, or no key to encrypt with."""
        if before is not None:
            tx.put_config_version(replace(before, replaced_at=entry.updated_at))
        if after is not None:
            self._check(tx, entry, after)
            tx.put_config_version(replace(after, replaced_at=None))
        tx.put_config_entry(entry)
        was_in_clear = after is not None and after.is_secret and self._encrypt_versions(tx, entry.id)
        change = EntryChange(entry, before, after, was_in_clear)
        self._mark_lines(tx, change)
        if after is not None:
            tx.drop_config_versions(entry.id, after.number - MAX_VERSIONS)
        return change

    def renew_line(self, tx: Transaction, entry: ConfigEntry, content: ConfigVersion) -> EntryChange:
        """Makes the line of an entry due that was set to the same content again: the file may have another one."""
        change = EntryChange(entry, content, content)
        self._mark_lines(tx, change)
        return change

    def finish(self, changes: Sequence[EntryChange]) -> Sequence[str]:
        """Erases encrypted values from the log of the store and reconciles files, after the transaction. Returns why
        lines of files could not be written; that is tried again later."""
        if any(one.was_in_clear for one in changes) and not self._store.purge_log():
            self._purge_log_later()
        paths = dict.fromkeys(path for one in changes for path in one.paths)
        problems = [problem for path in paths for problem in self._reconciler.reconcile(path)]
        left = [(one.left_path, one.entry.key) for one in changes]
        return [*problems, *(text for path, key in left if path for text in self._reconciler.elsewhere(path, key))]

    def usable_keys(self, tx: Transaction) -> Keys:
        """Returns the keys to encrypt with. Raises NoKey if there was none ever, and Conflict if the last key that
        encrypted is missing here: a secret would be encrypted with a key that other services, or a later restore, do
        not have."""
        keys = self._keyring.load()
        known = tx.setting(NEWEST_KEY)
        if known is None and keys.newest is None:
            raise NoKey("There is no encryption key yet. Set the entry again.")
        if keys.newest is None or (known is not None and known not in keys.by_id):
            raise Conflict(
                f"No secret can be stored: the encryption key {known} is missing. {keys.missing(str(known))}"
            )
        if known != keys.newest:
            tx.set_setting(NEWEST_KEY, keys.newest)
        return keys

    def _check(self, tx: Transaction, entry: ConfigEntry, after: ConfigVersion) -> None:
        in_place = tx.config_entries(EVERYTHING.visibility, MAX_ENTRIES + 1, place=entry.place)
        is_known = tx.config_entry(entry.id) is not None
        kept = tx.count_config_entries(entry.place) - is_known
        check_room([one for one in in_place if one.entry.id != entry.id], after, kept)
        if after.env_path is not None:
            tx.claim(f"configuration file {after.env_path}".encode())
            check_file(entry, tx.config_entries_in_file(after.env_path, MAX_LINES + 1))

    def _mark_lines(self, tx: Transaction, change: EntryChange) -> None:
        at = self._clock.now()
        for path in dict.fromkeys(change.paths):
            tx.touch_env_file(path, at)
        if change.after is not None and change.after.env_path is not None:
            self._reconciler.keep_line(tx, change.after.env_path, change.entry)

    def _encrypt_versions(self, tx: Transaction, entry: ConfigId) -> bool:
        """Encrypts the versions of a secret that are in clear. Returns True if there were any."""
        in_clear = [one for one in tx.config_versions(entry, MAX_VERSIONS + 1) if one.value is not None]
        keys = self.usable_keys(tx) if in_clear else None
        for one in in_clear:
            if keys is not None and one.value is not None:
                sealed = keys.seal(entry, one.value, self._random)
                tx.put_config_version(replace(one, is_secret=True, value=None, sealed=sealed))
        return bool(in_clear)


def current_version(view: View, entry: ConfigEntry | None) -> ConfigVersion | None:
    """Returns the current version of an entry; None if it does not exist or was deleted."""
    return None if entry is None or entry.version is None else view.config_version(entry.id, entry.version)


def audited_id(entry: ConfigId) -> MemoryId:
    """Returns the id of an entry for the audit trail, where it stands in place of that of a memory."""
    return MemoryId(entry)


def record_audit(tx: Transaction, viewer: Viewer, action: Action, entry: ConfigEntry, at: datetime) -> None:
    detail = Clean(f"configuration {entry.place.scope}: {entry.key}")
    tx.record_audit(AuditEntry.by_viewer(viewer, action, audited_id(entry.id), at, detail))
