"""Real agent programs store and find memories with the MCP tools."""

from collections.abc import Callable

import pytest

from support.agent_programs import Program, Tools
from support.bridge import DIRECT
from support.model_script import use
from support.service import Service, environment

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

Way = Callable[[Service], Tools]


def over_http(service: Service) -> Tools:
    return Tools(url=f"{service.url}/mcp", key=service.agent_key)


def through_the_bridge(service: Service) -> Tools:
    return Tools(command=DIRECT, environment=environment(service.home))


@pytest.mark.parametrize("way", [over_http, through_the_bridge])
def test_a_session_finds_memories_of_another_session(
    program: Program, service: Service, way: Way, request: pytest.FixtureRequest
) -> None:
    fact = f"The kettle of {request.node.name} is in the attic."
    first = program.run(f"{use('memory-store', content=fact)}\n>> say Kept.", tools=way(service))
    assert first.code == 0, first.err
    assert "Kept." in first.out
    kept = service.client(service.agent_key).call("GET", "/api/memory")["memories"]
    assert fact in [memory["content"] for memory in kept]

    before = len(program.model.turns())
    second = program.run(f"{use('memory-search', query='kettle in the attic')}\n>> say Found.", tools=way(service))
    assert second.code == 0, second.err
    asked, answered = (turn.text() for turn in program.model.turns()[before:][-2:])
    assert fact not in asked
    assert fact in answered
