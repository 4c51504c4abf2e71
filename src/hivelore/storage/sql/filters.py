"""Filters as SQL conditions. A memory always has the alias ``m``.

Only the conditions that are set are written: a ``(:x IS NULL OR ...)`` defeats every query planner.
"""

from collections.abc import Callable
from datetime import datetime

from hivelore.core.values import replace
from hivelore.memories.model import Scope
from hivelore.observations.model import GENERAL
from hivelore.search.model import Filter, Visibility
from hivelore.storage.sql.columns import SCOPE, SOURCE, to_micros
from hivelore.storage.sql.statements import Param


def begins_with(column: str, prefix: str) -> tuple[str, dict[str, Param]]:
    """Returns a range of ids as a condition that indexes support. The prefix is not empty."""
    return f" AND {column} >= :first AND {column} < :end", {
        "first": prefix,
        "end": prefix[:-1] + chr(ord(prefix[-1]) + 1),
    }


_PRIVATE, _SHARED = SCOPE[Scope.AGENT], SCOPE[Scope.SWARM]


def _disjoint_visibility(visibility: Visibility) -> list[tuple[str, dict[str, Param]]]:
    """Returns what a viewer may see as disjoint conditions: shared memories and private ones."""
    conditions: list[tuple[str, dict[str, Param]]] = []
    if visibility.swarm:
        conditions.append((f" AND m.scope = {_SHARED}", {}))
    if visibility.others:
        conditions.append((f" AND m.scope = {_PRIVATE}", {}))
    elif visibility.own is not None:
        conditions.append((f" AND m.owner = :own AND m.scope = {_PRIVATE}", {"own": visibility.own}))
    return conditions


def _visible(visibility: Visibility) -> tuple[str, dict[str, Param]]:
    """Returns what a viewer may see as one condition."""
    if visibility.others and visibility.swarm:
        return "", {}
    if visibility.swarm and visibility.own is not None:
        return f" AND (m.scope = {_SHARED} OR m.owner = :own)", {"own": visibility.own}
    conditions = _disjoint_visibility(visibility)
    return conditions[0] if conditions else (" AND 1 = 0", {})


_RARE_TAG = "m.key IN (SELECT t.document FROM memory_tag t WHERE t.namespace = :namespace AND t.tag = :tag)"
"""Starts from the tag."""
_COMMON_TAG = (
    "EXISTS (SELECT 1 FROM memory_tag t WHERE t.namespace = m.namespace AND t.tag = :tag AND t.document = m.key)"
)
"""Checks the tags of each memory."""

_CONDITIONS: tuple[tuple[str, str, Callable[[Filter], Param]], ...] = (
    ("owner", "m.owner = :owner", lambda f: f.owner),
    ("source", "m.source = :source", lambda f: None if f.source is None else SOURCE[f.source]),
    ("project", "(m.project = :project OR m.project IS NULL)", lambda f: f.project),
    ("session", "m.session = :session", lambda f: f.session),
    ("tag", _RARE_TAG, lambda f: f.tag),
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
"""SQL that selects keys among the results of a subquery."""
_OPERATIONAL = "SELECT o.document FROM operational o WHERE o.namespace = :namespace"
_NOT_OPERATIONAL = "NOT EXISTS (SELECT 1 FROM operational o WHERE o.namespace = m.namespace AND o.document = m.key)"


def _operational_condition(where: Filter, among: str) -> str:
    """Returns the condition on operational memories; it binds ``:service`` if the filter has one."""
    plain = f" AND {_NOT_OPERATIONAL}" if where.operational is False else ""
    if where.service is None and not where.operational:
        return plain
    service = "" if where.service is None else " AND o.service = :service"
    if where.service == GENERAL:
        service = " AND o.service IS NULL"
    return f" AND m.key {among.format(_OPERATIONAL + service)}{plain}"


def _attributes(where: Filter, among: str = AMONG) -> tuple[str, dict[str, Param]]:
    """Returns the conditions of a filter except visibility: `` AND ...`` for each part that is set."""
    sql: list[str] = []
    params: dict[str, Param] = {}
    for name, condition, value_of in _CONDITIONS:
        value = value_of(where)
        if value is not None:
            sql.append(f" AND {condition}")
            params[name] = value
    if where.service is not None and where.service != GENERAL:
        params["service"] = where.service
    return "".join(sql) + _SUPERSEDED[where.superseded] + _operational_condition(where, among), params


def condition(where: Filter) -> tuple[str, dict[str, Param]]:
    """Returns the whole filter, to be appended to ``m.namespace = :namespace``."""
    seen, own = _visible(where.visibility)
    rest, params = _attributes(where)
    return seen + rest, own | params


def parts(where: Filter, *, common_tag: bool = False, among: str = AMONG) -> list[tuple[str, dict[str, Param]]]:
    """Returns a filter as disjoint conditions, each of which an index can scan in order; for lists and counts.

    ``common_tag``: many memories have the tag, so that skipping those without it is faster than sorting those with it.
    """
    rest, params = _attributes(replace(where, project=None), among)
    if common_tag:
        rest = rest.replace(_RARE_TAG, _COMMON_TAG)
    projects: list[tuple[str, dict[str, Param]]] = [("", {})]
    if where.project is not None:
        projects = [(" AND m.project = :project", {"project": where.project}), (" AND m.project IS NULL", {})]
    return [
        (visible + project + rest, own | named | params)
        for visible, own in _disjoint_visibility(where.visibility)
        for project, named in projects
    ]


def after_position(columns: str, after: tuple[datetime, str] | None) -> tuple[str, dict[str, Param]]:
    """Returns the condition on what lies behind a position, newest first. ``columns``: its instant and its id."""
    if after is None:
        return "", {}
    return f" AND ({columns}) < (:after_at, :after_id)", {"after_at": to_micros(after[0]), "after_id": after[1]}
