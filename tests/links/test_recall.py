"""Recall with links: what holds now comes before what it replaced, for every question and every viewer."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations, pairwise

import pytest

from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.links.decisions import DOUBT_ORDERED
from hivelore.links.model import LinkKind
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, Scope
from hivelore.search.model import Hit, ScopeChoice
from hivelore.search.ranking import CONFIDENCE_WEIGHT, USUAL_CONFIDENCE
from hivelore.search.service import DOUBTED
from support.links import a_link, put_links
from support.memories import operational
from support.stores import present
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

DAY = timedelta(days=1)
OLD, NEW, NEWEST = "We use npm", "pnpm replaced it", "Everything is built by yarn"
QUESTION = "do we use npm"


def update(world: World, *chain: Memory, kind: LinkKind = LinkKind.UPDATES, certainty: float = DOUBT_ORDERED) -> None:
    """Makes links: each memory updates the one before it."""
    stored = [present(world.store, one) for one in chain]
    for number, newer in enumerate(stored[1:], 1):
        put_links(world.store, a_link(newer, stored[number - 1], kind=kind, certainty=certainty))


def remembered(world: World, *texts: str, viewer: Viewer = AS_ADA) -> list[Memory]:
    """Stores memories, each a day after the one before it."""
    memories = list[Memory]()
    for text in texts:
        memories.append(world.remember(text, viewer))
        world.clock.advance(DAY)
    return memories


def hits(world: World, text: str = QUESTION, viewer: Viewer = AS_ADA, **more: object) -> Sequence[Hit]:
    return world.recall(text, viewer, **more).hits


def shown(found: Sequence[Hit]) -> list[tuple[str, str | None]]:
    """Returns the contents of the hits, each with the id of what updates it."""
    return [(hit.memory.content, None if hit.updated is None else hit.updated.by) for hit in found]


@pytest.mark.parametrize("question", [QUESTION, "npm", "what replaced it", "pnpm or npm", "which package manager"])
def test_an_updated_memory_ranks_behind_its_successor_for_every_question(world: World, question: str) -> None:
    old, new = remembered(world, OLD, NEW)
    for number in range(4):
        world.remember(f"The {('owl', 'lark', 'heron', 'crane')[number]} sleeps.")
    update(world, old, new)
    found = [one for one in shown(hits(world, question)) if one[0] in (OLD, NEW)]
    assert found == [(NEW, None), (OLD, new.id)]


def test_a_successor_that_shares_no_word_with_the_question_is_found(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = remembered(world, OLD, NEW)
    assert shown(hits(world, "npm")) == [(OLD, None)]
    update(world, old, new)
    found = hits(world, "npm")
    assert shown(found) == [(NEW, None), (OLD, new.id)]
    assert found[1].updated is not None
    assert found[1].updated.at == new.created_at
    assert found[0].passage.content == NEW
    assert found[0].score.total >= found[1].score.total
    assert found[0].score.update > 0.0


def test_the_latest_of_a_chain_comes_first(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    chain = remembered(world, OLD, NEW, NEWEST)
    update(world, *chain)
    latest = chain[-1].id
    assert shown(hits(world, "npm")) == [(NEWEST, None), (NEW, latest), (OLD, latest)]
    assert shown(hits(world, "pnpm")) == [(NEWEST, None), (NEW, latest)]
    assert shown(hits(world, "yarn")) == [(NEWEST, None)]


def test_a_chain_without_its_middle_is_none(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    chain = remembered(world, OLD, NEW, NEWEST)
    update(world, *chain)
    world.memory_service.forget(chain[1].id, AS_ADA)
    assert shown(hits(world, "npm")) == [(OLD, None)]


def test_one_hit_is_the_successor(world: World) -> None:
    old, new = remembered(world, OLD, NEW)
    update(world, old, new)
    assert [one[0] for one in shown(hits(world, limit=1))] == [NEW]


def test_repetitions_change_no_order(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = remembered(world, OLD, NEW)
    update(world, old, new, kind=LinkKind.SAME_AS)
    assert shown(hits(world, "npm")) == [(OLD, None)]


def test_a_rejected_link_does_not_count_until_it_is_restored(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = remembered(world, OLD, NEW)
    update(world, old, new)
    world.links.reject(old.id, new.id, AS_ADA)
    assert shown(hits(world, "npm")) == [(OLD, None)]
    world.links.restore(old.id, new.id, AS_ADA)
    assert shown(hits(world, "npm")) == [(NEW, None), (OLD, new.id)]


def test_memories_that_update_each_other_are_found_once(world: World) -> None:
    chain = remembered(world, OLD, NEW, NEWEST)
    update(world, *chain, chain[0])
    found = hits(world)
    assert sorted(one[0] for one in shown(found)) == sorted((OLD, NEW, NEWEST))
    assert all(hit.updated is not None and hit.updated.by != hit.memory.id for hit in found)


@pytest.mark.parametrize("diversity", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("limit", [1, 2, 3, 8])
def test_diversity_shows_no_updated_memory_before_or_without_its_successor(
    world: World, diversity: float, limit: int
) -> None:
    """The first hit is like the successor, and the updated memory is like none."""
    old, new = remembered(world, "npm", "the package manager of the web app is pnpm")
    for text in ("the package manager of the web app is slow", "npm runs at night", "the sky is blue"):
        world.remember(text)
    update(world, old, new)
    found = shown(hits(world, "npm package manager of the web app", diversity=diversity, limit=limit))
    contents = [one[0] for one in found]
    assert len(found) == min(limit, 5)
    if old.content in contents:
        assert new.content in contents[: contents.index(old.content)]
        assert dict(found)[old.content] == new.id


def test_a_budget_shows_no_updated_memory_without_its_successor(world: World) -> None:
    old, new = remembered(world, OLD, "npm was replaced by pnpm. " + "We use it for many good reasons. " * 20)
    first = world.remember("do we use npm? do we use npm?")
    update(world, old, new)
    everything = [one[0] for one in shown(hits(world))]
    assert everything == [first.content, new.content, OLD]
    assert [one[0] for one in shown(hits(world, budget=60))] == [first.content]


def test_a_flood_of_updates_is_read_in_part(world: World) -> None:
    """The latest of the topic comes first, and each note comes after those stored last that update it."""
    world = World(world.store, world.keywords, world.clock)
    topic = remembered(world, *(f"The deploy target is number {number}" for number in range(40)))
    stored = [present(world.store, one) for one in topic]
    some = [a_link(newer, older) for place, newer in enumerate(stored) for older in stored[:place]]
    world.store.write(lambda tx: [tx.put_link(one) for one in some])
    found = hits(world, "deploy target number 3", limit=40)
    assert {hit.updated.by for hit in found[1:] if hit.updated is not None} == {topic[-1].id}
    assert [hit.memory.id for hit in found if hit.updated is None] == [topic[-1].id] == [found[0].memory.id]


# times


def test_before_the_update_the_old_memory_held(world: World) -> None:
    old, new = remembered(world, OLD, NEW)
    update(world, old, new)
    assert shown(hits(world, as_of=new.created_at - timedelta(hours=1))) == [(OLD, None)]
    assert shown(hits(world, as_of=new.created_at)) == [(NEW, None), (OLD, new.id)]


def test_an_update_holds_from_its_valid_time_on(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = remembered(world, OLD, NEW)
    since = world.clock.now()
    world.memory_service.edit(new.id, Edit(subject="package.manager", valid_from=since), AS_ADA)
    update(world, old, new)
    assert shown(hits(world, "npm", as_of=since - timedelta(hours=1))) == [(OLD, None)]
    (_, second) = hits(world, "npm", as_of=since)
    assert second.updated is not None
    assert (second.updated.by, second.updated.at) == (new.id, since)


def test_an_edited_memory_is_as_new_as_its_text(world: World) -> None:
    """It updates another memory since the edit, and is the latest of the chain, although it was created first."""
    world = World(world.store, world.keywords, world.clock)
    edited, old, new = remembered(world, "The owl sleeps", OLD, NEW)
    world.memory_service.edit(edited.id, Edit(content=NEWEST), AS_ADA)
    at = world.clock.now()
    world.clock.advance(DAY)
    update(world, old, new, present(world.store, edited).memory)
    found = hits(world, "npm")
    assert shown(found) == [(NEWEST, None), (NEW, edited.id), (OLD, edited.id)]
    assert [hit.updated.at for hit in found if hit.updated is not None] == [at, at]
    assert shown(hits(world, "npm", as_of=at - timedelta(hours=1))) == [(NEW, None), (OLD, new.id)]


def test_an_expired_successor_does_not_count(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old = world.remember(OLD)
    new = world.remember(NEW, expires_at=world.clock.now() + DAY)
    update(world, old, new)
    assert shown(hits(world, "npm")) == [(NEW, None), (OLD, new.id)]
    world.clock.advance(2 * DAY)
    assert shown(hits(world, "npm")) == [(OLD, None)]


def test_a_superseded_successor_does_not_count(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old = world.remember(OLD)
    new = world.remember(NEW, subject="package.manager")
    world.remember("Ask the owl", subject="package.manager")
    update(world, old, new)
    assert shown(hits(world, "npm")) == [(OLD, None)]


# viewers


def test_a_private_successor_is_shown_only_to_those_who_see_it(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old = world.remember(OLD, AS_BOB, scope=Scope.SWARM)
    secret = world.remember(NEW, AS_BOB)
    update(world, old, secret)
    assert shown(hits(world, "npm")) == [(OLD, None)]
    for viewer in (AS_BOB, AS_LEA, AS_OPERATOR):
        assert shown(hits(world, "npm", viewer)) == [(NEW, None), (OLD, secret.id)]
        assert shown(hits(world, "npm", viewer, scope=ScopeChoice.SWARM)) == [(OLD, None)]


def test_the_filters_of_a_query_apply_to_successors(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old = world.remember(OLD, tags=("build",))
    new = world.remember(NEW, project="web")
    update(world, old, new)
    assert shown(hits(world, "npm", project=Clean("tv"))) == [(OLD, None)]
    assert shown(hits(world, "npm", tag=Clean("build"))) == [(OLD, None)]
    assert shown(hits(world, "npm", project=Clean("web"))) == [(NEW, None), (OLD, new.id)]


def test_a_successor_that_the_caller_knows_is_left_out_and_still_named(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = remembered(world, OLD, NEW)
    update(world, old, new)
    assert shown(hits(world, "npm", known=frozenset([(new.id, new.version)]))) == [(OLD, new.id)]


# confidence


def known(world: World, text: str, base: float, *, is_off: bool = False) -> Memory:
    now = operational(base=base, since=world.clock.now(), is_off=is_off)
    return world.remember(text, scope=Scope.SWARM, operational=now)


def test_the_confidence_of_an_operational_memory_is_a_factor_of_its_score(world: World) -> None:
    bays = {"west": 0.5, "north": 0.7, "east": 1.0}
    for bay, base in bays.items():
        known(world, f"The heron of bay {bay} starts slowly", base)
    found = {hit.memory.content.split()[4]: hit.score for hit in hits(world, "heron bay starts slowly")}
    assert {bay: one.confidence for bay, one in found.items()} == {
        bay: pytest.approx(1.0 + CONFIDENCE_WEIGHT * (base - USUAL_CONFIDENCE)) for bay, base in bays.items()
    }
    assert found["west"].confidence < found["north"].confidence == 1.0 < found["east"].confidence
    assert found["west"].total < found["north"].total < found["east"].total


def test_other_memories_have_no_confidence_in_their_score(world: World) -> None:
    world.remember("The heron starts slowly")
    assert [hit.score.confidence for hit in hits(world, "heron")] == [1.0]


def test_a_successor_that_was_disproved_does_not_count(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = world.remember(OLD, scope=Scope.SWARM), known(world, NEW, 0.1, is_off=True)
    update(world, old, new)
    assert shown(hits(world, "npm")) == [(OLD, None)]


LATER = "The repository may use npm or pnpm"


@pytest.mark.parametrize("kind", [LinkKind.MAY_UPDATE, LinkKind.CONFLICTS_WITH])
def test_what_may_update_a_memory_comes_first_if_both_are_found_without_a_mark(world: World, kind: LinkKind) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, later = remembered(world, OLD, LATER)
    assert shown(hits(world)) == [(OLD, None), (LATER, None)]
    update(world, old, later, kind=kind)
    assert shown(hits(world)) == [(LATER, None), (OLD, None)]
    first, second = hits(world)
    assert first.relevance >= second.relevance
    assert first.score.total >= second.score.total


@pytest.mark.parametrize("kind", [LinkKind.MAY_UPDATE, LinkKind.CONFLICTS_WITH])
def test_a_strong_doubt_about_one_of_the_first_memories_brings_in_the_later_one(world: World, kind: LinkKind) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, new = remembered(world, OLD, NEW)
    update(world, old, new, kind=kind, certainty=DOUBT_ORDERED - 0.01)
    assert shown(hits(world, "npm")) == [(OLD, None)]
    update(world, old, new, kind=kind)
    assert shown(hits(world, "npm")) == [(NEW, None), (OLD, None)]


def test_a_doubt_about_a_later_hit_brings_nothing_in(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    texts = [*(f"npm npm npm {number}" for number in range(DOUBTED)), f"{OLD} for a very long list of reasons", NEW]
    *_, old, new = remembered(world, *texts)
    update(world, old, new, kind=LinkKind.MAY_UPDATE)
    assert new.id not in {hit.memory.id for hit in hits(world, "npm")}


def test_a_rejected_doubt_does_not_count(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, later = (present(world.store, one) for one in remembered(world, OLD, LATER))
    doubt = a_link(later, old, kind=LinkKind.MAY_UPDATE, rejected_at=world.clock.now())
    put_links(world.store, doubt)
    assert shown(hits(world)) == [(OLD, None), (LATER, None)]


def test_a_doubt_about_later_words_does_not_count_before_they_were_written(world: World) -> None:
    world = World(world.store, world.keywords, world.clock)
    old, later = remembered(world, OLD, "We use npm for a hobby thing")
    before = world.clock.now()
    world.clock.advance(DAY)
    edited = world.memory_service.edit(later.id, Edit(content=Clean("We never use npm now")), AS_ADA)
    update(world, old, edited, kind=LinkKind.MAY_UPDATE)
    assert [hit.memory.id for hit in hits(world)] == [later.id, old.id]
    assert [hit.memory.id for hit in hits(world, as_of=before)] == [old.id, later.id]


def tools(world: World, count: int, step: int = 1) -> list[Memory]:
    """Stores statements about a web app, oldest first, or newest first if ``step`` is -1. Returns the oldest first."""
    since = world.clock.now()
    world.clock.advance((count + 1) * DAY)
    stored = [
        world.remember(f"The web app is built by tool{number}", valid_from=since + number * DAY)
        for number in range(count)[::step]
    ]
    return stored[::step]


def link_pairs(world: World, *linked: tuple[Memory, Memory]) -> None:
    """Makes links: the second memory of each pair updates the first one."""
    for older, newer in linked:
        update(world, older, newer)


@pytest.mark.parametrize("count", [6, 13])
def test_every_memory_of_a_chain_comes_after_its_successors(world: World, count: int) -> None:
    chain = tools(world, count)
    link_pairs(world, *pairwise(chain))
    found = hits(world, "web app tool0", limit=count)
    latest = chain[-1].id
    assert shown(found) == [(chain[-1].content, None), *((one.content, latest) for one in chain[-2::-1])]


@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
def test_the_order_of_arrival_does_not_matter(world: World, step: int) -> None:
    chain = tools(world, 9, step)
    link_pairs(world, *combinations(chain, 2))
    latest = chain[-1].id
    in_order = [(chain[-1].content, None), *((one.content, latest) for one in chain[-2::-1])]
    assert shown(hits(world, "web app tool0", limit=3)) == in_order[:3]
    assert shown(hits(world, "web app tool0", limit=9)) == in_order


@pytest.mark.parametrize("reason", ["expired", "earlier", "later"])
def test_many_notes_of_a_worker_hide_no_word_of_an_operator(world: World, reason: str) -> None:
    """A successor comes before what it updates, however many others update that too."""
    old = world.remember("The web app is built by npm", scope=Scope.SWARM)
    early = world.clock.now()
    world.clock.advance(30 * DAY)
    new = world.remember("pnpm replaced it", AS_OPERATOR, scope=Scope.SWARM)
    more = {"expired": {"expires_at": world.clock.now() + DAY}, "earlier": {"valid_from": early + DAY}, "later": {}}
    for number in range(9):
        note = world.remember(f"Flood {number}", AS_BOB, scope=Scope.SWARM, **more[reason])
        link_pairs(world, (old, note))
    link_pairs(world, (old, new))
    world.clock.advance(2 * DAY)
    found = hits(world, "web app npm or what replaced it", limit=20)
    order = [hit.memory.id for hit in found]
    assert order.index(new.id) < order.index(old.id)
    (mark,) = (hit.updated for hit in found if hit.memory.id == old.id)
    assert mark is not None
    assert (mark.by == new.id) == (reason != "later")
