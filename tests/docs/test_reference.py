"""The reference pages, which are generated from the declared operations."""

import render_reference

from hivelore.api.registry import OPERATIONS
from hivelore.cli.dispatch import build
from hivelore.python.hive import Hive

WITHOUT_A_METHOD = {"hook_event": "agent programs report their own events", "index_memory": "`remember` stores a text"}
WITHOUT_A_VERB = {
    "claim_task": "only agents and runners claim tasks",
    "count_decayed": "the decay does not depend on it",
    "forget_operational_memories": "`curate` deletes one at a time",
    "operational_memory": "`observations` and `get` show it",
    "release_task": "only agents and runners claim tasks",
    "renew_task": "only agents and runners claim tasks",
    "task_knowledge": "`recall` finds the same memories",
    "transcript_sub_keys": "`session restore` writes all of them",
}


def test_the_pages_are_those_of_the_operations() -> None:
    assert list(render_reference.problems()) == []


def test_an_operation_with_a_route_has_a_method_and_a_verb_or_a_reason() -> None:
    routed = [one for one in OPERATIONS if one.http is not None]
    assert {one.name for one in routed if not hasattr(Hive, one.name)} == WITHOUT_A_METHOD.keys()
    assert {one.name for one in routed if one.verb is None} == WITHOUT_A_VERB.keys()


def test_every_verb_of_an_operation_exists() -> None:
    app = build()
    for operation in OPERATIONS:
        if operation.verb is not None:
            _, _, rest = app.parse_commands(operation.verb.split())
            assert rest == [], operation.verb
