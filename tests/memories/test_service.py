"""The memory service: storing drafts, and permissions to change memories."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hivelore.core.agents import Role, Viewer
from hivelore.core.redaction import METADATA_VALUES, Redactor
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound, Proposed, Stale, TooLarge
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Action, MemoryId, Scope, Source, Trust
from hivelore.memories.normalizer import CONTENT_LENGTH, FIELD_LENGTH, MAX_TAGS
from support.memories import operational
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, BOB, World


def test_a_memory_without_a_name_and_summary_gets_both(world: World) -> None:
    memory = world.remember("The API wants a Bearer prefix. Everything else is refused with a misleading 403.")
    assert memory.name.startswith("The API wants a Bearer prefix")
    assert memory.summary
    assert (memory.owner, memory.scope, memory.version) == (ADA, Scope.AGENT, 1)


def test_the_same_text_again_is_the_same_memory(world: World) -> None:
    first = world.remember("Use pnpm.", name="pnpm")
    again = world.memory_service.remember(Draft(content="Use pnpm.", name="pnpm"), AS_ADA)
    assert (again.memory.id, again.created, again.changed) == (first.id, False, False)


def test_new_fields_of_the_same_text_are_stored(world: World) -> None:
    first = world.remember("Use pnpm.", name="pnpm", tags=("node",))
    again = world.memory_service.remember(
        Draft(content="Use pnpm.", name="pnpm", tags=("build",), category="fact"), AS_ADA
    )
    assert again.memory.id == first.id
    assert (again.memory.tags, again.memory.category) == (("node", "build"), "fact")


def test_storing_the_same_text_again_keeps_the_operational_state(world: World) -> None:
    first = world.remember("Takes 60 s.", operational=operational("jellyfin"))
    assert first.operational == operational("jellyfin")
    draft = Draft(content="Takes 60 s.", operational=operational(base=0.1))
    again = world.memory_service.remember(draft, replace(AS_ADA, role=Role.OPERATOR))
    assert (again.memory, again.changed) == (first, False)


def test_a_note_can_become_an_operational_memory(world: World) -> None:
    first = world.remember("Takes 60 s.")
    again = world.remember("Takes 60 s.", operational=operational("jellyfin"))
    assert (again.id, again.version, again.operational) == (first.id, 2, operational("jellyfin"))
    after = world.memory_service.edit(first.id, Edit(content="Takes 61 s."), AS_OPERATOR)
    assert after.operational == again.operational


def test_only_operators_change_an_operational_memory(world: World) -> None:
    memory = world.remember("Takes 60 s.", operational=operational())
    for change in (Edit(content="Takes 61 s."), Edit(scope=Scope.SWARM)):
        with pytest.raises(Forbidden):
            world.memory_service.edit(memory.id, change, AS_ADA)
    with pytest.raises(Forbidden):
        world.memory_service.forget(memory.id, AS_ADA)
    world.memory_service.forget(memory.id, AS_OPERATOR)


@pytest.mark.parametrize("viewer", [AS_ADA, AS_LEA])
@pytest.mark.parametrize("scope", list(Scope))
def test_an_agent_cannot_set_a_confidence(world: World, viewer: Viewer, scope: Scope) -> None:
    draft = Draft(content="Takes 60 s.", scope=scope, operational=operational(base=1.0))
    with pytest.raises(Forbidden, match="POST /memories"):
        world.memory_service.remember(draft, viewer)
    with pytest.raises(Forbidden, match="hivelore observe"):
        world.memory_service.remember_many([Draft(content="Use pnpm."), draft], viewer)
    assert world.found("pnpm takes 60 s", AS_OPERATOR) == []


def test_an_operator_sets_confidence_tier_and_persistence(world: World) -> None:
    known = replace(operational(base=1.0), tier=0, persistent=True)
    memory = world.remember("Takes 60 s.", AS_OPERATOR, scope=Scope.SWARM, operational=known)
    assert memory.operational == known


@pytest.mark.parametrize(("service", "kept"), [(" jellyfin ", "jellyfin"), ("  ", None), (" general", None)])
def test_the_name_of_a_service_is_cleaned(world: World, service: str, kept: str | None) -> None:
    assert world.remember("Takes 60 s.", operational=operational(service)).operational == operational(kept)


def test_an_observation_time_in_the_future_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="future"):
        world.remember("Takes 60 s.", operational=operational(since=world.clock.now() + timedelta(days=2)))


def test_the_same_text_of_another_agent_is_another_memory(world: World) -> None:
    assert world.remember("Use pnpm.").id != world.remember("Use pnpm.", AS_BOB).id


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("projects", [("a", "b"), ("a", None), (None, "a")])
def test_the_same_sentence_of_another_project_is_another_memory(
    world: World, projects: tuple[str | None, str | None], scope: Scope
) -> None:
    """All programs of a machine share one agent: storing in one project changes no memory of another one."""
    first, second = (world.remember("Run make check.", project=project, scope=scope) for project in projects)
    assert first.id != second.id
    for memory in (first, second):
        again = world.memory_service.remember(
            Draft(content="Run make check.", project=memory.project, scope=scope), AS_ADA
        )
        assert (again.memory.id, again.changed) == (memory.id, False)
        assert world.reading.get(memory.id, AS_ADA).project == memory.project


@pytest.mark.parametrize("name", ["source_path", "external_id"])
def test_a_path_or_external_id_identifies_one_document_per_project(world: World, name: str) -> None:
    known: dict[str, Any] = {name: "docs/a.md"}
    first = world.remember("A. The port is 5432.", project="a", **known)
    assert world.remember("A. The port is 5433.", **known).id == first.id  # The only candidate.
    second = world.remember("B. The port is 6000.", project="b", **known)
    assert second.id != first.id
    third = world.remember("The port is 7000.", **known)  # Ambiguous: two candidates.
    assert third.id not in (first.id, second.id)
    stored = [world.remember("Two.", project=project, **known) for project in ("a", "b", None)]
    assert [one.id for one in stored] == [first.id, second.id, third.id]


def test_repeated_turns_of_a_conversation_are_separate_memories(world: World) -> None:
    first = world.remember("Thanks!", session="s", external_id="turn-1")
    assert world.remember("Thanks!", session="s", external_id="turn-2").id != first.id


def test_the_same_path_is_a_new_version_of_the_same_document(world: World) -> None:
    first = world.remember("old words", source=Source.FILE_INDEX, source_path="/notes/a.md")
    second = world.remember("new words", source=Source.FILE_INDEX, source_path="/notes/a.md")
    assert (second.id, second.version, second.content) == (first.id, 2, "new words")
    assert [one.content for one in world.reading.history(first.id, AS_ADA).versions] == ["old words", "new words"]


@pytest.mark.parametrize("viewer", [AS_ADA, AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)
def test_a_shared_path_is_one_document_for_all_who_may_change_it(world: World, viewer: Viewer) -> None:
    first = world.remember("adas words", scope=Scope.SWARM, source_path="/shared/a.md")
    second = world.remember("new words", viewer, scope=Scope.SWARM, source_path="/shared/a.md")
    assert (second.id, second.owner, second.provenance.actor) == (first.id, viewer.agent, viewer.agent)


def test_storing_again_renews_the_expiry_without_a_new_version(world: World) -> None:
    first = world.remember("words", source=Source.FILE_INDEX, source_path="/a")
    world.clock.advance(timedelta(days=20))
    second = world.remember("words", source=Source.FILE_INDEX, source_path="/a")
    assert first.expires_at is not None
    assert second.expires_at is not None
    assert second.expires_at - first.expires_at >= timedelta(days=20)
    assert second.version == 1


def test_importing_the_same_past_memory_again_changes_nothing(world: World) -> None:
    draft = Draft(
        content="x", external_id="1", source=Source.SESSION_SUMMARY, created_at=datetime(2025, 1, 1, tzinfo=UTC)
    )
    world.memory_service.remember(draft, AS_ADA)
    world.clock.advance(timedelta(days=1))
    assert not world.memory_service.remember(draft, AS_ADA).changed


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_blank_content_is_refused(world: World, content: str) -> None:
    with pytest.raises(Invalid) as error:
        world.memory_service.remember(Draft(content=content), AS_ADA)
    assert error.value.field == "content"


@pytest.mark.parametrize("content", ["a\0b", "a\ud800b"])
def test_unstorable_text_is_refused_with_its_position(world: World, content: str) -> None:
    with pytest.raises(Invalid, match="1"):
        world.memory_service.remember(Draft(content=content), AS_ADA)


def test_content_of_five_million_characters_is_refused(world: World) -> None:
    with pytest.raises(TooLarge):
        world.memory_service.remember(Draft(content="x" * 5_000_000), AS_ADA)


def test_secrets_are_masked_before_a_memory_is_stored(world: World) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    memory = world.remember(f"The token is {secret}", name=f"token {secret}", tags=(secret,))
    assert secret not in repr(memory)


def test_an_agent_cannot_write_for_another_agent(world: World) -> None:
    with pytest.raises(Forbidden):
        world.memory_service.remember(Draft(content="x", owner=BOB), AS_ADA)
    assert world.memory_service.remember(Draft(content="x", owner=BOB), AS_OPERATOR).memory.owner == BOB


def test_an_operator_without_an_agent_stores_only_shared_memories(world: World) -> None:
    with pytest.raises(Invalid, match="agent"):
        world.memory_service.remember(Draft(content="x"), AS_OPERATOR)
    memory = world.memory_service.remember(Draft(content="x", scope=Scope.SWARM), AS_OPERATOR).memory
    assert (memory.owner, memory.provenance.trust) == (None, Trust.OPERATOR)


def test_a_batch_is_stored_whole_or_not_at_all(world: World) -> None:
    with pytest.raises(Invalid):
        world.memory_service.remember_many([Draft(content="good"), Draft(content=" ")], AS_ADA)
    assert world.found("good") == []


def test_an_edit_adds_a_version_and_keeps_the_id(world: World) -> None:
    memory = world.remember("Port 8080.", name="port")
    edited = world.memory_service.edit(memory.id, Edit(content="Port 9090.", reason="moved"), AS_ADA)
    assert (edited.id, edited.version, edited.name) == (memory.id, 2, "port")
    assert [one.action for one in world.reading.history(memory.id, AS_ADA).versions] == [
        Action.CREATED,
        Action.EDITED,
    ]
    world.embed()
    assert world.found("9090") == ["Port 9090."]
    assert world.found("8080", limit=1) != ["Port 8080."]


LONG = "It has moved to a shelf in the cellar, behind the boxes with the wires that nobody has ever sorted."


def test_a_derived_name_changes_with_an_edit(world: World) -> None:
    memory = world.remember("The drill is in the attic. Its battery is flat.")
    edited = world.memory_service.edit(memory.id, Edit(content=LONG), AS_ADA)
    assert (edited.name, edited.summary) == (world.remember(LONG).name, LONG)
    assert edited.name.startswith("It has moved")
    assert [one.name for one in world.reading.history(memory.id, AS_ADA).versions] == [memory.name, edited.name]


def test_a_derived_name_changes_with_new_content_of_the_same_path(world: World) -> None:
    world.remember("The drill is in the attic.", source=Source.FILE_INDEX, source_path="/notes/drill.md")
    again = world.remember(LONG, source=Source.FILE_INDEX, source_path="/notes/drill.md")
    assert (again.version, again.name) == (2, world.remember(LONG).name)


@pytest.mark.parametrize("path", [None, "/notes/drill.md"])
def test_a_given_name_stays(world: World, path: str | None) -> None:
    memory = world.remember("The drill is in the attic.", name="drill", source_path=path)
    if path is not None:
        assert world.remember("The drill is lost.", source_path=path).name == "drill"
    assert world.memory_service.edit(memory.id, Edit(content=LONG), AS_ADA).name == "drill"


def test_a_name_given_with_new_content_is_stored(world: World) -> None:
    memory = world.remember("The drill is in the attic.")
    edited = world.memory_service.edit(memory.id, Edit(content=LONG, name="drill"), AS_ADA)
    assert edited.name == "drill"
    draft = Draft(content="It is lost.", name="tool", external_id="1")
    world.remember("The drill is lost.", external_id="1")
    assert world.memory_service.remember(draft, AS_ADA).memory.name == "tool"


def test_an_edit_of_a_stale_version_is_refused_with_the_current_one(world: World) -> None:
    memory = world.remember("one")
    world.memory_service.edit(memory.id, Edit(content="two"), AS_ADA, version=1)
    with pytest.raises(Stale) as error:
        world.memory_service.edit(memory.id, Edit(content="three"), AS_ADA, version=1)
    assert error.value.current == 2


def test_an_edit_without_changes_adds_no_version(world: World) -> None:
    memory = world.remember("one", name="n")
    assert world.memory_service.edit(memory.id, Edit(name="n"), AS_ADA).version == 1


def test_a_private_memory_is_indistinguishable_from_an_unknown_one(world: World) -> None:
    memory = world.remember("private")
    answers: list[str] = []
    for unknown in (memory.id, MemoryId("m9999")):
        for attempt in (
            lambda one=unknown: world.memory_service.edit(one, Edit(content="x"), AS_BOB),
            lambda one=unknown: world.memory_service.forget(one, AS_BOB),
            lambda one=unknown: world.reading.get(one, AS_BOB),
        ):
            with pytest.raises(NotFound) as error:
                attempt()
            answers.append(str(error.value).replace(unknown, "ID"))
    assert len(set(answers)) == 1


def test_a_lead_edits_shared_memories_and_no_private_ones(world: World) -> None:
    shared, private = world.remember("shared", scope=Scope.SWARM), world.remember("private")
    assert world.memory_service.edit(shared.id, Edit(content="better"), AS_LEA).content == "better"
    with pytest.raises(Forbidden):
        world.memory_service.edit(private.id, Edit(content="better"), AS_LEA)
    with pytest.raises(Forbidden):
        world.memory_service.edit(private.id, Edit(scope=Scope.SWARM), AS_LEA)


def test_a_worker_cannot_change_a_shared_memory_of_another_agent(world: World) -> None:
    shared = world.remember("shared", scope=Scope.SWARM)
    with pytest.raises(Forbidden):
        world.memory_service.forget(shared.id, AS_BOB)


def test_promotion_shares_a_memory_and_keeps_its_id_and_owner(world: World) -> None:
    memory = world.remember("Useful for all.")
    assert world.found("useful", AS_BOB) == []
    promoted = world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert (promoted.id, promoted.owner) == (memory.id, ADA)
    assert world.found("useful", AS_BOB) == ["Useful for all."]
    assert world.audit()[0].action is Action.PROMOTED


def test_only_an_operator_promotes_text_from_the_web(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.WEB)
    with pytest.raises(Proposed, match="needs a review"):
        world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_OPERATOR).scope is Scope.SWARM


def test_a_forgotten_memory_is_not_found(world: World) -> None:
    memory = world.remember("xylophone")
    world.memory_service.forget(memory.id, AS_ADA)
    assert world.found("xylophone") == []
    with pytest.raises(NotFound):
        world.reading.get(memory.id, AS_ADA)
    assert [entry.action for entry in world.audit()] == [Action.FORGOTTEN]


def test_forgetting_removes_the_words_from_the_context_of_neighbours(world: World) -> None:
    gone = world.remember("zanzibar", session="s")
    world.remember("and then we went on", session="s")
    assert "and then we went on" in world.found("zanzibar")
    world.memory_service.forget(gone.id, AS_ADA)
    assert world.recall("zanzibar").hits == () or world.recall("zanzibar").hits[0].score.keyword == 0


def _by_keyword(world: World, text: str) -> list[str]:
    return [hit.memory.content for hit in world.recall(text).hits if hit.score.keyword > 0.0]


def test_a_question_is_found_by_the_words_of_its_answer_while_the_answer_exists(world: World) -> None:
    world.remember("and before that?", session="s")
    world.remember("what did you see there?", session="s")
    answer = world.remember("a zebra on zanzibar", session="s", name="reply")
    assert set(_by_keyword(world, "zanzibar")) == {"a zebra on zanzibar", "what did you see there?"}
    world.memory_service.edit(answer.id, Edit(content="a lion in kenya"), AS_ADA)
    assert _by_keyword(world, "zanzibar") == []
    assert set(_by_keyword(world, "kenya")) == {"a lion in kenya", "what did you see there?"}
    world.memory_service.forget(answer.id, AS_ADA)
    assert _by_keyword(world, "kenya") == []


def test_a_memory_moved_to_another_session_leaves_the_context_of_its_old_neighbours(world: World) -> None:
    world.remember("what did you see there?", session="s")
    world.remember("a zebra on zanzibar", session="s", external_id="x")
    world.remember("and what did you hear?", session="t")
    world.remember("a zebra on zanzibar", session="t", external_id="x")
    assert set(_by_keyword(world, "zanzibar")) == {"a zebra on zanzibar", "and what did you hear?"}


def test_a_shared_note_is_not_found_by_words_of_private_neighbours(world: World) -> None:
    world.remember("zanzibar is the secret", session="s")
    world.remember("and then we went on", session="s", scope=Scope.SWARM)
    hits = world.recall("zanzibar", AS_BOB).hits
    assert all(hit.score.keyword == 0 for hit in hits)


def test_promotion_drops_the_private_context(world: World) -> None:
    world.remember("zanzibar is the secret", session="s")
    later = world.remember("and then we went on", session="s")
    world.memory_service.edit(later.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert all(hit.score.keyword == 0 for hit in world.recall("zanzibar", AS_BOB).hits)


def test_forgetting_a_path_returns_the_number_of_memories(world: World) -> None:
    world.remember("private", source_path="/a")
    world.remember("shared", source_path="/a", scope=Scope.SWARM)
    assert world.memory_service.forget_path("/a", AS_BOB) == 0
    assert world.memory_service.forget_path("/a", AS_ADA) == 2
    assert world.memory_service.forget_path("/a", AS_ADA) == 0


def test_a_path_in_several_projects_is_forgotten_in_one_of_them(world: World) -> None:
    for project in ("a", "b", None):
        world.remember(f"Of {project}.", project=project, source_path="docs/a.md")
    with pytest.raises(Invalid, match=r"several projects \(a, b, none\)"):
        world.memory_service.forget_path("docs/a.md", AS_ADA)
    assert world.memory_service.forget_path("docs/a.md", AS_ADA, project="c") == 0
    assert world.memory_service.forget_path("docs/a.md", AS_ADA, project="") == 1
    assert world.memory_service.forget_path("docs/a.md", AS_ADA, project="a") == 1
    assert world.memory_service.forget_path("docs/a.md", AS_ADA) == 1
    assert world.memory_service.forget_path("docs/a.md", AS_ADA, project="b") == 0


def test_supersession_by_external_id_stays_within_the_project(world: World) -> None:
    old = [world.remember(f"The port of {one} is 1.", project=one, external_id="port") for one in ("a", "b")]
    new = world.remember("The port of b is 2.", project="b", supersedes="port")
    assert new.supersedes == old[1].id
    assert world.reading.get(old[0].id, AS_ADA).valid_until is None


def test_a_learning_injected_by_a_lead_is_found_by_all(world: World) -> None:
    memory = world.memory_service.inject_learning("Always run the linter.", "best-practice", BOB, AS_LEA)
    assert (memory.owner, memory.scope, memory.tags, memory.category) == (
        BOB,
        Scope.SWARM,
        ("best-practice",),
        "best-practice",
    )
    world.embed()
    assert world.found("linter", AS_ADA) == ["Always run the linter."]


@pytest.mark.parametrize("category", ["Best Practice", "best-practices"])
def test_a_learning_may_spell_its_category_in_any_way(world: World, category: str) -> None:
    memory = world.memory_service.inject_learning("Always run the linter.", category, BOB, AS_LEA)
    assert (memory.category, memory.tags) == (category, ("best-practice",))


def test_an_invalid_injection_is_refused_with_its_reason(world: World) -> None:
    with pytest.raises(NotFound, match="nobody"):
        world.memory_service.inject_learning("x", "best-practice", type(BOB)("nobody"), AS_LEA)
    with pytest.raises(Invalid, match="category"):
        world.memory_service.inject_learning("x", "gossip", BOB, AS_LEA)


@pytest.mark.parametrize(
    "more",
    [
        {"tags": tuple(map(str, range(MAX_TAGS + 1)))},
        {"summary": "x" * (FIELD_LENGTH + 1)},
        {"subject": "x" * (FIELD_LENGTH + 1)},
        {"metadata": {"list": list(range(METADATA_VALUES + 1))}},
        {"metadata": {"text": "x" * (CONTENT_LENGTH + 1)}},
    ],
)
def test_oversized_fields_are_refused_before_redaction(
    world: World, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    def clean(_self: Redactor, text: str, *, field: str = "") -> str:
        raise AssertionError(f"{field} was looked through: {text[:20]}")

    monkeypatch.setattr(Redactor, "clean", clean)
    fine = Draft(content="The heron sleeps.")
    with pytest.raises((Invalid, TooLarge)):
        world.memory_service.remember_many([fine, Draft(content="The heron wakes.", **more)], AS_ADA)


def test_repeated_tags_are_one_tag(world: World) -> None:
    memory = world.remember("The heron sleeps.", tags=(" bird", "bird ", *["bird"] * 100_000, " "))
    assert memory.tags == ("bird",)
