"""Rows of Agent Swarm: what they become, and that every other row is refused."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.configuration.model import ConfigScope
from hivelore.errors import Invalid
from hivelore.transfer.agent_swarm import rows
from hivelore.transfer.agent_swarm.model import COLUMNS, Cell, Row, SourceEntry, TableName, Unreadable, agent_id
from support.agent_swarm import ADA, BOB, entry

CELLS: st.SearchStrategy[Cell] = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.just(Unreadable("is not a text")),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
    st.sampled_from(
        ["global", "agent", "repo", "[]", '["a"]', '["\\ud800"]', "[1]", "{", "[" * 5_000, "https://e.com/x"]
    ),
)
PARSERS: tuple[tuple[TableName, Callable[[Row], object]], ...] = (
    (TableName.AGENTS, rows.parse_agent),
    (TableName.AGENTS, rows.parse_script),
    (TableName.REPOS, rows.parse_repo),
    (TableName.CONFIG, rows.parse_entry),
)


@pytest.mark.parametrize(("table", "parse"), PARSERS)
@given(data=st.data())
def test_a_row_becomes_something_or_is_refused(
    table: TableName, parse: Callable[[Row], object], data: st.DataObject
) -> None:
    row = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(COLUMNS[table], CELLS)))
    with suppress(Invalid):
        parse(row)


def an_entry(**more: Any) -> SourceEntry:
    return rows.parse_entry(entry("KEY", "value") | more)


@pytest.mark.parametrize(
    ("declared", "is_secret"),
    [(None, False), (0, False), ("0", False), ("false", False), (1, True), (2, True), ("x", True)],
)
def test_anything_but_zero_declares_a_secret(declared: Cell, is_secret: bool) -> None:
    assert an_entry(isSecret=declared).is_secret is is_secret
    assert an_entry(key="DB_PASSWORD", value="Tr0ub4dor&3x", isSecret=declared).is_secret


def test_unreadable_flags_count_as_secret() -> None:
    assert an_entry(isSecret=Unreadable("is not a text")).is_secret


@pytest.mark.parametrize(
    ("given_path", "path"),
    [
        (None, None),
        (" ", None),
        ("/workspace/app/.env", "app/.env"),
        ("app//.env", "app/.env"),
        ("/workspaces/.env", "/workspaces/.env"),
        ("/workspace/../etc/.env", "../etc/.env"),
    ],
)
def test_paths_of_its_workspace_become_relative(given_path: str | None, path: str | None) -> None:
    assert an_entry(envPath=given_path).env_path == path


def test_ids_stay_if_they_are_those_of_agents_here() -> None:
    assert agent_id(ADA.upper()) == ADA
    assert agent_id(BOB) == agent_id(BOB) == str(UUID(agent_id(BOB)))
    assert agent_id(BOB) != agent_id("bob2")


def test_capabilities_are_named_once() -> None:
    row: Row = {"id": ADA, "name": " ada ", "capabilities": '[" a ", "b", "a", ""]', "soulMd": "  "}
    agent = rows.parse_agent(row)
    assert (agent.name, agent.capabilities, agent.texts) == ("ada", ("a", "b"), {})


def test_a_repository_without_a_name_has_that_of_its_url() -> None:
    repo = rows.parse_repo({"id": "1", "url": "https://example.com/acme/shop.git", "name": None, "autoClone": None})
    assert (repo.name, repo.default_branch, repo.auto_clone) == ("shop", None, True)


def test_a_scope_id_is_required_except_for_global_scope() -> None:
    assert an_entry(scopeId="ignored").source_scope_id == ""
    for scope in (ConfigScope.AGENT, ConfigScope.REPO):
        with pytest.raises(Invalid, match="no scopeId"):
            an_entry(scope=scope.value, scopeId=None)
