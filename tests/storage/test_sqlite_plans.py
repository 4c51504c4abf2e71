"""Query plans of SQLite: every statement uses a fitting index, and none scans a large table without a reason (A12)."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apsw import SQLITE_OK, Connection

from hivelore.changes.model import BatchFilter, BatchId
from hivelore.configuration.model import ConfigScope
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import EventFilter, Level, LoggedId
from hivelore.feedback.recalls import RecallFilter
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.observations.model import GENERAL
from hivelore.review.model import ProposalFilter, ProposalId, ProposalKind
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Filter, RecallId, Visibility
from hivelore.storage.sql.changes import batch_condition
from hivelore.storage.sql.configuration import entry_condition
from hivelore.storage.sql.events import event_condition
from hivelore.storage.sql.feedback import recall_condition
from hivelore.storage.sql.repos import AUTO_CLONED, REPO, REPO_LISTED, REPO_REPORT, REPORT_LISTED
from hivelore.storage.sql.review import proposal_condition
from hivelore.storage.sql.statements import Params, begins_with, condition, parts
from hivelore.storage.sqlite.connection import SQL, SqliteView, connect, rows
from hivelore.storage.sqlite.store import SqliteStore
from support.configuration import ADAS, GLOBAL, an_entry
from support.memories import ADA, a_memory, instant
from support.small_world import TAGS, VALUES, VISIBILITIES, census
from support.stores import add, chunks

LARGE = {
    "memory": "m",
    "memory_tag": "t",
    "version": "",
    "observation": "s",
    "evidence": "e",
    "usefulness": "u",
    "chunk": "c",
    "passage": "p",
    "vector": "v w",
    "embedding_failure": "f",
    "change": "",
    "audit": "",
    "recall": "r",
    "event": "e",
    "cooldown": "",
    "proposal": "pr",
    "concerned": "co",
    "link": "l",
    "batch": "b",
    "preimage": "pi",
    "config_version": "v",
    "config_change": "",
    "env_line": "",
    "repo": "",
    "repo_report": "",
    "repo_change": "",
    "profile_version": "",
    "profile_change": "",
}
"""The tables that grow with the number of memories, and their aliases in statements."""
TABLES = {name: table for table, aliases in LARGE.items() for name in (table, *aliases.split())}

LOOKS_AT_EVERYTHING = {
    "last_change": "the last row of a table is one step away",
    "identity": "likewise",
    "audit_newest": "walks back from the newest and stops at the limit",
    "recalls": "likewise, where it is not for one agent",
    "counts": "counts everything, for who moves a swarm",
    "lost_vectors": "compares all passages with their vectors, when an operator checks",
    "passages_requeue_lost": "likewise, where some are missing",
    "proposals": "likewise, where they are not of one agent that are open",
    "proposals_open_count_by_owner": "reads the open ones, before the service proposes another",
    "contradictions_outdated": "compares the open ones with their memories, once a minute",
    "recall_nth": "walks back from the newest, and once in a while",
    "events": "walks back from the newest and stops at the limit, where it is not about one service or session",
    "event_nth": "walks back from the newest, and once in a while",
    "cooldowns": "a thousand at most",
    "quotes_erase": "words may be anywhere, and operational memories are seldom forgotten",
    "memory_most_used": "compares all memories with evidence of use, once in a session",
    "config_entries": "walks by scope and key, and stops at the limit",
    "env_lines_after": "a page at a time, when an operator checks or moves a swarm",
    "env_lines_late": "an index has the due ones only",
    "config_sealed_otherwise": "all secrets, when an operator rotates the key",
    "repo_count": "a thousand at most",
    "repo_reports_after": "a page at a time, when a swarm is moved",
    "batches": "walks back from the newest and stops at the limit",
    "uncompared": "compares all memories with what was compared, in the background and only after a change",
    "uncompared_count": "counts all memories, for people",
}
"""Each with the reason why it is better so."""

EVERYBODY = Visibility(own=None, swarm=True, others=True)
WORKER = Visibility(own=ADA, swarm=True)
SHARED = Visibility(own=None, swarm=True)
OWN = Visibility(own=ADA, swarm=False)

ASKED_BY = [
    RecallFilter(seen=EVERYBODY),
    RecallFilter(seen=EVERYBODY, operators=True),
    RecallFilter(seen=OWN, agent=ADA),
]
_ALL = EventFilter(seen=EVERYBODY)
_SINCE = EventFilter(seen=EVERYBODY, since=instant(0), until=instant(1), level=Level.ERROR)
HAPPENED = [
    replace(where, **narrowed)
    for where in (_ALL, _SINCE)
    for narrowed in (
        {},
        {"services": frozenset({Clean("s")})},
        {"services": frozenset({GENERAL})},
        {"session": Clean("s")},
    )
]
FRAGMENTS = {
    "{queue}": ("queue_new", "queue_again"),
    "{order}": ("ASC", "DESC"),
    "{unleased}": ("", "unleased"),
    "{locked}": ("locked",),
    "{recall_filter}": tuple(
        recall_condition(where, document, SQL["recall_returned"], after)[0]
        for where in ASKED_BY
        for document in (None, DocumentKey(1))
        for after in (None, (instant(0), RecallId("r")))
    ),
    "{gave}": ("recall_returned",),
    "{decided_with}": ("decided_with",),
    "{event_filter}": tuple(
        event_condition(where, after)[0] + f" AND (e.document IS NULL OR (m.key IS NOT NULL{condition(seen)[0]}))"
        for where in HAPPENED
        for after in (None, (instant(0), LoggedId("e")))
        for seen in (Filter(visibility=EVERYBODY), Filter(visibility=WORKER))
    ),
    "{proposal_filter}": tuple(
        proposal_condition(ProposalFilter(seen=EVERYBODY, actor=actor, open=is_open, kind=kind), after)[0]
        for actor in (None, ADA)
        for is_open in (None, True)
        for kind in (None, ProposalKind.SHARING)
        for after in (None, (instant(0), ProposalId("p")))
    ),
    "{config_filter}": tuple(
        entry_condition(seen, place, scope, after)[0]
        for seen in (EVERYBODY, WORKER, SHARED, OWN)
        for place, scope in ((None, None), (GLOBAL, None), (ADAS, None), (None, ConfigScope.REPO))
        for after in (None, an_entry())
    ),
    "{repo_filter}": ("", AUTO_CLONED),
    "{repo_columns}": (REPO.listed(), REPO_LISTED.listed()),
    "{report_columns}": (REPO_REPORT.listed(), REPORT_LISTED.listed()),
    "{batch_filter}": tuple(
        batch_condition(BatchFilter(seen=seen, memory=memory, undone=undone), after)[0]
        for seen in (EVERYBODY, WORKER, OWN)
        for memory in (None, MemoryId("m"))
        for undone in (None, False)
        for after in (None, (instant(0), BatchId("b")))
    ),
}
OF_A_PREFIX = {
    "memory_ids": [("{where}", "m.id")],
    "changed_ids": [("{batch_filter}", "pi.memory")],
    "config_ids": [("{config_filter}", "e.id")],
}
"""Statements that look up only ids with a prefix: the placeholder before which its condition stands, and the column."""
LISTED_BY_PARTS = ("memory_page", "memory_keys", "memory_counts")

INDEX_OF = {
    "owner": "memory_owner",
    "source": "memory_source",
    "project": "memory_project",
    "session": "memory_session",
    "tag": "memory_tag",
    "categories": "memory_category",
    "operational": "operational_service",
    "services": "operational_service",
    "subject": "memory_subject",
    "superseded": "memory_scope",
    "held_at": "memory_scope",
    "live_at": "memory_scope",
    "expired_at": "memory_scope",
    "created_before": "memory_scope",
    "created_after": "memory_scope",
}
"""Which index finds the shared memories of a list that is narrowed by this part of a filter."""

COLUMN_OF = {"categories": "category", "services": "service"}
"""The column of a part of a filter, if it has another name."""

FEW = {"session": "session", "tag": "tag", "subject": "subject", "services": "service", "operational": "rowid"}
"""What leaves so few that they are looked up by this column, though others' may be among them."""


