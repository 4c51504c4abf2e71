"""The in-memory store, beyond the contract of every store: how its states share what they have in common."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.errors import Unavailable
from hivelore.storage.inmemory.state import Shelf
from hivelore.storage.inmemory.store import InMemoryStore
from support.clocks import FixedClock
from support.laws import examples
from support.memories import a_memory
from support.stores import add

keys = st.integers(-300, 300) | st.text(max_size=2) | st.tuples(st.integers(0, 3), st.integers(0, 300))


@settings(max_examples=examples(50))
@given(steps=st.lists(st.tuples(keys, st.none() | st.integers())))
def test_a_shelf_is_a_map_of_which_every_earlier_state_stays(steps: list[tuple[object, int | None]]) -> None:
    index_writer, plain = Shelf[object, int](), dict[object, int]()
    states: list[tuple[Shelf[object, int], dict[object, int]]] = []
    for key, value in steps:
        if value is None:
            index_writer, plain = index_writer.drop(key), {other: kept for other, kept in plain.items() if other != key}
        else:
            index_writer, plain = index_writer.put(key, value), {**plain, key: value}
        states.append((index_writer, plain))
    for state, expected in states:
        assert dict(state) == expected
        assert len(state) == len(expected)


def test_a_closed_store_says_so() -> None:
    store = InMemoryStore(FixedClock())
    add(store, a_memory())
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        add(store, a_memory())
    with pytest.raises(Unavailable, match="closed"), store.read():
        pass
