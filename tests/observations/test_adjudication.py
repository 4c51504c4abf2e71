"""Uncertain contradictions judged by a language model: decisions, cost, and limits of its use."""

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from hivelore.core.agents import Interface
from hivelore.errors import Invalid
from hivelore.health.handlers import read_status
from hivelore.links.judge import Verdict
from hivelore.memories.drafts import Edit
from hivelore.memories.model import MemoryId
from hivelore.models.openai.chat import ChatModel
from hivelore.models.quota import TokenQuota
from hivelore.observations.adjudication import LEASE, LEASE_NAME, Adjudicator
from hivelore.observations.model import ObservationKind
from hivelore.observations.outcomes import Effect
from hivelore.review.model import Decision, Proposal, ProposalKind
from hivelore.runtime.app import Application
from hivelore.runtime.settings import load
from hivelore.storage.leader_lease import LeaderLease
from support.language_server import LanguageServer
from support.pair_readers import TableReader
from support.remote_embedder import KEY
from support.waiting import until
from support.world import AS_OPERATOR, World, hashing

CAP = 100_000
OLDER = "The scheduler retries failed exports on worker3"
NEWER = "The scheduler retries failed exports on old-nas today"


@pytest.fixture
def world(world: World) -> World:
    """A world whose pair model is uncertain about the two notes."""
    reader = TableReader({(OLDER, NEWER): Verdict.UNCERTAIN})
    return World(world.store, world.keywords, world.clock, embedder=hashing(), reader=reader, first_id=5_000)


@pytest.fixture
def server() -> Generator[LanguageServer]:
    with LanguageServer() as server:
        says(server, "conflict")
        yield server


def says(server: LanguageServer, verdict: str, *, sure: bool = True) -> None:
    server.answer = json.dumps({"reason": "another host", "verdict": verdict, "sure": sure})


@pytest.fixture
def judge(world: World, server: LanguageServer) -> Generator[Adjudicator]:
    with closing(a_model(world, server)) as model:
        yield judged_by(world, model)


def a_model(world: World, server: LanguageServer) -> ChatModel:
    return ChatModel(clock=world.clock, base_url=f"{server.url}/v1", api_key=KEY, model="small")


def judged_by(world: World, model: ChatModel, cap: int = CAP, holder: str = "one") -> Adjudicator:
    return Adjudicator(
        store=world.store,
        review_inbox=world.review_inbox,
        model=model,
        token_quota=TokenQuota(world.store, world.clock, cap),
        leader_lease=LeaderLease(world.store, world.clock, holder, LEASE_NAME, LEASE),
    )


def doubt(world: World, service: str = "jellyfin") -> tuple[MemoryId, MemoryId]:
    """Reports two observations that the pair model is uncertain about."""
    older, newer = world.observe(OLDER, service), world.observe(NEWER, service)
    assert newer.effect is Effect.UNCERTAIN
    return older.memory.id, newer.memory.id


def inbox(world: World) -> list[Proposal]:
    """Returns the open proposals, oldest first."""
    page = world.review_inbox.page(AS_OPERATOR, None, 100, kind=ProposalKind.CONTRADICTION)
    return list(reversed(page.proposals))


def confidence(world: World, memory: MemoryId) -> float:
    return world.curation.get(memory, AS_OPERATOR).confidence


def test_a_contradiction_is_accepted_if_the_model_is_sure(
    world: World, judge: Adjudicator, server: LanguageServer
) -> None:
    older, newer = doubt(world)
    assert judge.step()
    (proposal,) = inbox(world)
    assert proposal.decided is not None
    assert (proposal.decided.how, proposal.decided.actor) == (Decision.ACCEPTED, None)
    assert proposal.decided.interface is Interface.SERVICE
    assert proposal.decided.reason == "openai small: conflict: another host"
    assert (confidence(world, older), confidence(world, newer)) == (0.5, 0.7)
    (*_, last) = world.curation.timeline(older, AS_OPERATOR).observations
    assert (last.kind, last.interface, last.text) == (ObservationKind.DISPROVED, Interface.SERVICE, NEWER)
    (asked,) = server.asked
    assert OLDER in asked[2]["messages"][0]["content"]
    assert NEWER in asked[2]["messages"][0]["content"]


@pytest.mark.parametrize("verdict", ["same", "different"])
def test_a_denied_contradiction_is_rejected_without_other_changes(
    world: World, judge: Adjudicator, server: LanguageServer, verdict: str
) -> None:
    says(server, verdict)
    memories = doubt(world)
    assert judge.step()
    (proposal,) = inbox(world)
    assert proposal.decided is not None
    assert proposal.decided.how is Decision.REJECTED
    assert [confidence(world, memory) for memory in memories] == [0.7, 0.7]


