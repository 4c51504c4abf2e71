"""Events and cooldowns in this process, through a service, and over plain HTTP (C06, C42)."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import hivelore
from hivelore.errors import Forbidden, HiveloreError, Invalid, NotFound, Proposed, Stale, TooLarge
from hivelore.events.model import MAX_COOLDOWN, TEXT_LENGTH, Level
from hivelore.local import endpoint
from hivelore.observations.outcomes import Effect
from hivelore.python.client import Client
from hivelore.python.hive import Hive
from support.service import Service

MINUTES = MAX_COOLDOWN // timedelta(minutes=1)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
YESTERDAY = datetime.now(UTC) - timedelta(days=1)
"""Not so old that upkeep takes it away meanwhile."""
SOON = timedelta(minutes=30)


@pytest.fixture(params=["embedded", "service"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A data folder that no process has open, or that a service has open."""
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    for name in ("HIVELORE_URL", "HIVELORE_KEY", "HIVELORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if request.param == "embedded":
        hivelore.open(tmp_path).close()  # which makes the keys
        yield tmp_path
        return
    with Service(tmp_path):
        yield tmp_path


@pytest.fixture
def hive(home: Path) -> Generator[Hive]:
    with hivelore.open(home) as opened:
        yield opened


def operators_key(home: Path) -> str:
    return (home / endpoint.OPERATOR_KEY).read_text(encoding="ascii").strip()


# In Python.


def test_recorded_events_are_listed(hive: Hive) -> None:
    event = hive.record_event("Der Dienst läuft wieder – 直った", level=Level.WARNING, service="jellyfin", session="s1")
    assert (event.level, event.service, event.session) == (Level.WARNING, "jellyfin", "s1")
    older = hive.record_event("Rebooted", at=YESTERDAY)
    assert (older.level, older.at) == (Level.INFO, YESTERDAY)
    assert hive.events().events == (event, older)
    page = hive.events(limit=1)
    assert (page.events, hive.events(after=page.next).events) == ((event,), (older,))
    for narrowed in ({"level": Level.WARNING}, {"service": "jellyfin"}, {"session": "s1"}, {"since": event.at}):
        given: dict[str, Any] = narrowed
        assert hive.events(**given).events == (event,)
    assert hive.events(service="general", until=event.at).events == (older,)
    assert hive.events(level=Level.CRITICAL).events == ()


def test_observations_are_reported_read_and_changed(hive: Hive) -> None:
    first = hive.observe("Takes 60s to start", "timing", service="jellyfin", session="s1")
    assert (first.effect, first.memory.confidence, first.memory.active) == (Effect.NEW, 0.7, True)
    memory = first.memory.id
    assert hive.operational_memory(memory.upper()) == first.memory
    assert hive.operational_memories(service="jellyfin", status="active").memories == (first.memory,)
    assert [one.text for one in hive.observations(memory, limit=1).observations] == ["Takes 60s to start"]
    assert "Takes 60s to start" in hive.context(service="jellyfin", budget=500).text
    assert hive.context(budget=0).text == ""
    with pytest.raises(Proposed):
        hive.change_operational_memory(memory, confidence=0.9)
    for wrong in ({"observation": 7}, {"confidence": "high"}, {"active": None}):
        given: dict[str, Any] = wrong
        with pytest.raises(Invalid):
            hive.change_operational_memory(memory, **given)


def test_operators_change_and_delete_operational_memories(home: Path) -> None:
    with hivelore.open(home, key=operators_key(home)) as hive:
        memory = hive.observe("Takes 60s to start", "timing", confidence=0.4).memory
        changed = hive.change_operational_memory(memory.id, confidence=0.9, project=None, version=memory.version)
        assert (changed.confidence, changed.observation) == (0.9, "Takes 60s to start")
        with pytest.raises(Stale):
            hive.change_operational_memory(memory.id, observation="Takes 70s", version=memory.version + 5)
        assert hive.count_decayed() == 0
        hive.forget_operational_memory(memory.id)
        other = hive.observe("Backups run at 3 am", "timing").memory.id
        assert hive.forget_operational_memories((other, memory.id)) == 1
        assert hive.operational_memories().memories == ()


def test_repeated_cooldowns_are_listed_and_counted(hive: Hive) -> None:
    first = hive.set_cooldown("jellyfin", "restart", minutes=30, reason="no use", session="s1")
    again = hive.set_cooldown("jellyfin", "restart", until=datetime.now(UTC) + timedelta(minutes=5))
    assert (again.count, again.until, again.reason, again.session) == (2, first.until, "no use", None)
    other = hive.set_cooldown("caddy", "reload", minutes=MINUTES)
    assert list(hive.cooldowns()) == [other, again]
    assert list(hive.cooldowns(service="caddy")) == [other]
    assert list(hive.cooldowns(service="bind")) == []


def test_agents_may_add_and_operators_delete(home: Path) -> None:
    with hivelore.open(home) as hive:
        event = hive.record_event("Rebooted")
        for action in ("restart", "stop"):
            hive.set_cooldown("jellyfin", action, minutes=5)
        with pytest.raises(Forbidden, match="operator"):
            hive.forget_event(event.id)
    with hivelore.open(home, key=operators_key(home)) as hive:
        hive.forget_event(event.id)
        with pytest.raises(NotFound):
            hive.forget_event(event.id)
        assert [hive.clear_cooldowns("jellyfin", "restart") for _ in range(2)] == [1, 0]
        assert hive.clear_cooldowns("jellyfin") == 1
        assert (hive.events().events, list(hive.cooldowns())) == ((), [])


BAD: list[tuple[str, dict[str, Any], type[HiveloreError]]] = [
    ("record_event", {"text": ""}, Invalid),
    ("record_event", {"text": " \n"}, Invalid),
    ("record_event", {"text": "a\0b"}, Invalid),
    ("record_event", {"text": "a\ud800b"}, Invalid),
    ("record_event", {"text": 7}, Invalid),
    ("record_event", {"text": "x" * (TEXT_LENGTH + 1)}, TooLarge),
    ("record_event", {"text": "x" * 5_000_000}, TooLarge),
    ("record_event", {"text": "x", "level": "panic"}, Invalid),
    ("record_event", {"text": "x", "level": None}, Invalid),
    ("record_event", {"text": "x", "service": "s" * 101}, TooLarge),
    ("record_event", {"text": "x", "at": "yesterday"}, Invalid),
    ("record_event", {"text": "x", "at": datetime.max.replace(tzinfo=UTC)}, Invalid),
    ("record_event", {"text": "x", "at": LONG_AGO.replace(tzinfo=None)}, Invalid),
    ("events", {"limit": 0}, Invalid),
    ("events", {"limit": 501}, Invalid),
    ("events", {"limit": 1.5}, Invalid),
    ("events", {"after": "here"}, Invalid),
    ("events", {"level": "panic"}, Invalid),
    ("events", {"service": "s" * 101}, TooLarge),
    ("events", {"since": LONG_AGO.replace(tzinfo=None)}, Invalid),
    ("events", {"session": "\ud800"}, Invalid),
    ("forget_event", {"event": ""}, NotFound),
    ("forget_event", {"event": "../cooldowns"}, NotFound),
    ("forget_event", {"event": "a\0b"}, NotFound),
    ("forget_event", {"event": "01a00000-0000-7000-8000-000000000000"}, NotFound),
    ("set_cooldown", {"service": "", "action": "restart", "minutes": 5}, Invalid),
    ("set_cooldown", {"service": "a", "action": " ", "minutes": 5}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b" * 101, "minutes": 5}, TooLarge),
    ("set_cooldown", {"service": "a", "action": "b", "minutes": 5, "reason": "r" * 501}, TooLarge),
    ("set_cooldown", {"service": "a", "action": "b"}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "minutes": 0}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "minutes": MINUTES + 1}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "minutes": 10**30}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "minutes": 1.5}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "minutes": True}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "until": LONG_AGO}, Invalid),
    ("set_cooldown", {"service": "a", "action": "b", "until": datetime.max.replace(tzinfo=UTC)}, Invalid),
    ("cooldowns", {"service": "s" * 101}, TooLarge),
    ("cooldowns", {"service": 7}, Invalid),
    ("clear_cooldowns", {"service": ""}, Invalid),
    ("clear_cooldowns", {"service": "a", "action": ""}, Invalid),
]


