"""Order of memories in chains of updates."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.links.chains import successors_first
from support.laws import examples


def test_the_latest_statement_of_a_chain_comes_first() -> None:
    updated_by = {"npm": ["pnpm", "yarn"], "yarn": ["pnpm"]}
    assert successors_first(["npm", "tabs", "yarn"], updated_by) == ["pnpm", "yarn", "npm", "tabs"]
    assert successors_first(["tabs", "pnpm", "npm"], updated_by) == ["tabs", "pnpm", "yarn", "npm"]
    assert successors_first(["tabs"], updated_by) == ["tabs"]


def test_a_cycle_of_updates_ends() -> None:
    assert sorted(successors_first(["a"], {"a": ["b"], "b": ["c"], "c": ["a"]})) == ["a", "b", "c"]
    assert successors_first(["a"], {"a": ["a"]}) == ["a"]


_LINKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30)


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 12), unique=True), _LINKS)
def test_an_updated_item_comes_after_its_successors(items: list[int], links: list[tuple[int, int]]) -> None:
    updated_by: dict[int, list[int]] = {}
    for older, newer in links:
        if newer > older and newer not in updated_by.setdefault(older, []):
            updated_by[older].append(newer)
    order = successors_first(items, updated_by)
    assert len(order) == len(set(order))
    assert set(items) <= set(order)
    for older in order:
        assert all(order.index(newer) < order.index(older) for newer in updated_by.get(older, ()))


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 12), unique=True), _LINKS)
def test_without_updates_nothing_moves(items: list[int], links: list[tuple[int, int]]) -> None:
    updated_by = {older + 100: [newer] for older, newer in links}
    assert successors_first(items, updated_by) == items