@pytest.mark.parametrize(("verdict", "sure"), [("conflict", False), ("unsure", True)])
def test_an_unsure_verdict_leaves_the_proposal_to_a_person_and_is_not_repeated(
    world: World, judge: Adjudicator, server: LanguageServer, verdict: str, sure: bool
) -> None:
    says(server, verdict, sure=sure)
    doubt(world)
    assert judge.step()
    assert not judge.step()
    (proposal,) = inbox(world)
    assert proposal.decided is None
    assert len(server.asked) == 1
    with closing(a_model(world, server)) as model:
        assert not judged_by(world, model).step()


def test_each_proposal_is_judged_once_oldest_first(world: World, judge: Adjudicator, server: LanguageServer) -> None:
    for service in ("a", "b", "c"):
        doubt(world, service)
    assert judge.step()
    assert [one.decided is None for one in inbox(world)] == [False, True, True]
    assert judge.step()
    doubt(world, "d")
    while judge.step():
        pass
    assert all(one.decided is not None for one in inbox(world))
    assert len(server.asked) == 4


def test_a_decided_proposal_causes_no_request(world: World, judge: Adjudicator, server: LanguageServer) -> None:
    doubt(world)
    world.review_inbox.decide(inbox(world)[0].id, Decision.REJECTED, AS_OPERATOR)
    assert not judge.step()
    assert server.asked == []


def test_a_proposal_about_an_edited_note_is_left_to_a_person(
    world: World, judge: Adjudicator, server: LanguageServer
) -> None:
    older, _ = doubt(world)
    world.memory_service.edit(older, Edit(content="The scheduler gives up"), AS_OPERATOR)
    assert judge.step()
    assert inbox(world)[0].decided is None
    assert not judge.step()
    assert confidence(world, older) == 0.7


def test_the_daily_token_quota_is_respected(world: World, server: LanguageServer) -> None:
    doubt(world)
    with closing(a_model(world, server)) as model:
        judge = judged_by(world, model, cap=100)
        assert not judge.step()
        assert server.asked == []
        judge = judged_by(world, model)
        assert judge.step()
        assert TokenQuota(world.store, world.clock, CAP).today() == server.tokens


def test_an_unreachable_model_is_retried(world: World, judge: Adjudicator, server: LanguageServer) -> None:
    server.script(503, 503)
    doubt(world)
    for _ in range(2):
        assert not judge.step()
        assert judge.last_error is not None
    assert inbox(world)[0].decided is None
    assert judge.step()
    assert judge.last_error is None
    assert inbox(world)[0].decided is not None


def test_a_repeatedly_refused_request_is_left_to_a_person(
    world: World, judge: Adjudicator, server: LanguageServer
) -> None:
    server.script(400, 400, 400)
    doubt(world)
    assert [judge.step() for _ in range(4)] == [False, False, True, False]
    assert inbox(world)[0].decided is None


def test_only_one_process_uses_the_model(world: World, judge: Adjudicator, server: LanguageServer) -> None:
    doubt(world)
    with closing(a_model(world, server)) as model:
        other = judged_by(world, model, holder="two")
        assert judge.step()
        doubt(world, "b")
        assert other.step() is not world.store.is_shared


def test_the_adjudicator_runs_until_it_is_stopped(world: World, judge: Adjudicator) -> None:
    doubt(world)
    stop = Event()
    thread = Thread(target=judge.run, args=(stop, 0.01))
    thread.start()
    until(lambda: inbox(world)[0].decided is not None)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()


def test_no_model_is_used_by_default(tmp_path: Path) -> None:
    with closing(Application(load(home=tmp_path, embedder="none"))) as app:
        assert app.adjudicator is None
        assert read_status(app).judge == "rules"


def test_the_model_judge_requires_a_summarizer(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="HIVELORE_SUMMARIZER"):
        Application(load(home=tmp_path, embedder="none", judge="model"))


def test_the_application_uses_the_model_of_its_summarizer(
    tmp_path: Path, server: LanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = load(
        home=tmp_path,
        embedder="none",
        judge="model",
        summarizer="openai",
        summarizer_model="small",
        summarizer_url=f"{server.url}/v1",
    )
    with closing(Application(settings)) as app:
        assert app.adjudicator is not None
        assert not app.adjudicator.step()
        assert read_status(app).judge == "model"