def test_bad_input_is_a_clear_error_and_changes_nothing(home: Path) -> None:
    with hivelore.open(home, key=operators_key(home)) as hive:
        for method, given, error in BAD:
            with pytest.raises(HiveloreError) as refused:
                getattr(hive, method)(**given)
            assert type(refused.value) is error, (method, given, refused.value)
            assert len(str(refused.value)) < 300
        assert (hive.events().events, list(hive.cooldowns())) == ((), [])


# Over HTTP.


@pytest.fixture
def operator(service: Service) -> Generator[Client]:
    client = service.client(service.operator_key)
    yield client
    for one in client.call("GET", "/api/events", query={"limit": 500})["events"]:
        client.call("DELETE", f"/api/events/{one['id']}")
    for one in client.call("GET", "/api/cooldowns")["cooldowns"]:
        client.call("DELETE", "/api/cooldowns", query={"service": one["service"], "action": one["action"]})


def test_an_event_as_json(service: Service, operator: Client) -> None:
    agent = service.client(service.agent_key)
    me = agent.call("GET", "/api/me")["agentId"]
    at = YESTERDAY.isoformat().replace("+00:00", "Z")
    body = {"text": "It is late", "level": "error", "service": "backup", "session": "s1", "at": at}
    event = agent.call("POST", "/api/events", body=body)
    assert event.pop("id")
    assert event == {**body, "actor": me, "interface": "python", "memoryId": None}
    by_operator = operator.call("POST", "/api/events", body={"text": "Seen"})
    assert (by_operator["level"], by_operator["service"], by_operator["actor"]) == ("info", None, None)
    found = agent.call("GET", "/api/events", query={"level": "warning"})
    assert ([one["text"] for one in found["events"]], found["next"]) == (["It is late"], None)


