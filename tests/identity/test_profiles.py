"""Profiles of agents: joining, updating, restoring, undo, and who may do it."""

from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.changes.model import BatchKind
from hivelore.core.agents import Agent, AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, Stale, TooLarge
from hivelore.identity.profile import MAX_VERSIONS, Profile, ProfileField
from hivelore.identity.profiles import GivenProfile
from hivelore.memories.model import Action
from support.batches import batches_of
from support.clocks import SteppingClock
from support.events import ALL_EVENTS
from support.laws import examples
from support.places import IN_MEMORY
from support.stores import KEYWORDS, STORES
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, BOB, World

UUID = AgentId("01a00000-0000-7000-8000-000000000001")
AS_NEW = Viewer(role=Role.WORKER, agent=UUID, interface=Interface.REST)


class Desk(NamedTuple):
    world: World

    def update(self, who: str, viewer: Viewer, expected: int | None = None, **fields: Any) -> Profile:
        service = self.world.profiles
        return service.update(self.world.agents.find(who, viewer), GivenProfile(**fields), viewer, expected=expected)

    def read(self, who: str, viewer: Viewer = AS_OPERATOR) -> Profile:
        return self.world.profiles.read(self.world.agents.find(who, viewer), viewer)

    def restore(self, who: str, number: int, viewer: Viewer) -> Profile:
        return self.world.profiles.restore(self.world.agents.find(who, viewer), number, viewer)

    def history(self, who: str) -> list[Any]:
        found, _ = self.world.profiles.history(self.world.agents.find(who, AS_OPERATOR), AS_OPERATOR, None, 1_000)
        return list(found)


def opened_desk(folder: Path, store: str, lead_sees: LeadSees = LeadSees.ALL) -> Generator[Desk]:
    kind, clock = KEYWORDS[store], SteppingClock()
    with closing(STORES[kind.store].open(folder, clock)) as opened:
        world = World(opened, kind.index(), clock, lead_sees=lead_sees)
        for agent, name, role in ((ADA, "Ada", Role.WORKER), (BOB, "Bob", Role.WORKER), (UUID, UUID, Role.WORKER)):
            added = Agent(id=agent, name=name, role=role, created_at=clock.now())
            opened.write(lambda tx, added=added: tx.put_agent(added))
        yield Desk(world)


