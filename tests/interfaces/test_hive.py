"""The Python API: the same whether the hive is in this process or behind a service."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Generator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import astuple

import hivelore
from hivelore.core.text import Clean
from hivelore.errors import Busy, Forbidden, Invalid, NotFound, Proposed, Stale, Unauthenticated
from hivelore.local import endpoint
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, MemoryId, Scope, Source, TaskStatus
from hivelore.observations.model import Confidence, Held, Operational
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.python.remote import RemoteHive
from hivelore.review.model import ProposalKind, Wanted
from support.service import Service


@pytest.fixture(autouse=True)
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    for name in ("HIVELORE_URL", "HIVELORE_KEY", "HIVELORE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["embedded", "service", "directory of a service"])
def hive(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Hive]:
    if request.param == "embedded":
        with hivelore.open(tmp_path) as opened:
            assert isinstance(opened, EmbeddedHive)
            yield opened
        return
    with Service(tmp_path) as service:
        monkeypatch.setenv("HIVELORE_HOME", str(tmp_path))
        with hivelore.open(service.url if request.param == "service" else tmp_path) as opened:
            assert isinstance(opened, RemoteHive)
            yield opened


def remember_as_operator(hive: Hive, draft: Draft, home: Path) -> Memory:
    """Stores a memory as an operator: with the operator's key through a service, directly in an open directory."""
    if isinstance(hive, EmbeddedHive):
        return hive.remember_many([draft])[0].memory
    key = (home / endpoint.OPERATOR_KEY).read_text(encoding="ascii").strip()
    with hivelore.open(home, key=key) as operated:
        return operated.remember_many([draft])[0].memory


def test_remember_recall_get_edit_list_and_forget(hive: Hive) -> None:
    memory = hive.remember("Use pnpm here, never npm.", name="pnpm", tags=["node"], metadata={"a": [1, None]})
    (hit,) = hive.recall("pnpm")
    assert hit.memory == memory
    assert hit.score.parts["total"] == hit.score.total
    edited = hive.edit(memory.id, content="Use yarn here.", version=1)
    assert (edited.version, edited.name, hive.get(memory.id).content) == (2, "pnpm", "Use yarn here.")
    assert [one.id for one in hive.list(tag="node").memories] == [memory.id]
    assert hive.stats().total == 1
    hive.forget(memory.id)
    with pytest.raises(NotFound):
        hive.get(memory.id)


def test_a_completed_task_is_a_memory_unless_it_is_trivial(hive: Hive) -> None:
    task: dict[str, Any] = {"task_id": "T-7", "task": "Fix the login", "project": "shop"}
    memory = hive.complete_task(**task, output="The token had expired.")
    assert memory is not None
    assert (memory.name, memory.source, memory.source_task_id) == ("Fix the login", Source.TASK_COMPLETION, "T-7")
    assert hive.complete_task(**task, output="The token had expired.") == memory
    failed = hive.complete_task(**task, output="It expires too early.", status=TaskStatus.FAILED)
    assert failed is not None
    assert (failed.id, failed.version) == (memory.id, 2)
    assert hive.complete_task(task_id="T-8", task="Run it") is None


def test_a_recall_is_narrowed_by_tag_category_source_and_creation(hive: Hive) -> None:
    def made(day: int, **fields: Any) -> MemoryId:
        at = datetime(2026, 1, day, 23, 59, tzinfo=UTC)
        return hive.remember(f"On day {day} pnpm was slow.", created_at=at, **fields).id

    first = made(30, tags=["node"], category="build")
    second = made(31, source=Source.TASK_COMPLETION)
    day = date(2026, 1, 31)
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    filters: list[tuple[dict[str, Any], set[MemoryId]]] = [
        ({"tag": "node"}, {first}),
        ({"category": "build"}, {first}),
        ({"source": Source.TASK_COMPLETION}, {second}),
        ({"tag": "node", "source": Source.TASK_COMPLETION}, set()),
        ({"created_after": day}, {second}),
        ({"created_before": day}, {first}),
        ({"created_after": noon}, {second}),
        ({"created_before": noon}, {first}),
        ({"created_after": noon, "created_before": noon + timedelta(hours=1)}, set()),
    ]
    for where, expected in filters:
        assert {hit.memory.id for hit in hive.recall("pnpm", **where)} == expected, where
    assert {one.id for one in hive.list(created_after=day).memories} == {second}
    with pytest.raises(Invalid, match="must be later"):
        hive.recall("pnpm", created_after=noon, created_before=day)
    with pytest.raises(Invalid, match="time zone"):
        hive.recall("pnpm", created_after=noon.replace(tzinfo=None))


