"""Completed and failed tasks as memories."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Viewer
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.drafts import WriteResult
from hivelore.memories.model import Memory, Scope, Source, TaskStatus
from hivelore.memories.normalizer import CONTENT_LENGTH
from hivelore.memories.task_completion import MIN_LENGTH, TaskCompletion, completion_draft
from support.world import ADA, AS_ADA, AS_BOB, AS_OPERATOR, World

TASK, OUTPUT = "Move the proxy to port 5433", "It listens on 5433; the old port is closed."


def complete(world: World, viewer: Viewer = AS_ADA, **more: Any) -> WriteResult | None:
    completion: dict[str, Any] = {"id": "T-7", "task": TASK, "output": OUTPUT, **more}
    return world.memory_service.complete_task(TaskCompletion(**completion), viewer)


def completed(world: World, viewer: Viewer = AS_ADA, **more: Any) -> Memory:
    done = complete(world, viewer, **more)
    assert done is not None
    return done.memory


def test_a_completed_task_is_a_private_memory_with_its_output(world: World) -> None:
    memory = completed(world, project="proxy")
    assert (memory.owner, memory.scope, memory.source) == (ADA, Scope.AGENT, Source.TASK_COMPLETION)
    assert (memory.name, memory.source_task_id, memory.project) == (TASK, "T-7", "proxy")
    assert memory.content == f"Completed task: {TASK}\n\nOutput:\n\n{OUTPUT}"
    assert memory.expires_at == memory.created_at + timedelta(days=7)
    world.embed()
    assert world.found("old port of the proxy", project="proxy") == [memory.content]


def test_a_failed_task_says_what_went_wrong(world: World) -> None:
    memory = completed(world, status=TaskStatus.FAILED, output="Port 5433 is taken by the replica.")
    assert memory.content == f"Failed task: {TASK}\n\nWhat went wrong:\n\nPort 5433 is taken by the replica."
    assert memory.summary.startswith("Failed task")


def test_the_name_is_the_beginning_of_a_long_task(world: World) -> None:
    memory = completed(world, task="Find out why the login fails. " * 20)
    assert memory.name == "Find out why the login fails."


def test_a_repetition_changes_nothing(world: World) -> None:
    first = completed(world, project="proxy")
    again = complete(world, project="proxy")
    assert again is not None
    assert (again.memory.id, again.memory.version, again.changed) == (first.id, 1, False)


def test_another_output_of_the_same_task_updates_its_memory(world: World) -> None:
    first = completed(world, status=TaskStatus.FAILED, output="Port 5433 is taken.")
    now = completed(world)
    assert (now.id, now.version, OUTPUT in now.content) == (first.id, 2, True)
    assert "taken" not in now.content


def test_tasks_of_other_agents_projects_and_lists_are_other_memories(world: World) -> None:
    done = [
        completed(world, project="a"),
        completed(world, project="b"),
        completed(world, project="a", list_id="claude-code:s1"),
        completed(world, project="a", list_id="claude-code:s2"),
        completed(world, AS_BOB, project="a"),
        completed(world, project="a", id="T-8"),
    ]
    assert len({memory.id for memory in done}) == len(done)
    assert {memory.source_task_id for memory in done} == {"T-7", "T-8"}


def test_an_operator_stores_it_for_an_agent(world: World) -> None:
    assert completed(world, AS_OPERATOR, owner=ADA).owner == ADA
    with pytest.raises(Invalid, match="agentId"):
        complete(world, AS_OPERATOR)


@pytest.mark.parametrize(
    ("task", "output"), [("Run the tests", ""), ("Run the tests", "All green."), (" Run it ".center(90), "\n" * 40)]
)
def test_a_trivial_task_is_not_stored(world: World, task: str, output: str) -> None:
    assert complete(world, task=task, output=output) is None


@pytest.mark.parametrize(("given", "field"), [({"id": " "}, "taskId"), ({"task": " \n"}, "task")])
def test_a_blank_field_is_refused(world: World, given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as error:
        complete(world, **given)
    assert error.value.field == field


def test_an_oversized_output_is_refused_by_its_name(world: World) -> None:
    with pytest.raises(TooLarge, match="The output has") as error:
        complete(world, output="x" * (CONTENT_LENGTH + 1))
    assert error.value.field == "output"


def test_secrets_are_masked_everywhere(world: World) -> None:
    secret = f"ghp_{'a1B2' * 9}"
    memory = completed(world, task=f"Log in with {secret}", output=f"It works with {secret} now.")
    assert "ghp_" not in f"{memory.content} {memory.name} {memory.summary}"


@given(st.text(min_size=1), st.text(), st.sampled_from(TaskStatus))
def test_a_draft_has_both_texts_unless_they_are_trivial(task: str, output: str, status: TaskStatus) -> None:
    draft = completion_draft(TaskCompletion(id="1", task=task, output=output, status=status))
    assert (draft is None) is (len(task) + len(output) < MIN_LENGTH)
    if draft is not None:
        assert task in draft.content
        assert draft.content.endswith(output)