@dataclass(frozen=True, slots=True)
class Step:
    """The access to one table: by which columns of which index."""

    table: str
    index: str
    columns: tuple[str, ...]

    @property
    def looks_at_everything(self) -> bool:
        return self.table in LARGE and set(self.columns) <= {"namespace"}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    path = tmp_path_factory.mktemp("plans") / "hivelore.db"
    SqliteStore(path, clock=SystemClock()).close()
    with closing(connect(path)) as connection:
        yield connection


def plan(connection: Connection, statement: str) -> list[str]:
    params = dict.fromkeys(re.findall(r":(\w+)", statement))
    return [row[3] for row in rows(connection, f"EXPLAIN QUERY PLAN {statement}", params)]


def steps(connection: Connection, statement: str) -> list[Step]:
    found: list[Step] = []
    for line in plan(connection, statement):
        if match := re.match(r"(?:SCAN|SEARCH) (\w+)", line):
            index = re.search(r" INDEX (\w+)", line)
            columns = re.search(r"\((.*)\)", line)
            names = tuple(re.findall(r"(\w+)[=<>]", columns[1])) if columns else ()
            found.append(Step(TABLES.get(match[1], match[1]), index[1] if index else "", names))
    return found


def narrowed(visibility: Visibility) -> list[Filter]:
    """Every filter with at most one part."""
    bare = Filter(visibility=visibility)
    return [bare, *(narrow(visibility, part) for part in VALUES)]


