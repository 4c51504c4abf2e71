"""A ``Filter`` as SQL, in one place. The memory is always called ``m``.

Only the conditions that are asked for are written: a ``(:x IS NULL OR ...)`` defeats every planner.
"""

from collections.abc import Callable, Mapping

from hivelore.core.values import replace
from hivelore.memories.model import Scope
from hivelore.observations.model import GENERAL
from hivelore.search.model import Filter, Visibility
from hivelore.storage.sql.codes import SCOPE, SOURCE
from hivelore.storage.sql.instants import to_micros

Param = None | int | float | str | bytes | list[int | str]
Params = Mapping[str, Param]

_PRIVATE, _SHARED = SCOPE[Scope.AGENT], SCOPE[Scope.SWARM]


def _shelves(visibility: Visibility) -> list[tuple[str, dict[str, Param]]]:
    """What a viewer may see, disjoint: what is shared, what is private."""
    shelves: list[tuple[str, dict[str, Param]]] = []
    if visibility.swarm:
        shelves.append((f" AND m.scope = {_SHARED}", {}))
    if visibility.others:
        shelves.append((f" AND m.scope = {_PRIVATE}", {}))
    elif visibility.own is not None:
        shelves.append((f" AND m.owner = :own AND m.scope = {_PRIVATE}", {"own": visibility.own}))
    return shelves


def _visible(visibility: Visibility) -> tuple[str, dict[str, Param]]:
    """The same as one condition."""
    if visibility.others and visibility.swarm:
        return "", {}
    if visibility.swarm and visibility.own is not None:
        return f" AND (m.scope = {_SHARED} OR m.owner = :own)", {"own": visibility.own}
    shelves = _shelves(visibility)
    return shelves[0] if shelves else (" AND 1 = 0", {})


_RARELY_TAGGED = "m.key IN (SELECT t.document FROM memory_tag t WHERE t.namespace = :namespace AND t.tag = :tag)"
"""Begins with the tag."""
_OFTEN_TAGGED = (
    "EXISTS (SELECT 1 FROM memory_tag t WHERE t.namespace = m.namespace AND t.tag = :tag AND t.document = m.key)"
)
"""Looks at the tags of one memory after the other."""

_CONDITIONS: tuple[tuple[str, str, Callable[[Filter], Param]], ...] = (
    ("owner", "m.owner = :owner", lambda f: f.owner),
    ("source", "m.source = :source", lambda f: None if f.source is None else SOURCE[f.source]),
    ("project", "(m.project = :project OR m.project IS NULL)", lambda f: f.project),
    ("session", "m.session = :session", lambda f: f.session),
    ("tag", _RARELY_TAGGED, lambda f: f.tag),
    ("category", "m.category = :category", lambda f: f.category),
    ("subject", "m.subject = :subject", lambda f: f.subject),
    (
        "held_at",
        "COALESCE(m.valid_from, m.created_at) <= :held_at AND (m.valid_until IS NULL OR m.valid_until > :held_at)",
        lambda f: None if f.held_at is None else to_micros(f.held_at),
    ),
    (
        "live_at",
        "(m.expires_at IS NULL OR m.expires_at > :live_at)",
        lambda f: None if f.live_at is None else to_micros(f.live_at),
    ),
    ("expired_at", "m.expires_at <= :expired_at", lambda f: None if f.expired_at is None else to_micros(f.expired_at)),
    (
        "created_before",
        "m.created_at < :created_before",
        lambda f: None if f.created_before is None else to_micros(f.created_before),
    ),
    (
        "created_after",
        "m.created_at >= :created_after",
        lambda f: None if f.created_after is None else to_micros(f.created_after),
    ),
)


_SUPERSEDED = {None: "", True: " AND m.valid_until IS NOT NULL", False: " AND m.valid_until IS NULL"}

AMONG = "IN ({})"
"""How a key is looked up among those that a statement finds."""
_OPERATIONAL = "SELECT o.document FROM operational o WHERE o.namespace = :namespace"
_PLAIN = "NOT EXISTS (SELECT 1 FROM operational o WHERE o.namespace = m.namespace AND o.document = m.key)"


def _about_running(where: Filter, among: str) -> str:
    """What a filter asks of operational memory, with ``:service`` where it names one."""
    plain = f" AND {_PLAIN}" if where.operational is False else ""
    if where.service is None and not where.operational:
        return plain
    service = "" if where.service is None else " AND o.service = :service"
    if where.service == GENERAL:
        service = " AND o.service IS NULL"
    return f" AND m.key {among.format(_OPERATIONAL + service)}{plain}"


def _attributes(where: Filter, among: str = AMONG) -> tuple[str, dict[str, Param]]:
    """Everything of a filter but the visibility: `` AND ...`` for each part that is set."""
    sql: list[str] = []
    params: dict[str, Param] = {}
    for name, condition, value_of in _CONDITIONS:
        value = value_of(where)
        if value is not None:
            sql.append(f" AND {condition}")
            params[name] = value
    if where.service is not None and where.service != GENERAL:
        params["service"] = where.service
    return "".join(sql) + _SUPERSEDED[where.superseded] + _about_running(where, among), params


def condition(where: Filter) -> tuple[str, dict[str, Param]]:
    """The whole filter, to stand behind ``m.namespace = :namespace``."""
    seen, own = _visible(where.visibility)
    rest, params = _attributes(where)
    return seen + rest, own | params


def parts(where: Filter, *, common_tag: bool = False, among: str = AMONG) -> list[tuple[str, dict[str, Param]]]:
    """The same as disjoint conditions, each of which an index can walk in order: for lists and counts.

    ``common_tag``: so many have the tag that walking past those without it is quicker than sorting those with it.
    """
    rest, params = _attributes(replace(where, project=None), among)
    if common_tag:
        rest = rest.replace(_RARELY_TAGGED, _OFTEN_TAGGED)
    projects: list[tuple[str, dict[str, Param]]] = [("", {})]
    if where.project is not None:
        projects = [(" AND m.project = :project", {"project": where.project}), (" AND m.project IS NULL", {})]
    return [
        (index_writer + project + rest, own | named | params)
        for index_writer, own in _shelves(where.visibility)
        for project, named in projects
    ]
