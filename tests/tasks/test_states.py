"""The state machine of tasks, and its diagram."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Conflict
from hivelore.tasks.model import FINISHED, TaskState
from hivelore.tasks.states import TRANSITIONS, TaskAction, diagram, may_apply, next_state

states = st.sampled_from(TaskState)
actions = st.sampled_from(TaskAction)
PAGE = Path(__file__).parents[2] / "docs" / "tasks.md"


@given(state=states, action=actions, is_unmet=st.booleans())
def test_an_action_leads_to_one_state_or_to_an_error_that_names_the_state(
    state: TaskState, action: TaskAction, is_unmet: bool
) -> None:
    if may_apply(state, action):
        assert next_state(state, action, is_unmet=is_unmet) in TaskState
    else:
        with pytest.raises(Conflict, match=state):
            next_state(state, action, is_unmet=is_unmet)


@given(state=states, action=actions)
def test_a_task_with_unmet_dependencies_is_never_open(state: TaskState, action: TaskAction) -> None:
    if may_apply(state, action):
        assert next_state(state, action, is_unmet=True) is not TaskState.OPEN
        assert next_state(state, action, is_unmet=False) is not TaskState.WAITING


@given(done=st.lists(actions, max_size=30), is_unmet=st.booleans())
def test_a_completed_task_stays_completed(done: list[TaskAction], is_unmet: bool) -> None:
    state = TaskState.OPEN
    was_completed = False
    for action in done:
        if may_apply(state, action):
            assert not was_completed
            state = next_state(state, action, is_unmet=is_unmet)
            was_completed |= state is TaskState.COMPLETED


def test_every_state_is_reached_and_every_unfinished_one_can_be_finished() -> None:
    assert set(TRANSITIONS.values()) | {TaskState.WAITING} == set(TaskState)
    for state in TaskState:
        ends = {target for (of, _), target in TRANSITIONS.items() if of is state and target in FINISHED}
        assert state in FINISHED or ends == FINISHED


def test_only_open_and_running_tasks_are_claimed() -> None:
    assert {of for of, action in TRANSITIONS if action is TaskAction.CLAIM} == {TaskState.OPEN, TaskState.RUNNING}


def test_the_page_about_tasks_has_the_diagram() -> None:
    assert f"```mermaid\n{diagram()}\n```" in PAGE.read_text(encoding="utf-8")