def narrow(visibility: Visibility, part: str) -> Filter:
    values: dict[str, Any] = {part: VALUES[part][0]}
    return Filter(visibility=visibility, **values)


def variants(name: str) -> list[str]:
    """Every form in which a statement is run."""
    forms = [SQL[name]]
    for mark, column in OF_A_PREFIX.get(name, ()):
        forms = [forms[0].replace(mark, begins_with(column, "0190")[0] + mark)]
    for mark, fragments in FRAGMENTS.items():
        if mark in SQL[name]:
            forms = [form.replace(mark, SQL.get(fragment, fragment)) for form in forms for fragment in fragments]
    if "{where}" in SQL[name]:
        filters = [one for seen in (EVERYBODY, WORKER, OWN) for one in narrowed(seen)]
        conditions = {sql for where in filters for sql in conditions_of(name, where)}
        forms = [form.replace("{where}", sql) for form, sql in product(forms, sorted(conditions))]
    return forms


def conditions_of(name: str, where: Filter) -> list[str]:
    found: list[tuple[str, Params]] = [condition(where)]
    if name in LISTED_BY_PARTS:
        found = [*parts(where), *(parts(where, common_tag=True) if name == "memory_page" else [])]
    return [sql for sql, _ in found]


WHOLE = sorted(set(SQL) - {name for fragments in FRAGMENTS.values() for name in fragments})


@pytest.mark.parametrize("name", WHOLE)
def test_no_statement_scans_a_table_without_a_reason(connection: Connection, name: str) -> None:
    forms = variants(name)
    assert not any("{" in form for form in forms)
    looking = [form for form in forms if any(step.looks_at_everything for step in steps(connection, form))]
    assert (name in LOOKS_AT_EVERYTHING) == bool(looking), looking[:1]


@pytest.mark.parametrize("part", INDEX_OF)
@pytest.mark.parametrize("name", ["memory_page", "memory_keys"])
def test_every_part_of_a_filter_has_an_index_for_lists(connection: Connection, name: str, part: str) -> None:
    assert set(INDEX_OF) == set(VALUES)
    for sql, _ in parts(narrow(SHARED, part)):
        used = steps(connection, SQL[name].replace("{where}", sql))
        columns = {column for step in used for column in step.columns}
        if INDEX_OF[part] == "memory_scope":
            assert {"namespace", "scope"} <= columns
        else:
            assert INDEX_OF[part] in {step.index or step.table for step in used}
            assert COLUMN_OF.get(part, part) in columns or part == "operational"


@pytest.mark.parametrize("part", [None, *INDEX_OF])
def test_a_list_of_own_memories_reads_no_others(connection: Connection, part: str | None) -> None:
    where = Filter(visibility=OWN) if part is None else narrow(OWN, part)
    narrowing = {FEW.get(part or "", "owner")}
    for name, (sql, _) in product(LISTED_BY_PARTS, parts(where)):
        used = steps(connection, SQL[name].replace("{where}", sql))
        assert narrowing <= {column for step in used for column in step.columns}


@pytest.mark.parametrize("visibility", [EVERYBODY, WORKER])
def test_a_page_is_walked_in_order_unless_its_filter_leaves_few(connection: Connection, visibility: Visibility) -> None:
    for where in narrowed(visibility):
        for (sql, _), behind in product(parts(where), ("", " AND (m.created_at, m.id) < (:at, :id)")):
            sorted_after = any("TEMP B-TREE" in line for line in plan(connection, page(sql + behind)))
            leaves_few = (where.session, where.tag, where.subject, where.services, where.operational or None)
            assert sorted_after == any(part is not None for part in leaves_few)


