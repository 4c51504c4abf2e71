"""Precedence of scopes, authority over entries, and names that may be set."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hivelore.configuration.model import KEY_LENGTH, ConfigScope, ConfigVersion, CurrentEntry, Place
from hivelore.core.agents import Role, Viewer
from hivelore.errors import Invalid
from hivelore.search.model import Visibility

_KEY = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{KEY_LENGTH - 1}}}")
_RESERVED_NAMES = (
    "PATH HOME SHELL USER LOGNAME PWD OLDPWD IFS ENV SHELLOPTS PS4 PROMPT_COMMAND NODE_OPTIONS NODE_PATH PERL5OPT "
    "PERL5LIB PERLLIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS GIT_SSH GIT_SSH_COMMAND "
    "GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS GCONV_PATH"
)
_RESERVED = frozenset(_RESERVED_NAMES.split())
_RESERVED_PREFIXES = ("LD_", "DYLD_", "HIVELORE_", "PYTHON", "BASH", "GIT_CONFIG", "ZDOTDIR")
_PRECEDENCE = tuple(ConfigScope)


@dataclass(frozen=True, slots=True)
class Resolved:
    current: CurrentEntry
    overrides: tuple[ConfigScope, ...]
    """The scopes whose entries of the same key it replaces."""


def check_key(key: str) -> str:
    """Returns the key. Raises Invalid unless it can be an environment variable of an agent's process."""
    if not _KEY.fullmatch(key):
        raise Invalid(
            f"A key has 1 to {KEY_LENGTH} letters, digits and underscores, and does not begin with a digit, like "
            "API_URL.",
            field="key",
        )
    if is_reserved(key):
        raise Invalid(
            f"{key} is reserved: it would change how programs of the agent start or find files. Choose another key.",
            field="key",
        )
    return key


def is_reserved(key: str) -> bool:
    """Returns True for variables by which programs are started, loaded and configured before their own code runs."""
    name = key.upper()
    return name in _RESERVED or name.startswith(_RESERVED_PREFIXES)


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


def may_change(viewer: Viewer, place: Place) -> bool:
    """Returns True if the viewer may set and delete entries of a place: agents their own, leads also those of global
    and repository scope, operators all (X22)."""
    if viewer.role is Role.OPERATOR:
        return True
    if place.scope is ConfigScope.AGENT:
        return viewer.agent == place.scope_id
    return viewer.role is Role.LEAD


def may_write_files(viewer: Viewer) -> bool:
    """Returns True if the viewer may keep entries in files of the workspace, which other agents read, too (X22)."""
    return viewer.role is not Role.WORKER


def may_reveal(viewer: Viewer, place: Place) -> bool:
    """Returns True if the viewer may read the secrets of a place: operators, an agent its own, and an operator who acts
    for an agent, as a runner does, what its process is given (X15)."""
    if viewer.role is Role.OPERATOR:
        return True
    if place.scope is ConfigScope.AGENT:
        return viewer.agent == place.scope_id
    return viewer.acting


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
