"""Naming: which names a service and a category may have, and which names mean the same one.

Names are stored as they were given and compared by their key. Names have the same key if they differ only in case, in
width or composition of their characters (NFKC), or in white space, hyphens, underscores and dots between letters and
digits, in invisible joiners, or if they are aliases. Between two digits it only matters that there is such a separator,
not which one: ``10-0-0-1`` is ``10.0.0.1``, but not ``10.0.01``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from unicodedata import category, normalize

from hivelore.core.text import Clean
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.model import CATEGORY_LENGTH
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
"""Only names that no two products share. Operators add others, or give these another meaning (HIVELORE_ALIASES)."""
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
_IGNORED = "\u200c\u200d\ufe0e\ufe0f"
"""Invisible characters without meaning for the key: joiners, which words of some languages and emoji need, and the
selectors between the plain and the coloured form of an emoji."""
_WITHOUT_IGNORED = dict.fromkeys(map(ord, _IGNORED))
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that nobody sees: fillers, and selectors of variants (Unicode: default ignorable).
``_REFUSED`` has the categories of the others."""
_REFUSED = {
    "Cc": "a control character",
    "Cf": "an invisible character",
    "Cn": "an unassigned character",
    "Co": "a private-use character",
    "Cs": "an invalid character",
}
"""Characters that no name has, by their category in Unicode."""
_PICTOGRAPHS = range(0x1F000, 0x1FB00)
"""Reserved for pictographs. Python may not know the latest ones."""
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""The flag of a part of a country, whose code is spelled in invisible characters."""
_MAX_REMEMBERED = 32_768
"""Spellings whose plain form is remembered: about 10 MB."""
_LONGEST = {"category": CATEGORY_LENGTH, "service": SERVICE_LENGTH}
_EXAMPLES = {"category": "timing", "service": "postgres"}
_SYNTAX = frozenset('[]{}"')
"""Characters of JSON, which no alias contains."""
_SHOWN = 100
"""Characters of a wrong entry that an error shows."""
_MAX_LISTED = 5


class Naming:
    """Compares names of services and of categories."""

    def __init__(self, aliases: Sequence[tuple[str, str]] = ()) -> None:
        """``aliases``: pairs of an alias and the name that it stands for, of services as well as of categories. They
        form no circle. An alias leaves the group that it belongs to otherwise."""
        self._services = _keys(SERVICE_ALIASES, aliases)
        self._categories = _keys(CATEGORY_ALIASES, aliases)

    @property
    def digest(self) -> str:
        """A digest of all aliases."""
        return sha256(repr([sorted(one.items()) for one in (self._services, self._categories)]).encode()).hexdigest()

    def service_key(self, name: str) -> str:
        """Returns the key of the name of a service."""
        return _key(name, self._services)

    def category_key(self, name: str) -> str:
        """Returns the key of the name of a category."""
        return _key(name, self._categories)

    def is_general(self, name: str) -> bool:
        """Returns True if the name of a service stands for all services."""
        return self.service_key(name) == GENERAL

    def services_like(self, name: Clean, known: Iterable[Clean]) -> frozenset[Clean]:
        """Returns the name and those among ``known`` that mean the same service.

        Stores know spellings, not keys: aliases are a setting, and keys stored before it changed would be wrong. So a
        query first reads the distinct spellings in its snapshot, which takes one step of an index for each. Then it
        filters by those that mean the same, which are exact values that indexes find."""
        return _like(name, known, self.service_key)

    def categories_like(self, name: Clean, known: Iterable[Clean]) -> frozenset[Clean]:
        """Like ``services_like``, for categories."""
        return _like(name, known, self.category_key)


def check_length(name: str, field: str) -> None:
    """Raises TooLarge for the name of a service or a category that is too long. ``field``: which of them it is."""
    most = _LONGEST[field]
    if len(name) > most:
        raise TooLarge(
            f"The {field} has {len(name):,} characters; at most {most} are allowed. Use a short name such as "
            f"{_EXAMPLES[field]}.",
            field=field,
        )


def check_name(name: str, field: str) -> None:
    """Raises Invalid for the new name of a service or a category that is too long or cannot be read. Names may be in
    any script, and may be emoji. Stored names may be older than this rule."""
    check_length(name, field)
    for at, character in enumerate(_FLAG.sub(lambda flag: flag[0][0] * len(flag[0]), name)):
        what = _refused(character)
        if what is not None:
            raise Invalid(
                f"The {field} has {what} (U+{ord(character):04X}) at position {at}: remove it and send the rest again.",
                field=field,
            )
    if all(character in _IGNORED or category(character)[0] in "MZ" for character in name):
        raise Invalid(f"The {field} has no visible character. Use a name such as {_EXAMPLES[field]}.", field=field)


def _refused(character: str) -> str | None:
    """Returns what the character is if no name may have it."""
    if character in _IGNORED:
        return None
    if _INVISIBLE.match(character):
        return "an invisible character"
    kind = category(character)
    return None if kind == "Cn" and ord(character) in _PICTOGRAPHS else _REFUSED.get(kind)


def parse_aliases(entries: Iterable[str]) -> Naming:
    """Parses entries like ``pg-main=postgres``. Raises Invalid."""
    pairs: dict[str, tuple[str, str]] = {}
    for entry in entries:
        alias, name = _parse_alias(entry)
        _, known = pairs.setdefault(_plain(alias), (alias, name))
        if _plain(known) != _plain(name):
            raise Invalid(f"{alias!r} is an alias of both {known!r} and {name!r}. Choose one.")
    _refuse_circles({alias: (*pair, _plain(pair[1])) for alias, pair in pairs.items()})
    return Naming(list(pairs.values()))


def _parse_alias(entry: str) -> tuple[str, str]:
    """Returns the alias and the name that it stands for."""
    shown = repr(entry[:_SHOWN])
    if _SYNTAX & {*entry}:
        raise Invalid(
            f"{shown} has a bracket or a quotation mark. Write aliases without them, separated by commas: "
            "pg-main=postgres, k8s-prod=kubernetes."
        )
    alias, _, name = (part.strip() for part in entry.partition("="))
    if not alias or not name or "=" in name:
        raise Invalid(f"{shown} is not an alias. Write alias=name, like pg-main=postgres.")
    for one in (alias, name):
        try:
            check_name(one, "service")
        except Invalid as error:
            raise Invalid(f"{shown} is not an alias. {error}") from None
    if _plain(alias) == GENERAL:
        raise Invalid(f"{GENERAL!r} stands for all services and cannot be an alias.")
    if _plain(alias) == _plain(name):
        raise Invalid(f"{shown} has the same name twice. Remove it: case and hyphens do not matter.")
    return alias, name


def _refuse_circles(pairs: Mapping[str, tuple[str, str, str]]) -> None:
    """Raises Invalid if an alias stands for itself through others. ``pairs``: by plain alias, the alias, its name, and
    the plain name."""
    checked: set[str] = set()
    for start in pairs:
        path: dict[str, str] = {}
        at = start
        while at in pairs and at not in checked and at not in path:
            alias, name, following = pairs[at]
            path[at] = f"{alias}={name}"
            at = following
        if at in path:
            circle = [*path.values()][[*path].index(at) :]
            more = f" and {len(circle) - _MAX_LISTED:,} more" if len(circle) > _MAX_LISTED else ""
            raise Invalid(f"Aliases form a circle: {', '.join(circle[:_MAX_LISTED])}{more}. Remove one of them.")
        checked.update(path)


def _plain(name: str) -> str:
    """Returns the name without differences of spelling."""
    return _remembered_plain(name) if len(name) <= SERVICE_LENGTH else _computed_plain(name)


@lru_cache(_MAX_REMEMBERED)
def _remembered_plain(name: str) -> str:
    return _computed_plain(name)


def _computed_plain(name: str) -> str:
    if name.isascii():  # Most names. Nothing has to be done twice.
        return _SEPARATORS.sub(_separator, name.lower()).strip()
    while (plain := _SEPARATORS.sub(_separator, _folded(name)).strip()) != name:
        name = plain  # Folding and joining characters may make others that need it, too.
    return name


def _folded(name: str) -> str:
    return normalize("NFKC", name.translate(_WITHOUT_IGNORED)).casefold()


def _separator(found: re.Match[str]) -> str:
    text, start, end = found.string, *found.span()
    return _KEPT if text[start - 1].isdigit() and text[end].isdigit() else ""


def _key(name: str, keys: Mapping[str, str]) -> str:
    plain = _plain(name)
    return keys.get(plain, plain)


def _keys(groups: Groups, aliases: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """Returns the keys of plain names that have an alias."""
    keys = {_plain(alias): _plain(name) for alias, name in aliases}
    for group in groups:
        left = [plain for name in group if (plain := _plain(name)) not in keys]
        if left:
            keys |= dict.fromkeys(left, left[0])
    return {name: _end(name, keys) for name in keys}


def _end(name: str, keys: dict[str, str]) -> str:
    """Returns the end of the chain of keys that begins with a plain name, and shortens the chain."""
    passed: list[str] = []
    while (key := keys.get(name, name)) != name:
        passed.append(name)
        name = key
    keys.update(dict.fromkeys(passed, name))
    return name


def _like(name: Clean, known: Iterable[Clean], key: Callable[[str], str]) -> frozenset[Clean]:
    wanted = key(name)
    return frozenset((name, *(one for one in known if key(one) == wanted)))


DEFAULT_NAMING = Naming()
"""Without aliases of operators."""
