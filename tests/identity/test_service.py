"""Agents and keys: authentication, creation and revocation."""

from datetime import timedelta

import pytest

from hivelore.core.agents import Interface, Role
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from support.world import World


def test_a_new_agent_authenticates_with_its_key(world: World) -> None:
    issued = world.agents.add("Zed", Role.WORKER)
    assert issued.agent is not None
    viewer = world.agents.viewer(issued.text, Interface.REST)
    assert (viewer.agent, viewer.role, viewer.interface) == (issued.agent.id, Role.WORKER, Interface.REST)


def test_the_secret_is_not_stored(world: World) -> None:
    issued = world.agents.add("Zed", Role.WORKER)
    secret = issued.text.rsplit("_", 1)[1]
    assert secret not in repr(world.agents.list_agents())


@pytest.mark.parametrize("key", [None, "", "x", "hl_1_00_ff", "hl_2_{id}_{secret}", "hl_1_{id}_" + "0" * 64, "{full}x"])
def test_an_altered_key_is_refused(world: World, key: str | None) -> None:
    issued = world.agents.add("Zed", Role.WORKER)
    _, _, identity, secret = issued.text.split("_")
    bad = None if key is None else key.format(id=identity, secret=secret, full=issued.text)
    with pytest.raises(Unauthenticated):
        world.agents.viewer(bad, Interface.REST)


def test_a_revoked_key_is_refused_with_the_reason(world: World) -> None:
    issued = world.agents.add("Zed", Role.WORKER)
    assert world.agents.revoke("Zed") == 1
    with pytest.raises(Unauthenticated, match="revoked"):
        world.agents.viewer(issued.text, Interface.REST)


def test_a_key_expires_to_the_second(world: World) -> None:
    issued = world.agents.add("Zed", Role.WORKER, world.clock.now() + timedelta(hours=1))
    world.clock.advance(timedelta(minutes=59))
    world.agents.viewer(issued.text, Interface.REST)
    world.clock.advance(timedelta(minutes=1))
    with pytest.raises(Unauthenticated, match="expired"):
        world.agents.viewer(issued.text, Interface.REST)


def test_only_an_operator_acts_for_an_agent_and_then_has_the_rights_of_that_agent(world: World) -> None:
    operator = world.agents.issue(None).text
    viewer = world.agents.viewer(operator, Interface.REST, "bob")
    assert (viewer.agent, viewer.role, viewer.acting) == ("bob", Role.WORKER, True)
    worker = world.agents.add("Zed", Role.WORKER)
    with pytest.raises(Forbidden):
        world.agents.viewer(worker.text, Interface.REST, "bob")
    assert worker.agent is not None
    assert world.agents.viewer(worker.text, Interface.REST, worker.agent.name).agent == worker.agent.id


def test_an_operator_adds_an_agent_by_acting_for_a_uuid_only(world: World) -> None:
    operator = world.agents.issue(None).text
    identity = "0190C2A4-5F3B-7C11-9D7E-3A5B6C7D8E9F"
    assert world.agents.viewer(operator, Interface.REST, identity).agent == identity.lower()
    with pytest.raises(NotFound, match="agent add"):
        world.agents.viewer(operator, Interface.REST, "typo")


def test_names_are_unique_and_valid(world: World) -> None:
    world.agents.add("Zed", Role.WORKER)
    with pytest.raises(Conflict):
        world.agents.add("Zed", Role.LEAD)
    for name in ("", "  ", "a\nb", "x" * 501):
        with pytest.raises(Invalid):
            world.agents.add(name, Role.WORKER)


def test_an_agent_without_a_valid_key_gets_a_new_one_and_keeps_its_id(world: World) -> None:
    first = world.agents.add("Zed", Role.LEAD)
    world.agents.revoke("Zed")
    second = world.agents.add("Zed", Role.WORKER)
    assert first.agent is not None
    viewer = world.agents.viewer(second.text, Interface.REST)
    assert (viewer.agent, viewer.role) == (first.agent.id, Role.WORKER)
    assert second.agent == replace(first.agent, role=Role.WORKER)
    with pytest.raises(Unauthenticated):
        world.agents.viewer(first.text, Interface.REST)
    assert [agent.name for agent, _ in world.agents.list_agents()].count("Zed") == 1


def test_an_agent_whose_key_expired_gets_a_new_one(world: World) -> None:
    first = world.agents.add("Zed", Role.WORKER, world.clock.now() + timedelta(hours=1))
    with pytest.raises(Conflict, match="has a valid key"):
        world.agents.add("Zed", Role.WORKER)
    world.clock.advance(timedelta(hours=1))
    second = world.agents.add("Zed", Role.WORKER)
    assert world.agents.viewer(second.text, Interface.REST).agent == (first.agent and first.agent.id)


def test_one_valid_key_of_several_is_a_conflict(world: World) -> None:
    first = world.agents.add("Zed", Role.WORKER)
    assert first.agent is not None
    other = world.agents.issue(first.agent.id)
    world.agents.revoke(first.key.id)
    with pytest.raises(Conflict, match="agent revoke"):
        world.agents.add("Zed", Role.WORKER)
    world.agents.revoke(other.key.id)
    world.agents.add("Zed", Role.WORKER)


def test_revoking_an_unknown_agent_says_where_to_look(world: World) -> None:
    with pytest.raises(NotFound, match="agent list"):
        world.agents.revoke("nobody")


def test_a_new_machine_has_one_local_lead(world: World) -> None:
    assert world.agents.local_agent() == world.agents.local_agent()
    assert world.agents.local_agent().role is Role.LEAD


def test_a_name_with_a_secret_is_refused_without_repeating_it(world: World) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    with pytest.raises(Invalid, match="must not contain a secret") as caught:
        world.agents.add(f"ada {secret}", Role.WORKER)
    assert secret not in str(caught.value)
