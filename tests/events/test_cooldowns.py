"""Cooldowns: set and seen by all agents, ended by time or by operators."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from hivelore.core.agents import Viewer
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, TooLarge
from hivelore.events import cooldowns
from hivelore.events.cooldown_rules import MAX_ACTIVE_PER_WORKER
from hivelore.events.model import ACTION_LENGTH, MAX_COOLDOWN, REASON_LENGTH, Cooldown
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.memories.normalizer import SESSION_LENGTH
from hivelore.observations.model import SERVICE_LENGTH
from support.events import a_cooldown, holding, put_cooldowns
from support.fake_secrets import shapes
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

MINUTE = timedelta(minutes=1)
AWS_KEY = shapes("cooldown")["aws-key"][0]
EVER = datetime.min.replace(tzinfo=UTC)


def rest(world: World, service: str = "jellyfin", action: str = "restart", viewer: Viewer = AS_ADA) -> Cooldown:
    return world.cooldowns.set(service, action, viewer, minutes=30)


def test_it_has_its_actor_and_its_end(world: World) -> None:
    known = world.cooldowns.set(" jellyfin ", "restart", AS_ADA, minutes=30, reason="no\nuse", session="s1")
    now = world.clock.now()
    assert (known.service, known.action, known.until, known.count) == ("jellyfin", "restart", now + 30 * MINUTE, 1)
    assert (known.reason, known.session, known.set_at) == ("no use", "s1", now)
    assert (known.actor, known.interface) == (ADA, AS_ADA.interface)
    assert list(world.cooldowns.active()) == [known]


def test_it_may_have_a_fixed_end(world: World) -> None:
    until = world.clock.now() + timedelta(days=2)
    assert world.cooldowns.set("jellyfin", "restart", AS_OPERATOR, until=until).until == until


def test_set_again_by_another_agent_it_counts_and_is_not_shortened(world: World) -> None:
    first = rest(world)
    world.clock.advance(10 * MINUTE)
    again = world.cooldowns.set("jellyfin", "restart", AS_BOB, minutes=5)
    assert (again.count, again.until, again.actor) == (2, first.until, None)
    assert world.cooldowns.set("jellyfin", "restart", AS_BOB, minutes=60).until == world.clock.now() + 60 * MINUTE
    assert [one.count for one in world.cooldowns.active()] == [3]


def test_after_its_end_it_begins_again(world: World) -> None:
    rest(world)
    rest(world)
    world.clock.advance(30 * MINUTE)
    assert list(world.cooldowns.active()) == []
    assert rest(world).count == 1


def test_cooldowns_are_listed_by_service(world: World) -> None:
    for service, action in (("jellyfin", "stop"), ("caddy", "reload"), ("jellyfin", "restart")):
        rest(world, service, action)
    assert [(one.service, one.action) for one in world.cooldowns.active()] == [
        ("caddy", "reload"),
        ("jellyfin", "restart"),
        ("jellyfin", "stop"),
    ]
    assert [one.action for one in world.cooldowns.active(" jellyfin")] == ["restart", "stop"]
    assert list(world.cooldowns.active("bind")) == []


def test_a_service_is_the_same_in_any_spelling(world: World) -> None:
    rest(world, "postgres")
    again = rest(world, "PostgreSQL", viewer=AS_BOB)
    assert (again.service, again.count, again.actor) == ("postgres", 2, None)
    rest(world, "mysql")
    for spelling in ("pg", "Postgres"):
        assert list(world.cooldowns.active(spelling)) == [again]
        assert "mysql" not in world.cooldowns.format_for_agent(spelling)
    assert world.cooldowns.clear("psql", "restart", AS_OPERATOR) == 1
    assert [one.service for one in world.cooldowns.active()] == ["mysql"]


def test_an_ended_cooldown_gives_its_spelling_to_no_new_one(world: World) -> None:
    rest(world, "postgres")
    world.clock.advance(30 * MINUTE)
    assert (rest(world, "pg").service, rest(world, "pg").count) == ("pg", 2)


def test_concurrent_cooldowns_of_two_spellings_are_one(world: World) -> None:
    for number in range(5):
        together = Barrier(4)

        def set_one(service: str, together: Barrier = together, number: int = number) -> None:
            together.wait(60)
            rest(world, service, f"restart {number}")

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(set_one, ("postgres", "PostgreSQL", "pg", "psql")))
        assert [one.count for one in world.cooldowns.active("pg")] == [4] * (number + 1)


def test_agents_see_them_as_text(world: World) -> None:
    assert world.cooldowns.format_for_agent() == ""
    rest(world)
    rest(world, "caddy", "reload")
    assert [line.split(" until ")[0] for line in world.cooldowns.format_for_agent().splitlines()[1:]] == [
        "- caddy: reload",
        "- jellyfin: restart",
    ]
    assert "jellyfin" not in world.cooldowns.format_for_agent("caddy")


def test_a_worker_clears_only_its_own(world: World) -> None:
    rest(world)
    rest(world, action="stop", viewer=AS_BOB)
    for viewer in (AS_BOB, replace(AS_BOB, acting=True)):
        with pytest.raises(Forbidden, match="Another agent"):
            world.cooldowns.clear("jellyfin", "restart", viewer)
    assert world.cooldowns.clear("jellyfin", None, AS_ADA) == 1
    assert [one.action for one in world.cooldowns.active()] == ["stop"]
    assert world.cooldowns.clear("jellyfin", "restart", AS_ADA) == 0


def test_no_worker_clears_a_cooldown_of_two_agents(world: World) -> None:
    year = world.cooldowns.set("jellyfin", "restart", AS_LEA, minutes=366 * 24 * 60, reason="It breaks the index.")
    again = world.cooldowns.set("jellyfin", "restart", AS_ADA, minutes=1, reason="Mine.")
    assert (again.until, again.reason, again.actor) == (year.until, "It breaks the index.", None)
    for viewer in (AS_ADA, AS_BOB):
        with pytest.raises(Forbidden):
            world.cooldowns.clear("jellyfin", "restart", viewer)
    assert world.cooldowns.clear("jellyfin", "restart", AS_LEA) == 1


def test_a_worker_sets_at_most_a_day(world: World) -> None:
    now, day = world.clock.now(), 24 * 60
    assert world.cooldowns.set("jellyfin", "restart", AS_ADA, minutes=day).until == now + timedelta(days=1)
    wrongs: list[dict[str, Any]] = [{"minutes": day + 1}, {"until": now + timedelta(days=2)}]
    for wrong in wrongs:
        with pytest.raises(Invalid, match="for a worker's key; a lead or an operator"):
            world.cooldowns.set("jellyfin", "stop", AS_ADA, **wrong)
    for viewer in (AS_LEA, AS_OPERATOR):
        assert world.cooldowns.set("caddy", "reload", viewer, minutes=30 * day).until >= now + timedelta(days=30)


def test_a_worker_leaves_room_for_others(world: World) -> None:
    for number in range(MAX_ACTIVE_PER_WORKER):
        rest(world, f"service{number}")
    with pytest.raises(Conflict, match="of your cooldowns"):
        rest(world)
    assert rest(world, "service1").count == 2
    assert rest(world, viewer=AS_BOB).count == rest(world, "caddy", viewer=AS_LEA).count == 1


def test_an_operator_clears_any(world: World) -> None:
    rest(world)
    assert [world.cooldowns.clear("jellyfin", "restart", AS_OPERATOR) for _ in range(2)] == [1, 0]
    assert list(world.cooldowns.active()) == []
    assert rest(world).count == 1


def test_all_cooldowns_of_a_service_are_cleared_together(world: World) -> None:
    for service, action in (("jellyfin", "stop"), ("caddy", "reload"), ("jellyfin", "restart")):
        rest(world, service, action)
    assert world.cooldowns.clear("jellyfin", None, AS_OPERATOR) == 2
    assert [one.service for one in world.cooldowns.active()] == ["caddy"]


def test_an_ended_cooldown_is_not_cleared(world: World) -> None:
    rest(world)
    world.clock.advance(30 * MINUTE)
    assert world.cooldowns.clear("jellyfin", None, AS_OPERATOR) == 0


def test_secrets_are_masked_before_storage(world: World) -> None:
    world.cooldowns.set(AWS_KEY, AWS_KEY, AS_ADA, minutes=1, reason=AWS_KEY, session=AWS_KEY)
    assert AWS_KEY not in repr(holding(world.store, EVER))
    assert world.cooldowns.clear(AWS_KEY, AWS_KEY, AS_OPERATOR) == 1


@pytest.mark.parametrize("field", ["service", "action"])
@pytest.mark.parametrize("text", ["", " \n", "a\0b", "a\ud800b"])
def test_an_invalid_name_is_refused(world: World, field: str, text: str) -> None:
    names: dict[str, Any] = {"service": "jellyfin", "action": "restart", field: text}
    for ask in (
        lambda: world.cooldowns.set(**names, viewer=AS_ADA, minutes=1),
        lambda: world.cooldowns.clear(**names, viewer=AS_OPERATOR),
    ):
        with pytest.raises(Invalid) as refused:
            ask()
        assert refused.value.field == field


def test_every_field_has_a_maximum_length(world: World) -> None:
    longest: dict[str, Any] = {
        "service": "s" * SERVICE_LENGTH,
        "action": "a" * ACTION_LENGTH,
        "reason": "r" * REASON_LENGTH,
        "session": "s" * SESSION_LENGTH,
    }
    world.cooldowns.set(**longest, viewer=AS_ADA, minutes=1)
    for name, value in longest.items():
        with pytest.raises(TooLarge) as refused:
            world.cooldowns.set(**{**longest, name: value + "x"}, viewer=AS_ADA, minutes=1)
        assert refused.value.field == name


def test_a_mask_that_makes_a_name_too_long_is_refused(world: World) -> None:
    secret_url = "postgres://u:" + "pA5s" + "@h/db"
    with pytest.raises(TooLarge):
        world.cooldowns.set(secret_url.rjust(SERVICE_LENGTH, "s"), "restart", AS_ADA, minutes=1)


@pytest.mark.parametrize("minutes", [0, -1, MAX_COOLDOWN // MINUTE + 1, 10**4_000])
def test_it_lasts_between_a_minute_and_a_year(world: World, minutes: int) -> None:
    with pytest.raises(Invalid) as refused:
        world.cooldowns.set("jellyfin", "restart", AS_LEA, minutes=minutes)
    assert refused.value.field == "minutes"
    assert world.cooldowns.set("jellyfin", "restart", AS_LEA, minutes=MAX_COOLDOWN // MINUTE)


@pytest.mark.parametrize("ahead", [timedelta(0), -MINUTE, MAX_COOLDOWN + MINUTE])
def test_its_end_is_in_the_future_and_not_too_far(world: World, ahead: timedelta) -> None:
    with pytest.raises(Invalid) as refused:
        world.cooldowns.set("jellyfin", "restart", AS_LEA, until=world.clock.now() + ahead)
    assert refused.value.field == "until"


def test_minutes_and_end_exclude_each_other(world: World) -> None:
    ways: list[dict[str, Any]] = [{}, {"minutes": 5, "until": world.clock.now() + MINUTE}]
    for both in ways:
        with pytest.raises(Invalid, match="either minutes or until"):
            world.cooldowns.set("jellyfin", "restart", AS_ADA, **both)
    with pytest.raises(Invalid, match="time zone"):
        world.cooldowns.set("jellyfin", "restart", AS_ADA, until=world.clock.now().replace(tzinfo=None))


def test_their_number_is_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooldowns, "MAX_ACTIVE", 2)
    rest(world, "one")
    world.clock.advance(MINUTE)
    rest(world, "two")
    with pytest.raises(Conflict):
        rest(world, "three")
    assert rest(world, "two").count == 2
    world.clock.advance(29 * MINUTE)
    assert rest(world, "three").count == 1


def test_ended_cooldowns_are_removed_in_batches(world: World) -> None:
    rest(world)
    world.clock.advance(29 * MINUTE)
    kept = rest(world, "caddy")
    world.clock.advance(MINUTE)
    Housekeeper(world.store, world.keywords, world.clock).run_step()
    assert list(holding(world.store, EVER)) == [kept]


def test_a_cooldown_of_a_service_with_a_name_older_than_the_rules_is_found_and_cleared(world: World) -> None:
    put_cooldowns(world.store, a_cooldown("post\u034fgres", until=world.clock.now() + timedelta(minutes=5)))
    assert len(world.cooldowns.active("post\u034fgres")) == 1
    assert world.cooldowns.clear("post\u034fgres", None, AS_OPERATOR) == 1
    with pytest.raises(Invalid, match="invisible"):
        world.cooldowns.set("post\u034fgres", "restart", AS_ADA, minutes=5)