def test_a_page_of_several_spellings_of_a_category_is_walked_in_order(connection: Connection) -> None:
    where = Filter(visibility=SHARED, categories=frozenset(map(Clean, ("timing", "Timing"))))
    assert len(parts(where)) == 2
    for sql, _ in parts(where):
        assert not any("TEMP B-TREE" in line for line in plan(connection, page(sql)))
    many = replace(where, categories=frozenset(Clean(f"timing {number}") for number in range(9)))
    ((sql, _),) = parts(many)
    assert not any("TEMP B-TREE" in line for line in plan(connection, page(sql)))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("categories", Step("m", "memory_category", ("namespace", "scope", "category"))),
        ("services", Step("o", "operational_service", ("namespace", "service"))),
        ("event_services", Step("e", "event_service", ("namespace", "service"))),
    ],
)
def test_spellings_are_read_from_one_to_the_next(connection: Connection, name: str, step: Step) -> None:
    assert step in [replace(one, table=step.table) for one in steps(connection, SQL[name]) if one.index]


@pytest.mark.parametrize("services", [{"jellyfin"}, {"jellyfin", "Jellyfin"}, {GENERAL}])
@pytest.mark.parametrize("name", LISTED_BY_PARTS)
def test_operational_memories_are_found_by_service_under_any_filter(
    connection: Connection, name: str, services: set[Clean]
) -> None:
    timing = frozenset({Clean("timing")})
    where = Filter(visibility=SHARED, services=frozenset(services), operational=True, categories=timing)
    for sql, _ in parts(where):
        used = steps(connection, SQL[name].replace("{where}", sql))
        assert Step("o", "operational_service", ("namespace", "service")) in used
        assert Step("memory", "", ("rowid",)) in used


@pytest.mark.parametrize("name", [name for name in WHOLE if "LEFT JOIN operational" in SQL[name]])
def test_rows_of_a_memory_are_looked_up_by_its_key(connection: Connection, name: str) -> None:
    for form in variants(name):
        assert [step.columns for step in steps(connection, form) if step.table == "o"][-1] == ("namespace", "document")


def page(where: str) -> str:
    return SQL["memory_page"].replace("{where}", where)


def test_a_page_by_a_common_tag_is_walked_in_order(connection: Connection) -> None:
    for sql, _ in parts(narrow(EVERYBODY, "tag"), common_tag=True):
        assert not any("TEMP B-TREE" in line for line in plan(connection, page(sql)))


@pytest.mark.parametrize(
    "name",
    [
        "audit_newest",
        "audit_of",
        "changes",
        "memory_before",
        "memory_after",
        "queued_passages",
        "vectors_after",
        "recalls",
        "recall_nth",
        "recalls_prune",
        "events",
        "event_nth",
        "events_prune",
        "cooldowns_prune",
        "fact_last",
        "fact_until",
        "fact_before",
        "fact_after",
        "proposals",
    ],
)
def test_the_first_of_many_are_read_without_sorting_them_all(connection: Connection, name: str) -> None:
    for form in variants(name):
        assert "LIMIT" in form
        assert not any("TEMP B-TREE" in line for line in plan(connection, form))


def test_repeated_events_are_sought_in_the_window_of_their_session(connection: Connection) -> None:
    (step,) = steps(connection, SQL["events_repeated"])
    assert step == Step("event", "event_session", ("namespace", "session", "at", "at"))


@pytest.mark.parametrize("name", ["memory_filtered", "attributes", "embedded", "vectors"])
def test_rows_of_given_keys_are_fetched_key_by_key(connection: Connection, name: str) -> None:
    for form in variants(name):
        first, second, *_ = steps(connection, form)
        assert first.table == "k"
        assert second.columns[-1] in ("rowid", "passage")


@pytest.mark.parametrize("name", ["fact_last", "fact_until", "fact_before", "fact_after"])
def test_facts_are_found_by_topic_in_order_of_time(connection: Connection, name: str) -> None:
    first, *_ = steps(connection, SQL[name])
    assert first.index == "memory_topic"
    assert len(first.columns) == (2 if name == "fact_last" else 3)


def test_successors_are_found_by_the_memory(connection: Connection) -> None:
    assert steps(connection, SQL["memory_successors"])[0].index == "memory_supersedes"


@pytest.mark.parametrize("name", ["links_of", "updates_of", "doubts_of", "later_among"])
def test_links_are_found_memory_by_memory(connection: Connection, name: str) -> None:
    used = {(step.index, step.columns) for step in steps(connection, SQL[name]) if step.table == "link"}
    if name == "links_of":
        assert used == {("", ("namespace", "source")), ("link_target", ("namespace", "target"))}
    elif name in ("updates_of", "doubts_of"):
        assert used == {("link_target", ("namespace", "target", "kind"))}
    else:
        assert used == {("", ("namespace", "source", "target", "kind"))}


