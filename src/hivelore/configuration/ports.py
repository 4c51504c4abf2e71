"""Ports of configuration entries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

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
)
from hivelore.search.model import Visibility


class ConfigReads(Protocol):
    """Configuration entries, their versions, the changes that can be undone, and the lines of .env files."""

    def config_entry(self, entry: ConfigId) -> ConfigEntry | None:
        """Returns an entry, also a deleted one."""
        ...

    def config_entry_at(self, place: Place, key: str) -> ConfigEntry | None:
        """Returns the entry with a key, also a deleted one."""
        ...

    def config_entries(
        self,
        seen: Visibility,
        limit: int,
        *,
        place: Place | None = None,
        scope: ConfigScope | None = None,
        after: ConfigEntry | None = None,
    ) -> Sequence[CurrentEntry]:
        """Returns the first entries that are not deleted, by scope, scope id and key. The entries of an agent are as
        private as its private memories, all others are shared. ``place``, ``scope``: only those of one; ``after``: only
        those behind the place and key of this one."""
        ...

    def count_config_entries(self, place: Place) -> int:
        """Returns the number of entries of a place, with deleted ones."""
        ...

    def config_ids_from(self, seen: Visibility, prefix: str, limit: int) -> Sequence[ConfigId]:
        """Returns the first ids of entries that are not deleted and begin with a text that is not empty."""
        ...

    def config_entries_in_file(self, path: str, limit: int) -> Sequence[CurrentEntry]:
        """Returns the entries that are not deleted and have a path as ``env_path``, by id."""
        ...

    def config_entries_after(self, entry: ConfigId, limit: int) -> Sequence[ConfigEntry]:
        """Returns a page of all entries, also deleted ones, by id. The first page begins after an empty id."""
        ...

    def config_version(self, entry: ConfigId, number: int) -> ConfigVersion | None: ...

    def config_versions(self, entry: ConfigId, limit: int = MAX_VERSIONS) -> Sequence[ConfigVersion]:
        """Returns the latest versions of an entry, by number."""
        ...

    def sealed_with_other_keys(self, key: str, after: tuple[ConfigId, int], limit: int) -> Sequence[ConfigVersion]:
        """Returns a page of versions whose value is encrypted with another key, by entry and number. The first page
        begins after an empty id and 0."""
        ...

    def config_changes(self, batch: BatchId) -> Sequence[ConfigChange]:
        """Returns the changes of a batch, by entry."""
        ...

    def env_lines(self, workspace: str, path: str, limit: int) -> Sequence[EnvLine]:
        """Returns the lines of a file, by key."""
        ...

    def due_env_lines(self, workspace: str, limit: int) -> Sequence[EnvLine]:
        """Returns due lines of a workspace, by path and key. Those that could not be written come last."""
        ...

    def late_env_lines(self, seen: Visibility, before: datetime, limit: int) -> Sequence[EnvLine]:
        """Returns the due lines of all workspaces that could not be written, or are due since before an instant; by
        workspace, path and key. Those of an agent are as private as its entries."""
        ...

    def other_env_lines(self, workspace: str, path: str, key: str, limit: int) -> Sequence[EnvLine]:
        """Returns the lines with a path and key of other workspaces, by workspace."""
        ...

    def env_lines_after(self, after: tuple[str, str, str], limit: int) -> Sequence[EnvLine]:
        """Returns a page of all lines, by workspace, path and key. The first page begins after empty texts."""
        ...


class ConfigWrites(Protocol):
    """Configuration entries, their versions, the changes that can be undone, and the lines of .env files."""

    def put_config_entry(self, entry: ConfigEntry) -> None:
        """Inserts or replaces an entry. Raises Conflict if another entry has the place and key."""
        ...

    def put_config_version(self, version: ConfigVersion) -> None:
        """Inserts or replaces a version."""
        ...

    def drop_config_versions(self, entry: ConfigId, last: int) -> None:
        """Deletes the versions of an entry with a number of at most ``last``."""
        ...

    def drop_config_entry(self, entry: ConfigId) -> None:
        """Deletes an entry with its versions and changes. Dropping twice is allowed."""
        ...

    def put_config_changes(self, batch: BatchId, changes: Sequence[ConfigChange]) -> None:
        """Adds changes to a batch, which ``drop_batch`` deletes with it."""
        ...

    def prune_config(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` entries that were deleted before an instant, and erases up to ``limit`` secrets that
        were replaced before it. Returns the larger number."""
        ...

    def touch_env_file(self, path: str, at: datetime) -> None:
        """Makes the lines of a file due, in all workspaces. ``at``: since when those are that were not."""
        ...

    def put_env_line(self, line: EnvLine) -> None:
        """Inserts or replaces a line."""
        ...

    def drop_env_line(self, workspace: str, path: str, key: str) -> None:
        """Deletes a line. Dropping twice is allowed."""
        ...