def test_every_recall_is_logged_with_its_reasons(hive: Hive) -> None:
    memory = hive.remember("Use pnpm here, never npm.")
    hits = hive.recall("pnpm", project="shop")
    nothing = hive.recall("yarn", only_fitting=True)
    newest, first = hive.recalls().recalls
    assert (newest.id, newest.question, newest.hits) == (nothing.recall_id, "yarn", ())
    assert (first.id, first.question, first.project, first.path) == (hits.recall_id, "pnpm", "shop", hits.path)
    assert (first.agent, first.candidates, first.withheld) == (memory.owner, 1, 0)
    (given,) = first.hits
    assert (given.memory, given.rank, given.fits) == (memory.id, 1, hits[0].fits)
    assert astuple(given.score) == pytest.approx(astuple(hits[0].score), abs=1e-5)
    page = hive.recalls(limit=1)
    assert page.recalls == (newest,)
    assert hive.recalls(after=page.next).recalls == (first,)
    assert hive.recalls(memory=memory.id, agent=memory.owner).recalls == (first,)
    assert hive.recalls(agent="somebody").recalls == ()
    hive.forget(memory.id)
    assert [(one.hits, one.withheld) for one in hive.recalls().recalls] == [((), 0), ((), 1)]


def test_a_proposal_is_listed_and_decided(hive: Hive, tmp_path: Path) -> None:
    held = Held(base=Confidence(0.7), since=datetime(2026, 1, 1, tzinfo=UTC))
    draft = Draft(content="Takes 60 s.", scope=Scope.SWARM, operational=Operational.of(held))
    memory = remember_as_operator(hive, draft, tmp_path)
    with pytest.raises(Proposed) as caught:
        hive.edit(memory.id, content="Takes 70 s.", reason="timed it")
    page = hive.review(kind=ProposalKind.OPERATIONAL)
    (proposal,) = page.proposals
    assert (proposal.id, proposal.why, proposal.wanted) == (
        caught.value.proposal,
        "timed it",
        Wanted(edit=Edit(content="Takes 70 s.")),
    )
    assert page.names == {memory.id: memory.name}
    case = hive.proposal(proposal.id)
    assert (case.proposal, [one.content for one in case.memories]) == (proposal, ["Takes 60 s."])
    with pytest.raises(Forbidden):
        hive.decide(proposal.id, "accept")
    assert hive.review(status="decided").proposals == ()
    for wrong in (
        lambda: hive.review(status=cast(Any, "new")),
        lambda: hive.review(kind=cast(Any, "quarrel")),
        lambda: hive.review(limit=0),
        lambda: hive.proposal(cast(Any, 7)),
        lambda: hive.decide(proposal.id, cast(Any, "agree")),
        lambda: hive.decide(proposal.id, "accept", reason=cast(Any, 7)),
    ):
        with pytest.raises(Invalid):
            wrong()
    for unknown in (lambda: hive.proposal("nothing"), lambda: hive.proposal(""), lambda: hive.decide("", "accept")):
        with pytest.raises(NotFound):
            unknown()


def test_an_operator_accepts_a_proposal(tmp_path: Path) -> None:
    with hivelore.open(tmp_path) as hive:
        held = Held(base=Confidence(0.7), since=datetime(2026, 1, 1, tzinfo=UTC))
        draft = Draft(content="Takes 60 s.", scope=Scope.SWARM, operational=Operational.of(held))
        memory = hive.remember_many([draft])[0].memory
        with pytest.raises(Proposed):
            hive.edit(memory.id, content="Takes 70 s.")
        (proposal,) = hive.review().proposals
    with hivelore.open(tmp_path, key=(tmp_path / "operator.key").read_text().strip()) as hive:
        done = hive.decide(proposal.id, "accept", reason="right")
        assert done.decided is not None
        assert (done.decided.how.value, done.decided.reason) == ("accepted", "right")
        assert hive.get(memory.id).content == "Takes 70 s."


