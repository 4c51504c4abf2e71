"""Precedence, authority and names of configuration entries."""

from contextlib import nullcontext
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.configuration.decisions import (
    changed_fields,
    may_change,
    may_reveal,
    may_see,
    may_write_files,
    permit_change,
    resolve,
)
from hivelore.configuration.model import ConfigScope, CurrentEntry, Place
from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.values import replace
from hivelore.errors import Forbidden
from support.configuration import a_secret, a_version, an_entry
from support.laws import examples

AGENTS = [AgentId("ada"), AgentId("bob")]
PLACES = [
    Place(ConfigScope.GLOBAL),
    *(Place(ConfigScope.AGENT, one) for one in AGENTS),
    Place(ConfigScope.REPO, "shop"),
]
OPERATOR = Viewer(role=Role.OPERATOR, agent=None, interface=Interface.REST)
VIEWERS = [
    OPERATOR,
    *(
        Viewer(role=role, agent=agent, interface=Interface.REST, acting=acting)
        for role, agent, acting in product((Role.WORKER, Role.LEAD), AGENTS, (False, True))
    ),
]


@settings(max_examples=examples(50))
@given(
    chosen=st.lists(
        st.tuples(st.sampled_from([PLACES[0], PLACES[1], PLACES[3]]), st.sampled_from("ABC")), unique=True
    ).flatmap(st.permutations)
)
def test_the_narrowest_scope_applies_in_any_order(chosen: list[tuple[Place, str]]) -> None:
    entries = [
        CurrentEntry(an_entry(number, place, key=key), a_version(entry=number))
        for number, (place, key) in enumerate(chosen, start=1)
    ]
    found = resolve(entries)
    assert [one.current.entry.key for one in found] == sorted({key for _, key in chosen})
    for one in found:
        scopes = [place.scope for place, key in chosen if key == one.current.entry.key]
        order = [scope for scope in ConfigScope if scope in scopes]
        assert [*one.overrides, one.current.entry.place.scope] == order


@pytest.mark.parametrize(("viewer", "place"), product(VIEWERS, PLACES))
def test_workers_change_only_their_own_scope(viewer: Viewer, place: Place) -> None:
    is_own = place.scope is ConfigScope.AGENT and place.scope_id == viewer.agent
    is_shared = place.scope is not ConfigScope.AGENT
    expected = viewer.role is Role.OPERATOR or is_own or (viewer.role is Role.LEAD and is_shared)
    assert may_change(viewer, place) is expected


@pytest.mark.parametrize(("viewer", "place"), product(VIEWERS, PLACES))
def test_workers_replace_no_version_that_is_in_a_file(viewer: Viewer, place: Place) -> None:
    plain, in_file = a_version(), a_version(env_path=".env")
    for before, after in product((None, plain, in_file), repeat=2):
        is_allowed = may_change(viewer, place) and not (viewer.role is Role.WORKER and in_file in (before, after))
        with nullcontext() if is_allowed else pytest.raises(Forbidden):
            permit_change(viewer, an_entry(1, place), before, after)


@pytest.mark.parametrize(("viewer", "place", "sees"), product(VIEWERS, PLACES, LeadSees))
def test_who_changes_or_reveals_an_entry_sees_it(viewer: Viewer, place: Place, sees: LeadSees) -> None:
    if may_change(viewer, place) or may_reveal(viewer, place):
        assert may_see(visible_to(viewer, sees), place)


@pytest.mark.parametrize(("viewer", "place"), product(VIEWERS, PLACES))
def test_secrets_are_revealed_to_operators_the_agent_itself_and_its_runner(viewer: Viewer, place: Place) -> None:
    if place.scope is ConfigScope.AGENT:
        expected = viewer.role is Role.OPERATOR or viewer.agent == place.scope_id
    else:
        expected = viewer.role is Role.OPERATOR or viewer.acting
    assert may_reveal(viewer, place) is expected


def test_workers_keep_no_entries_in_files() -> None:
    assert [may_write_files(one) for one in VIEWERS] == [one.role is not Role.WORKER for one in VIEWERS]


def test_the_changed_fields_of_a_version_are_named() -> None:
    before = a_version(description=None)
    assert changed_fields(None, before, is_same_value=False) == ("value",)
    assert changed_fields(before, before, is_same_value=True) == ()
    assert changed_fields(before, a_secret(env_path=".env"), is_same_value=True) == ("isSecret", "envPath")
    assert changed_fields(before, replace(before, value="x", description="d"), is_same_value=False) == (
        "value",
        "description",
    )
