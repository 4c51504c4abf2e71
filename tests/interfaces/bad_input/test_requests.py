"""Bad input in requests, at each interface.

Each cell is refused with an error of its interface that says what to do, and nothing changes. Or it is accepted, as
the table says, and no earlier memory changes.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.bad_files import file_rows
from support.bad_input import (
    INTERFACES,
    Known,
    expected_at,
    hidden_rows,
    names_every_interface,
    query_rows,
    rows,
    text_rows,
)
from support.bad_values import LETTERS, value_rows
from support.cases import Cases
from support.interfaces import LEFT_OUT, OK, Interface, Outcome
from support.postgres import DATABASES

ROWS = [*rows(), *file_rows(), *value_rows()]
REACHING = [*text_rows(), *query_rows(), *hidden_rows(), *value_rows()]
"""Rows that reach the database unless the interface refuses them."""
PROTOCOL_ERRORS = {"JSON-RPC -32700", "JSON-RPC -32602"}
"""Errors of the protocol layer, whose texts are not ours."""
INTERNALS = re.compile(
    r"Traceback|\.py\b|site-packages|object at 0x|sqlite3?\.|apsw|pydantic|NoneType|SELECT |0x[0-9a-f]{6}"
)


@pytest.mark.parametrize("world", DATABASES, indirect=True)
@pytest.mark.parametrize("name", INTERFACES)
def test_bad_input_is_refused_or_harmless(
    world: Any, interface: Callable[[str], Interface], tmp_path: Path, name: str
) -> None:
    side, asked, cases = world.sides[name], interface(name), Cases()
    before = side.state()
    for number, row in enumerate(REACHING if world.service.app.store.is_shared else ROWS):
        after = before
        with cases.case(row.input):
            (folder := tmp_path / str(number)).mkdir()
            try:
                outcome = row.ask(asked, Known(own=side.own, hidden=side.hidden, folder=folder))
            finally:
                after = side.state()
            assert outcome.kind == expected_at(name, row.expected), outcome.said[:500]
            _assert_harmless(outcome, before, after, side.own if row.edits else None)
        side.forget(after.keys() - before.keys())
        before = {memory: state for memory, state in after.items() if memory in before}
    cases.report()


def _assert_harmless(outcome: Outcome, before: Mapping[str, Any], after: Mapping[str, Any], edited: str | None) -> None:
    """Nothing shows internals or hidden memories, and no memory changed but the one that the call may edit."""
    assert not INTERNALS.search(outcome.shown[:100_000])
    assert "quokka" not in outcome.shown
    if outcome.kind in (OK, LEFT_OUT):
        same = before.keys() - {edited}
        assert {memory: after.get(memory) for memory in same} == {memory: before[memory] for memory in same}
    else:
        assert after == before
        assert len(outcome.said) < 500
        assert outcome.kind in PROTOCOL_ERRORS or re.search(r"\w{2}.*[.)?]$", outcome.said)


@pytest.mark.parametrize("world", DATABASES, indirect=True)
@pytest.mark.parametrize("name", INTERFACES)
def test_unusual_characters_are_stored_and_found_unchanged(
    world: Any, interface: Callable[[str], Interface], name: str
) -> None:
    side, asked = world.sides[name], interface(name)
    before = side.state()
    for letters in LETTERS.values():
        assert asked.ask("remember", content=letters, name=letters, tags=[letters]).kind == OK
        ((memory, kept),) = [one for one in side.state().items() if one[0] not in before]
        assert (kept["content"], kept["name"], kept["tags"]) == (letters, letters, (letters,))
        assert asked.ask("get", id=memory).kind == OK
        if name not in ("mcp", "bridge"):  # MCP has no list operation.
            assert memory in asked.ask("list", tag=letters).shown
        side.forget({memory})


def test_every_cell_has_an_expectation() -> None:
    assert len({row.input for row in ROWS}) == len(ROWS)
    assert [row.input for row in ROWS if not names_every_interface(row.expected)] == []
