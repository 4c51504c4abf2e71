"""Naming: which names mean the same service, and which the same category.

Names are stored as they were given and compared by their key. Names have the same key if they differ only in case, in
width or composition of their characters (NFKC), or in white space, hyphens, underscores and dots between letters and
digits, or if they are aliases. Between two digits it only matters that there is such a separator, not which one:
``10-0-0-1`` is ``10.0.0.1``, but not ``10.0.01``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from unicodedata import normalize

from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.observations.model import GENERAL, SERVICE_LENGTH

Groups = Sequence[tuple[str, ...]]
"""Groups of names with the same meaning."""

SERVICE_ALIASES: Groups = (
    ("postgres", "postgresql", "pg", "psql"),
    ("mysql", "mysqld"),
    ("sqlite", "sqlite3"),
    ("sql server", "mssql", "microsoft sql server"),
    ("mongodb", "mongo"),
    ("redis", "redis-server"),
    ("memcached", "memcache"),
    ("elasticsearch", "elastic", "es"),
    ("rabbitmq", "rabbit"),
    ("kubernetes", "k8s"),
    ("docker compose", "compose"),
    ("nodejs", "node"),
    ("javascript", "js"),
    ("typescript", "ts"),
    ("github", "gh"),
    ("github actions", "gha"),
    ("ci/cd", "ci / cd", "cicd"),
    ("opentelemetry", "otel"),
    ("home assistant", "hass"),
)
"""Only names that no two products share. Operators add others (HIVELORE_ALIASES)."""
CATEGORY_ALIASES: Groups = (
    ("timing", "timings"),
    ("dependency", "dependencies", "dep", "deps"),
    ("behavior", "behaviors", "behaviour", "behaviours"),
    ("remediation", "remediations"),
    ("performance", "perf"),
    ("configuration", "configurations", "config", "configs"),
    ("note", "notes"),
    ("fact", "facts"),
    ("preference", "preferences", "pref", "prefs"),
    ("project", "projects"),
    ("instruction", "instructions"),
    ("fix", "fixes"),
    ("decision", "decisions"),
    ("correction", "corrections"),
    ("convention", "conventions"),
    ("failed-approach", "failed-approaches"),
    ("mistake-pattern", "mistake-patterns"),
    ("best-practice", "best-practices"),
)

_SEPARATORS = re.compile(r"(?<=[^\W_])[\s\-_.\u2010-\u2015\u2212]+(?=[^\W_])")
"""White space, hyphens, dashes, underscores and dots between letters and digits."""
_KEPT = "-"
"""The separator between two digits."""


class Naming:
    """Compares names of services and of categories."""

    def __init__(self, aliases: Sequence[tuple[str, str]] = ()) -> None:
        """``aliases``: further pairs of names with the same meaning, of services as well as of categories."""
        self._services = _keys(SERVICE_ALIASES, aliases)
        self._categories = _keys(CATEGORY_ALIASES, aliases)

    def service_key(self, name: str) -> str:
        """Returns the key of the name of a service."""
        return _key(name, self._services)

    def category_key(self, name: str) -> str:
        """Returns the key of the name of a category."""
        return _key(name, self._categories)

    def services_like(self, name: Clean, known: Iterable[Clean]) -> frozenset[Clean]:
        """Returns the name and those among ``known`` that mean the same service.

        Stores know spellings, not keys: aliases are a setting, and keys stored before it changed would be wrong. So a
        query first reads the distinct spellings in its snapshot, which takes one step of an index for each. Then it
        filters by those that mean the same, which are exact values that indexes find."""
        return _like(name, known, self.service_key)

    def categories_like(self, name: Clean, known: Iterable[Clean]) -> frozenset[Clean]:
        """Like ``services_like``, for categories."""
        return _like(name, known, self.category_key)


def parse_aliases(entries: Iterable[str]) -> Naming:
    """Parses entries like ``pg-main=postgres``. Raises Invalid."""
    pairs: dict[str, tuple[str, str]] = {}
    for entry in entries:
        alias, _, name = (part.strip() for part in entry.partition("="))
        if not alias or not name or "=" in name:
            raise Invalid(f"{entry!r} is not an alias. Write alias=name, like pg-main=postgres.")
        if max(len(alias), len(name)) > SERVICE_LENGTH:
            raise Invalid(f"Names have at most {SERVICE_LENGTH} characters: {entry[:SERVICE_LENGTH]!r}.")
        if _plain(alias) == GENERAL:
            raise Invalid(f"{GENERAL!r} stands for all services and cannot be an alias.")
        _, known = pairs.setdefault(_plain(alias), (alias, name))
        if _plain(known) != _plain(name):
            raise Invalid(f"{alias!r} is an alias of both {known!r} and {name!r}. Choose one.")
    return Naming(list(pairs.values()))


def _plain(name: str) -> str:
    """Returns the name without differences of spelling."""
    while (plain := _SEPARATORS.sub(_separator, normalize("NFKC", name).casefold()).strip()) != name:
        name = plain  # Folding and joining characters may make others that need it, too.
    return name


def _separator(found: re.Match[str]) -> str:
    text, start, end = found.string, *found.span()
    return _KEPT if text[start - 1].isdigit() and text[end].isdigit() else ""


def _key(name: str, keys: Mapping[str, str]) -> str:
    plain = _plain(name)
    return keys.get(plain, plain)


def _keys(groups: Groups, aliases: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """Returns the keys of plain names that have an alias."""
    keys = {_plain(name): _plain(group[0]) for group in groups for name in group}
    for alias, name in aliases:
        old, new = _key(alias, keys), _key(name, keys)
        keys |= {one: new for one, key in keys.items() if key == old} | {old: new}
    return keys


def _like(name: Clean, known: Iterable[Clean], key: Callable[[str], str]) -> frozenset[Clean]:
    wanted = key(name)
    return frozenset((name, *(one for one in known if key(one) == wanted)))


DEFAULT_NAMING = Naming()
"""Without aliases of operators."""
