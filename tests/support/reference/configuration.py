"""Configuration entries of the reference store."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from hivelore.changes.model import BatchId
from hivelore.configuration.decisions import may_see, may_see_line
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
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.search.model import Visibility
from support.reference.state import State


class ConfigView:
    """The part of ``storage.ports.View`` that reads configuration entries."""

    state: State

    def config_entry(self, entry: ConfigId) -> ConfigEntry | None:
        return self.state.config_entries.get(entry)

    def config_entry_at(self, place: Place, key: str) -> ConfigEntry | None:
        return next((one for one in self.state.config_entries.values() if (one.place, one.key) == (place, key)), None)

    def config_entries(
        self,
        seen: Visibility,
        limit: int,
        *,
        place: Place | None = None,
        scope: ConfigScope | None = None,
        after: ConfigEntry | None = None,
    ) -> Sequence[CurrentEntry]:
        found = [
            one
            for one in self._current()
            if may_see(seen, one.entry.place)
            and place in (None, one.entry.place)
            and scope in (None, one.entry.place.scope)
            and (after is None or _position(one.entry) > _position(after))
        ]
        return sorted(found, key=lambda one: _position(one.entry))[:limit]

    def count_config_entries(self, place: Place) -> int:
        return sum(one.place == place for one in self.state.config_entries.values())

    def config_ids_from(self, seen: Visibility, prefix: str, limit: int) -> Sequence[ConfigId]:
        found = (one.entry for one in self._current() if may_see(seen, one.entry.place))
        return sorted(one.id for one in found if one.id.startswith(prefix))[:limit]

    def config_entries_in_file(self, path: str, limit: int) -> Sequence[CurrentEntry]:
        found = (one for one in self._current() if one.content.env_path == path)
        return sorted(found, key=lambda one: one.entry.id)[:limit]

    def _current(self) -> Iterator[CurrentEntry]:
        for one in self.state.config_entries.values():
            version = None if one.version is None else self.state.config_versions.get((one.id, one.version))
            if version is not None:
                yield CurrentEntry(one, version)

    def config_entries_after(self, entry: ConfigId, limit: int) -> Sequence[ConfigEntry]:
        return sorted((one for one in self.state.config_entries.values() if one.id > entry), key=lambda one: one.id)[
            :limit
        ]

    def config_version(self, entry: ConfigId, number: int) -> ConfigVersion | None:
        return self.state.config_versions.get((entry, number))

    def config_versions(self, entry: ConfigId, limit: int = MAX_VERSIONS) -> Sequence[ConfigVersion]:
        found = (one for one in self.state.config_versions.values() if one.entry == entry)
        return sorted(found, key=lambda one: one.number)[-limit:]

    def sealed_with_other_keys(self, key: str, after: tuple[ConfigId, int], limit: int) -> Sequence[ConfigVersion]:
        behind = (one for one in self.state.config_versions.values() if (one.entry, one.number) > after)
        found = (one for one in behind if one.sealed is not None and one.sealed.key != key)
        return sorted(found, key=lambda one: (one.entry, one.number))[:limit]

    def config_changes(self, batch: BatchId) -> Sequence[ConfigChange]:
        known = self.state.batches.get(batch)
        return [] if known is None else sorted(known.config_changes, key=lambda one: one.entry)

    def env_lines(self, workspace: str, path: str, limit: int) -> Sequence[EnvLine]:
        return [one for one in self._lines() if (one.workspace, one.path) == (workspace, path)][:limit]

    def due_env_lines(self, workspace: str, limit: int) -> Sequence[EnvLine]:
        due = (one for one in self._lines() if one.workspace == workspace and one.is_due)
        return sorted(due, key=lambda one: one.problem is not None)[:limit]

    def late_env_lines(self, seen: Visibility, before: datetime, limit: int) -> Sequence[EnvLine]:
        due = (one for one in self._lines() if one.is_due and may_see_line(seen, one))
        late = (one for one in due if one.problem is not None or (one.due_at is not None and one.due_at < before))
        return list(late)[:limit]

    def other_env_lines(self, workspace: str, path: str, key: str, limit: int) -> Sequence[EnvLine]:
        found = (one for one in self._lines() if (one.path, one.key) == (path, key))
        return [one for one in found if one.workspace != workspace][:limit]

    def env_lines_after(self, after: tuple[str, str, str], limit: int) -> Sequence[EnvLine]:
        return [one for one in self._lines() if (one.workspace, one.path, one.key) > after][:limit]

    def _lines(self) -> Sequence[EnvLine]:
        return [line for _, line in sorted(self.state.env_lines.items())]


def _position(entry: ConfigEntry) -> tuple[int, str, str]:
    return list(ConfigScope).index(entry.place.scope), entry.place.scope_id, entry.key


def touched(state: State, path: str, at: datetime) -> State:
    lines = state.env_lines
    for place, one in lines.items():
        if one.path == path:
            lines = lines.put(place, replace(one, revision=one.revision + 1, due_at=one.due_at if one.is_due else at))
    return replace(state, env_lines=lines)


def put(state: State, entry: ConfigEntry) -> State:
    for one in state.config_entries.values():
        if (one.place, one.key) == (entry.place, entry.key) and one.id != entry.id:
            raise Conflict(f"Another entry has the key {entry.key}.")
    return replace(state, config_entries=state.config_entries.put(entry.id, entry))


def put_version(state: State, version: ConfigVersion) -> State:
    return replace(state, config_versions=state.config_versions.put((version.entry, version.number), version))


def without_versions(state: State, entry: ConfigId, last: int) -> State:
    kept = state.config_versions
    for place in kept:
        if place[0] == entry and place[1] <= last:
            kept = kept.drop(place)
    return replace(state, config_versions=kept)


def without(state: State, entry: ConfigId) -> State:
    batches = state.batches
    for one in batches.values():
        left = tuple(change for change in one.config_changes if change.entry != entry)
        batches = batches.put(one.batch.id, replace(one, config_changes=left))
    last = max((number for of, number in state.config_versions if of == entry), default=0)
    kept = without_versions(state, entry, last)
    return replace(kept, config_entries=kept.config_entries.drop(entry), batches=batches)


def with_changes(state: State, batch: BatchId, changes: Sequence[ConfigChange]) -> State:
    known = state.batches[batch]
    new = {one.entry for one in changes}
    before = tuple(one for one in known.config_changes if one.entry not in new)
    return replace(state, batches=state.batches.put(batch, replace(known, config_changes=(*before, *changes))))


def pruned(state: State, before: datetime, limit: int) -> tuple[State, int]:
    gone = [one for one in state.config_entries.values() if one.version is None and one.updated_at < before]
    gone = sorted(gone, key=lambda one: one.updated_at)[:limit]
    for entry in gone:
        state = without(state, entry.id)
    old = [
        one
        for one in state.config_versions.values()
        if one.sealed is not None and one.replaced_at is not None and one.replaced_at < before
    ][:limit]
    for version in old:
        state = put_version(state, replace(version, sealed=None))
    return state, max(len(gone), len(old))
