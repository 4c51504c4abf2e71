"""`hivelore setup` works in real agent programs, and `unsetup` removes all of it."""

from pathlib import Path

import pytest

from support.agent_programs import Program
from support.agent_sessions import PROGRAMS
from support.command_line import Result, environment, hivelore
from support.model_script import use
from support.service import Service
from support.trees import everything

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

SKILL = "Look up what earlier sessions and other agents learned"
"""Beginning of the description of the skill, which programs give to their model."""


def verb(service: Service, home: Path, *words: str) -> Result:
    done = hivelore(*words, env=environment(service.home, HOME=str(home), HIVELORE_URL=service.url))
    assert done.code == 0, done.err
    return done


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_session_has_the_tools_and_the_skill(program: Program, kind: str, service: Service, home: Path) -> None:
    before = everything(home)
    verb(service, home, "setup", kind)
    ours = everything(home)
    fact = f"The kettle of {kind} is in the attic."
    run = program.run(f"{use('memory-store', content=fact)}\n>> say Kept.")
    assert run.code == 0, run.err
    kept = service.client(service.agent_key).call("GET", "/api/memory")["memories"]
    assert fact in [memory["content"] for memory in kept]
    assert any(SKILL in turn.text() for turn in program.model.turns())

    verb(service, home, "unsetup", kind)
    left = everything(home)
    assert ours.keys() - before.keys()
    assert left.items() >= before.items()
    assert not (ours.keys() - before.keys()) & {path for path, content in left.items() if content is not None}
