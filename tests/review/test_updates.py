"""Certain updates: what they end, what is proposed instead, and which subjects are suggested."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.agents import Interface, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Stale, Unavailable
from hivelore.links.model import LinkKind
from hivelore.links.validity import CERTAIN
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, Scope, Source, Trust
from hivelore.review import proposals
from hivelore.review.harm import LATELY
from hivelore.review.model import Decision, Proposal, ProposalKind
from support.links import a_link, drop, links_of, put_links
from support.memories import operational
from support.recalls import a_recall, log
from support.stores import history, present
from support.updates import a_review
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

NPM, PNPM, YARN = (
    "The web app is built by npm",
    "The web app is built by pnpm now",
    "For the web app, yarn replaced pnpm",
)
HOUR = timedelta(hours=1)


def step(world: World, *, ends: bool = False) -> None:
    a_review(world, ends=ends).step()


def update(world: World, *chain: Memory, certainty: float = CERTAIN) -> None:
    """Makes links: each memory updates the one before it."""
    stored = [present(world.store, one) for one in chain]
    for number, newer in enumerate(stored[1:], 1):
        put_links(world.store, a_link(newer, stored[number - 1], certainty=certainty))


def a_pair(world: World, older: Viewer = AS_ADA, newer: Viewer = AS_ADA, **more: Any) -> tuple[Memory, Memory]:
    first = world.remember(NPM, older, scope=Scope.SWARM)
    world.clock.advance(HOUR)
    second = world.remember(PNPM, newer, scope=Scope.SWARM, **more)
    update(world, first, second)
    return first, second


def give(world: World, memory: Memory) -> None:
    """Lets an agent recall a memory."""
    log(world.store, a_recall(memory.id, at=world.clock.now()))


def now(world: World, memory: Memory) -> Memory:
    return present(world.store, memory).memory


def waiting(world: World, kind: ProposalKind | None = None) -> list[Proposal]:
    return list(world.review_inbox.page(AS_OPERATOR, None, 100, is_open=True, kind=kind).proposals)


def decided(world: World) -> list[tuple[ProposalKind, Decision, Interface]]:
    found = world.review_inbox.page(AS_OPERATOR, None, 100, is_open=False).proposals
    return [(one.kind, one.decided.how, one.decided.interface) for one in found if one.decided is not None]


def decide(world: World, how: str, viewer: Viewer = AS_OPERATOR) -> Proposal:
    (proposal,) = waiting(world)
    return world.review_inbox.decide(proposal.id, Decision(how), viewer)


# with the setting


def test_a_certain_update_by_the_same_author_ends_the_validity(world: World) -> None:
    older, newer = a_pair(world)
    step(world, ends=True)
    after = now(world, newer)
    assert (now(world, older).valid_until, after.supersedes) == (newer.created_at, older.id)
    assert after.provenance == replace(newer.provenance, reason=Clean(f"It updates {older.id}."))
    assert history(world.store, present(world.store, newer).key)[-1].reason == f"It updates {older.id}."
    assert decided(world) == [(ProposalKind.UPDATE, Decision.ACCEPTED, Interface.SERVICE)]
    assert world.found("web app") == [PNPM]
    assert waiting(world) == []


def test_a_second_step_changes_nothing(world: World) -> None:
    older, newer = a_pair(world)
    step(world, ends=True)
    states = [now(world, one) for one in (older, newer)]
    step(world, ends=True)
    step(world)
    assert [now(world, one) for one in (older, newer)] == states
    assert len(decided(world)) == 1


@pytest.mark.parametrize(
    ("older", "newer", "ends"),
    [
        (AS_ADA, AS_BOB, False),
        (AS_ADA, AS_LEA, True),
        (AS_LEA, AS_ADA, False),
        (AS_ADA, AS_OPERATOR, True),
        (AS_OPERATOR, AS_OPERATOR, True),
    ],
)
def test_the_author_must_be_allowed_to_edit_the_earlier_memory(
    world: World, older: Viewer, newer: Viewer, ends: bool
) -> None:
    first, _ = a_pair(world, older, newer)
    step(world, ends=True)
    assert (now(world, first).valid_until is not None) is ends
    assert [one.kind for one in waiting(world)] == ([] if ends else [ProposalKind.UPDATE])


def test_who_edits_the_text_is_its_author(world: World) -> None:
    first, second = a_pair(world, AS_BOB, AS_ADA)
    world.memory_service.edit(second.id, Edit(tags=("web",)), AS_LEA)
    step(world, ends=True)
    assert now(world, first).valid_until is None
    world.memory_service.edit(second.id, Edit(content=f"{PNPM}, everywhere"), AS_LEA)
    world.memory_service.edit(second.id, Edit(tags=("app",)), AS_ADA)
    step(world, ends=True)
    assert now(world, first).valid_until is not None


def test_an_update_that_was_written_by_an_edit_begins_with_the_edit(world: World) -> None:
    older = world.remember(NPM)
    newer = world.remember("The owl sleeps")
    world.clock.advance(HOUR)
    edited = world.memory_service.edit(newer.id, Edit(content=PNPM), AS_ADA)
    update(world, older, newer)
    step(world, ends=True)
    assert now(world, older).valid_until == now(world, newer).valid_from == edited.updated_at


def test_text_of_the_web_is_proposed(world: World) -> None:
    older = world.remember(NPM, trust=Trust.WEB)
    update(world, older, world.remember(PNPM, trust=Trust.WEB))
    step(world, ends=True)
    assert now(world, older).valid_until is None
    assert [one.kind for one in waiting(world)] == [ProposalKind.UPDATE]


def test_a_memory_that_expires_ends_none_that_stays(world: World) -> None:
    older = world.remember(NPM)
    lesson = world.remember(PNPM, source=Source.LESSON)
    update(world, older, lesson)
    give(world, older)
    for ends in (False, True):
        step(world, ends=ends)
    assert waiting(world) == []
    assert now(world, older).valid_until is None
    world.clock.advance(timedelta(days=40))
    assert world.found("web app") == [NPM]


def test_of_a_chain_each_memory_ends_with_the_next_one(world: World) -> None:
    npm, pnpm = a_pair(world)
    yarn = world.remember(YARN, scope=Scope.SWARM)
    update(world, pnpm, yarn)
    update(world, npm, yarn)
    step(world, ends=True)
    assert [now(world, one).valid_until for one in (npm, pnpm, yarn)] == [pnpm.created_at, yarn.created_at, None]
    assert waiting(world, ProposalKind.UPDATE) == []


def test_undoing_restores_and_lets_a_person_decide(world: World) -> None:
    older, newer = a_pair(world)
    step(world, ends=True)
    world.undo_service.undo(older.id, AS_OPERATOR)
    assert (now(world, older), now(world, newer)) == (older, newer)
    step(world, ends=True)
    assert now(world, older) == older
    assert [one.kind for one in waiting(world)] == [ProposalKind.UPDATE]
    decide(world, "accepted")
    assert now(world, older).valid_until == newer.created_at


def test_rejecting_the_link_restores_and_can_be_undone(world: World) -> None:
    older, newer = a_pair(world)
    step(world, ends=True)
    world.links.reject(older.id, newer.id, AS_ADA)
    assert (now(world, older), now(world, newer).supersedes) == (older, None)
    assert now(world, newer).provenance.actor == newer.provenance.actor
    step(world, ends=True)
    assert now(world, older) == older
    world.undo_service.undo(older.id, AS_OPERATOR)
    assert now(world, older).valid_until == newer.created_at
    world.links.restore(older.id, newer.id, AS_ADA)
    step(world, ends=True)
    assert len(decided(world)) == 1


def test_rejecting_the_link_restores_since_when_the_later_memory_holds(world: World) -> None:
    older, newer = world.remember(NPM), world.remember("The owl sleeps")
    world.clock.advance(HOUR)
    world.memory_service.edit(newer.id, Edit(content=PNPM), AS_ADA)
    update(world, older, newer)
    step(world, ends=True)
    assert now(world, newer).valid_from is not None
    world.links.reject(newer.id, older.id, AS_ADA)
    assert (now(world, newer).valid_from, now(world, newer).supersedes) == (None, None)


def test_the_author_of_an_update_cannot_remove_an_end_that_somebody_else_decided(world: World) -> None:
    older, newer = a_pair(world, AS_ADA, AS_BOB)
    step(world, ends=True)
    decide(world, "accepted")
    with pytest.raises(Forbidden, match="the earlier"):
        world.links.reject(newer.id, older.id, AS_BOB)
    assert now(world, older).valid_until == newer.created_at
    assert links_of(world.store, present(world.store, older))[0].link.counts
    world.links.reject(newer.id, older.id, AS_ADA)
    assert now(world, older).valid_until is None


def test_rejecting_a_link_keeps_what_an_author_superseded(world: World) -> None:
    older = world.remember(NPM)
    newer = world.remember(PNPM, supersedes=older.id)
    update(world, older, newer)
    world.links.reject(older.id, newer.id, AS_ADA)
    assert now(world, newer).supersedes == older.id


def test_an_end_that_somebody_removed_is_not_made_again(world: World) -> None:
    older, newer = a_pair(world)
    step(world, ends=True)
    world.memory_service.edit(newer.id, Edit(supersedes=None), AS_ADA)
    step(world, ends=True)
    assert now(world, older).valid_until is None
    assert waiting(world) == []


# without the setting


def test_what_agents_are_given_is_proposed_once(world: World) -> None:
    older, newer = a_pair(world)
    step(world)
    assert waiting(world) == []
    give(world, older)
    for _ in range(2):
        step(world)
    (proposal,) = waiting(world)
    assert (proposal.kind, proposal.actor, proposal.interface) == (ProposalKind.UPDATE, None, Interface.SERVICE)
    assert [one.memory for one in proposal.memories] == [older.id, newer.id]
    assert now(world, older).valid_until is None
    decide(world, "accepted")
    assert now(world, older).valid_until == newer.created_at
    assert now(world, newer).provenance.actor == newer.provenance.actor


def test_what_was_given_long_ago_is_not_proposed(world: World) -> None:
    older, _ = a_pair(world)
    give(world, older)
    world.clock.advance(LATELY + HOUR)
    step(world)
    assert waiting(world) == []


def test_giving_only_the_later_memory_harms_nobody(world: World) -> None:
    _, newer = a_pair(world)
    give(world, newer)
    step(world)
    assert waiting(world) == []


@pytest.mark.parametrize("kind", [kind for kind in LinkKind if kind is not LinkKind.UPDATES])
def test_other_links_and_uncertain_updates_are_not_proposed(world: World, kind: LinkKind) -> None:
    older, newer = world.remember(NPM), world.remember(PNPM)
    both = present(world.store, newer), present(world.store, older)
    put_links(world.store, a_link(*both, kind=kind, certainty=1.0), a_link(*both, certainty=CERTAIN - 0.01))
    give(world, older)
    step(world)
    step(world, ends=True)
    assert waiting(world) == []
    assert now(world, older) == older


def test_operational_memories_are_left_to_observations(world: World) -> None:
    older = world.remember("Takes 60 s", scope=Scope.SWARM, operational=operational("tv"))
    newer = world.remember("Takes 10 s now", AS_OPERATOR, scope=Scope.SWARM, operational=operational("tv"))
    update(world, older, newer)
    give(world, older)
    step(world)
    step(world, ends=True)
    assert waiting(world) == []


def test_a_refused_proposal_rejects_the_link_and_is_not_made_again(world: World) -> None:
    older, newer = a_pair(world)
    give(world, older)
    step(world)
    decide(world, "rejected", AS_LEA)
    (link,) = links_of(world.store, present(world.store, older))
    assert (link.link.counts, link.link.rejected_by) == (False, AS_LEA.agent)
    world.memory_service.edit(newer.id, Edit(tags=("web",)), AS_ADA)
    for ends in (False, True):
        step(world, ends=ends)
    assert waiting(world) == []
    assert now(world, older) == older


@pytest.mark.parametrize("change", ["link", "older", "newer", "forgotten", "ended"])
def test_a_proposal_is_closed_when_its_reason_is_gone(world: World, change: str) -> None:
    older, newer = a_pair(world)
    give(world, older)
    step(world)
    one = {"older": older, "newer": newer}.get(change)
    if one is not None:
        world.memory_service.edit(one.id, Edit(content=f"{one.content} indeed"), AS_ADA)
        put_links(world.store, a_link(present(world.store, newer), present(world.store, older), certainty=0.5))
    if change == "link":
        drop(world.store, links_of(world.store, present(world.store, older))[0])
    if change == "forgotten":
        world.memory_service.forget(newer.id, AS_ADA)
    if change == "ended":
        world.remember(YARN, scope=Scope.SWARM, supersedes=older.id)
    step(world)
    assert waiting(world) == []
    outcome = [] if change == "forgotten" else [(ProposalKind.UPDATE, Decision.REJECTED, Interface.SERVICE)]
    assert decided(world) == outcome


def test_a_proposal_about_changed_words_is_made_anew(world: World) -> None:
    older, newer = a_pair(world)
    give(world, older)
    step(world)
    (first,) = waiting(world)
    edited = world.memory_service.edit(newer.id, Edit(content=f"{PNPM} indeed"), AS_ADA)
    with pytest.raises(Stale):
        decide(world, "accepted")
    step(world)
    (second,) = waiting(world)
    assert second.id != first.id
    assert second.memories[1].version == edited.version


def test_a_worker_sees_no_proposal_and_a_lead_decides_only_about_what_is_shared(world: World) -> None:
    older = world.remember(NPM)
    update(world, older, world.remember(PNPM))
    give(world, older)
    step(world)
    assert world.review_inbox.page(AS_ADA, None, 10).proposals == ()
    for how in ("accepted", "rejected"):
        with pytest.raises(Forbidden):
            decide(world, how, AS_LEA)
    decide(world, "accepted")
    assert now(world, older).valid_until is not None


def test_the_inbox_has_a_limit_for_updates(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 2)
    for number in range(3):
        older = world.remember(f"Cat {number} sleeps", AS_ADA, scope=Scope.SWARM)
        update(world, older, world.remember(f"Cat {number} is awake", AS_BOB, scope=Scope.SWARM))
        give(world, older)
    step(world)
    assert len(waiting(world)) == 2
    mine = world.remember("Owl")
    update(world, mine, world.remember("No owl"))
    step(world, ends=True)
    assert now(world, mine).valid_until is not None
    assert len(waiting(world)) == 2


def test_one_author_cannot_use_up_the_inbox_of_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 2)
    for number in range(3):
        older = world.remember(f"Cat {number} sleeps", AS_ADA, scope=Scope.SWARM)
        update(world, older, world.remember(f"Cat {number} is awake", AS_BOB, scope=Scope.SWARM))
    step(world, ends=True)
    assert len(waiting(world)) == 2
    older = world.remember("The owl sleeps", AS_BOB, scope=Scope.SWARM)
    newer = world.remember("The owl is awake", AS_ADA, scope=Scope.SWARM)
    update(world, older, newer)
    step(world, ends=True)
    assert [one.memories[1].memory for one in waiting(world)].count(newer.id) == 1
    assert len(waiting(world)) == 3


def test_what_an_author_stores_for_an_earlier_time_counts_against_that_author(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 2)
    updates = [world.remember(f"Cat {number} is awake", AS_ADA, scope=Scope.SWARM) for number in range(3)]
    before = world.clock.now() - HOUR
    for number, newer in enumerate(updates):
        update(world, world.remember(f"Cat {number} sleeps", AS_BOB, scope=Scope.SWARM, valid_from=before), newer)
    step(world, ends=True)
    assert len(waiting(world)) == 2
    older = world.remember("The owl sleeps", AS_BOB, scope=Scope.SWARM)
    update(world, older, world.remember("The owl is awake", AS_ADA, scope=Scope.SWARM))
    step(world, ends=True)
    assert len(waiting(world)) == 3


def test_one_author_cannot_use_up_the_subjects_of_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MAX_OPEN", 2)
    for animal in ("cat", "owl", "lark"):
        update(world, *(world.remember(f"The {animal} eats {food}", AS_BOB) for food in ("mice", "bread", "seeds")))
    step(world)
    assert len(waiting(world)) == 2
    a_chain(world)
    step(world)
    assert len(waiting(world)) == 3


def test_a_failure_does_not_turn_an_end_into_a_question(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = a_pair(world)

    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("The database is locked.")

    with monkeypatch.context() as patch:
        patch.setattr("hivelore.review.inbox.audit_entries", fail)
        with pytest.raises(Unavailable):
            step(world, ends=True)
    assert waiting(world) == []
    assert now(world, older).valid_until is None
    step(world, ends=True)
    assert now(world, older).valid_until == newer.created_at
    assert waiting(world) == []


def test_more_proposals_than_one_step_examines_are_closed_round_and_round(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.review.updates.MOST_OPEN", 2)
    older = [world.remember(f"Cat {number} sleeps") for number in range(3)]
    for number, one in enumerate(older):
        update(world, one, world.remember(f"Cat {number} is awake"))
        give(world, one)
    review = a_review(world, ends=False)
    for one in reversed(older):
        review.review([present(world.store, one).key])
    assert len(waiting(world)) == 3
    drop(world.store, links_of(world.store, present(world.store, older[2]))[0])
    for _ in range(3):
        review.step()
    assert len(waiting(world)) == 2


def test_an_update_cannot_be_accepted_after_its_link_was_rejected(world: World) -> None:
    older, newer = a_pair(world)
    give(world, older)
    step(world)
    world.links.reject(older.id, newer.id, AS_ADA)
    with pytest.raises(Conflict, match="no longer updates"):
        decide(world, "accepted")
    decide(world, "rejected")


# subjects


def a_chain(world: World, **more: Any) -> list[Memory]:
    chain = list[Memory]()
    for text in (NPM, PNPM, YARN):
        chain.append(world.remember(text, scope=Scope.SWARM, **more))
        world.clock.advance(HOUR)
    update(world, *chain)
    return chain


def test_a_chain_of_three_gets_one_suggested_subject(world: World) -> None:
    chain = a_chain(world)
    for one in chain:
        give(world, one)
    for _ in range(2):
        step(world)
    (proposal,) = waiting(world)
    assert (proposal.kind, [one.memory for one in proposal.memories]) == (
        ProposalKind.SUBJECT,
        [one.id for one in chain],
    )
    assert proposal.wanted is not None
    assert proposal.wanted.edit is not None
    assert proposal.wanted.edit.subject == "web.app"
    decide(world, "accepted", AS_LEA)
    after = [now(world, one) for one in chain]
    assert {one.subject for one in after} == {"web.app"}
    assert [one.valid_until for one in after] == [chain[1].created_at, chain[2].created_at, None]
    assert {one.provenance.actor for one in after} == {AS_ADA.agent}
    assert world.found("web app") == [YARN]
    step(world)
    assert waiting(world) == []


def test_accepting_a_subject_can_be_undone(world: World) -> None:
    chain = a_chain(world)
    step(world)
    decide(world, "accepted")
    (batch,) = world.undo_service.page(AS_OPERATOR, None, 10).batches
    world.undo_service.undo(batch.id, AS_OPERATOR)
    assert [now(world, one) for one in chain] == chain
    assert [one.kind for one in waiting(world)] == [ProposalKind.SUBJECT]


def test_a_refused_subject_is_remembered(world: World) -> None:
    chain = a_chain(world)
    step(world)
    decide(world, "rejected")
    later = world.remember("The web app is built by bun", scope=Scope.SWARM)
    update(world, chain[2], later)
    world.memory_service.edit(chain[0].id, Edit(tags=("web",)), AS_ADA)
    step(world)
    assert waiting(world) == []


def test_a_known_subject_is_suggested_for_the_other_memory(world: World) -> None:
    older = world.remember(NPM, subject="package.manager", scope=Scope.SWARM)
    newer = world.remember(PNPM, scope=Scope.SWARM)
    update(world, older, newer)
    step(world)
    decide(world, "accepted")
    assert now(world, newer).subject == "package.manager"
    assert now(world, older).valid_until == newer.created_at


def test_two_memories_without_a_subject_get_none(world: World) -> None:
    a_pair(world)
    step(world)
    assert waiting(world) == []


def test_a_subject_that_other_facts_have_is_not_suggested(world: World) -> None:
    world.remember("The web app has a port", subject="web.app", scope=Scope.SWARM)
    a_chain(world)
    step(world)
    assert waiting(world) == []


def test_memories_of_other_projects_are_in_no_chain(world: World) -> None:
    update(world, *a_pair(world), world.remember(YARN, scope=Scope.SWARM, project="tv"))
    step(world)
    assert waiting(world, ProposalKind.SUBJECT) == []


def test_a_memory_of_another_project_does_not_hide_a_chain(world: World) -> None:
    other = world.remember("The web app of the tv is built by make", scope=Scope.SWARM, project="tv")
    chain = a_chain(world)
    for one in chain:
        update(world, other, one)
    step(world)
    (proposal,) = waiting(world, ProposalKind.SUBJECT)
    assert [one.memory for one in proposal.memories] == [one.id for one in chain]


def test_memories_of_the_same_instant_get_no_subject(world: World) -> None:
    since = world.clock.now() - HOUR
    update(world, *(world.remember(text, scope=Scope.SWARM, valid_from=since) for text in (NPM, PNPM, YARN)))
    step(world)
    assert waiting(world) == []


def test_a_suggestion_grows_with_its_chain(world: World) -> None:
    chain = a_chain(world)
    step(world)
    later = world.remember("The web app is built by bun", scope=Scope.SWARM)
    update(world, chain[2], later)
    step(world)
    (proposal,) = waiting(world)
    assert [one.memory for one in proposal.memories] == [one.id for one in (*chain, later)]


def test_a_lead_may_not_give_private_memories_a_subject(world: World) -> None:
    chain = [world.remember(text) for text in (NPM, PNPM, YARN)]
    update(world, *chain)
    step(world)
    with pytest.raises(Forbidden):
        decide(world, "accepted", AS_LEA)
    assert [now(world, one) for one in chain] == chain


def test_a_topic_with_too_many_memories_is_no_chain(world: World) -> None:
    many = [world.remember(f"The web app is built by tool {number}") for number in range(21)]
    update(world, *many)
    step(world)
    assert waiting(world) == []


def test_a_store_of_several_pages_is_read_round_and_round(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.review.updates.READ_AT_ONCE", 2)
    older, _ = a_pair(world)
    for number in range(3):
        world.remember(f"Owl {number}")
    review = a_review(world, ends=True)
    review.step()
    assert now(world, older).valid_until is None
    for _ in range(2):
        review.step()
    assert now(world, older).valid_until is not None
    mine = world.remember("Lark")
    update(world, mine, world.remember("No lark"))
    for _ in range(3):
        review.step()
    assert now(world, mine).valid_until is not None
