"""A ``Filter`` as SQL, in one place. The memory is always called ``m``.

Only the conditions that are asked for are written: a ``(:x IS NULL OR ...)`` defeats every planner.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from hivelore.changes.model import BatchFilter, BatchId
from hivelore.events.model import EventFilter, LoggedId
from hivelore.feedback.recalls import RecallFilter
from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import Scope
from hivelore.observations.model import GENERAL
from hivelore.review.model import ProposalFilter
from hivelore.search.model import Filter, Visibility
from hivelore.storage.sql.codes import LEVEL, PROPOSAL_KIND, SCOPE, SOURCE, UNDECIDED
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


_OF_MEMORY = (
    " AND EXISTS (SELECT 1 FROM preimage pi"
    " WHERE pi.namespace = b.namespace AND pi.batch = b.id AND pi.memory = :memory)"
)


def batch_condition(where: BatchFilter, after: tuple[datetime, BatchId] | None) -> tuple[str, dict[str, Param]]:
    """A filter, to stand behind ``b.namespace = :namespace``."""
    sql, found = "", dict[str, Param]()
    if not where.seen.others:
        sql = " AND b.private = 0" if where.seen.swarm else " AND 1 = 0"
    if where.undone is not None:
        sql += f" AND b.undone_at IS {'NOT ' if where.undone else ''}NULL"
    if where.memory is not None:
        sql, found["memory"] = sql + _OF_MEMORY, where.memory
    if after is not None:
        sql += " AND (b.at, b.id) < (:after_at, :after_id)"
        found |= {"after_at": to_micros(after[0]), "after_id": after[1]}
    return sql, found


def proposal_condition(where: ProposalFilter) -> tuple[str, dict[str, Param]]:
    """A filter, but for who may see the memories, to stand behind the other conditions."""
    sql, found = "", dict[str, Param]()
    if where.actor is not None:
        sql, found["actor"] = " AND pr.actor = :actor", where.actor
    if where.open is not None:
        sql += f" AND pr.how {'=' if where.open else '<>'} {UNDECIDED}"
    if where.kind is not None:
        sql, found["kind"] = f"{sql} AND pr.kind = :kind", PROPOSAL_KIND[where.kind]
    return sql, found


def event_condition(where: EventFilter, after: tuple[datetime, LoggedId] | None) -> tuple[str, dict[str, Param]]:
    """A filter but for the visibility, to stand behind ``e.namespace = :namespace``."""
    sql: list[str] = []
    params: dict[str, Param] = {}
    if where.service == GENERAL:
        sql.append(" AND e.service IS NULL")
    elif where.service is not None:
        sql.append(" AND e.service = :service")
        params["service"] = where.service
    if where.session is not None:
        sql.append(" AND e.session = :session")
        params["session"] = where.session
    if where.actor is not None:
        sql.append(" AND e.actor = :actor")
        params["actor"] = where.actor
    if where.level is not None:
        sql.append(" AND e.level >= :level")
        params["level"] = LEVEL[where.level]
    if where.since is not None:
        sql.append(" AND e.at >= :since")
        params["since"] = to_micros(where.since)
    if where.until is not None:
        sql.append(" AND e.at < :until")
        params["until"] = to_micros(where.until)
    if after is not None:
        sql.append(" AND (e.at, e.id) < (:after_at, :after_id)")
        params |= {"after_at": to_micros(after[0]), "after_id": after[1]}
    return "".join(sql), params


def recall_pattern(document: DocumentKey) -> str:
    """What is in the column ``documents`` where this one was given."""
    return f",{document},"


def recall_condition(where: RecallFilter, document: DocumentKey | None, gave: str) -> tuple[str, dict[str, Param]]:
    """A filter as SQL, to stand behind ``r.namespace = :namespace``; ``document`` is the key of its memory, ``gave``
    the statement ``recall_gave`` of the engine."""
    sql, found = "", dict[str, Param]()
    if where.agent is not None:
        sql, found["agent"] = " AND r.agent = :agent", where.agent
    elif not where.operators:
        sql = " AND r.agent IS NOT NULL"
    if where.since is not None:
        sql += " AND r.at >= :since"
        found["since"] = to_micros(where.since)
    if document is not None:
        sql += f" AND {gave}"
        found["having"] = recall_pattern(document)
    return sql, found
