"""Permissions: the whole table by hand, and its laws (X3, X4, X5, A13, B06, B10)."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.access import (
    Effect,
    Permission,
    is_audited_read,
    is_from_shared_folder,
    may_affect,
    may_decide,
    proposals_visible_to,
    review_kind,
    visible_to,
)
from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Memory, Scope, Trust
from hivelore.review.model import Decision, ProposalKind
from hivelore.search.model import Filter, ScopeChoice
from support.laws import examples
from support.memories import ADA, BOB, a_memory, operational
from support.proposals import a_proposal
from support.small_world import census, filters

MEMORIES = {
    "own private": a_memory(owner=ADA, scope=Scope.AGENT),
    "own shared": a_memory(owner=ADA, scope=Scope.SWARM),
    "other's private": a_memory(owner=BOB, scope=Scope.AGENT),
    "other's shared": a_memory(owner=BOB, scope=Scope.SWARM),
    "swarm's own": a_memory(owner=None, scope=Scope.SWARM),
}
VIEWERS = {
    "worker": Viewer(role=Role.WORKER, agent=ADA, interface=Interface.MCP),
    "lead": Viewer(role=Role.LEAD, agent=ADA, interface=Interface.MCP),
    "operator": Viewer(role=Role.OPERATOR, agent=None, interface=Interface.CLI),
    "operator as Ada": Viewer(role=Role.OPERATOR, agent=ADA, interface=Interface.CLI),
    "operator's key as the worker Ada": Viewer(role=Role.WORKER, agent=ADA, interface=Interface.REST, acting=True),
}

ALL = "see edit delete promote demote"
SHARED_BY_LEAD = "see edit delete promote"  # not demote: it would become a private memory of its owner
NOBODY_S = "see edit delete promote"  # not demote: it has no owner

# Written from X3 and X4, not from the code: worker and other worker, lead and operator, own and not own.
#                                     own private  own shared  other's private  other's shared  swarm's own
TABLE = {
    ("worker", LeadSees.ALL): (ALL, ALL, "", "see", "see"),
    ("worker", LeadSees.SHARED): (ALL, ALL, "", "see", "see"),
    ("lead", LeadSees.ALL): (ALL, ALL, "see", SHARED_BY_LEAD, NOBODY_S),
    ("lead", LeadSees.SHARED): (ALL, ALL, "", SHARED_BY_LEAD, NOBODY_S),
    ("operator", LeadSees.ALL): (ALL, ALL, ALL, ALL, NOBODY_S),
    ("operator", LeadSees.SHARED): (ALL, ALL, ALL, ALL, NOBODY_S),
    ("operator as Ada", LeadSees.ALL): (ALL, ALL, ALL, ALL, NOBODY_S),
    ("operator as Ada", LeadSees.SHARED): (ALL, ALL, ALL, ALL, NOBODY_S),
    ("operator's key as the worker Ada", LeadSees.ALL): (ALL, ALL, "", "see", "see"),
    ("operator's key as the worker Ada", LeadSees.SHARED): (ALL, ALL, "", "see", "see"),
}
RIGHTS = [
    (who, lead_sees, kind, rights)
    for (who, lead_sees), row in TABLE.items()
    for kind, rights in zip(MEMORIES, row, strict=True)
]

# A13, and X3 for leads that see shared memories only.
#                                                 own private  own shared  other's private  other's shared  swarm's own
VISIBLE = {
    ("worker", LeadSees.ALL, ScopeChoice.ALL): (True, True, False, True, True),
    ("worker", LeadSees.ALL, ScopeChoice.AGENT): (True, False, False, False, False),
    ("worker", LeadSees.ALL, ScopeChoice.SWARM): (False, True, False, True, True),
    ("lead", LeadSees.ALL, ScopeChoice.ALL): (True, True, True, True, True),
    ("lead", LeadSees.ALL, ScopeChoice.AGENT): (True, False, True, False, False),
    ("lead", LeadSees.ALL, ScopeChoice.SWARM): (False, True, False, True, True),
    ("lead", LeadSees.SHARED, ScopeChoice.ALL): (True, True, False, True, True),
    ("lead", LeadSees.SHARED, ScopeChoice.AGENT): (True, False, False, False, False),
    ("lead", LeadSees.SHARED, ScopeChoice.SWARM): (False, True, False, True, True),
    ("operator", LeadSees.SHARED, ScopeChoice.ALL): (True, True, True, True, True),
    ("operator", LeadSees.SHARED, ScopeChoice.AGENT): (True, False, True, False, False),
    ("operator", LeadSees.SHARED, ScopeChoice.SWARM): (False, True, False, True, True),
}

# The laws are checked for every viewer and memory that permissions distinguish.
AGENTS = (ADA, BOB, AgentId("Ada"))
ALL_VIEWERS = [
    *(Viewer(role=role, agent=agent, interface=Interface.MCP) for role in Role for agent in AGENTS),
    Viewer(role=Role.OPERATOR, agent=None, interface=Interface.MCP),
]
EVERYTHING = [
    *(a_memory(owner=owner, scope=scope) for owner in AGENTS for scope in Scope),
    a_memory(owner=None, scope=Scope.SWARM),
]
CENSUS = census()
MEETINGS = list(product(ALL_VIEWERS, EVERYTHING))


VERBS = (Effect.EDIT, Effect.DELETE, Effect.PROMOTE, Effect.DEMOTE)


def may(viewer: Viewer, effect: Effect, memory: Memory) -> bool:
    return may_affect(viewer, effect, memory) is Permission.ALLOWED


def review(viewer: Viewer, effect: Effect, memory: Memory) -> ProposalKind | None:
    asks = may_affect(viewer, effect, memory) is Permission.PROPOSED
    return review_kind(effect, memory) if asks else None


def sees(viewer: Viewer, lead_sees: LeadSees, memory: Memory, choice: ScopeChoice = ScopeChoice.ALL) -> bool:
    return visible_to(viewer, lead_sees, choice).admits(memory.owner, memory.scope)


def rights_of(viewer: Viewer, lead_sees: LeadSees, memory: Memory) -> set[str]:
    """Returns the permissions of a viewer; none for an invisible memory."""
    if not sees(viewer, lead_sees, memory):
        return set()
    return {"see", *(verb.value for verb in VERBS if may(viewer, verb, memory))}


@pytest.mark.parametrize(("who", "lead_sees", "kind", "rights"), RIGHTS)
def test_permissions_equal_the_table(who: str, lead_sees: LeadSees, kind: str, rights: str) -> None:
    assert rights_of(VIEWERS[who], lead_sees, MEMORIES[kind]) == set(rights.split())


def test_the_table_covers_every_role_and_effect() -> None:
    assert set(TABLE) == set(product(VIEWERS, LeadSees))
    assert {viewer.role for viewer in VIEWERS.values()} == set(Role)
    assert {"see", *(verb.value for verb in VERBS)} == set(ALL.split())


@pytest.mark.parametrize(("who", "lead_sees", "choice"), VISIBLE)
def test_each_scope_shows_what_the_table_says(who: str, lead_sees: LeadSees, choice: ScopeChoice) -> None:
    shown = tuple(sees(VIEWERS[who], lead_sees, memory, choice) for memory in MEMORIES.values())
    assert shown == VISIBLE[who, lead_sees, choice]


def test_all_scopes_show_the_union_of_both() -> None:
    for (viewer, memory), lead_sees in product(MEETINGS, LeadSees):
        one_by_one = [sees(viewer, lead_sees, memory, choice) for choice in (ScopeChoice.AGENT, ScopeChoice.SWARM)]
        assert sees(viewer, lead_sees, memory) == any(one_by_one)
        assert not all(one_by_one)


def test_every_role_sees_its_own_and_shared_memories() -> None:
    for (viewer, memory), lead_sees in product(MEETINGS, LeadSees):
        if memory.scope is Scope.SWARM or memory.owner == viewer.agent:
            assert sees(viewer, lead_sees, memory)


def test_a_memory_that_may_be_changed_may_be_seen() -> None:
    for (viewer, memory), verb in product(MEETINGS, Effect):
        if may(viewer, verb, memory):
            assert all(sees(viewer, lead_sees, memory) for lead_sees in LeadSees)


def test_only_operators_change_private_memories_of_others() -> None:
    for (viewer, memory), verb in product(MEETINGS, Effect):
        if memory.scope is Scope.AGENT and memory.owner != viewer.agent:
            assert may(viewer, verb, memory) == (viewer.role is Role.OPERATOR)


def test_a_higher_role_never_sees_or_changes_less() -> None:
    for agent, memory in product(AGENTS, EVERYTHING):
        ranks = [
            Viewer(role=role, agent=agent, interface=Interface.MCP) for role in (Role.WORKER, Role.LEAD, Role.OPERATOR)
        ]
        for lead_sees, choice in product(LeadSees, ScopeChoice):
            seen = [sees(rank, lead_sees, memory, choice) for rank in ranks]
            assert seen == sorted(seen)
        for verb in VERBS:
            changed = [may(rank, verb, memory) for rank in ranks]
            assert changed == sorted(changed)


def test_the_setting_for_leads_affects_only_leads_and_private_memories_of_others() -> None:
    for (viewer, memory), choice in product(MEETINGS, ScopeChoice):
        wide, narrow = (sees(viewer, lead_sees, memory, choice) for lead_sees in (LeadSees.ALL, LeadSees.SHARED))
        concerned = viewer.role is Role.LEAD and is_audited_read(viewer, memory) and choice is not ScopeChoice.SWARM
        assert (wide, narrow) == (True, False) if concerned else wide == narrow


def test_permissions_do_not_depend_on_the_interface_or_the_key() -> None:
    for (viewer, memory), lead_sees, interface, acting in product(MEETINGS, LeadSees, Interface, (False, True)):
        elsewhere = replace(viewer, interface=interface, acting=acting)
        assert rights_of(elsewhere, lead_sees, memory) == rights_of(viewer, lead_sees, memory)


@pytest.mark.parametrize(
    ("who", "kind", "noted"),
    [
        ("worker", "own private", False),
        ("worker", "other's shared", False),
        ("lead", "own private", False),
        ("lead", "own shared", False),
        ("lead", "other's private", True),
        ("lead", "other's shared", False),
        ("lead", "swarm's own", False),
        ("operator", "other's private", True),
        ("operator", "other's shared", False),
        ("operator as Ada", "own private", False),
        ("operator as Ada", "other's private", True),
    ],
)
def test_reads_of_private_memories_of_others_are_audited(who: str, kind: str, noted: bool) -> None:
    assert is_audited_read(VIEWERS[who], MEMORIES[kind]) == noted


@settings(max_examples=examples(50))
@given(st.sampled_from(ALL_VIEWERS), st.sampled_from(LeadSees), filters())
def test_no_filter_shows_more_than_its_viewer_may_see(viewer: Viewer, lead_sees: LeadSees, where: Filter) -> None:
    allowed = visible_to(viewer, lead_sees)
    shown = [memory for memory in CENSUS if replace(where, visibility=allowed).admits(memory)]
    assert all(sees(viewer, lead_sees, memory) for memory in shown)


def test_a_viewer_without_an_agent_is_refused() -> None:
    for role in (Role.WORKER, Role.LEAD):
        with pytest.raises(ValueError, match="only an operator"):
            Viewer(role=role, agent=None, interface=Interface.MCP)


RUNNING = {kind: replace(memory, operational=operational()) for kind, memory in MEMORIES.items()}


def distrusted(memory: Memory, trust: Trust = Trust.WEB) -> Memory:
    return replace(memory, provenance=replace(memory.provenance, trust=trust))


@pytest.mark.parametrize("who", VIEWERS)
@pytest.mark.parametrize("kind", MEMORIES)
def test_only_operators_change_operational_memories_and_others_may_propose(who: str, kind: str) -> None:
    viewer, memory = VIEWERS[who], RUNNING[kind]
    is_operator = viewer.role is Role.OPERATOR
    for verb in VERBS:
        assert may(viewer, verb, memory) == (is_operator and may(viewer, verb, MEMORIES[kind]))
        assert review(viewer, verb, memory) is (None if is_operator else ProposalKind.OPERATIONAL)


@pytest.mark.parametrize("who", VIEWERS)
@pytest.mark.parametrize("trust", Trust)
def test_output_of_tools_and_the_web_is_shared_after_a_review(who: str, trust: Trust) -> None:
    viewer, memory = VIEWERS[who], distrusted(MEMORIES["own private"], trust)
    waits = trust in (Trust.TOOL_OUTPUT, Trust.WEB) and viewer.role is not Role.OPERATOR
    assert review(viewer, Effect.PROMOTE, memory) is (ProposalKind.SHARING if waits else None)
    assert review(viewer, Effect.EDIT, memory) is None


def test_sharing_is_proposed_only_if_it_were_allowed_with_trust() -> None:
    for viewer, memory in MEETINGS:
        asks = review(viewer, Effect.PROMOTE, distrusted(memory)) is ProposalKind.SHARING
        assert asks == (viewer.role is not Role.OPERATOR and may(viewer, Effect.PROMOTE, memory))


def test_workers_may_only_propose_to_supersede_shared_memories_of_others() -> None:
    for (viewer, memory), effect in product(MEETINGS, Effect):
        if viewer.role is Role.WORKER and memory.owner != viewer.agent and memory.scope is Scope.SWARM:
            asks = effect is Effect.SUPERSEDE
            assert may_affect(viewer, effect, memory) is (Permission.PROPOSED if asks else Permission.REFUSED)


def test_permission_to_edit_includes_replace_expire_and_supersede() -> None:
    for viewer, memory in MEETINGS:
        for effect in (Effect.REPLACE, Effect.EXPIRE, Effect.SUPERSEDE):
            assert may(viewer, effect, memory) == may(viewer, Effect.EDIT, memory)


@pytest.mark.parametrize("owner", [ADA, BOB, None])
def test_memories_of_a_shared_folder_are_replaced_only_by_its_scan(
    owner: AgentId | None,
) -> None:
    scanned = replace(a_memory(owner=owner, scope=Scope.SWARM), source_path=Clean("/w/shared/memory/a.md"))
    scanned = replace(scanned, provenance=replace(scanned.provenance, interface=Interface.SERVICE))
    assert is_from_shared_folder(scanned)
    for viewer, effect in product(ALL_VIEWERS, Effect):
        if viewer.role is Role.WORKER and effect is not Effect.SUPERSEDE:
            assert may_affect(viewer, effect, scanned) is Permission.REFUSED
        elif viewer.role is Role.WORKER:
            assert may_affect(viewer, effect, scanned) is Permission.PROPOSED
        elif effect is Effect.REPLACE:
            assert not may(viewer, effect, scanned)
            assert may(replace(viewer, interface=Interface.SERVICE), effect, scanned)
        elif viewer.role is Role.OPERATOR and effect is not Effect.DEMOTE:
            assert may(viewer, effect, scanned)


DECISIONS = {
    #                             worker  lead  lead, of their own  operator, of anything
    ("contradiction", "accepted"): (False, True, True, True),
    ("contradiction", "rejected"): (False, True, True, True),
    ("contradiction", "merged"): (False, False, False, True),
    ("sharing", "accepted"): (False, True, False, True),
    ("sharing", "rejected"): (False, True, False, True),
    ("operational", "accepted"): (False, False, False, True),
    ("operational", "rejected"): (False, False, False, True),
}


@pytest.mark.parametrize(("kind", "how"), DECISIONS)
def test_decisions_equal_the_table(kind: str, how: str) -> None:
    deciders = (("worker", BOB), ("lead", BOB), ("lead", ADA), ("operator", ADA))
    proposals = [(who, a_proposal(a_memory(), kind=ProposalKind(kind), actor=actor)) for who, actor in deciders]
    found = tuple(may_decide(VIEWERS[who], proposal, Decision(how)) for who, proposal in proposals)
    assert found == DECISIONS[kind, how]


@pytest.mark.parametrize("who", VIEWERS)
def test_workers_see_their_own_proposals_and_others_those_about_visible_memories(who: str) -> None:
    viewer = VIEWERS[who]
    where = proposals_visible_to(viewer, LeadSees.ALL)
    assert where.seen == visible_to(viewer, LeadSees.ALL)
    assert where.actor == (ADA if viewer.role is Role.WORKER else None)
