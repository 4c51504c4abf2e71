"""The review inbox: visibility, permissions and effects of decisions."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.paging import cursor_of
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, Proposed, Stale
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Action, Memory, Scope, Trust
from hivelore.observations.model import Observation, ObservationKind
from hivelore.observations.outcomes import Change
from hivelore.review import proposals
from hivelore.review.harm import LATELY
from hivelore.review.model import Decision, Proposal, ProposalGroup, ProposalId, ProposalKind, Wanted
from hivelore.review.proposal_list import FIRST_PAGE, parse_position
from hivelore.sessions.model import EventId, Session, ShownMemory
from support.memories import an_observation, operational
from support.recalls import a_recall, log
from support.stores import present
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, LEA, World

AS_LEO = replace(AS_LEA, agent=AgentId("leo"))
WHY = Clean("60 s or 90 s")


def running(world: World, content: str, viewer: Viewer = AS_ADA, **more: Any) -> Memory:
    return world.remember(content, viewer, scope=Scope.SWARM, operational=operational("jellyfin"), **more)


def propose(
    world: World,
    kind: ProposalKind,
    *memories: Memory,
    viewer: Viewer = AS_ADA,
    wanted: Wanted | None = None,
    why: Clean | None = WHY,
) -> Proposal:
    stored = [present(world.store, memory) for memory in memories]
    return world.store.write(lambda tx: world.proposal_queue.propose(tx, kind, stored, viewer, wanted=wanted, why=why))


def doubt(world: World) -> tuple[Memory, Memory, Proposal]:
    """Creates two memories that may contradict each other, and a proposal about them."""
    older = running(world, "Takes 60 s to start.")
    newer = running(world, "Takes 90 s to start.", AS_BOB, session="s2")
    return older, newer, propose(world, ProposalKind.CONTRADICTION, older, newer)


def asked(world: World, memory: Memory, viewer: Viewer = AS_ADA, **edit: Any) -> ProposalId:
    """Requests an edit that becomes a proposal."""
    with pytest.raises(Proposed) as raised:
        world.memory_service.edit(memory.id, Edit(**edit), viewer)
    return ProposalId(raised.value.proposal)


def listed(world: World, viewer: Viewer, **more: Any) -> list[ProposalId]:
    return [one.id for one in world.review_inbox.page(viewer, None, 100, **more).proposals]


def decide(world: World, proposal: ProposalId, how: str, viewer: Viewer = AS_OPERATOR) -> Proposal:
    world.clock.advance(timedelta(minutes=1))
    return world.review_inbox.decide(proposal, Decision(how), viewer, reason="looked at it")


def confidence(world: World, memory: Memory) -> float | None:
    known = present(world.store, memory).memory.operational
    return None if known is None else known.held.base


def seen(world: World, memory: Memory) -> Sequence[Observation]:
    """Returns the observations after the creation."""
    with world.store.read() as view:
        first, *later = view.observations(present(world.store, memory).key)
    assert first.kind is ObservationKind.CREATED
    return later


def is_there(world: World, memory: Memory) -> bool:
    with world.store.read() as view:
        return view.get(memory.id) is not None


# creation of proposals


def test_sharing_text_from_the_web_becomes_a_proposal(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.WEB)
    proposal = asked(world, memory, scope=Scope.SWARM, reason="it helped")
    assert present(world.store, memory).memory == memory
    known = world.review_inbox.detail(proposal, AS_ADA).proposal
    assert (known.kind, known.actor, known.why) == (ProposalKind.SHARING, ADA, "it helped")
    assert known.wanted == Wanted(edit=Edit(scope=Scope.SWARM))
    assert [(one.action, one.memory) for one in world.audit()] == [(Action.PROPOSED, memory.id)]


@pytest.mark.parametrize("viewer", [AS_ADA, AS_BOB, AS_LEA])
def test_editing_an_operational_memory_becomes_a_proposal(world: World, viewer: Viewer) -> None:
    memory = running(world, "Takes 60 s.")
    proposal = asked(world, memory, viewer, content="Takes 70 s, with the key AKIAIOSFODNN7EXAMPLE.")
    wanted = world.review_inbox.detail(proposal, viewer).proposal.wanted
    assert wanted is not None
    assert wanted.edit is not None
    assert "AKIA" not in str(wanted.edit.content)
    assert present(world.store, memory).memory == memory


def test_forgetting_an_operational_memory_becomes_a_proposal(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    with pytest.raises(Proposed, match="Only operators"):
        world.memory_service.forget(memory.id, AS_ADA)
    (proposal,) = world.review_inbox.page(AS_ADA, None, 10).proposals
    assert (proposal.kind, proposal.wanted) == (ProposalKind.OPERATIONAL, Wanted(forget=True))
    assert is_there(world, memory)


def test_an_edit_without_changes_creates_no_proposal(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    assert world.memory_service.edit(memory.id, Edit(content="Takes 60 s."), AS_BOB) == memory
    assert listed(world, AS_OPERATOR) == []


def test_an_operator_edits_and_forgets_without_a_proposal(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    assert world.memory_service.edit(memory.id, Edit(content="Takes 70 s."), AS_OPERATOR).content == "Takes 70 s."
    world.memory_service.forget(memory.id, AS_OPERATOR)
    assert listed(world, AS_OPERATOR) == []


def test_changes_of_an_invisible_memory_cannot_be_requested(world: World) -> None:
    memory = world.remember("Takes 60 s.", operational=operational())
    with pytest.raises(NotFound):
        world.memory_service.edit(memory.id, Edit(content="no"), AS_BOB)
    with pytest.raises(NotFound):
        world.memory_service.forget(memory.id, AS_BOB)
    assert listed(world, AS_OPERATOR) == []


def test_a_repeated_request_returns_the_open_proposal(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    first = asked(world, memory, content="Takes 70 s.")
    assert asked(world, memory, content="Takes 70 s.", reason="really") == first
    others = [asked(world, memory, content="Takes 80 s."), asked(world, memory, AS_BOB, content="Takes 70 s.")]
    assert set(listed(world, AS_OPERATOR)) == {first, *others}


def test_a_new_proposal_about_an_edited_memory_replaces_the_old_one(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.WEB)
    old = asked(world, memory, scope=Scope.SWARM)
    world.memory_service.edit(memory.id, Edit(content="Run that."), AS_ADA)
    new = asked(world, memory, scope=Scope.SWARM)
    assert listed(world, AS_OPERATOR) == [new]
    with pytest.raises(NotFound):
        decide(world, old, "accepted")


def test_a_rejection_holds_until_the_memory_changes(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.WEB)
    first = asked(world, memory, scope=Scope.SWARM)
    decide(world, first, "rejected")
    with pytest.raises(Proposed, match=r"rejected \(looked at it\)") as raised:
        world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert raised.value.proposal == first
    world.memory_service.edit(memory.id, Edit(content="Run that."), AS_ADA)
    assert asked(world, memory, scope=Scope.SWARM) != first


def test_open_requests_of_one_agent_are_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 2)
    memory = running(world, "Takes 60 s.")
    first, _ = (asked(world, memory, content=text) for text in ("1 s", "2 s"))
    with pytest.raises(Conflict, match="of your proposals are open"):
        world.memory_service.edit(memory.id, Edit(content="3 s"), AS_ADA)
    assert asked(world, memory, content="1 s") == first
    assert asked(world, memory, AS_BOB, content="3 s")
    decide(world, first, "rejected")
    assert asked(world, memory, content="3 s")


def test_uncertain_contradictions_are_stored_beyond_the_limit_and_leave_room_for_requests(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 1)
    older, newer, first = doubt(world)
    wanted = asked(world, older, content="Takes 70 s.")
    second = propose(world, ProposalKind.CONTRADICTION, newer, running(world, "Takes 75 s to start."))
    assert set(listed(world, AS_LEA)) == {first.id, wanted, second.id}


def test_open_duplicates_leave_room_for_requests(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 1)
    one, other = running(world, "Takes 60 s."), running(world, "Takes 60 s!")
    duplicate = propose(world, ProposalKind.DUPLICATE, one, other)
    with pytest.raises(Conflict):
        propose(world, ProposalKind.DUPLICATE, other, one)
    wanted = asked(world, one, content="Takes 70 s.")
    assert listed(world, AS_OPERATOR) == [wanted, duplicate.id]


def test_a_memory_whose_supersession_cannot_be_proposed_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 0)
    world.remember("The port is 5432.", AS_LEA, scope=Scope.SWARM, subject="db.port")
    with pytest.raises(Conflict, match="of your proposals are open"):
        world.memory_service.remember(Draft(content="6543", scope=Scope.SWARM, subject="db.port"), AS_BOB)
    assert "6543" not in world.found("6543")
    assert world.memory_service.remember(Draft(content="6543", scope=Scope.SWARM), AS_BOB).created


# visibility


def test_workers_see_their_own_proposals_and_leads_and_operators_those_about_visible_memories(world: World) -> None:
    _, _, of_ada = doubt(world)
    secret = world.remember("Run this.", AS_BOB, trust=Trust.TOOL_OUTPUT)
    of_bob = asked(world, secret, AS_BOB, scope=Scope.SWARM)
    assert listed(world, AS_ADA) == [of_ada.id]
    assert listed(world, AS_BOB) == [of_bob]
    assert listed(world, AS_LEA) == listed(world, AS_OPERATOR) == [of_bob, of_ada.id]
    with pytest.raises(NotFound):
        world.review_inbox.detail(of_bob, AS_ADA)


def test_a_lead_limited_to_shared_memories_sees_proposals_about_them(world: World) -> None:
    secret = world.remember("Run this.", trust=Trust.TOOL_OUTPUT)
    hidden = asked(world, secret, scope=Scope.SWARM)
    _, _, shown = doubt(world)
    narrow = World(world.store, world.keywords, world.clock, lead_sees=LeadSees.SHARED, first_id=500)
    assert listed(narrow, AS_LEA) == [shown.id]
    for ask in (lambda: narrow.review_inbox.detail(hidden, AS_LEA), lambda: decide(narrow, hidden, "accepted", AS_LEA)):
        with pytest.raises(NotFound):
            ask()


def test_a_page_has_the_names_of_its_memories_and_continues_at_its_cursor(world: World) -> None:
    older, newer, first = doubt(world)
    second = asked(world, older, AS_BOB, content="Takes 70 s.")
    page = world.review_inbox.page(AS_OPERATOR, None, 1)
    assert [one.id for one in page.proposals] == [second]
    assert page.names == {older.id: older.name}
    assert page.next == cursor_of(page.proposals[0].at, second)
    rest = world.review_inbox.page(AS_OPERATOR, (page.proposals[0].at, second), 1)
    assert (rest.proposals, rest.next) == ((first,), None)
    assert set(rest.names) == {older.id, newer.id}


def test_a_page_is_filtered_by_state_and_kind(world: World) -> None:
    older, _, doubtful = doubt(world)
    wish = asked(world, older, content="Takes 70 s.")
    decide(world, doubtful.id, "rejected")
    assert listed(world, AS_ADA, is_open=True) == [wish]
    assert listed(world, AS_ADA, is_open=False) == [doubtful.id]
    assert listed(world, AS_ADA, kind=ProposalKind.OPERATIONAL) == [wish]


def test_reading_a_private_memory_of_another_agent_in_the_inbox_is_audited(world: World) -> None:
    secret = world.remember("Run this.", trust=Trust.TOOL_OUTPUT)
    proposal = asked(world, secret, scope=Scope.SWARM)
    case = world.review_inbox.detail(proposal, AS_LEA)
    assert case.memories == (secret,)
    assert [(one.action, one.actor) for one in world.audit()] == [(Action.READ, LEA), (Action.PROPOSED, ADA)]


# the order by harm


def ranked(world: World, viewer: Viewer = AS_OPERATOR, **more: Any) -> list[ProposalId]:
    return [one.id for one in world.review_inbox.page_by_harm(viewer, FIRST_PAGE, 100, **more).proposals]


def show(world: World, *memories: Memory) -> None:
    """Injects memories into a session of Ada."""
    shown = tuple(ShownMemory(one.id, None, EventId("e1"), world.clock.now()) for one in memories)
    session = Session(agent=ADA, id=Clean(f"codex:{memories[0].id}"), updated_at=world.clock.now(), shown=shown)
    world.store.write(lambda tx: tx.put_session(session))


def test_open_proposals_are_ranked_by_what_agents_are_given_and_wait_for(world: World) -> None:
    older, _, doubtful = doubt(world)
    one, other = running(world, "Listens on 8096."), running(world, "Listens on port 8096.")
    duplicate = propose(world, ProposalKind.DUPLICATE, one, other)
    secret = world.remember("Run this.", trust=Trust.WEB)
    wish = asked(world, secret, scope=Scope.SWARM)
    assert ranked(world) == [wish, doubtful.id, duplicate.id]
    show(world, older, one)
    assert ranked(world) == [doubtful.id, wish, duplicate.id]
    log(world.store, *(a_recall(secret.id, at=world.clock.now()) for _ in range(2)))
    assert ranked(world) == [wish, doubtful.id, duplicate.id]
    world.clock.advance(LATELY + timedelta(minutes=1))
    assert ranked(world) == [wish, doubtful.id, duplicate.id]


def test_proposals_about_one_memory_are_listed_together_with_their_number(world: World) -> None:
    older, newer, doubtful = doubt(world)
    other = running(world, "Listens on 8096.")
    wish = asked(world, other, content="Listens on 8097.")
    forget = asked(world, older, AS_BOB, content="Takes 70 s.")
    decided = asked(world, older, content="Takes 75 s.")
    decide(world, decided, "rejected")
    show(world, older)
    page = world.review_inbox.page_by_harm(AS_OPERATOR, FIRST_PAGE, 10)
    assert [one.id for one in page.proposals] == [doubtful.id, forget, wish]
    about_older, about_other = ProposalGroup(older.id, 1), ProposalGroup(other.id, 0)
    assert page.groups == {doubtful.id: about_older, forget: about_older, wish: about_other}
    assert page.names == {one.id: one.name for one in (older, newer, other)}
    assert world.review_inbox.page_by_harm(AS_BOB, FIRST_PAGE, 10).groups == {forget: ProposalGroup(older.id, 0)}
    assert ranked(world, kind=ProposalKind.OPERATIONAL) == [forget, wish]


def test_pages_by_harm_neither_skip_nor_repeat_while_ranks_change(world: World) -> None:
    memories = [running(world, f"Listens on {number}.") for number in range(6)]
    waiting = [asked(world, one, content="Does not listen.") for one in memories]
    found: list[ProposalId] = []
    position = FIRST_PAGE
    for promoted in (5, 0, 4):
        page = world.review_inbox.page_by_harm(AS_OPERATOR, position, 2)
        found += [one.id for one in page.proposals]
        position = parse_position(page.next)
        show(world, memories[promoted])
    assert page.next is None
    assert found[:4] == [waiting[0], waiting[1], waiting[5], waiting[2]]
    assert sorted(found) == sorted(waiting)


def test_the_order_by_harm_respects_visibility(world: World) -> None:
    _, _, of_ada = doubt(world)
    secret = world.remember("Run this.", AS_BOB, trust=Trust.TOOL_OUTPUT)
    of_bob = asked(world, secret, AS_BOB, scope=Scope.SWARM)
    narrow = World(world.store, world.keywords, world.clock, lead_sees=LeadSees.SHARED, first_id=500)
    by_viewer = [ranked(world, viewer) for viewer in (AS_ADA, AS_BOB, AS_LEA)]
    assert by_viewer == [[of_ada.id], [of_bob], [of_bob, of_ada.id]]
    assert ranked(narrow, AS_LEA) == [of_ada.id]


# effects of decisions


def test_an_accepted_contradiction_lowers_the_confidence_of_the_older_memory(world: World) -> None:
    older, newer, proposal = doubt(world)
    decided = decide(world, proposal.id, "accepted", AS_LEA)
    assert confidence(world, older) == pytest.approx(0.5)
    assert confidence(world, newer) == pytest.approx(0.7)
    (judged,) = seen(world, older)
    assert (judged.kind, judged.actor, judged.text) == (ObservationKind.DISPROVED, LEA, newer.content)
    assert decided.decided is not None
    assert (decided.decided.how, decided.decided.actor) == (Decision.ACCEPTED, LEA)
    assert world.review_inbox.detail(proposal.id, AS_ADA).proposal == decided
    assert {(one.action, one.memory, one.actor) for one in world.audit()[:2]} == {
        (Action.DECIDED, older.id, LEA),
        (Action.DECIDED, newer.id, LEA),
    }


def test_a_rejected_contradiction_changes_neither_memory(world: World) -> None:
    older, newer, proposal = doubt(world)
    decide(world, proposal.id, "rejected", AS_LEA)
    for memory in (older, newer):
        assert present(world.store, memory).memory == memory
        assert seen(world, memory) == []


def test_a_merge_reinforces_the_older_memory_with_the_observations_of_the_newer(world: World) -> None:
    older, newer, proposal = doubt(world)
    again = an_observation(at=world.clock.now(), text="Took 91 s.")
    key, held = present(world.store, newer).key, operational().held
    world.store.write(lambda tx: tx.add_observation(key, held, again))
    decide(world, proposal.id, "merged")
    assert confidence(world, older) == pytest.approx(0.8)  # Both observations are by Bob.
    assert not is_there(world, newer)
    assert [(one.kind, one.actor, one.session, one.text) for one in seen(world, older)] == [
        (ObservationKind.REINFORCED, AS_BOB.agent, "s2", newer.content),
        (ObservationKind.REINFORCED, again.actor, again.session, again.text),
    ]
    assert world.found("90 s") == ["Takes 60 s to start."]
    detail = world.review_inbox.detail(proposal.id, AS_ADA)
    assert [one.id for one in detail.memories] == [older.id]
    assert detail.proposal.decided is not None
    assert detail.proposal.decided.how is Decision.MERGED


def test_accepted_sharing_is_a_promotion_by_the_reviewer(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.TOOL_OUTPUT)
    proposal = asked(world, memory, scope=Scope.SWARM)
    assert world.found("run", AS_BOB) == []
    decide(world, proposal, "accepted", AS_LEA)
    shared = present(world.store, memory).memory
    assert (shared.scope, shared.owner, shared.provenance.actor) == (Scope.SWARM, ADA, LEA)
    assert shared.provenance.trust is Trust.TOOL_OUTPUT
    assert world.found("run", AS_BOB) == ["Run this."]
    assert [one.action for one in world.audit()][:2] == [Action.DECIDED, Action.PROMOTED]


def test_an_accepted_fact_supersedes_the_older_shared_fact(world: World) -> None:
    old = world.remember("The port is 1.", AS_LEA, scope=Scope.SWARM, subject="port")
    new = world.remember("The port is 2.", trust=Trust.TOOL_OUTPUT, subject="port")
    decide(world, asked(world, new, scope=Scope.SWARM, valid_from=world.clock.now()), "accepted", AS_LEA)
    assert present(world.store, new).memory.supersedes == old.id


def test_a_memory_stays_private_after_rejected_sharing(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.TOOL_OUTPUT)
    decide(world, asked(world, memory, scope=Scope.SWARM), "rejected", AS_LEA)
    assert present(world.store, memory).memory == memory


def test_an_accepted_edit_is_a_version_by_the_reviewer_with_unchanged_confidence(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    proposal = asked(world, memory, AS_LEA, content="Takes 70 s.", tags=("slow",), reason="measured")
    decide(world, proposal, "accepted")
    edited = present(world.store, memory).memory
    assert (edited.content, edited.tags, edited.version) == ("Takes 70 s.", ("slow",), 2)
    assert (edited.provenance.actor, edited.provenance.reason) == (None, "looked at it")
    assert edited.operational == memory.operational
    assert world.found("70") == ["Takes 70 s."]


def test_an_accepted_deletion_forgets_the_memory_and_the_proposal(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    with pytest.raises(Proposed):
        world.memory_service.forget(memory.id, AS_ADA)
    (proposal,) = listed(world, AS_ADA)
    decided = decide(world, proposal, "accepted")
    assert decided.decided is not None
    assert not is_there(world, memory)
    assert listed(world, AS_OPERATOR) == []
    with pytest.raises(NotFound, match="forgotten"):
        decide(world, proposal, "accepted")
    assert [one.action for one in world.audit()][:2] == [Action.DECIDED, Action.FORGOTTEN]


def test_a_proposed_change_of_an_operational_memory_is_applied_as_one_change_by_the_operator(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    change = Change(observation="Takes 70 s.", service=" caddy ", confidence=1.5, reason="timed it")
    with pytest.raises(Proposed) as raised:
        world.curation.change(memory.id, change, AS_LEA)
    assert present(world.store, memory).memory == memory
    proposal = ProposalId(raised.value.proposal)
    known = world.review_inbox.detail(proposal, AS_LEA).proposal
    assert known.wanted == Wanted(change=Change(observation="Takes 70 s.", service="caddy", confidence=1.0))
    assert known.why == "timed it"
    world.review_inbox.decide(proposal, Decision.ACCEPTED, AS_OPERATOR)
    after = present(world.store, memory).memory
    assert after.operational is not None
    assert (after.content, after.operational.service, after.operational.held.base) == ("Takes 70 s.", "caddy", 1.0)
    (said,) = seen(world, memory)
    assert (said.kind, said.to, said.actor, said.text) == (ObservationKind.SET, 1.0, None, "timed it")


def test_an_accepted_proposal_reactivates_an_inactive_memory(world: World) -> None:
    memory = running(world, "Takes 60 s.")
    world.curation.change(memory.id, Change(confidence=0.1), AS_OPERATOR)
    with pytest.raises(Proposed) as raised:
        world.curation.change(memory.id, Change(active=True), AS_ADA)
    decide(world, ProposalId(raised.value.proposal), "accepted")
    assert world.curation.get(memory.id, AS_ADA).active


# refused decisions


@pytest.mark.parametrize("how", ["accepted", "rejected", "merged"])
def test_a_worker_cannot_decide_proposals(world: World, how: str) -> None:
    _, _, proposal = doubt(world)
    with pytest.raises(Forbidden, match="Only operators and leads"):
        decide(world, proposal.id, how, AS_ADA)


@pytest.mark.parametrize("how", ["accepted", "rejected"])
def test_a_lead_cannot_decide_changes_of_operational_memories(world: World, how: str) -> None:
    memory = running(world, "Takes 60 s.")
    proposal = asked(world, memory, content="Takes 70 s.")
    with pytest.raises(Forbidden, match="Only an operator"):
        decide(world, proposal, how, AS_LEA)
    _, _, doubtful = doubt(world)
    with pytest.raises(Forbidden, match="Only an operator"):
        decide(world, doubtful.id, "merged", AS_LEA)


def test_a_lead_cannot_accept_their_own_proposal(world: World) -> None:
    memory = world.remember("Run this.", AS_LEA, trust=Trust.WEB)
    proposal = asked(world, memory, AS_LEA, scope=Scope.SWARM)
    with pytest.raises(Forbidden, match="your own proposal"):
        decide(world, proposal, "accepted", AS_LEA)
    decide(world, proposal, "accepted", AS_LEO)
    assert present(world.store, memory).memory.scope is Scope.SWARM


@pytest.mark.parametrize("how", ["accepted", "rejected", "merged"])
def test_a_second_decision_is_a_conflict_that_names_the_first(world: World, how: str) -> None:
    older, _, proposal = doubt(world)
    decide(world, proposal.id, "accepted")
    before = present(world.store, older)
    with pytest.raises(Conflict, match="was already accepted at"):
        decide(world, proposal.id, how)
    assert present(world.store, older) == before


@pytest.mark.parametrize("how", ["accepted", "merged"])
def test_a_proposal_about_an_edited_memory_can_only_be_rejected(world: World, how: str) -> None:
    older, _, proposal = doubt(world)
    edited = world.memory_service.edit(older.id, Edit(content="Takes 90 s to start."), AS_OPERATOR)
    with pytest.raises(Stale, match="Reject") as raised:
        decide(world, proposal.id, how)
    assert raised.value.current == edited.version == 2
    assert seen(world, older) == []
    decide(world, proposal.id, "rejected")


def test_a_requested_change_cannot_be_merged(world: World) -> None:
    proposal = asked(world, running(world, "Takes 60 s."), content="Takes 70 s.")
    with pytest.raises(Invalid, match="cannot be merged"):
        decide(world, proposal, "merged")


@pytest.mark.parametrize("how", ["accepted", "merged"])
def test_a_contradiction_of_a_memory_that_is_not_operational_is_a_conflict(world: World, how: str) -> None:
    plain, other = world.remember("Takes 60 s.", scope=Scope.SWARM), running(world, "Takes 90 s.")
    proposal = propose(world, ProposalKind.CONTRADICTION, plain, other)
    with pytest.raises(Conflict, match="Reject"):
        decide(world, proposal.id, how)
    assert is_there(world, other)


def tend(world: World, **more: Any) -> None:
    Housekeeper(world.store, world.keywords, world.clock, **more).run_step()


def test_decided_proposals_are_deleted_after_90_days_and_open_ones_stay(world: World) -> None:
    memory, other = (world.remember(content, trust=Trust.WEB) for content in ("Run this.", "Run that."))
    decided, waits = asked(world, memory, scope=Scope.SWARM), asked(world, other, scope=Scope.SWARM)
    decide(world, decided, "rejected")
    world.clock.advance(timedelta(days=90))
    tend(world)
    assert asked(world, memory, scope=Scope.SWARM) == decided
    world.clock.advance(timedelta(minutes=1))
    tend(world, decided=None)
    assert listed(world, AS_OPERATOR) == [waits, decided]
    tend(world)
    assert listed(world, AS_OPERATOR) == [waits]
    again = asked(world, memory, scope=Scope.SWARM)
    assert listed(world, AS_OPERATOR, is_open=True) == [again, waits]


def test_a_contradiction_of_an_edited_memory_closes_itself(world: World) -> None:
    older, newer, proposal = doubt(world)
    wish = asked(world, older, content="Takes 70 s.")
    tend(world)
    assert listed(world, AS_OPERATOR, is_open=True) == [wish, proposal.id]
    world.memory_service.edit(newer.id, Edit(content="Takes 80 s to start."), AS_OPERATOR)
    world.memory_service.edit(older.id, Edit(content="Takes 65 s to start."), AS_OPERATOR)
    tend(world)
    assert listed(world, AS_OPERATOR, is_open=True) == [wish]
    decided = world.review_inbox.detail(proposal.id, AS_ADA).proposal.decided
    assert decided is not None
    assert (decided.how, decided.actor, decided.interface) == (Decision.REJECTED, None, Interface.SERVICE)
    assert decided.reason == "A memory was edited or superseded since."
    closed = [(one.memory, one.interface) for one in world.audit() if one.action is Action.DECIDED]
    assert closed == [(newer.id, Interface.SERVICE), (older.id, Interface.SERVICE)]


def test_a_contradiction_of_a_superseded_memory_closes_itself(world: World) -> None:
    older, _, proposal = doubt(world)
    world.remember("Takes 40 s to start.", AS_OPERATOR, scope=Scope.SWARM, supersedes=older.id)
    tend(world)
    assert listed(world, AS_OPERATOR, is_open=True) == []
    assert listed(world, AS_OPERATOR, is_open=False) == [proposal.id]


def test_a_contradiction_that_closed_itself_is_deleted_like_a_decided_one(world: World) -> None:
    older, _, _ = doubt(world)
    world.memory_service.edit(older.id, Edit(content="Takes 65 s to start."), AS_OPERATOR)
    tend(world)
    world.clock.advance(timedelta(days=90, minutes=1))
    tend(world)
    assert listed(world, AS_OPERATOR) == []


def test_a_decision_is_undone_after_its_proposal_was_deleted(world: World) -> None:
    older, _, proposal = doubt(world)
    decide(world, proposal.id, "accepted")
    tend(world, decided=timedelta(0))
    world.clock.advance(timedelta(minutes=2))
    tend(world, decided=timedelta(0))
    assert listed(world, AS_OPERATOR) == []
    world.undo_service.undo(older.id, AS_OPERATOR)
    assert (listed(world, AS_OPERATOR, is_open=True), confidence(world, older)) == ([proposal.id], 0.7)


@pytest.mark.parametrize("viewer", [AS_ADA, AS_LEA, AS_OPERATOR])
def test_an_unknown_proposal_is_not_found_for_every_role(world: World, viewer: Viewer) -> None:
    def look() -> object:
        return world.review_inbox.detail(ProposalId("none"), viewer)

    def judge() -> object:
        return decide(world, ProposalId("none"), "accepted", viewer)

    for ask in (look, judge):
        with pytest.raises(HiveloreError) as raised:
            ask()
        assert isinstance(raised.value, NotFound)


def test_an_operator_acting_for_a_worker_cannot_decide_proposals(world: World) -> None:
    _, _, proposal = doubt(world)
    with pytest.raises(Forbidden):
        decide(world, proposal.id, "accepted", replace(AS_ADA, role=Role.WORKER, acting=True))
