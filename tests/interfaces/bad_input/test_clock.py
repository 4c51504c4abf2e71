"""A clock that is set back and forward again, at each interface. Nothing is lost, and everything is found."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from support.bad_input import INTERFACES
from support.interfaces import OK, Interface
from support.postgres import DATABASES


@pytest.mark.parametrize("world", DATABASES, indirect=True)
@pytest.mark.parametrize("days", [1, 400])
@pytest.mark.parametrize("name", INTERFACES)
def test_cell(world: Any, interface: Callable[[str], Interface], name: str, days: int) -> None:
    side, there, words = world.sides[name], interface(name), f"Set back by {days} at {name}."
    before = side.state()
    with time_machine.travel(datetime.now(UTC) - timedelta(days=days), tick=True):
        assert there.ask("remember", content=words).kind == OK
        assert words in there.ask("recall", query=words).shown
        assert "wombat" in there.ask("get", id=side.own).shown
        assert there.ask("recall", query="wombat", limit=5).kind == OK
    after = side.state()
    assert {memory: after[memory] for memory in before} == before
    (new,) = after.keys() - before.keys()
    assert words in there.ask("get", id=new).shown
    assert there.ask("forget", id=new).kind == OK
    assert side.state() == before