def test_a_recall_can_be_silent_short_and_varied(hive: Hive) -> None:
    for number in range(4):
        hive.remember(f"Note {number}: use pnpm here, never npm, since its lock file is the one that counts.")
    hive.remember("The office has a coffee machine.", name="a")
    hive.remember("The office has a coffee machine.", name="b")
    (coffee,) = hive.recall("coffee machine in the office", only_fitting=True)
    assert (coffee.fits, coffee.alike) == (True, 1)
    assert coffee.relevance >= 0.5
    silent = hive.recall("the office party of the sales department in Bergen", only_fitting=True)
    assert (list(silent), silent.fits, silent.message.split(".")[0]) == ([], False, "Nothing fits well enough")
    assert len(hive.recall("pnpm lock file")) == 4
    assert len(hive.recall("pnpm lock file", budget=50, diversity=0.5)) == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"only_fitting": "yes"}, "onlyFitting"),
        ({"diversity": 1.5}, "diversity"),
        ({"diversity": float("nan")}, "diversity"),
        ({"diversity": "much"}, "diversity"),
        ({"budget": 49}, "budget"),
        ({"budget": 100_001}, "budget"),
        ({"budget": 99.5}, "budget"),
    ],
)
def test_an_invalid_recall_names_its_field(hive: Hive, given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as error:
        hive.recall("x", **given)
    assert error.value.field == field


def test_every_field_is_stored_unchanged(hive: Hive) -> None:
    fields = {
        "name": "n",
        "scope": hivelore.Scope.SWARM,
        "source": hivelore.Source.TASK_COMPLETION,
        "session": "s",
        "author": "a",
        "project": "p",
        "category": "fact",
        "source_path": "/p",
        "source_task_id": "t",
        "external_id": "e",
    }
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    memory = hive.remember("Wörter, 言葉, 🦊", tags=("x", "y"), metadata={"k": {"n": 1.5}}, created_at=at, **fields)  # pyright: ignore[reportArgumentType]
    again = hive.get(memory.id)
    assert {name: getattr(again, name) for name in fields} == fields
    assert (again.content, again.tags, again.created_at) == ("Wörter, 言葉, 🦊", ("x", "y"), at)
    assert again.metadata == {"k": {"n": 1.5}}


def test_operational_fields_are_stored_unchanged(hive: Hive, tmp_path: Path) -> None:
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    held = Held(base=Confidence(0.35), since=at, is_off=True)
    known = Operational.of(held, service=Clean("jellyfin"), tier=3)
    draft = Draft(content="Takes 60 s to start.", scope=Scope.SWARM, operational=known)
    assert hive.get(remember_as_operator(hive, draft, tmp_path).id).operational == known


def test_many_at_once_keep_their_order(hive: Hive) -> None:
    done = hive.remember_many([*(f"note {number}" for number in range(150)), Draft(content="last")])
    assert [one.memory.content for one in done][-2:] == ["note 149", "last"]
    assert hive.stats().total == 151


def test_a_recall_reports_its_retrieval_mode(hive: Hive) -> None:
    hive.remember("pnpm")
    hits = hive.recall("pnpm")
    assert "keywords only" in hits.message
    assert "similarity 1.000" in hits.explain()
    assert hits[0].memory.id in str(hits)


def test_the_beginning_of_an_id_stands_for_it(hive: Hive) -> None:
    memory = hive.remember("one")
    assert hive.get(memory.id[:13].upper()).id == memory.id
    assert hive.edit(memory.id[:35], name="first").id == memory.id
    with pytest.raises(NotFound):
        hive.get(memory.id[:7])
    hive.forget(memory.id[:23])
    with pytest.raises(NotFound):
        hive.get(memory.id)


def test_an_ambiguous_beginning_of_an_id_is_refused_with_the_ids(hive: Hive) -> None:
    first, second = hive.remember("one"), hive.remember("two")
    while first.id[:8] != second.id[:8]:  # A minute later the beginning is another one.
        first, second = second, hive.remember(f"after {second.id}")
    with pytest.raises(Invalid, match="Several ids begin with") as error:
        hive.forget(first.id[:8])
    assert first.id in str(error.value)
    assert second.id in str(error.value)


BAD: list[tuple[Callable[[Hive], object], type[Exception]]] = [
    (lambda hive: hive.remember(""), Invalid),
    (lambda hive: hive.remember("x", scope="everyone"), Invalid),
    (lambda hive: hive.remember("a\0b"), Invalid),
    (lambda hive: hive.remember("a\ud800b"), Invalid),
    (lambda hive: hive.remember("x", created_at=datetime(2026, 1, 1)), Invalid),  # noqa: DTZ001
    (lambda hive: hive.recall(""), Invalid),
    (lambda hive: hive.recall("x", limit=0), Invalid),
    (lambda hive: hive.recall("x", limit=51), Invalid),
    (lambda hive: hive.list(limit=0), Invalid),
    (lambda hive: hive.list(after="x"), Invalid),
    (lambda hive: hive.recalls(limit=0), Invalid),
    (lambda hive: hive.recalls(limit=101), Invalid),
    (lambda hive: hive.recalls(after="x"), Invalid),
    (lambda hive: hive.recalls(memory="nothing"), NotFound),
    (lambda hive: hive.get("nothing"), NotFound),
    (lambda hive: hive.get("a/../b"), NotFound),
    (lambda hive: hive.edit("nothing", name="x"), NotFound),
    (lambda hive: hive.forget("nothing"), NotFound),
    (lambda hive: hive.remember("x", agent="somebody"), Forbidden),
    (lambda hive: hive.index("/no/such/file"), Invalid),
]


@pytest.mark.parametrize(("call", "error"), BAD)
def test_bad_input_is_the_same_error_on_both_sides(
    hive: Hive, call: Callable[[Hive], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call(hive)


def test_a_stale_edit_reports_the_current_version(hive: Hive) -> None:
    memory = hive.remember("x")
    hive.edit(memory.id, content="y")
    with pytest.raises(Stale) as error:
        hive.edit(memory.id, content="z", version=1)
    assert error.value.current == 2


def test_indexing_a_folder_skips_ignored_files(hive: Hive, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_text("# Kangaroo\n\nIt hops.")
    (root / "sub" / "b.md").write_text("Wombats dig.")
    (root / "skip.log").write_text("noise")
    (root / ".gitignore").write_text("*.log\n")
    (root / "binary.bin").write_bytes(b"\0\1\2")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "empty.md").write_text(" ")
    done = hive.index(root)
    assert {memory.name for memory in done} == {"a", "b", ".gitignore"}
    assert {one.path.name: one.reason for one in done.skipped}.keys() == {"binary.bin", "latin.txt", "empty.md"}
    first = next(memory for memory in done if memory.name == "a")
    (root / "a.md").write_text("# Kangaroo\n\nIt hops far.")
    again = next(memory for memory in hive.index(root / "a.md"))
    assert (again.id, again.version) == (first.id, 2)


def test_an_indexed_file_is_refused_with_the_same_text_on_both_sides(hive: Hive, tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_text("Wombats dig.")
    done = hive.index(note, project="a\ud800b")
    reason = "A text has half of a surrogate pair, which is not valid Unicode."
    assert (list(done), [one.reason for one in done.skipped]) == ([], [reason])


def test_waiting_with_nothing_to_wait_for_returns(hive: Hive) -> None:
    hive.remember("x")
    assert hive.wait_until_indexed(120)


def test_both_hives_have_the_same_methods() -> None:
    for name, method in inspect.getmembers(Hive, inspect.isfunction):
        if not name.startswith("__"):
            for kind in (EmbeddedHive, RemoteHive):
                assert inspect.signature(getattr(kind, name)) == inspect.signature(method), name


def test_a_directory_that_this_process_has_open_is_busy(tmp_path: Path) -> None:
    with hivelore.open(tmp_path), pytest.raises(Busy, match="process"):
        hivelore.open(tmp_path)
    hivelore.open(tmp_path).close()


def test_memories_survive_reopening(tmp_path: Path) -> None:
    with hivelore.open(tmp_path) as hive:
        hive.remember("kept")
    with hivelore.open(tmp_path) as hive:
        assert [one.content for one in hive.list().memories] == ["kept"]


def test_agents_of_one_directory_do_not_see_each_other(tmp_path: Path) -> None:
    ada, bob = "0190c2a4-5f3b-7c11-9d7e-000000000001", "0190c2a4-5f3b-7c11-9d7e-000000000002"
    with hivelore.open(tmp_path, agent=ada) as hive:
        hive.remember("adas secret")
    with hivelore.open(tmp_path, agent=bob) as hive:
        assert list(hive.recall("secret")) == []


def test_a_wrong_key_is_an_error_without_fallback(tmp_path: Path) -> None:
    with pytest.raises(Unauthenticated):
        hivelore.open(tmp_path, key="hl_1_0000000000_" + "0" * 64)
    hivelore.open(tmp_path).close()


def test_importing_the_package_costs_nothing() -> None:
    code = "import sys; before = set(sys.modules); import hivelore; print(len(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3
