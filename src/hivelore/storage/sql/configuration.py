"""Configuration entries, their versions, the changes of entries in batches, and lines of .env files."""

from collections.abc import Sequence
from datetime import datetime

from hivelore.changes.model import BatchId
from hivelore.configuration.model import (
    MAX_VERSIONS,
    ConfigChange,
    ConfigEntry,
    ConfigId,
    ConfigScope,
    ConfigVersion,
    CurrentEntry,
    EnvLine,
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
    begins_with,
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
ENV_LINE = Table(
    EnvLine,
    "env_line",
    "workspace path name",
    **plain("workspace path location owner revision written problem"),
    key=PLAIN.named("name"),
    is_begun=FLAG.named("begun"),
    is_in_own_file=FLAG.named("own_file"),
    since=INSTANT,
    due_at=INSTANT,
)
_WIDTH = len(CONFIG_ENTRY.names)


def entry_condition(
    seen: Visibility,
    place: Place | None = None,
    scope: ConfigScope | None = None,
    after: ConfigEntry | None = None,
    prefix: str | None = None,
) -> tuple[str, dict[str, Param]]:
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
    elif scope is not None:
        sql += " AND e.scope = :scope"
        params["scope"] = SCOPE[scope]
    if after is not None:
        sql += " AND (e.scope, e.scope_id, e.name) > (:after_scope, :after_scope_id, :after_name)"
        params |= {
            "after_scope": SCOPE[after.place.scope],
            "after_scope_id": after.place.scope_id,
            "after_name": after.key,
        }
    if prefix is not None:
        beginning, of_it = begins_with("e.id", prefix)
        sql += beginning
        params |= of_it
    return sql, params


class ConfigReader(SqlReader):
    """Implements ``configuration.ports.ConfigReads``."""

    TABLES = (CONFIG_ENTRY, CONFIG_VERSION, CONFIG_CHANGE, ENV_LINE)

    def config_entry(self, entry: ConfigId) -> ConfigEntry | None:
        return self.read_one(CONFIG_ENTRY, "config_entry_by_id", id=entry)

    def config_entry_at(self, place: Place, key: str) -> ConfigEntry | None:
        return self.read_one(
            CONFIG_ENTRY, "config_entry_at", scope=SCOPE[place.scope], scope_id=place.scope_id, name=key
        )

    def config_entries(
        self,
        seen: Visibility,
        limit: int,
        *,
        place: Place | None = None,
        scope: ConfigScope | None = None,
        after: ConfigEntry | None = None,
    ) -> Sequence[CurrentEntry]:
        sql, params = entry_condition(seen, place, scope, after)
        return self._current("config_entries", sql, {**params, "limit": limit})

    def count_config_entries(self, place: Place) -> int:
        rows = self.rows(self.SQL["config_entry_count"], {"scope": SCOPE[place.scope], "scope_id": place.scope_id})
        return rows[0][0]

    def config_ids_from(self, seen: Visibility, prefix: str, limit: int) -> Sequence[ConfigId]:
        sql, params = entry_condition(seen, prefix=prefix)
        rows = self.rows(self.SQL["config_ids"].replace("{config_filter}", sql), {**params, "limit": limit})
        return [ConfigId(row[0]) for row in rows]

    def config_entries_in_file(self, path: str, limit: int) -> Sequence[CurrentEntry]:
        return self._current("config_entries_in_file", "", {"path": path, "limit": limit})

    def _current(self, statement: str, condition: str, params: dict[str, Param]) -> Sequence[CurrentEntry]:
        rows = self.rows(self.SQL[statement].replace("{config_filter}", condition), params)
        return [CurrentEntry(CONFIG_ENTRY.read(row[:_WIDTH]), CONFIG_VERSION.read(row[_WIDTH:])) for row in rows]

    def config_entries_after(self, entry: ConfigId, limit: int) -> Sequence[ConfigEntry]:
        return self.read_all(CONFIG_ENTRY, "config_entries_after", after=entry, limit=limit)

    def config_version(self, entry: ConfigId, number: int) -> ConfigVersion | None:
        return self.read_one(CONFIG_VERSION, "config_version_by_number", entry=entry, number=number)

    def config_versions(self, entry: ConfigId, limit: int = MAX_VERSIONS) -> Sequence[ConfigVersion]:
        return self.read_all(CONFIG_VERSION, "config_versions", entry=entry, limit=limit)[::-1]

    def sealed_with_other_keys(self, key: str, after: tuple[ConfigId, int], limit: int) -> Sequence[ConfigVersion]:
        entry, number = after
        return self.read_all(
            CONFIG_VERSION, "config_sealed_otherwise", key=key, entry=entry, number=number, limit=limit
        )

    def config_changes(self, batch: BatchId) -> Sequence[ConfigChange]:
        return self.read_all(CONFIG_CHANGE, "config_changes", batch=batch)

    def env_lines(self, workspace: str, path: str, limit: int) -> Sequence[EnvLine]:
        return self.read_all(ENV_LINE, "env_lines", workspace=workspace, path=path, limit=limit)

    def due_env_lines(self, workspace: str, limit: int) -> Sequence[EnvLine]:
        return self.read_all(ENV_LINE, "env_lines_due", workspace=workspace, limit=limit)

    def late_env_lines(self, seen: Visibility, before: datetime, limit: int) -> Sequence[EnvLine]:
        return self.read_all(
            ENV_LINE,
            "env_lines_late",
            before=to_micros(before),
            others=int(seen.others),
            swarm=int(seen.swarm),
            own=seen.own or "",
            limit=limit,
        )

    def other_env_lines(self, workspace: str, path: str, key: str, limit: int) -> Sequence[EnvLine]:
        return self.read_all(ENV_LINE, "env_lines_elsewhere", workspace=workspace, path=path, name=key, limit=limit)

    def env_lines_after(self, after: tuple[str, str, str], limit: int) -> Sequence[EnvLine]:
        workspace, path, key = after
        return self.read_all(ENV_LINE, "env_lines_after", workspace=workspace, path=path, name=key, limit=limit)


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

    def touch_env_file(self, path: str, at: datetime) -> None:
        self.run("env_file_touch", {"path": path, "at": to_micros(at)})

    def put_env_line(self, line: EnvLine) -> None:
        self.run("env_line_put", ENV_LINE.params(line))

    def drop_env_line(self, workspace: str, path: str, key: str) -> None:
        self.run("env_line_drop", {"workspace": workspace, "path": path, "name": key})
