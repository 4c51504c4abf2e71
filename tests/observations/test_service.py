"""Observations through the service: they reinforce, contradict, or become new memories."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.core.access import proposals_visible_to
from hivelore.core.agents import LeadSees
from hivelore.core.values import replace
from hivelore.errors import Broken, Invalid, TooLarge, Unavailable
from hivelore.links.judge import Verdict
from hivelore.memories.model import MemoryId, Scope
from hivelore.observations.curation import RatedQuery
from hivelore.observations.model import MatchingMode, ObservationKind
from hivelore.observations.outcomes import Effect, ObservationInput, ObservationResult
from hivelore.observations.service import MAX_READ
from hivelore.review.model import ProposalKind
from support.clocks import SteppingClock
from support.fake_secrets import shapes
from support.laws import examples
from support.pair_readers import TableReader
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.world import AS_ADA, AS_BOB, AS_OPERATOR, World, hashing

SLOW = "Takes 60s to start"


def confidence(world: World, memory: MemoryId) -> float:
    return world.curation.get(memory, AS_OPERATOR).confidence


def test_a_new_observation_becomes_a_shared_memory(world: World) -> None:
    done = world.observe(SLOW, session="run-1")
    assert done.effect is Effect.NEW
    rated = world.curation.get(done.memory.id, AS_BOB)
    assert (rated.memory.content, rated.memory.scope, rated.memory.category) == (SLOW, Scope.SWARM, "timing")
    assert rated.memory.operational is not None
    assert (rated.memory.operational.service, rated.memory.operational.tier) == ("jellyfin", 1)
    assert (rated.confidence, rated.active) == (0.7, True)
    (seen,) = world.curation.timeline(done.memory.id, AS_ADA).observations
    assert (seen.kind, seen.session, seen.text, seen.actor) == (ObservationKind.CREATED, "run-1", SLOW, "ada")


@pytest.mark.parametrize("again", [SLOW, "Takes a minute to start.", "takes 1 min to start"])
def test_the_same_observation_raises_the_confidence(world: World, again: str) -> None:
    first = world.observe(SLOW, session="run-1")
    done = world.observe(again, session="run-2", viewer=AS_BOB)
    assert (done.effect, done.memory.id) == (Effect.REINFORCED, first.memory.id)
    assert confidence(world, first.memory.id) == 0.8
    assert [one.text for one in world.curation.timeline(first.memory.id, AS_ADA).observations] == [SLOW, again]


@pytest.mark.parametrize(
    ("older", "newer"), [("Listens on port 8096", "Listens on port 8920"), (SLOW, "Takes 10 minutes to start")]
)
def test_a_conflicting_observation_is_stored_and_lowers_the_older_confidence(
    world: World, older: str, newer: str
) -> None:
    first = world.observe(older)
    done = world.observe(newer)
    assert (done.effect, done.about) == (Effect.CONTRADICTED, (first.memory.id,))
    assert done.why
    assert (confidence(world, first.memory.id), confidence(world, done.memory.id)) == (0.5, 0.7)


def test_a_memory_deactivated_by_contradictions_is_reactivated_by_reinforcement(world: World) -> None:
    first = world.observe("Listens on port 8096")
    other = world.observe("Listens on port 8920", session="a")
    for session in ("b", "c"):
        world.observe("Listens on port 8920", session=session)
    assert confidence(world, first.memory.id) == 0.1
    assert world.curation.get(first.memory.id, AS_ADA).active is False
    assert world.observe("Listens on port 8920", session="d").about == ()
    back = world.observe("Listens on port 8096")
    assert (back.effect, back.memory.id, back.about) == (Effect.REINFORCED, first.memory.id, (other.memory.id,))
    assert world.curation.get(first.memory.id, AS_ADA).active


def test_a_different_observation_changes_no_other_memory(world: World) -> None:
    first = world.observe("Crashes on the first start after an update", category="behavior")
    done = world.observe("The disk of the library is slow", category="behavior")
    assert done.effect is Effect.NEW
    assert (confidence(world, first.memory.id), confidence(world, done.memory.id)) == (0.7, 0.7)


@pytest.mark.parametrize("other", [{"service": "caddy"}, {"service": None}, {"category": "behavior"}])
def test_observations_of_another_service_or_category_are_not_compared(
    world: World, other: dict[str, str | None]
) -> None:
    world.observe(SLOW)
    about: dict[str, Any] = {"service": "jellyfin", "category": "timing", **other}
    assert world.observe(SLOW, **about).effect is Effect.NEW


@pytest.mark.parametrize("service", ["PostgreSQL", "pg", "Postgres"])
def test_another_spelling_of_a_service_is_the_same_service(world: World, service: str) -> None:
    first = world.observe(SLOW, service="postgres")
    again = world.observe("takes 1 min to start", service=service, viewer=AS_BOB)
    assert (again.effect, again.memory.id) == (Effect.REINFORCED, first.memory.id)
    assert again.memory.operational is not None
    assert again.memory.operational.service == "postgres"
    against = world.observe("Takes 10 minutes to start", service=service)
    assert (against.effect, against.about) == (Effect.CONTRADICTED, (first.memory.id,))
    assert against.memory.operational is not None
    assert against.memory.operational.service == service


def test_concurrent_observations_of_two_spellings_make_one_memory(world: World) -> None:
    at = world.clock.now()
    for number in range(5):
        together = Barrier(4)

        def observe(service: str, together: Barrier = together, number: int = number) -> MemoryId:
            seen = ObservationInput(observation=SLOW, category=f"timing {number}", service=service, at=at)
            together.wait(60)
            return world.observation_service.observe(seen, AS_ADA).memory.id

        with ThreadPoolExecutor(4) as threads:
            assert len(set(threads.map(observe, ("postgres", "PostgreSQL", "pg", "psql")))) == 1


@pytest.mark.parametrize(("category", "other"), [("dependency", "deps"), ("config", "Configuration")])
def test_another_spelling_of_a_category_is_the_same_category(world: World, category: str, other: str) -> None:
    first = world.observe(SLOW, category=category)
    again = world.observe(SLOW, category=other, viewer=AS_BOB)
    assert (again.effect, again.memory.id, again.memory.category) == (Effect.REINFORCED, first.memory.id, category)


def test_a_service_in_any_case_named_general_equals_no_service(world: World) -> None:
    first = world.observe(SLOW, service=None)
    assert world.observe(SLOW, service="General").memory.id == first.memory.id


def test_an_observation_of_a_project_is_compared_with_memories_without_a_project(world: World) -> None:
    first = world.observe("Listens on port 8096")
    assert world.observe("Listens on port 8096", project="tv", session="a").memory.id == first.memory.id
    against = world.observe("Listens on port 8920", project="tv")
    assert (against.effect, against.about) == (Effect.CONTRADICTED, (first.memory.id,))
    assert confidence(world, first.memory.id) == pytest.approx(0.6)
    assert world.observe("Listens on port 8920", project="tv").memory.id == against.memory.id


@pytest.mark.parametrize("project", [None, "web"])
def test_an_observation_of_another_project_is_not_compared(world: World, project: str | None) -> None:
    first = world.observe("Listens on port 8096", project="tv")
    for text in ("Listens on port 8096", "Listens on port 8920"):
        done = world.observe(text, project=project)
        assert first.memory.id not in (done.memory.id, *done.about)
    assert confidence(world, first.memory.id) == 0.7


def test_the_service_general_equals_no_service(world: World) -> None:
    first = world.observe(SLOW, service=None)
    assert world.observe(SLOW, service="general").memory.id == first.memory.id


def test_repetition_by_one_observer_renews_without_raising_the_confidence(world: World) -> None:
    first = world.observe(SLOW, session="run-1")
    for words in (SLOW, "takes 1 min to start", SLOW):
        world.clock.advance(timedelta(days=20))
        assert world.observe(words, session="run-1").effect is Effect.KNOWN
        assert confidence(world, first.memory.id) == 0.7
    assert world.observe(SLOW).effect is Effect.REINFORCED
    assert world.observe(SLOW).effect is Effect.KNOWN
    assert confidence(world, first.memory.id) == 0.8
    world.clock.advance(timedelta(days=100))
    assert world.observe(SLOW).effect is Effect.REINFORCED
    assert confidence(world, first.memory.id) == 0.7


def test_an_identical_observation_is_recorded_once(world: World) -> None:
    at = world.clock.now()
    first = world.observe(SLOW, at=at)
    assert world.observe(SLOW, at=at).effect is Effect.KNOWN
    assert len(world.curation.timeline(first.memory.id, AS_ADA).observations) == 1


def test_all_sessions_of_another_agent_count_once(world: World) -> None:
    first = world.observe("Listens on port 8096")
    for number in range(4):
        world.observe("Listens on port 8096", session=f"s{number}", viewer=AS_BOB)
    assert confidence(world, first.memory.id) == 0.8
    for number in range(4):
        world.observe("Listens on port 8920", session=f"s{number}", viewer=AS_BOB)
    assert confidence(world, first.memory.id) == 0.5
    assert world.curation.get(first.memory.id, AS_ADA).active


def test_equal_long_texts_are_the_same(world: World) -> None:
    long = "The dump of the shop database needs its time. " * 76
    first = world.observe(long, session="run-1")
    assert world.observe(long, session="run-1").effect is Effect.KNOWN
    assert world.observe(long).effect is Effect.REINFORCED
    assert world.observe(SLOW).effect is Effect.NEW
    assert confidence(world, first.memory.id) > 0.7


def test_names_of_services_and_categories_are_one_line(world: World) -> None:
    seen = world.observe(SLOW, service=" web\n### other\u2028x ", category="tim\n ing").memory
    assert seen.operational is not None
    assert (seen.operational.service, seen.category) == ("web ### other x", "tim ing")
    again = world.observe(SLOW, service="web ### other x", category="tim ing")
    assert again.memory.id == seen.id


def test_structural_matching_reinforces_any_text_of_the_same_service_and_category(
    structural: World,
) -> None:
    first = structural.observe(SLOW)
    done = structural.observe("Listens on port 8920", viewer=AS_BOB)
    assert (done.effect, done.memory.id) == (Effect.REINFORCED, first.memory.id)
    assert structural.observe("Listens on port 8920", category="behavior").effect is Effect.NEW
    assert structural.observe("Listens on port 8920", service=None).effect is Effect.NEW


def test_an_observation_of_the_past_decays_from_its_time(world: World) -> None:
    before = world.clock.now() - timedelta(days=44)
    done = world.observe(SLOW, at=before)
    assert done.memory.created_at == before
    assert confidence(world, done.memory.id) == pytest.approx(0.5, abs=1e-3)
    world.observe(SLOW, session="x")
    assert confidence(world, done.memory.id) == 0.7


def test_an_observation_of_the_future_gets_the_current_time(world: World) -> None:
    done = world.observe(SLOW, at=world.clock.now() + timedelta(days=3))
    assert done.memory.created_at == world.clock.now()


def test_secrets_in_an_observation_are_masked(world: World) -> None:
    secret = shapes("observing")["github-token"][0]
    done = world.observe(f"The password of the share is {secret}", session="s")
    shown = repr(world.curation.timeline(done.memory.id, AS_ADA)) + repr(done)
    assert secret not in shown


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"observation": " \n "}, Invalid, "empty"),
        ({"observation": "x" * 4_001}, TooLarge, "4,001"),
        ({"category": " "}, Invalid, "category"),
        ({"category": "x" * 101}, Invalid, "100"),
        ({"service": "x" * 101}, Invalid, "100"),
    ],
)
def test_an_invalid_observation_changes_nothing(
    world: World, wrong: dict[str, Any], error: type[Exception], says: str
) -> None:
    seen = replace(ObservationInput(observation=SLOW, category="timing", service="jellyfin"), **wrong)
    with pytest.raises(error, match=says):
        world.observation_service.observe(seen, AS_ADA)
    assert not world.curation.page(RatedQuery(), AS_OPERATOR, None).memories


def test_a_new_memory_records_an_event_and_reinforcement_does_not(world: World) -> None:
    world.observe(SLOW, session="run-1")
    world.observe("takes a minute to start", session="run-2")
    (event,) = world.events.page(AS_ADA, None, 10).events
    assert (event.level, event.service, event.session) == ("info", "jellyfin", "run-1")
    assert event.text == "New memory recorded: [timing:jellyfin] Takes 60s to start"
    world.observe("Look first", service=None, category="behavior")
    assert world.events.page(AS_BOB, None, 1).events[0].text == "New memory recorded: [behavior] Look first"


def test_cautious_matching_accepts_only_conflicts_of_quantities(cautious: World) -> None:
    first = cautious.observe(SLOW)
    assert cautious.observe("Takes 10 minutes to start").about == (first.memory.id,)
    before = cautious.observe("Backups are enabled by default", category="maintenance")
    done = cautious.observe("Backups are disabled by default", category="maintenance")
    assert (done.effect, done.about) == (Effect.UNCERTAIN, (before.memory.id,))
    assert confidence(cautious, before.memory.id) == 0.7


def test_an_uncertain_contradiction_is_proposed_for_review(cautious: World) -> None:
    before = cautious.observe("Backups are enabled by default", session="a")
    done = cautious.observe("Backups are disabled by default", session="b")
    with cautious.store.read() as view:
        (one,) = view.proposals(proposals_visible_to(AS_OPERATOR, LeadSees.ALL), None, 10)
    assert one.kind is ProposalKind.CONTRADICTION
    assert [each.memory for each in one.memories] == [before.memory.id, done.memory.id]
    assert (one.actor, one.session) == ("ada", "b")


def test_an_uncertain_contradiction_is_stored_without_a_proposal_when_too_many_are_open(
    cautious: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.review.proposals.MAX_OPEN", 0)
    cautious.observe("Backups are enabled by default", session="a")
    done = cautious.observe("Backups are disabled by default", session="b")
    assert done.effect is Effect.UNCERTAIN
    assert cautious.review_inbox.page(AS_OPERATOR, None, 10).proposals == ()


def test_observations_about_different_places_are_not_proposed_for_review(cautious: World) -> None:
    cautious.observe("Backups are enabled in staging", session="a")
    doubtful = cautious.observe("Backups are disabled in staging now", session="b")
    done = cautious.observe("Backups are disabled in production", session="c")
    assert (doubtful.effect, done.effect, done.about) == (Effect.UNCERTAIN, Effect.NEW, ())
    assert len(cautious.review_inbox.page(AS_OPERATOR, None, 10).proposals) == 1


STATEMENTS = ("Takes 60s to start", "takes a minute to start", "Listens on port 8096", "Listens on port 8920")


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.sampled_from(STATEMENTS), max_size=8))
def test_the_confidence_of_each_memory_equals_the_end_of_its_timeline(world: World, seen: list[str]) -> None:
    done: list[ObservationResult] = [world.observe(text, service=f"s{len(seen)}") for text in seen]
    for memory in {one.memory.id for one in done}:
        rated, life = world.curation.get(memory, AS_ADA), world.curation.timeline(memory, AS_ADA)
        assert 0.0 <= rated.confidence <= 1.0
        assert life.timeline[-1].confidence == life.timeline[-2].confidence == rated.confidence
        assert life.observations[0].kind is ObservationKind.CREATED


@pytest.fixture
def cautious(world: World) -> World:
    return World(world.store, world.keywords, world.clock, matching=MatchingMode.CAUTIOUS, first_id=7_000)


@pytest.fixture
def structural(world: World) -> World:
    return World(world.store, world.keywords, world.clock, matching=MatchingMode.STRUCTURAL, first_id=9_000)


ENABLED, DISABLED = "Anonymous access is enabled", "Anonymous access is disabled"


def world_with(reader: TableReader | None, matching: MatchingMode = MatchingMode.MEANING) -> World:
    clock = SteppingClock()
    store = ReferenceStore(clock)
    return World(store, ReferenceKeywords(), clock, embedder=hashing(), matching=matching, reader=reader)


@pytest.mark.parametrize(
    ("verdict", "effect", "older_confidence"),
    [
        (Verdict.SAME, Effect.REINFORCED, 0.8),
        (Verdict.CONFLICT, Effect.CONTRADICTED, 0.5),
        (Verdict.UPDATE, Effect.CONTRADICTED, 0.5),
        (Verdict.DIFFERENT, Effect.NEW, 0.7),
        (Verdict.UNCERTAIN, Effect.UNCERTAIN, 0.7),
    ],
)
def test_each_verdict_has_its_effect(verdict: Verdict, effect: Effect, older_confidence: float) -> None:
    reader = TableReader({(ENABLED, DISABLED): verdict})
    world = world_with(reader)
    first = world.observe(ENABLED)
    assert world.observe(DISABLED, session="s").effect is effect
    assert confidence(world, first.memory.id) == older_confidence
    assert reader.read == [(ENABLED, DISABLED)]


def test_the_pair_model_reads_the_earlier_observation_first_in_any_order_of_arrival() -> None:
    reader = TableReader({(ENABLED, DISABLED): Verdict.UPDATE})
    world = world_with(reader)
    later = world.observe(DISABLED)
    earlier = world.observe(ENABLED, at=later.memory.created_at - timedelta(minutes=1))
    assert (earlier.effect, set(reader.read)) == (Effect.NEW, {(ENABLED, DISABLED)})
    assert (confidence(world, earlier.memory.id), confidence(world, later.memory.id)) == (0.5, 0.7)


@pytest.mark.parametrize("error", [Unavailable("not now"), Broken("damaged"), None])
def test_quantities_and_equal_words_count_without_the_pair_model(error: Exception | None) -> None:
    def fail(*_: str) -> None:
        if error is not None:
            raise error

    world = world_with(None if error is None else TableReader(before=fail))
    first = world.observe(SLOW)
    assert world.observe("takes 60S  to start", session="s").memory.id == first.memory.id
    assert world.observe("Takes 10 minutes to start").about == (first.memory.id,)
    assert world.observe("Starts at once").effect is Effect.NEW


def test_the_pair_model_does_not_read_what_needs_no_model() -> None:
    reader = TableReader(others=Verdict.CONFLICT)
    world = world_with(reader)
    world.observe(SLOW)
    assert world.observe(SLOW, session="another").effect is Effect.REINFORCED
    assert world.observe("takes 1 min to start", session="a third").effect is Effect.REINFORCED
    assert world.observe("Takes 10 minutes to start").effect is Effect.CONTRADICTED
    assert reader.read == []


def test_the_pair_model_reads_only_the_texts_with_most_words_in_common() -> None:
    reader = TableReader()
    world = world_with(reader)
    near = {f"The scanner locks the library table of section{number}" for number in range(MAX_READ)}
    for text in (*sorted(near), "The disk is in bay 7", "Listens on port 8096"):
        world.observe(text)
    reader.read.clear()
    world.observe("The scanner locks the library table")
    assert {older for older, _ in reader.read} == near


def test_structural_matching_does_not_use_the_pair_model() -> None:
    reader = TableReader(others=Verdict.CONFLICT)
    world = world_with(reader, MatchingMode.STRUCTURAL)
    world.observe(SLOW)
    world.observe("Listens on port 8096")
    assert reader.read == []


@pytest.mark.parametrize("verdict", [Verdict.CONFLICT, Verdict.UPDATE])
def test_in_cautious_matching_the_pair_model_only_causes_doubts(verdict: Verdict) -> None:
    world = world_with(TableReader({(ENABLED, DISABLED): verdict}), MatchingMode.CAUTIOUS)
    first = world.observe(ENABLED)
    done = world.observe(DISABLED)
    assert (done.effect, done.about) == (Effect.UNCERTAIN, (first.memory.id,))
    assert confidence(world, first.memory.id) == 0.7
