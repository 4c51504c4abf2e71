"""Steps in a transaction that several services of the configuration share."""

from datetime import datetime

from hivelore.configuration.model import ConfigEntry, ConfigId, ConfigVersion
from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Action, MemoryId
from hivelore.storage.ports import Transaction, View


def current_version(view: View, entry: ConfigEntry | None) -> ConfigVersion | None:
    """Returns the current version of an entry; None if it does not exist or was deleted."""
    return None if entry is None or entry.version is None else view.config_version(entry.id, entry.version)


def put_current(tx: Transaction, entry: ConfigEntry, before: ConfigVersion | None, after: ConfigVersion | None) -> None:
    """Stores an entry whose current version changed; None: there was none, or it is deleted."""
    if before is not None:
        tx.put_config_version(replace(before, replaced_at=entry.updated_at))
    if after is not None:
        tx.put_config_version(replace(after, replaced_at=None))
    tx.put_config_entry(entry)


def audited_id(entry: ConfigId) -> MemoryId:
    """Returns the id of an entry for the audit trail, where it stands in place of that of a memory."""
    return MemoryId(entry)


def record_audit(tx: Transaction, viewer: Viewer, action: Action, entry: ConfigEntry, at: datetime) -> None:
    detail = Clean(f"configuration {entry.place.scope}: {entry.key}")
    tx.record_audit(AuditEntry.by_viewer(viewer, action, audited_id(entry.id), at, detail))