@pytest.fixture(params=["postings", "postings on postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Desk]:
    yield from opened_desk(tmp_path, request.param)


def test_joining_creates_default_texts_once(desk: Desk) -> None:
    """D01"""
    given_profile = GivenProfile(role="reviewer", description="Reads diffs.", capabilities=["python", " python ", "go"])
    profile, is_new = desk.world.profiles.join(given_profile, AS_ADA)
    assert is_new
    assert (profile.name, profile.role, profile.capabilities) == ("Ada", "reviewer", ("python", "go"))
    assert "You are Ada, reviewer." in profile.soul
    assert "Embody this persona" in profile.soul
    assert "### Learnings" in profile.notes
    again, is_new = desk.world.profiles.join(GivenProfile(role="other"), AS_ADA)
    assert (again, is_new) == (profile, False)
    assert [one.number for one in desk.history("ada")] == [1]


def test_joining_names_only_an_agent_without_a_name(desk: Desk) -> None:
    profile, _ = desk.world.profiles.join(GivenProfile(name="nova"), AS_NEW)
    assert profile.name == "nova"
    assert desk.world.agents.agent(UUID).name == "nova"
    profile, _ = desk.world.profiles.join(GivenProfile(name="somebody"), AS_ADA)
    assert profile.name == "Ada"


def test_a_name_that_another_agent_has_is_refused(desk: Desk) -> None:
    with pytest.raises(Conflict, match="name"):
        desk.world.profiles.join(GivenProfile(name="Bob"), AS_NEW)
    with pytest.raises(Conflict, match="name"):
        desk.update("ada", AS_OPERATOR, name="Bob")
    with pytest.raises(Invalid, match="stands for the calling agent"):
        desk.update("ada", AS_OPERATOR, name="me")
    assert desk.world.agents.agent(UUID).name == UUID
    assert desk.history("ada") == []


def test_an_operator_who_is_no_agent_is_told_so(desk: Desk) -> None:
    with pytest.raises(Invalid, match="belongs to no agent"):
        desk.world.profiles.join(GivenProfile(), AS_OPERATOR)


def test_an_agent_that_has_not_joined_has_the_default_profile(desk: Desk) -> None:
    default = desk.read("ada", AS_ADA)
    assert default.version == 0
    assert desk.update("me", AS_ADA, expected=0, notes="Learned.").version == 2
    stored = desk.world.profiles.restore(desk.world.agents.agent(ADA), 1, AS_ADA)
    assert (stored.soul, stored.notes) == (default.soul, default.notes)


def test_only_the_given_fields_change(desk: Desk) -> None:
    """D07"""
    before = desk.update("me", AS_ADA, role="reviewer", capabilities=["go"])
    after = desk.update("me", AS_ADA, soul="I am Ada.", description="")
    assert after == replace(before, soul="I am Ada.", version=after.version, updated_at=after.updated_at)
    cleared = desk.update("me", AS_ADA, soul="", capabilities=[])
    assert (cleared.soul, cleared.capabilities, cleared.role) == ("", (), "reviewer")
    assert desk.update("me", AS_ADA, soul="").version == cleared.version


def test_a_soul_of_65_kilobytes_is_refused_with_its_size(desk: Desk) -> None:
    """D07"""
    desk.update("me", AS_ADA, soul="x" * 65_536)
    with pytest.raises(TooLarge, match=r"soul has 65,537 bytes in UTF-8; at most 65,536") as refused:
        desk.update("me", AS_ADA, soul="x" * 65_537)
    assert refused.value.field == "soul"
    assert len(desk.read("ada").soul) == 65_536


def test_secrets_in_a_profile_are_masked(desk: Desk) -> None:
    secret = "ghp_" + "a1B2" * 9
    updated = desk.update("me", AS_ADA, notes=f"The token is {secret}.", capabilities=[f"uses {secret}"])
    assert secret not in str(updated)
    assert secret not in str(desk.read("ada"))


def test_every_change_is_a_version_with_its_author(desk: Desk) -> None:
    desk.update("me", AS_ADA, soul="one")
    desk.update("ada", AS_LEA, identity="two", notes="two")
    newest, older, first = desk.history("ada")
    assert (newest.actor, newest.changed, newest.is_current) == (
        "lea",
        (ProfileField.IDENTITY, ProfileField.NOTES),
        True,
    )
    assert (older.actor, older.changed, older.follows) == ("ada", (ProfileField.SOUL,), 1)
    assert (first.number, first.follows) == (1, None)
    agent = desk.world.agents.agent(ADA)
    compared = desk.world.profiles.difference(agent, AS_ADA, None, None)
    assert (compared.older, compared.newer, set(compared.fields)) == (2, 3, {"identity", "notes"})
    assert "+two" in compared.fields["notes"]
    with pytest.raises(NotFound, match="no version 9"):
        desk.world.profiles.difference(agent, AS_ADA, 9, None)


def test_the_history_is_read_in_pages(desk: Desk) -> None:
    for number in range(6):
        desk.update("me", AS_ADA, soul=str(number))
    agent = desk.world.agents.agent(ADA)
    first, before = desk.world.profiles.history(agent, AS_ADA, None, 3)
    rest, last = desk.world.profiles.history(agent, AS_ADA, before, 10)
    assert [one.number for one in (*first, *rest)] == [7, 6, 5, 4, 3, 2, 1]
    assert last is None
    assert all(one.changed for one in first)


def test_two_writers_keep_both_texts_and_the_later_is_told(desk: Desk) -> None:
    read = desk.update("me", AS_ADA, notes="start")
    desk.update("me", AS_ADA, expected=read.version, notes="first")
    with pytest.raises(Stale, match="kept as version 4") as told:
        desk.update("me", AS_ADA, expected=read.version, notes="second", role="changed too")
    assert told.value.current == 3
    assert desk.read("ada").notes == "first"
    assert desk.read("ada").role == ""
    conflicting, current, *_ = desk.history("ada")
    assert (conflicting.number, conflicting.is_conflict, conflicting.follows) == (4, True, 3)
    assert current.is_current
    assert desk.restore("me", 4, AS_ADA).notes == "second"
    with desk.world.store.read() as view:
        (event,) = [one for one in view.events(ALL_EVENTS, None, 10) if "Two writers" in one.text]
    assert "second" not in event.text


def test_a_writer_that_repeats_a_conflict_adds_no_version(desk: Desk) -> None:
    desk.update("me", AS_ADA, notes="start")
    desk.update("me", AS_ADA, notes="first")
    for _ in range(3):
        with pytest.raises(Stale, match="kept as version 4"):
            desk.update("me", AS_ADA, expected=2, notes="second")
    with pytest.raises(Stale, match="kept as version 5"):
        desk.update("ada", AS_LEA, expected=2, notes="second")
    assert len(desk.history("ada")) == 5


def test_conflicting_versions_are_dropped_like_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.identity.profile_limits.MAX_VERSIONS", 3)
    desk.update("me", AS_ADA, notes="current")
    for number in range(6):
        with pytest.raises(Stale):
            desk.update("me", AS_ADA, expected=1, notes=f"late {number}")
    assert [one.number for one in desk.history("ada")] == [8, 7, 2]
    assert desk.read("ada").notes == "current"


def test_two_writers_of_different_fields_are_merged(desk: Desk) -> None:
    read = desk.update("me", AS_ADA, notes="start")
    desk.update("me", AS_ADA, expected=read.version, notes="mine")
    merged = desk.update("me", AS_ADA, expected=read.version, soul="yours")
    assert (merged.notes, merged.soul) == ("mine", "yours")
    assert desk.update("me", AS_ADA, expected=read.version, notes="mine") == merged


def test_a_version_that_does_not_exist_is_refused(desk: Desk) -> None:
    with pytest.raises(Invalid, match="no version 7"):
        desk.update("me", AS_ADA, expected=7, notes="x")


def test_old_versions_are_dropped_and_count_as_unknown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.identity.profile_limits.MAX_VERSIONS", 3)
    for number in range(5):
        desk.update("me", AS_ADA, notes=str(number))
    assert [one.number for one in desk.history("ada")] == [6, 5, 4]
    assert desk.history("ada")[-1].changed == ()
    with pytest.raises(Stale):
        desk.update("me", AS_ADA, expected=2, notes="late")
    assert MAX_VERSIONS >= 500


def test_restoring_keeps_the_name(desk: Desk) -> None:
    desk.update("me", AS_ADA, soul="before")
    desk.update("ada", AS_OPERATOR, name="adele", soul="after")
    restored = desk.restore("me", 2, AS_ADA)
    assert (restored.name, restored.soul, restored.version) == ("adele", "before", 4)
    with pytest.raises(NotFound, match="no version 99"):
        desk.restore("me", 99, AS_ADA)


def test_an_undo_restores_the_profile_and_can_be_undone(desk: Desk) -> None:
    before = desk.update("me", AS_ADA, soul="before")
    desk.update("ada", AS_OPERATOR, name="adele", soul="after")
    batch = batches_of(desk.world.store)[0]
    assert (batch.kind, batch.is_private) == (BatchKind.PROFILED, True)
    done = desk.world.undo_service.undo(batch.id, AS_LEA)
    assert done.profiles == (ADA,)
    undone = desk.read("ada")
    assert (undone.name, undone.soul, undone.notes) == ("Ada", "before", before.notes)
    assert desk.world.agents.agent(ADA).name == "Ada"
    assert done.by is not None
    with pytest.raises(Conflict, match="already undone"):
        desk.world.undo_service.undo(batch.id, AS_LEA)
    desk.world.undo_service.undo(done.by, AS_OPERATOR)
    assert (desk.read("adele").soul, desk.read("adele").name) == ("after", "adele")
    detail = desk.world.undo_service.detail(batch.id, AS_LEA)
    assert [(one.agent, one.before, one.after) for one in detail.profiles] == [(ADA, 2, 3)]


def test_a_rename_is_not_undone_while_another_agent_has_the_name(desk: Desk) -> None:
    desk.update("ada", AS_OPERATOR, name="Grace")
    batch = batches_of(desk.world.store)[0]
    desk.update("bob", AS_OPERATOR, name="Ada")
    with pytest.raises(Conflict, match=r"Another agent has the name 'Ada' now\. Rename that agent first"):
        desk.world.undo_service.undo(batch.id, AS_OPERATOR)
    desk.update("bob", AS_OPERATOR, name="Bob")
    desk.world.undo_service.undo(batch.id, AS_OPERATOR)
    assert desk.world.agents.agent(ADA).name == "Ada"


def test_an_undo_reverts_no_later_change(desk: Desk) -> None:
    for text in ("one", "two", "three"):
        desk.update("me", AS_ADA, soul=text)
    last, middle, _ = batches_of(desk.world.store)
    with pytest.raises(Conflict, match="changed since"):
        desk.world.undo_service.undo(middle.id, AS_OPERATOR)
    desk.world.undo_service.undo(last.id, AS_OPERATOR)
    desk.world.undo_service.undo(middle.id, AS_OPERATOR)
    assert desk.read("ada").soul == "one"
    with pytest.raises(Forbidden):
        desk.world.undo_service.undo(middle.id, AS_ADA)


def test_workers_use_their_own_profile_only(desk: Desk) -> None:
    agent = desk.world.agents.agent(BOB)
    for call in (
        lambda: desk.read("bob", AS_ADA),
        lambda: desk.update("bob", AS_ADA, soul="x"),
        lambda: desk.restore("bob", 1, AS_ADA),
        lambda: desk.world.profiles.history(agent, AS_ADA, None, 1),
        lambda: desk.world.profiles.difference(agent, AS_ADA, None, None),
        lambda: desk.update("me", AS_ADA, name="another"),
    ):
        with pytest.raises(Forbidden):
            call()
    assert desk.history("bob") == []


@pytest.mark.parametrize("answer", ["read", "update", "restore", "difference"])
def test_answers_with_the_texts_of_another_agent_are_audited(desk: Desk, answer: str) -> None:
    desk.update("me", AS_ADA, soul="mine")
    service = desk.world.profiles
    for viewer in (AS_ADA, AS_LEA, AS_OPERATOR):
        ada = desk.world.agents.find("ada", viewer)
        match answer:
            case "read":
                service.read(ada, viewer)
            case "update":
                service.update(ada, GivenProfile(), viewer)
            case "restore":
                service.restore(ada, 2, viewer)
            case _:
                service.difference(ada, viewer, 1, 2)
    desk.world.write_buffer.flush()
    with desk.world.store.read() as view:
        reads = {(one.actor, one.memory) for one in view.audit(10) if one.action is Action.READ}
    assert reads == {("lea", ADA), (None, ADA)}


def test_leads_who_do_not_see_private_memories_use_their_own_profile_only(tmp_path: Path) -> None:
    for desk in opened_desk(tmp_path, "postings", LeadSees.SHARED):
        with pytest.raises(Forbidden):
            desk.read("ada", AS_LEA)
        with pytest.raises(Forbidden):
            desk.update("ada", AS_LEA, soul="x")
        assert desk.update("me", AS_LEA, soul="x").soul == "x"


class Call(NamedTuple):
    what: str
    who: str
    field: str
    number: int


CALLS = st.builds(
    Call,
    st.sampled_from(["join", "update", "update", "restore", "undo"]),
    st.sampled_from(["me", "ada", "bob", "lea"]),
    st.sampled_from(["name", "role", "soul", "notes"]),
    st.integers(0, 5),
)


@settings(max_examples=examples(25))
@given(done=st.lists(CALLS, max_size=8))
def test_no_call_of_a_worker_changes_the_profile_of_another(done: list[Call]) -> None:
    """X22"""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        for desk in opened_desk(Path(folder), "postings"):
            desk.update("me", AS_BOB, soul="bob's")
            desk.update("lea", AS_OPERATOR, soul="lea's")
            desk.update("bob", AS_LEA, notes="from lea")
            before = [desk.read("bob"), desk.read("lea"), [one.name for one, _ in desk.world.agents.list_agents()]]
            for call in done:
                with suppress(HiveloreError):
                    _make(desk, call)
            after = [desk.read("bob"), desk.read("lea"), [one.name for one, _ in desk.world.agents.list_agents()]]
            assert after == before


def _make(desk: Desk, call: Call) -> None:
    batches = batches_of(desk.world.store)
    match call.what:
        case "join":
            desk.world.profiles.join(GivenProfile(name="bob2"), AS_ADA)
        case "update":
            desk.update(call.who, AS_ADA, None, **{call.field: "changed"})
        case "restore":
            desk.restore(call.who, call.number, AS_ADA)
        case _:
            desk.world.undo_service.undo(batches[call.number % len(batches)].id, AS_ADA)
