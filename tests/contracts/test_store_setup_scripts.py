"""Every store: setup scripts, and proposals to change them."""

from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.review.model import ProposalFilter, ProposalKind
from hivelore.search.model import Visibility
from hivelore.setup_scripts.decisions import may_see
from hivelore.setup_scripts.model import ScriptChange, ScriptVersion
from hivelore.storage.ports import MemoryStore
from support.batches import a_batch
from support.memories import ADA, BOB, agents, instant, instants, texts
from support.proposals import a_decision, inbox
from support.setup_scripts import a_script, a_script_proposal, put_drafts, put_scripts
from support.stores import Fresh, law

AGENTS = [None, ADA, BOB]
versions = st.builds(
    ScriptVersion,
    agent=st.none() | agents,
    number=st.integers(1, 4),
    at=instants,
    actor=st.none() | agents,
    interface=st.sampled_from(Interface),
    text=st.just(Clean("")) | texts,
    reason=st.none() | texts,
)


def numbers(store: MemoryStore, agent: AgentId | None, before: int = 99, limit: int = 99) -> list[int]:
    with store.read() as view:
        return [one.number for one in view.setup_script_versions(agent, before, limit)]


@law
@given(written=st.lists(versions, max_size=4, unique_by=lambda one: (one.agent, one.number)))
def test_a_version_is_read_as_it_was_written(fresh: Fresh, written: list[ScriptVersion]) -> None:
    with fresh() as store:
        put_scripts(store, *written)
        with store.read() as view:
            assert [view.setup_script_version(one.agent, one.number) for one in written] == written
            found = view.all_setup_scripts(("", 0), 99)
        assert found == sorted(written, key=lambda one: (one.agent or "", one.number))


def test_the_current_script_is_the_latest_version(store: MemoryStore) -> None:
    put_scripts(store, *(a_script(number, agent) for agent in (None, ADA) for number in (2, 10, 1)))
    with store.read() as view:
        found = [view.setup_script(agent) for agent in AGENTS]
        assert view.setup_script_version(ADA, 3) is None
    assert found == [a_script(10, None), a_script(10, ADA), None]


def test_versions_are_read_in_pages_newest_first(store: MemoryStore) -> None:
    put_scripts(store, *(a_script(number) for number in range(1, 6)), a_script(9, None))
    assert [numbers(store, ADA, before, 2) for before in (99, 4, 2)] == [[5, 4], [3, 2], [1]]
    found: list[ScriptVersion] = []
    with store.read() as view:
        while page := view.all_setup_scripts((found[-1].agent or "", found[-1].number) if found else ("", 0), 2):
            found += page
    assert [(one.agent, one.number) for one in found] == [(None, 9), *((ADA, number) for number in range(1, 6))]


def test_early_versions_are_dropped(store: MemoryStore) -> None:
    put_scripts(store, *(a_script(number, agent) for agent in (None, ADA) for number in (1, 2, 3)))
    store.write(lambda tx: tx.drop_setup_scripts(ADA, 2))
    assert [numbers(store, agent) for agent in AGENTS] == [[3, 2, 1], [3], []]


def test_the_text_of_a_proposal_is_deleted_with_it_and_kept_by_a_decision(store: MemoryStore) -> None:
    first, second = a_script_proposal(), a_script_proposal(None)
    put_drafts(store, first, second)
    decided = replace(first, decided=a_decision())
    store.write(lambda tx: (tx.put_proposal(decided), tx.drop_proposal(second.id)))
    with store.read() as view:
        assert view.proposal(first.id) == decided
        assert view.script_draft(first.id) == f"echo {first.id}\n"
        assert view.script_draft(second.id) is None
        assert (view.counts().proposals, view.counts().script_drafts) == (1, 1)
    assert store.write(lambda tx: tx.prune_proposals(instant(9), 10)) == 1
    with store.read() as view:
        assert view.counts().script_drafts == 0


def test_proposals_are_found_by_script(store: MemoryStore) -> None:
    mine = [a_script_proposal(at=instant(minute)) for minute in (1, 3, 2)]
    shared = a_script_proposal(None)
    put_drafts(store, *mine, shared)
    with store.read() as view:
        assert list(view.script_proposals(ADA, 2)) == [mine[1], mine[2]]
        assert list(view.script_proposals(None, 9)) == [shared]
        assert list(view.script_proposals(BOB, 9)) == []
        assert view.count_open_proposals(ADA, {ProposalKind.SETUP_SCRIPT}) == 4


@pytest.mark.parametrize(
    "seen",
    [
        Visibility(own=own, swarm=swarm, others=others)
        for own in (None, ADA)
        for swarm in (True, False)
        for others in (True, False)
    ],
)
def test_a_proposal_is_as_visible_as_its_script(store: MemoryStore, seen: Visibility) -> None:
    written = [a_script_proposal(agent) for agent in AGENTS]
    put_drafts(store, *written)
    found = inbox(store, ProposalFilter(seen=seen))
    assert {one.id for one in found} == {
        one.id for one, agent in zip(written, AGENTS, strict=True) if may_see(seen, agent)
    }


def test_a_batch_names_the_script_that_it_changed(store: MemoryStore) -> None:
    for number, agent in enumerate(AGENTS):
        change = ScriptChange(agent=agent, before=number, after=number + 1)
        batch = replace(a_batch(), id=BatchId(f"b{number}"), script=change)
        store.write(lambda tx, batch=batch: tx.put_batch(batch))
        with store.read() as view:
            assert view.batch(batch.id) == batch


def test_scripts_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        put_scripts(store, a_script())
    with closing(open_durable()) as store, store.read() as view:
        assert view.setup_script(ADA) == a_script()
