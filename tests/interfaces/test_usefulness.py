"""Ratings and usefulness of memories on every interface."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import hivelore
from hivelore.core.values import replace
from hivelore.errors import Forbidden, HiveloreError, Invalid, NotFound, TooLarge
from hivelore.feedback.model import NO_USAGE, UsageCounts, Usefulness
from hivelore.python.client import Client
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.python.remote import RemoteHive
from support.command_line import CommandLine
from support.service import Service

NOWHERE = "01a00000-0000-7000-8000-000000000000"


@pytest.fixture(params=["embedded", "service"])
def hive(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Hive]:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    if request.param == "embedded":
        with hivelore.open(tmp_path) as opened:
            yield opened
        return
    with Service(tmp_path) as service:
        yield RemoteHive(service.client(service.agent_key))


@pytest.fixture
def agent(service: Service) -> Client:
    return service.client(service.agent_key)


def _kept(client: Client, content: str) -> str:
    body = {"content": content, "name": "a", "scope": "agent", "source": "manual"}
    return client.call("POST", "/api/memory/index", body=body)["memoryIds"][0]


def _tool(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return client.call("POST", "/mcp", body=body)["result"]["structuredContent"]


def test_in_python_a_rating_changes_later_scores(hive: Hive) -> None:
    memory = hive.remember("Use pnpm here.")
    assert hive.usefulness(memory.id) == Usefulness(1.0, NO_USAGE)
    assert hive.recall("pnpm")[0].score.usefulness == 1.0
    answer = hive.rate(memory.id, useful=True, session="s1")
    assert answer == hive.usefulness(memory.id)
    assert (answer.factor, answer.use) == (pytest.approx(1.1), UsageCounts(useful=1))
    assert hive.recall("pnpm")[0].score.usefulness == pytest.approx(1.1)
    assert replace(hive.get(memory.id), accessed_at=None, access_count=0) == memory


def test_in_python_an_invalid_rating_is_an_error(hive: Hive) -> None:
    memory = hive.remember("Use pnpm here.")
    asked: list[tuple[Any, Any, Any, type[HiveloreError]]] = [
        (NOWHERE, True, None, NotFound),
        (memory.id, "yes", None, Invalid),
        (memory.id, True, 7, Invalid),
        (memory.id, True, "s" * 501, TooLarge),
        (7, True, None, Invalid),
    ]
    for which, useful, session, error in asked:
        with pytest.raises(error):
            hive.rate(which, useful=useful, session=session)
    assert hive.usefulness(memory.id).use == NO_USAGE


def test_only_an_operator_resets_it(hive: Hive) -> None:
    memory = hive.remember("Use pnpm here.")
    hive.rate(memory.id, useful=False)
    if isinstance(hive, EmbeddedHive):
        hive.reset_usefulness(memory.id)
        assert hive.usefulness(memory.id) == Usefulness(1.0, NO_USAGE)
    else:
        with pytest.raises(Forbidden):
            hive.reset_usefulness(memory.id)


def test_over_rest_usefulness_is_shown_once_known(service: Service, agent: Client) -> None:
    memory = _kept(agent, "The tachyon lens wants a quartz mirror.")
    assert "usefulness" not in agent.call("GET", f"/api/memory/{memory}")
    answer = agent.call("PUT", f"/api/memory/{memory}/rating", body={"useful": True, "session": "s1"})
    assert answer == {"factor": pytest.approx(1.1), "seen": {"useful": 1}}
    assert agent.call("GET", f"/api/memory/{memory}")["usefulness"] == answer
    with pytest.raises(Forbidden):
        agent.call("DELETE", f"/api/memory/{memory}/usefulness")
    service.client(service.operator_key).call("DELETE", f"/api/memory/{memory}/usefulness")
    assert "usefulness" not in agent.call("GET", f"/api/memory/{memory}")


@pytest.mark.parametrize("body", [{}, {"useful": "yes"}, {"useful": 1}, {"useful": True, "stars": 5}, {"session": "s"}])
def test_over_rest_an_invalid_rating_is_refused(agent: Client, body: dict[str, Any]) -> None:
    memory = _kept(agent, f"What {json.dumps(body)} says.")
    with pytest.raises(Invalid):
        agent.call("PUT", f"/api/memory/{memory}/rating", body=body)


def test_over_mcp_an_agent_rates_recalled_memories(agent: Client) -> None:
    memory = _kept(agent, "The warp coil hums at 40 Hz.")
    given = _tool(agent, "memory-search", query="warp coil")
    assert given["results"][0]["id"] == memory
    assert _tool(agent, "memory-rate", memoryId=memory, useful=False)["success"]
    assert agent.call("GET", f"/api/memory/{memory}")["usefulness"]["seen"] == {"useless": 1}
    assert "Search again" in _tool(agent, "memory-rate", memoryId=NOWHERE, useful=True)["message"]
    assert not _tool(agent, "memory-rate", memoryId=memory)["success"]


def test_on_the_command_line_a_rating_is_given_shown_and_reset(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIVELORE_HOME", str(service.home))
    monkeypatch.setenv("HIVELORE_URL", service.url)
    monkeypatch.delenv("HIVELORE_KEY", raising=False)
    cli = CommandLine(monkeypatch, capsys)
    memory = cli.json("remember", "The airlock wants two keys.")["memory"]["id"]
    assert "usefulness" not in cli("get", memory).out
    assert cli("rate", memory, "useful").out == "Usefulness: 1.10 (useful 1)\n"
    assert "1.10 (useful 1)" in cli("get", memory).out
    assert cli.json("rate", memory, "useless") == {"factor": pytest.approx(0.9), "seen": {"useless": 1}}
    assert cli("rate", memory, "--reset").out == "Usefulness: 1.00 (no ratings)\n"
    assert "operator: what was known of its use" in cli("history", memory).out
    for words in ((memory,), (memory, "useful", "--reset"), (memory, "nice"), (NOWHERE, "useful")):
        result = cli("rate", *words)
        assert (result.code != 0, result.out) == (True, "")