def test_recalls_of_one_agent_are_found_by_agent(connection: Connection) -> None:
    sql, _ = recall_condition(RecallFilter(seen=OWN, agent=ADA), None, SQL["recall_returned"], None)
    (step,) = steps(connection, SQL["recalls"].replace("{recall_filter}", sql))
    assert (step.index, step.columns) == ("recall_agent", ("namespace", "agent"))


@pytest.mark.parametrize("where", HAPPENED, ids=repr)
def test_events_are_found_by_their_filter_and_in_order(connection: Connection, where: EventFilter) -> None:
    sql, _ = event_condition(where, None)
    step, memory = steps(connection, SQL["events"].replace("{event_filter}", sql))
    by = "service" if where.services else "session" if where.session else "at"
    assert step.index == f"event_{by}"
    assert (by in step.columns) == (by != "at" or where.since is not None)
    assert memory.columns == ("rowid",)


def test_keywords_are_searched_before_anything_else_is_looked_at(connection: Connection) -> None:
    for form in variants("keyword_search"):
        assert [step.table for step in steps(connection, form)][:3] == ["keyword", "chunk", "memory"]


def test_counting_visible_memories_reads_only_an_index(connection: Connection) -> None:
    for sql, _ in parts(Filter(visibility=EVERYBODY)):
        (line,) = plan(connection, SQL["memory_counts"].replace("{where}", sql))
        assert "COVERING INDEX" in line


def test_a_statement_is_planned_once_for_all_parameters(tmp_path: Path) -> None:
    planned: list[str | None] = []

    def watch(action: int, *about: str | None) -> int:
        planned.append(about[0])  # SQLite asks whether it may whenever it plans.
        return SQLITE_OK

    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock())) as store, store.read() as view:
        assert isinstance(view, SqliteView)
        view._connection.authorizer = watch
        counts: list[int] = []
        for number, memory in enumerate(census()):
            view.memory_with_statement(memory.statement)
            view.memories_at_path(None, Clean(memory.id))
            view.chunks(DocumentKey(number))
            counts.append(len(planned))
        view._connection.authorizer = None
    assert counts[0] > 0
    assert set(counts) == {counts[0]}


def test_a_common_tag_lists_what_a_rare_one_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock())) as store:
        for memory in census():
            store.write(lambda tx, memory=memory: tx.add(memory, ()))
        rare, by_list = pages_by_tag(store)
        monkeypatch.setattr("hivelore.storage.sql.memories._COMMON_TAG", 1)
        common, by_walking = pages_by_tag(store)
        assert common == rare
        assert any(rare)
        assert not any("EXISTS" in statement for statement in by_list)
        assert any("EXISTS" in statement for statement in by_walking)


def pages_by_tag(store: SqliteStore) -> tuple[list[list[Memory]], list[str]]:
    """Pages of every tag for every viewer, and the statements that were run for them."""
    filters = [Filter(visibility=seen, tag=tag) for seen, tag in product(VISIBILITIES, TAGS)]
    statements: list[str] = []
    with store.read() as view:
        assert isinstance(view, SqliteView)
        view._connection.set_profile(lambda statement, nanoseconds: statements.append(statement))
        pages = [list(view.page(where, None, 5)) for where in filters]
        view._connection.set_profile(None)
    return pages, statements


def test_passages_of_a_model_are_marked_when_it_is_active_again(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock())) as store:
        model, other = (store.write(lambda tx, name=name: tx.register_model(name, 1)) for name in ("one", "other"))
        stored = [add(store, a_memory(text)) for text in ("first", "second", "third")]
        keys = [chunk.passages[0] for one in stored for chunk in chunks(store, one.key)]
        for each, some in ((model, keys[:2]), (other, keys)):
            store.write(
                lambda tx, each=each, some=some: tx.put_vectors(each, dict.fromkeys(some, np.ones(1, dtype=np.float32)))
            )
        marks: list[list[int]] = []
        for after in (PassageKey(0), keys[0]):
            store.write(lambda tx, after=after: tx.adopt_vectors(model, after, 1))
            with store.read() as view:
                assert isinstance(view, SqliteView)
                marks.append([row[0] for row in view.rows("SELECT model FROM passage ORDER BY key")])
    assert marks == [[model, other, other], [model, model, other]]
