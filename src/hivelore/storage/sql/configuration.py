"""Configuration entries, their versions, and the changes of entries in batches."""

from collections.abc import Sequence
from datetime import datetime

from hivelore.changes.model import BatchId
from hivelore.configuration.model import (
    ConfigChange,
    ConfigEntry,
    ConfigId,
    ConfigScope,
    ConfigVersion,
    CurrentEntry,
    Place,
    Sealed,
)
from hivelore.search.model import Visibility
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    INTERFACES,
    PLAIN,
    Codec,
    Columns,
    Param,
    SqlReader,
    SqlWriter,
    Table,
    codes,
    plain,
    to_micros,
)

SCOPE = {ConfigScope.GLOBAL: 1, ConfigScope.AGENT: 2, ConfigScope.REPO: 3}
CONFIG_ENTRY = Table(
    ConfigEntry,
    "config_entry",
    "id",
    id=PLAIN,
    key=PLAIN.named("name"),
    created_at=INSTANT,
    updated_at=INSTANT,
    version=PLAIN,
    place=Columns(Place, None, scope=codes(SCOPE), scope_id=PLAIN),
)
CONFIG_VERSION = Table(
    ConfigVersion,
    "config_version",
    "entry number",
    **plain("entry number"),
    at=INSTANT,
    actor=PLAIN,
    interface=INTERFACES,
    is_secret=FLAG.named("secret"),
    **plain("value env_path description"),
    replaced_at=INSTANT,
    sealed=Columns(Sealed, None, data=Codec(bytes).named("sealed"), key=PLAIN.named("sealed_with")),
)
CONFIG_CHANGE = Table(
    ConfigChange,
    "config_change",
    "batch entry",
    entry=PLAIN,
    before=PLAIN.named("number_before"),
    after=PLAIN.named("number_after"),
)
_WIDTH = len(CONFIG_ENTRY.names)


def entry_condition(seen: Visibility, place: Place | None) -> tuple[str, dict[str, Param]]:
    """Returns a filter of entries, to be appended to ``e.namespace = :namespace``."""
    agent = SCOPE[ConfigScope.AGENT]
    shared = f"e.scope <> {agent}" if seen.swarm else "1 = 0"
    params: dict[str, Param] = {}
    if seen.others:
        private = f"e.scope = {agent}"
    elif seen.own is not None:
        private, params["own"] = f"(e.scope = {agent} AND e.scope_id = :own)", seen.own
    else:
        private = "1 = 0"
    sql = f" AND ({shared} OR {private})"
    if place is not None:
        sql += " AND e.scope = :scope AND e.scope_id = :scope_id"
        params |= {"scope": SCOPE[place.scope], "scope_id": place.scope_id}
    return sql, params


class ConfigReader(SqlReader):
    """Implements ``configuration.ports.ConfigReads``."""

    TABLES = (CONFIG_ENTRY, CONFIG_VERSION, CONFIG_CHANGE)

    def config_entry(self, entry: ConfigId) -> ConfigEntry | None:
        return self.read_one(CONFIG_ENTRY, "config_entry_by_id", id=entry)

    def config_entry_at(self, place: Place, key: str) -> ConfigEntry | None:
        return self.read_one(
            CONFIG_ENTRY, "config_entry_at", scope=SCOPE[place.scope], scope_id=place.scope_id, name=key
        )

    def config_entries(self, seen: Visibility, place: Place | None = None) -> Sequence[CurrentEntry]:
        sql, params = entry_condition(seen, place)
        rows = self.rows(self.SQL["config_entries"].replace("{config_filter}", sql), params)
        return [CurrentEntry(CONFIG_ENTRY.read(row[:_WIDTH]), CONFIG_VERSION.read(row[_WIDTH:])) for row in rows]

    def config_entries_after(self, entry: ConfigId, limit: int) -> Sequence[ConfigEntry]:
        return self.read_all(CONFIG_ENTRY, "config_entries_after", after=entry, limit=limit)

    def config_version(self, entry: ConfigId, number: int) -> ConfigVersion | None:
        return self.read_one(CONFIG_VERSION, "config_version_by_number", entry=entry, number=number)

    def config_versions(self, entry: ConfigId) -> Sequence[ConfigVersion]:
        return self.read_all(CONFIG_VERSION, "config_versions", entry=entry)

    def sealed_with_other_keys(self, key: str, after: tuple[ConfigId, int], limit: int) -> Sequence[ConfigVersion]:
        entry, number = after
        return self.read_all(
            CONFIG_VERSION, "config_sealed_otherwise", key=key, entry=entry, number=number, limit=limit
        )

    def config_changes(self, batch: BatchId) -> Sequence[ConfigChange]:
        return self.read_all(CONFIG_CHANGE, "config_changes", batch=batch)


class ConfigWriter(ConfigReader, SqlWriter):
    """Implements ``configuration.ports.ConfigWrites``."""

    def put_config_entry(self, entry: ConfigEntry) -> None:
        with self.savepoint():
            self.run("config_entry_put", CONFIG_ENTRY.params(entry))

    def put_config_version(self, version: ConfigVersion) -> None:
        self.run("config_version_put", CONFIG_VERSION.params(version))

    def drop_config_versions(self, entry: ConfigId, last: int) -> None:
        self.run("config_versions_drop", {"entry": entry, "last": last})

    def drop_config_entry(self, entry: ConfigId) -> None:
        for name in ("config_versions_delete", "config_changes_delete", "config_entry_delete"):
            self.run(name, {"entry": entry})

    def put_config_changes(self, batch: BatchId, changes: Sequence[ConfigChange]) -> None:
        self.run_each("config_change_put", [{**CONFIG_CHANGE.params(one), "batch": batch} for one in changes])

    def prune_config(self, before: datetime, limit: int) -> int:
        params: dict[str, Param] = {"before": to_micros(before), "limit": limit}
        deleted = self.rows(self.SQL["config_entries_deleted"], params)
        for (entry,) in deleted:
            self.drop_config_entry(entry)
        return max(len(deleted), self.count("config_secrets_erase", params))
