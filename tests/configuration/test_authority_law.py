"""The law of authority for the configuration: no call of a worker changes what other agents get."""

from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.agents import Viewer
from hivelore.core.values import replace
from hivelore.errors import HiveloreError
from support.batches import batches_of
from support.clocks import SteppingClock
from support.configuration import ConfigDesk, made_desk
from support.laws import examples
from support.places import IN_MEMORY
from support.stores import KEYWORDS, STORES
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

RUNNER_OF_BOB = replace(AS_BOB, acting=True)


class Call(NamedTuple):
    what: str
    scope: str
    to: str | None
    key: str
    which: int
    is_secret: bool | None
    env_path: str | None


calls = st.builds(
    Call,
    st.sampled_from(["set", "set", "delete", "undo", "reveal"]),
    st.sampled_from(["global", "agent", "repo"]),
    st.sampled_from([None, "ada", "bob", "lea", "shop"]),
    st.sampled_from(["URL", "TOKEN", "OTHER"]),
    st.integers(0, 9),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "", ".env", "other.env"]),
)


@settings(max_examples=examples(25))
@given(done=st.lists(calls, max_size=8))
def test_no_call_of_a_worker_changes_the_configuration_of_others(done: list[Call]) -> None:
    kind, clock = KEYWORDS["postings"], SteppingClock()
    with (
        TemporaryDirectory(dir=IN_MEMORY) as folder,
        closing(STORES[kind.store].open(Path(folder), clock)) as store,
    ):
        desk = made_desk(World(store, kind.index(), clock), Path(folder))
        for viewer, scope, to, value in (
            (AS_LEA, "global", None, "of all"),
            (AS_LEA, "repo", "shop", "of the shop"),
            (AS_BOB, "agent", None, "of bob"),
        ):
            desk.set("URL", value, viewer, scope, to)
        desk.set("TOKEN", "hunter2", AS_OPERATOR, "global", is_secret=True, env_path=".env")
        desk.set("OTHER", "of ada", AS_OPERATOR, "agent", "ada", env_path="ada.env")
        before = _seen(desk)
        for call in done:
            with suppress(HiveloreError):
                _make(desk, call, AS_ADA)
        assert _seen(desk) == before


def _make(desk: ConfigDesk, call: Call, viewer: Viewer) -> None:
    entries = desk.world.configuration.list_entries(AS_OPERATOR, None, None).entries
    batches = batches_of(desk.world.store)
    entry = entries[call.which % len(entries)].id
    match call.what:
        case "set":
            desk.set(call.key, "changed", viewer, call.scope, call.to, is_secret=call.is_secret, env_path=call.env_path)
        case "delete":
            desk.world.configuration.delete(entry, viewer)
        case "undo":
            desk.world.undo_service.undo(batches[call.which % len(batches)].id, viewer)
        case _:
            desk.world.configuration.reveal(entry, viewer)


def _seen(desk: ConfigDesk) -> Any:
    """Returns what Bob's process gets, in a repository and outside of it, and the files of the workspace."""
    files = {one.name: one.read_bytes() for one in desk.workspace.iterdir()}
    return desk.env(RUNNER_OF_BOB), desk.env(RUNNER_OF_BOB, "shop"), files
