"""The reference store, beyond the contract of every store: how its states share what they have in common."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.errors import Unavailable
from support.clocks import FixedClock
from support.laws import examples
from support.memories import a_memory
from support.reference.state import SharedMap
from support.reference.store import ReferenceStore
from support.stores import add

keys = st.integers(-300, 300) | st.text(max_size=2) | st.tuples(st.integers(0, 3), st.integers(0, 300))


@settings(max_examples=examples(50))
@given(steps=st.lists(st.tuples(keys, st.none() | st.integers())))
def test_every_earlier_state_of_a_shared_map_stays(steps: list[tuple[object, int | None]]) -> None:
    current, plain = SharedMap[object, int](), dict[object, int]()
    states: list[tuple[SharedMap[object, int], dict[object, int]]] = []
    for key, value in steps:
        if value is None:
            current, plain = current.drop(key), {other: kept for other, kept in plain.items() if other != key}
        else:
            current, plain = current.put(key, value), {**plain, key: value}
        states.append((current, plain))
    for state, expected in states:
        assert dict(state) == expected
        assert len(state) == len(expected)


def test_a_closed_store_says_so() -> None:
    store = ReferenceStore(FixedClock())
    add(store, a_memory())
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        add(store, a_memory())
    with pytest.raises(Unavailable, match="closed"), store.read():
        pass