def test_a_cooldown_as_json(service: Service, operator: Client) -> None:
    agent = service.client(service.agent_key)
    me = agent.call("GET", "/api/me")["agentId"]
    body = {"service": "jellyfin", "action": "restart", "minutes": 30, "reason": "no use"}
    known = agent.call("PUT", "/api/cooldowns", body=body)
    until, at = (datetime.fromisoformat(known.pop(name)) for name in ("until", "setAt"))
    assert until - at == SOON
    del body["minutes"]
    assert known == {**body, "count": 1, "actor": me, "interface": "python", "session": None}
    (listed,) = operator.call("GET", "/api/cooldowns", query={"service": "jellyfin"})["cooldowns"]
    assert listed["count"] == 1
    assert operator.call("DELETE", "/api/cooldowns", query={"service": "jellyfin"}) == {"cleared": 1}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/events", {"level": "info"}),
        ("POST", "/api/events", {"text": "x", "memoryId": "m1"}),
        ("POST", "/api/events", {"text": "x", "at": 1_700_000_000}),
        ("PUT", "/api/cooldowns", {"service": "a", "action": "b", "minutes": "5"}),
        ("PUT", "/api/cooldowns", {"service": "a", "action": "b", "minutes": 5, "count": 7}),
        ("DELETE", "/api/cooldowns", None),
        ("GET", "/api/events?levle=error", None),
        ("GET", "/api/events?since=1700000000", None),
    ],
)
def test_invalid_requests_are_refused(operator: Client, method: str, path: str, body: dict[str, Any] | None) -> None:
    with pytest.raises(Invalid):
        operator.call(method, path, body=body)
    assert operator.call("GET", "/api/events")["events"] == []
    assert operator.call("GET", "/api/cooldowns")["cooldowns"] == []
