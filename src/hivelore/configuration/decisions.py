"""Precedence of scopes, authority over entries, and the lines of .env files."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hivelore.configuration.model import (
    MASK,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_KEPT,
    MAX_LINES,
    VALUE_BYTES,
    ConfigEntry,
    ConfigScope,
    ConfigVersion,
    CurrentEntry,
    EnvLine,
    Place,
)
from hivelore.configuration.names import redirects
from hivelore.core.agents import Role, Viewer
from hivelore.errors import Conflict, Forbidden, Invalid, Stale, TooLarge
from hivelore.search.model import Visibility

_PRECEDENCE = tuple(ConfigScope)
_LINE_PRECEDENCE = (ConfigScope.AGENT, ConfigScope.GLOBAL, ConfigScope.REPO)
"""Precedence in a .env file, later ones first: entries of an agent never come before those that are for all."""
_FORGET_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Resolved:
    current: CurrentEntry
    overrides: tuple[ConfigScope, ...]
    """The scopes whose entries of the same key it replaces."""


def resolve(entries: Iterable[CurrentEntry]) -> Sequence[Resolved]:
    """Returns the entry that applies to each key, by key: repository before agent before global."""
    by_key: dict[str, list[CurrentEntry]] = {}
    for one in entries:
        by_key.setdefault(one.entry.key, []).append(one)
    found: list[Resolved] = []
    for _, same in sorted(by_key.items()):
        *shadowed, winner = sorted(same, key=lambda one: _PRECEDENCE.index(one.entry.place.scope))
        found.append(Resolved(winner, tuple(one.entry.place.scope for one in shadowed)))
    return found


def may_see(seen: Visibility, place: Place) -> bool:
    """Returns True if the entries of a place are among what is seen. Those of an agent are as private as its memories,
    all others are shared. Secrets are masked."""
    if place.scope is ConfigScope.AGENT:
        return seen.others or (seen.own is not None and seen.own == place.scope_id)
    return seen.swarm


def may_see_line(seen: Visibility, line: EnvLine) -> bool:
    """Returns True if the name and the problem of a line are among what is seen, as the entries that decide it."""
    return seen.swarm if line.owner is None else may_see(seen, Place(ConfigScope.AGENT, line.owner))


def may_change(viewer: Viewer, place: Place) -> bool:
    """Returns True if the viewer may set and delete entries of a place: agents their own, leads also those of global
    and repository scope, operators all (X22)."""
    if viewer.role is Role.OPERATOR:
        return True
    if place.scope is ConfigScope.AGENT:
        return viewer.agent == place.scope_id
    return viewer.role is Role.LEAD


def may_write_files(viewer: Viewer) -> bool:
    """Returns True if the viewer may change lines of files in the workspace, which other agents read, too (X22)."""
    return viewer.role is not Role.WORKER


def permit_change(
    viewer: Viewer, entry: ConfigEntry, before: ConfigVersion | None, after: ConfigVersion | None
) -> None:
    """Raises Forbidden unless the viewer may replace one version of an entry by another, also by an undo."""
    if not may_change(viewer, entry.place):
        raise refused_change(entry.place)
    if redirects(entry.key) and viewer.role is not Role.OPERATOR:
        raise Forbidden(
            f"Only an operator may change {entry.key}: it decides which servers get the credentials of agents. Ask one."
        )
    if any(one is not None and one.env_path for one in (before, after)) and not may_write_files(viewer):
        raise Forbidden(
            "Only a lead or an operator may change an entry that is kept in a file (envPath). Ask one, or use "
            "another key without envPath."
        )


def may_reveal(viewer: Viewer, place: Place) -> bool:
    """Returns True if the viewer may read the secrets of a place: operators, an agent its own, and an operator who acts
    for an agent, as a runner does, what its process is given (X15)."""
    if viewer.role is Role.OPERATOR:
        return True
    if place.scope is ConfigScope.AGENT:
        return viewer.agent == place.scope_id
    return viewer.acting


def refused_change(place: Place) -> Forbidden:
    """Returns the error for a viewer who may not change the entries of a place."""
    if place.scope is ConfigScope.AGENT:
        return Forbidden("Only an operator may change the configuration of another agent. Ask one.")
    return Forbidden(
        f"Only a lead or an operator may change the {place.scope} configuration. Ask one, or use scope agent."
    )


def check_room(others: Iterable[CurrentEntry], fresh: ConfigVersion, kept: int) -> None:
    """Raises Conflict if a place has no room for another version. ``others``: its other entries; ``kept``: their number
    with the deleted ones, whose versions are still stored."""
    sizes = [content_size(one.content) for one in others]
    if len(sizes) >= MAX_ENTRIES:
        raise Conflict(f"There are {MAX_ENTRIES} entries already. Delete some first.")
    if kept >= MAX_KEPT:
        raise Conflict(
            f"There are {MAX_KEPT:,} entries with the deleted ones that can be restored. Use a key that was used "
            "before, or try again after HIVELORE_UNDO_DAYS."
        )
    if sum(sizes) + content_size(fresh) > MAX_BYTES:
        raise Conflict(f"The values of this scope would have more than {MAX_BYTES:,} bytes. Delete some entries first.")


def content_size(content: ConfigVersion) -> int:
    """Returns the bytes of a value, approximately for a secret."""
    if content.sealed is not None:
        return len(content.sealed.data)
    return len((content.value or "").encode())


def decide_lines(keys: Collection[str], entries: Collection[CurrentEntry]) -> Mapping[str, CurrentEntry | None]:
    """Returns the entry that each line of a .env file contains; None: no line. ``keys``: the names of the lines;
    ``entries``: all with this file as envPath.

    Entries of an agent decide a line only if no entry of others is in the file (``crowded_keys``). Then the repository
    comes before global scope, and of one scope the latest change.
    """
    is_shared = _is_shared(entries)
    ranked = sorted(
        (one for one in entries if not is_shared or one.entry.place.scope is not ConfigScope.AGENT),
        key=lambda one: (_LINE_PRECEDENCE.index(one.entry.place.scope), one.entry.updated_at, one.entry.id),
    )
    decided = {one.entry.key: one for one in ranked}
    return {key: decided.get(key) for key in keys}


def crowded_keys(entries: Collection[CurrentEntry]) -> frozenset[str]:
    """Returns the keys of a file that only entries of agents have, although entries of others are in the file. Their
    lines are left as they are. ``entries``: as for ``decide_lines``."""
    if not _is_shared(entries):
        return frozenset()
    of_agents = {one.entry.key for one in entries if one.entry.place.scope is ConfigScope.AGENT}
    return frozenset(of_agents - {one.entry.key for one in entries if one.entry.place.scope is not ConfigScope.AGENT})


def _is_shared(entries: Collection[CurrentEntry]) -> bool:
    return len({one.entry.place for one in entries}) > 1


def check_file(entry: ConfigEntry, in_file: Collection[CurrentEntry]) -> None:
    """Raises Conflict if a .env file has no room for another entry, or if an entry of an agent would be in a file with
    entries of others. ``in_file``: the entries with this file as envPath."""
    others = [one for one in in_file if one.entry.place != entry.place]
    if sum(one.entry.id != entry.id for one in in_file) >= MAX_LINES:
        raise Conflict(f"There are {MAX_LINES} entries with this envPath already. Choose another file.")
    if entry.place.scope is ConfigScope.AGENT and others:
        raise Conflict(
            "Entries of others are in this file, and an entry of an agent is not written beside them. Choose another "
            "envPath, or use scope global or repo."
        )
    if any(one.entry.place.scope is ConfigScope.AGENT for one in others):
        raise Conflict(
            "Entries of an agent are in this file, and no others are written beside them. Choose another envPath."
        )


def may_forget(since: datetime | None, now: datetime) -> bool:
    """Returns True if a line need not be removed any more: its folder has been missing since an instant long ago."""
    return since is not None and now - since >= _FORGET_AFTER


def changed_fields(before: ConfigVersion | None, after: ConfigVersion, *, is_same_value: bool) -> tuple[str, ...]:
    """Returns the JSON names of the fields that differ between two versions."""
    if before is None:
        return ("value",)
    differing = (
        ("value", not is_same_value),
        ("isSecret", before.is_secret != after.is_secret),
        ("envPath", before.env_path != after.env_path),
        ("description", before.description != after.description),
    )
    return tuple(name for name, differs in differing if differs)


def check_value(value: str) -> None:
    """Raises Invalid or TooLarge for a value that no environment variable can have, and for the mask of a secret."""
    if value == MASK:
        raise Invalid("This is the mask of a secret, not its value. Send the value.", field="value")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        size = None
    if size is None:
        raise Invalid("value has half of a surrogate pair, which is not valid Unicode.", field="value")
    if size > VALUE_BYTES:
        raise TooLarge(f"value has {size:,} bytes; at most {VALUE_BYTES:,}.", field="value")
    if "\0" in value:
        raise Invalid("value has a NUL character, which no environment variable can have.", field="value")


def check_version(current: ConfigVersion | None, expected: int | None) -> None:
    """Raises Stale if an entry has another version than the expected one; 0: there is no entry, None: any."""
    number = 0 if current is None else current.number
    if expected is not None and expected != number:
        raise Stale(
            f"The entry has changed since: it is at version {number}, not {expected}. Read it again.", current=number
        )
