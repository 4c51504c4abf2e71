"""Setup scripts on both databases: authority, proposals, versions and undo."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from hivelore.changes.model import BatchKind
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale, TooLarge
from hivelore.review.model import Decision, ProposalId, ProposalKind
from hivelore.review.proposal_list import FIRST_PAGE
from hivelore.review.proposals import MAX_OPEN_SCRIPTS
from hivelore.setup_scripts.model import MAX_VERSIONS
from hivelore.setup_scripts.service import ScriptOutcome
from support.batches import batches_of
from support.fake_secrets import SHAPES
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, BOB, World

OWNERS = [None, ADA]
GITHUB = SHAPES["github-token"][0]
RUNNER_OF_ADA = replace(AS_ADA, acting=True)


def text_of(world: World, agent: AgentId | None = ADA) -> str:
    current = world.setup_scripts.current(agent, AS_OPERATOR)
    return "" if current is None else current.text


def change(
    world: World, text: str, viewer: Viewer = AS_OPERATOR, agent: AgentId | None = ADA, **more: Any
) -> ScriptOutcome:
    return world.setup_scripts.change(agent, text, viewer, **more)


def proposed(world: World, text: str, viewer: Viewer = AS_ADA, agent: AgentId | None = ADA, **more: Any) -> ProposalId:
    before = text_of(world, agent)
    done = change(world, text, viewer, agent, **more)
    assert done.proposal is not None
    assert text_of(world, agent) == before
    return done.proposal.id


def decide(world: World, proposal: ProposalId, how: Decision, viewer: Viewer = AS_OPERATOR) -> None:
    world.review_inbox.decide(proposal, how, viewer)


def last_batch(world: World) -> str:
    return batches_of(world.store)[0].id


# changes


@pytest.mark.parametrize("agent", OWNERS)
def test_an_operator_changes_scripts(world: World, agent: AgentId | None) -> None:
    done = change(world, "echo one", agent=agent, reason="tools")
    assert done.is_changed
    assert done.current is not None
    assert (done.current.number, done.current.text, done.current.reason) == (1, "echo one\n", "tools")
    assert not change(world, "echo one\r\n", agent=agent).is_changed
    assert [one.number for one in world.setup_scripts.history(agent, AS_OPERATOR)] == [1]
    assert change(world, "", agent=agent).is_changed
    assert text_of(world, agent) == ""
    assert not change(world, " ", agent=agent).is_changed


def test_a_change_of_an_earlier_version_is_refused(world: World) -> None:
    change(world, "echo one", version=0)
    for version in (0, 2):
        with pytest.raises(Stale) as raised:
            change(world, "echo two", version=version)
        assert raised.value.current == 1
    assert not change(world, "echo one", version=0).is_changed
    assert change(world, "echo two", version=1).is_changed


def test_versions_are_bounded_and_numbers_go_on(world: World) -> None:
    for number in range(1, MAX_VERSIONS + 4):
        change(world, f"echo {number}")
    found = world.setup_scripts.history(ADA, AS_OPERATOR)
    assert [one.number for one in found] == list(range(MAX_VERSIONS + 3, 3, -1))
    with pytest.raises(NotFound, match="no version 3"):
        world.setup_scripts.restore(ADA, 3, AS_OPERATOR)


def test_an_earlier_version_is_restored_as_a_new_one(world: World) -> None:
    for text in ("echo one", "echo two"):
        change(world, text)
    done = world.setup_scripts.restore(ADA, 1, AS_OPERATOR)
    assert done.current is not None
    assert (done.current.number, done.current.text, done.current.reason) == (3, "echo one\n", "Restored version 1.")
    restored = world.setup_scripts.restore(ADA, 2, AS_ADA)
    assert restored.proposal is not None
    assert text_of(world) == "echo one\n"


def test_two_hosts_that_change_a_script_at_once_lose_nothing(world: World) -> None:
    texts = [f"echo {number}" for number in range(20)]
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(partial(change, world), texts))
    numbers = [one.current.number for one in done if one.current is not None]
    assert sorted(numbers) == list(range(1, 21))
    kept = {one.text for one in world.setup_scripts.history(ADA, AS_OPERATOR)}
    assert kept == {f"{text}\n" for text in texts}


# bad input


def test_a_script_above_the_limit_is_refused(world: World) -> None:
    for viewer in (AS_OPERATOR, AS_ADA):
        with pytest.raises(TooLarge, match="at most 65,536"):
            change(world, "ü" * 40_000, viewer)


def test_authority_is_checked_before_the_text(world: World) -> None:
    with pytest.raises(Forbidden):
        change(world, "\0" * 70_000, AS_ADA, BOB)


def test_a_reason_has_a_limit_in_bytes(world: World) -> None:
    for reason in ("x" * 1_001, "ü" * 501):
        with pytest.raises(TooLarge, match="at most 1,000"):
            change(world, "echo one", reason=reason)
    assert change(world, "echo one", reason="ü" * 500).is_changed


def test_a_script_with_a_secret_is_refused_without_showing_it(world: World) -> None:
    for viewer in (AS_OPERATOR, AS_ADA):
        with pytest.raises(Invalid, match="Line 2 of the setup script") as raised:
            change(world, f"echo one\ngit clone https://x:{GITHUB}@github.com/a/b\n", viewer)
        assert GITHUB not in str(raised.value)
    assert world.setup_scripts.history(ADA, AS_OPERATOR) == []


def test_common_scripts_are_no_secrets(world: World) -> None:
    script = (
        '#!/bin/bash\nset -euo pipefail\nexport PATH="$HOME/.local/bin:$PATH"\n'
        "curl -fsSL https://bun.sh/install | bash\nexport API_KEY=$OTHER_KEY\n"
        'curl -H "Authorization: Bearer $TOKEN" https://api.example.com\napt-get install -y jq ripgrep\n'
        "git config --global user.email agent@example.com\npip install 'hivelore[postgres]'\n"
    )
    assert change(world, script).is_changed


# authority


@pytest.mark.parametrize("viewer", [AS_ADA, RUNNER_OF_ADA, AS_LEA])
@pytest.mark.parametrize("agent", OWNERS)
def test_a_change_of_an_agent_is_a_proposal(world: World, viewer: Viewer, agent: AgentId | None) -> None:
    proposal = proposed(world, "echo mine", viewer, agent)
    detail = world.review_inbox.detail(proposal, AS_OPERATOR)
    assert detail.proposal.kind is ProposalKind.SETUP_SCRIPT
    assert detail.script is not None
    assert detail.script.proposed == "echo mine\n"
    assert detail.script.diff == "--- version 0\n+++ proposal\n@@ -0,0 +1 @@\n+echo mine"


def test_a_worker_does_not_touch_scripts_of_others(world: World) -> None:
    change(world, "echo bob", agent=BOB)
    for call in (
        lambda: change(world, "echo ada", AS_ADA, BOB),
        lambda: world.setup_scripts.of_agent(BOB, AS_ADA),
        lambda: world.setup_scripts.history(BOB, AS_ADA),
        lambda: world.setup_scripts.version(BOB, 1, AS_ADA),
        lambda: world.setup_scripts.restore(BOB, 1, AS_ADA),
    ):
        with pytest.raises(Forbidden):
            call()


def test_an_operator_may_propose_what_somebody_else_wrote(world: World) -> None:
    proposed(world, "echo file", AS_OPERATOR, propose=True)


def test_agents_change_their_own_script_where_that_is_allowed(world: World) -> None:
    world.settings = world.settings.model_copy(update={"accept_setup_scripts": True})
    assert change(world, "echo ada", AS_ADA).is_changed
    assert change(world, "echo acting", RUNNER_OF_ADA, propose=True).is_changed
    proposed(world, "echo all", AS_ADA, None)
    proposed(world, "echo lead", AS_LEA)
    with pytest.raises(Forbidden):
        change(world, "echo ada", AS_ADA, BOB)


# proposals


def test_an_operator_accepts_a_proposal(world: World) -> None:
    change(world, "echo one")
    proposal = proposed(world, "echo two", reason="jq is missing")
    for viewer in (AS_ADA, AS_BOB, AS_LEA):
        with pytest.raises((Forbidden, NotFound)):
            decide(world, proposal, Decision.ACCEPTED, viewer)
    decide(world, proposal, Decision.ACCEPTED)
    current = world.setup_scripts.current(ADA, AS_ADA)
    assert current is not None
    assert (current.text, current.number, current.reason) == ("echo two\n", 2, "Proposed by ada: jq is missing")
    assert batches_of(world.store)[0].kind is BatchKind.DECIDED


def test_a_rejected_text_is_not_proposed_again_until_the_script_changes(world: World) -> None:
    first = proposed(world, "echo two")
    assert proposed(world, "echo two") == first
    decide(world, first, Decision.REJECTED)
    assert proposed(world, "echo two") == first
    change(world, "echo three")
    assert proposed(world, "echo two") != first


def test_a_proposal_cannot_be_accepted_after_the_script_changed(world: World) -> None:
    proposal = proposed(world, "echo two")
    change(world, "echo three")
    with pytest.raises(Stale, match="changed since"):
        decide(world, proposal, Decision.ACCEPTED)
    again = proposed(world, "echo two")
    assert [one.id for one in world.review_inbox.page_by_harm(AS_OPERATOR, FIRST_PAGE, 10).proposals] == [again]
    decide(world, again, Decision.ACCEPTED)
    assert text_of(world) == "echo two\n"


def test_open_proposals_are_bounded(world: World) -> None:
    for number in range(MAX_OPEN_SCRIPTS):
        proposed(world, f"echo {number}", agent=None if number % 2 else ADA)
    with pytest.raises(Conflict, match="10 of your proposals"):
        change(world, "echo more", AS_ADA)
    proposed(world, "echo bob", AS_BOB, BOB)


def test_proposals_are_listed_to_those_who_see_the_script(world: World) -> None:
    ids = [
        proposed(world, "echo ada"),
        proposed(world, "echo all", AS_ADA, None),
        proposed(world, "echo bob", AS_BOB, BOB),
    ]

    def listed(viewer: Viewer) -> set[ProposalId]:
        by_harm = {one.id for one in world.review_inbox.page_by_harm(viewer, FIRST_PAGE, 10).proposals}
        assert {one.id for one in world.review_inbox.page(viewer, None, 10).proposals} == by_harm
        return by_harm

    assert [listed(viewer) for viewer in (AS_OPERATOR, AS_ADA, AS_BOB)] == [set(ids), set(ids[:2]), set(ids[2:])]
    assert listed(AS_LEA) == set(ids)
    with pytest.raises(NotFound):
        world.review_inbox.detail(ids[0], AS_BOB)


# undo


def test_undo_restores_the_script_and_undone_undo_changes_it_again(world: World) -> None:
    change(world, "echo one")
    change(world, "echo two")
    second = last_batch(world)
    done = world.undo_service.undo(second, AS_OPERATOR)
    assert text_of(world) == "echo one\n"
    assert done.by is not None
    with pytest.raises(Conflict, match="already undone"):
        world.undo_service.undo(second, AS_OPERATOR)
    world.undo_service.undo(done.by, AS_OPERATOR)
    assert text_of(world) == "echo two\n"
    for expected in ("echo one\n", ""):
        first, *_ = [one for one in batches_of(world.store) if one.undone_at is None and one.undoes is None]
        world.undo_service.undo(first.id, AS_OPERATOR)
        assert text_of(world) == expected


def test_undo_is_for_operators_and_for_what_was_not_changed_since(world: World) -> None:
    change(world, "echo one")
    first = last_batch(world)
    for viewer in (AS_ADA, AS_LEA):
        with pytest.raises(Forbidden):
            world.undo_service.undo(first, viewer)
    change(world, "echo two")
    with pytest.raises(Conflict, match="changed since"):
        world.undo_service.undo(first, AS_OPERATOR)


def test_an_undone_decision_opens_the_proposal_again(world: World) -> None:
    change(world, "echo one")
    proposal = proposed(world, "echo two")
    decide(world, proposal, Decision.ACCEPTED)
    done = world.undo_service.undo(last_batch(world), AS_OPERATOR)
    assert text_of(world) == "echo one\n"
    assert world.review_inbox.detail(proposal, AS_OPERATOR).proposal.decided is None
    assert done.by is not None
    world.undo_service.undo(done.by, AS_OPERATOR)
    assert text_of(world) == "echo two\n"
    assert world.review_inbox.detail(proposal, AS_OPERATOR).proposal.decided is not None
    world.undo_service.undo(last_batch(world), AS_OPERATOR)
    decide(world, proposal, Decision.ACCEPTED)
    assert text_of(world) == "echo two\n"


def test_a_batch_names_the_script(world: World) -> None:
    change(world, "echo one", agent=None)
    found = world.undo_service.detail(batches_of(world.store)[0].id, AS_OPERATOR)
    assert found.batch.script is not None
    assert (found.batch.script.agent, found.batch.script.before, found.batch.script.after) == (None, 0, 1)
    assert not found.batch.is_private
    change(world, "echo one", agent=ADA)
    world.settings = world.settings.model_copy(update={"lead_sees": LeadSees.SHARED})
    assert batches_of(world.store)[0].is_private


# audit


def test_changes_proposals_and_decisions_are_in_the_audit_trail(world: World) -> None:
    change(world, "echo one")
    decide(world, proposed(world, "echo two"), Decision.ACCEPTED)
    with world.store.read() as view:
        found = [(one.action, one.actor) for one in view.audit(10)]
    assert [action.value for action, _ in reversed(found)] == ["created", "proposed", "edited", "decided"]


@pytest.mark.parametrize("viewer", [AS_OPERATOR, AS_LEA, AS_ADA, RUNNER_OF_ADA])
def test_reads_of_the_script_of_another_agent_are_in_the_audit_trail(world: World, viewer: Viewer) -> None:
    for agent in OWNERS:
        change(world, "echo one", agent=agent)
    proposals = [proposed(world, "echo two", AS_ADA, agent) for agent in OWNERS]
    world.write_buffer.flush()
    with world.store.read() as view:
        before = len(view.audit(100))
    world.setup_scripts.of_agent(ADA, viewer)
    world.setup_scripts.of_agent(BOB, AS_OPERATOR)
    for agent, proposal in zip(OWNERS, proposals, strict=True):
        world.setup_scripts.current(agent, viewer)
        world.setup_scripts.version(agent, 1, viewer)
        world.review_inbox.detail(proposal, viewer)
    world.write_buffer.flush()
    with world.store.read() as view:
        found = view.audit(100)
    reads = [(one.action.value, one.memory, one.actor) for one in found[: len(found) - before]]
    assert reads == [("read", ADA, viewer.agent)] * (0 if viewer.agent == ADA else 4)
