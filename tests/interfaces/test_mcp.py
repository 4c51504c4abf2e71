"""MCP over real HTTP with the official client, in both protocol eras, and by hand."""

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.core.values import replace
from hivelore.errors import Proposed, Unauthenticated
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Action, MemoryId, Scope, Trust
from support.service import Service

Era = Literal["legacy", "auto"]
ERAS: tuple[Era, ...] = ("legacy", "auto")


@asynccontextmanager
async def _connected(service: Service, key: str, era: Era, **headers: str) -> AsyncGenerator[McpClient]:
    auth = {"Authorization": f"Bearer {key}", **headers}
    async with (
        httpx2.AsyncClient(headers=auth, trust_env=False) as http,
        McpClient(streamable_http_client(f"{service.url}/mcp", http_client=http), mode=era) as client,
    ):
        yield client


def _called(service: Service, key: str, era: Era, *calls: tuple[str, dict[str, Any]], **headers: str) -> list[Any]:
    """Returns the results of consecutive tool calls."""

    async def run() -> list[Any]:
        async with _connected(service, key, era, **headers) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


def _listed(service: Service, key: str, era: Era) -> Any:
    async def run() -> Any:
        async with _connected(service, key, era) as client:
            return await client.list_tools()

    return anyio.run(run)


@pytest.mark.parametrize("era", ERAS)
def test_store_search_get_and_delete(service: Service, era: Era) -> None:
    key = service.agent_key
    (stored,) = _called(service, key, era, ("memory-store", {"content": f"The {era} kettle whistles", "tags": ["tea"]}))
    assert stored.is_error is False
    memory = stored.structured_content["memoryId"]
    found, got, deleted, gone = _called(
        service,
        key,
        era,
        ("memory-search", {"query": f"{era} kettle", "limit": 5}),
        ("memory-get", {"memoryId": memory}),
        ("memory-delete", {"memoryId": memory}),
        ("memory-get", {"memoryId": memory}),
    )
    newest = service.client(key).call("GET", "/api/recalls", query={"limit": 1})["recalls"][0]
    assert (newest["id"], newest["interface"]) == (found.structured_content["recallId"], "mcp")
    (result,) = [one for one in found.structured_content["results"] if one["id"] == memory]
    described = {"id", "name", "summary", "snippet", "source", "scope", "createdAt"}
    assert set(result) == described | {"similarity", "score", "relevance", "fits", "alike"}
    assert json.loads(found.content[0].text) == found.structured_content
    assert got.structured_content["memory"]["content"] == f"The {era} kettle whistles"
    assert got.structured_content["yourAgentId"] == got.structured_content["memory"]["agentId"]
    assert deleted.structured_content["success"] is True
    assert gone.is_error is True
    assert gone.structured_content["success"] is False
    assert "Search again" in gone.structured_content["message"]


def test_a_result_has_the_headings_of_its_snippet(service: Service) -> None:
    text = "# Pantry\n\n" + "Kumquats are yellow. " * 100 + "\n\n## Loquats\n\n" + "Loquats ripen in May. " * 100
    _, found = _called(
        service,
        service.agent_key,
        "auto",
        ("memory-store", {"content": text, "name": "Fruit"}),
        ("memory-search", {"query": "when loquats ripen", "limit": 1}),
    )
    (result,) = found.structured_content["results"]
    assert result["headings"] == ["# Pantry", "## Loquats"]
    assert result["snippet"].startswith("Loquats")


def test_an_agent_edits_what_it_may_and_sees_the_new_version(service: Service) -> None:
    edie, fay = service.add("edie"), service.add("fay")
    texts = {"name": "Kettle", "category": "tea", "project": "attic", "subject": "kettle.place", "tags": ["old"]}
    old, new = _called(
        service,
        edie,
        "auto",
        ("memory-store", {"content": "The kettle is in the attic.", **texts}),
        ("memory-store", {"content": "The kettle moved to the cellar."}),
    )
    memory, newer = old.structured_content["memoryId"], new.structured_content["memoryId"]
    changes = {"content": "The kettle is green.", "tags": ["new"], "project": "", "name": None, "reason": "I looked"}
    edited, stale, same, superseded, hidden, empty = (
        *_called(
            service,
            edie,
            "auto",
            ("memory-edit", {"memoryId": memory[:13], **changes, "version": 1}),
            ("memory-edit", {"memoryId": memory, "name": "Late", "version": 1}),
            ("memory-edit", {"memoryId": memory, **changes}),
            ("memory-edit", {"memoryId": newer, "supersedes": memory}),
        ),
        *_called(service, fay, "auto", ("memory-edit", {"memoryId": memory, "name": "Mine now"})),
        *_called(service, edie, "auto", ("memory-edit", {"memoryId": memory, "content": " "})),
    )
    assert (edited.is_error, edited.structured_content["version"]) == (False, 2)
    assert (stale.is_error, "version 2" in stale.structured_content["message"]) == (True, True)
    assert (same.is_error, same.structured_content["version"]) == (False, 2)
    assert superseded.is_error is False
    assert (hidden.is_error, "Search again" in hidden.structured_content["message"]) == (True, True)
    assert (empty.is_error, "content is empty" in empty.structured_content["message"]) == (True, True)
    agent = service.client(edie)
    kept = agent.call("GET", f"/api/memory/{memory}")
    names = ("content", "tags", "project", "name", "category", "subject")
    assert [kept[name] for name in names] == ["The kettle is green.", ["new"], None, "Kettle", "tea", "kettle.place"]
    assert kept["validUntil"] is not None
    assert agent.call("GET", f"/api/memory/{memory}/history")["versions"][1]["reason"] == "I looked"


def test_an_edit_that_needs_a_decision_becomes_a_proposal(service: Service) -> None:
    (shared,) = _called(
        service, service.add("sue"), "auto", ("memory-store", {"content": "The lock is blue.", "scope": "swarm"})
    )
    (own,) = _called(service, key := service.add("tom"), "auto", ("memory-store", {"content": "The lock is red."}))
    memory, other = own.structured_content["memoryId"], shared.structured_content["memoryId"]
    refused, proposed = _called(
        service,
        key,
        "auto",
        ("memory-edit", {"memoryId": other, "content": "The lock is mine."}),
        ("memory-edit", {"memoryId": memory, "scope": "swarm", "supersedes": other}),
    )
    assert (refused.is_error, "another agent" in refused.structured_content["message"]) == (True, True)
    assert (proposed.is_error, "was proposed" in proposed.structured_content["message"]) == (True, True)
    assert service.client(key).call("GET", f"/api/memory/{other}")["content"] == "The lock is blue."


def test_a_search_is_narrowed_by_tag_category_source_and_time(service: Service) -> None:
    for day, tag in (("2026-01-30", "a"), ("2026-01-31", "b"), ("2026-02-01", "c")):
        body = {"content": f"theremin {tag}", "tags": [tag], "category": f"of {tag}", "createdAt": f"{day}T23:59:00Z"}
        service.client(service.agent_key).call("POST", "/api/memory/batch", body={"memories": [body]})

    def found(**where: str) -> set[str]:
        arguments = {"query": "theremin", "onlyFitting": True, **where}
        (answer,) = _called(service, service.agent_key, "auto", ("memory-search", arguments))
        return {one["name"].removeprefix("theremin ") for one in answer.structured_content["results"]}

    assert found() == found(source="manual") == {"a", "b", "c"}
    assert found(tag="a") == found(category="of a") == {"a"}
    assert found(source="file_index") == found(tag="a", category="of b") == set()
    assert found(createdAfter="2026-01-31") == found(createdAfter="2026-01-31T23:59:00Z") == {"b", "c"}
    assert found(createdBefore="2026-01-31") == found(createdBefore="2026-01-31T23:59:00Z") == {"a"}
    assert found(createdAfter="2026-01-31", createdBefore="2026-02-01") == {"b"}


@pytest.mark.parametrize("era", ERAS)
def test_tools_are_listed_by_role(service: Service, era: Era) -> None:
    worker = service.add(f"worker {era}")
    names = [tool.name for tool in _listed(service, worker, era).tools]
    assert names == [
        "memory-search",
        "memory-get",
        "memory-store",
        "memory-edit",
        "memory-delete",
        "memory-rate",
    ]


@pytest.mark.parametrize("role", [Role.WORKER, Role.LEAD])
def test_the_tool_list_costs_less_than_a_thousand_tokens(service: Service, role: Role) -> None:
    tools = _listed(service, service.add(f"frugal {role}", role), "auto").tools
    shown = [
        {"name": t.name, "description": t.description, "inputSchema": t.input_schema, "outputSchema": t.output_schema}
        for t in tools
    ]
    assert len(shown) <= 6
    assert len(json.dumps(shown).encode()) / 4 < 1_000


def test_tools_declare_their_side_effects(service: Service) -> None:
    hints = {tool.name: tool.annotations for tool in _listed(service, service.agent_key, "auto").tools}
    assert hints["memory-search"].read_only_hint
    assert hints["memory-delete"].destructive_hint
    assert not hints["memory-edit"].read_only_hint
    assert not any(hint.open_world_hint for hint in hints.values())


@pytest.fixture
def wide(tmp_path: Path) -> Generator[Service]:
    """A service with all tools."""
    with Service(tmp_path / "wide", capabilities=("memory", "operations", "review", "tasks")) as running:
        yield running


def test_an_agent_observes_and_gets_the_context(wide: Service) -> None:
    seen = {"observation": "Takes 60s to start", "category": "timing", "service": "jellyfin"}
    first, against, report, wrong = _called(
        wide,
        wide.add("obs"),
        "auto",
        ("memory-observe", seen),
        ("memory-observe", {**seen, "observation": "Takes 10 minutes to start"}),
        ("memory-context", {"service": "jellyfin"}),
        ("memory-observe", {"observation": " ", "category": "timing"}),
    )
    assert (first.structured_content["effect"], against.structured_content["effect"]) == ("new", "contradicted")
    assert against.structured_content["about"] == [first.structured_content["memoryId"]]
    assert "- [timing] Takes 60s to start (confidence: 0.5)" in report.structured_content["text"]
    assert (wrong.is_error, "empty" in wrong.structured_content["message"]) == (True, True)


def test_the_context_respects_the_budget_of_the_model(tmp_path: Path) -> None:
    with Service(tmp_path, capabilities=("operations",), memory_budget="100, opus=4000") as service:
        operator = service.client(service.operator_key)
        for number in range(10):
            body = {"observation": f"Number {number} says so", "category": "timing", "service": f"s{number}"}
            operator.call("POST", "/memories", body=body)
        asked: tuple[dict[str, Any], ...] = ({}, {"model": "claude-opus-4"}, {"model": "sonnet"})
        calls = [("memory-context", arguments) for arguments in asked]
        few, all_of_them, again = _called(service, service.agent_key, "auto", *calls)
    assert all_of_them.structured_content["text"].count("- [timing]") == 10
    assert 0 < few.structured_content["text"].count("- [timing]") < 10
    assert again.structured_content["text"] == few.structured_content["text"]


@pytest.mark.parametrize(("project", "count"), [("*", 3), ("tv", 2), ("elsewhere", 1)])
def test_the_context_covers_the_project_of_the_agent(wide: Service, project: str, count: int) -> None:
    operator = wide.client(wide.operator_key)
    for where in ("tv", "web", None):
        body = {"observation": f"Of {where}", "category": "timing", "service": "jellyfin", "project": where}
        operator.call("POST", "/memories", body=body)
    (report,) = _called(wide, wide.agent_key, "auto", ("memory-context", {}), **{"X-Hivelore-Project": project})
    assert report.structured_content["text"].count("- [timing]") == count


def test_an_agent_stores_a_completed_task(wide: Service) -> None:
    task = {"taskId": "T-7", "task": "Fix the login of the shop", "output": "The token had expired."}
    done, again, trivial, wrong = _called(
        wide,
        wide.add("tasked"),
        "auto",
        ("task-complete", task),
        ("task-complete", task),
        ("task-complete", {"taskId": "T-8", "task": "Run it", "status": "failed"}),
        ("task-complete", {**task, "status": "done"}),
    )
    assert again.structured_content["memoryId"] == done.structured_content["memoryId"]
    assert (trivial.is_error, "memoryId" in trivial.structured_content) == (False, False)
    assert trivial.structured_content["message"].startswith("Not stored")
    assert (wrong.is_error, "completed, failed" in wrong.structured_content["message"]) == (True, True)


def test_a_lead_reviews_what_others_propose_and_a_worker_cannot(wide: Service) -> None:
    service = wide
    lead, worker = service.add("liz", Role.LEAD), service.add("wes")
    for_leads = {"memory-review", "inject-learning"}
    assert for_leads <= {tool.name for tool in _listed(service, lead, "auto").tools}
    assert not for_leads & {tool.name for tool in _listed(service, worker, "auto").tools}
    (stored,) = _called(service, worker, "auto", ("memory-store", {"content": "The web says: run this."}))
    memory = stored.structured_content["memoryId"]
    proposal = _of_the_web(service, memory)
    listed, read, done, late, odd = _called(
        service,
        lead,
        "auto",
        ("memory-review", {}),
        ("memory-review", {"proposalId": proposal}),
        ("memory-review", {"proposalId": proposal, "decision": "accept", "reason": "harmless"}),
        ("memory-review", {"proposalId": proposal, "decision": "reject"}),
        ("memory-review", {"decision": "accept"}),
    )
    assert [one["id"] for one in listed.structured_content["proposals"]] == [proposal]
    assert listed.structured_content["memories"] == [{"id": memory, "name": "The web says: run this."}]
    assert listed.structured_content["groups"] == {}
    assert [one["content"] for one in read.structured_content["memories"]] == ["The web says: run this."]
    assert done.structured_content["proposals"][0]["decided"]["reason"] == "harmless"
    assert service.client(worker).call("GET", f"/api/memory/{memory}")["scope"] == "swarm"
    assert (late.is_error, "accepted at" in late.structured_content["message"]) == (True, True)
    assert (odd.is_error, "proposalId" in odd.structured_content["message"]) == (True, True)


def _of_the_web(service: Service, memory: str) -> str:
    """Returns the proposal to share a memory whose text comes from the web."""
    with service.app.store.read() as view:
        stored = view.get(MemoryId(memory))
    assert stored is not None
    distrusted = replace(stored.memory, version=2, provenance=replace(stored.memory.provenance, trust=Trust.WEB))
    service.app.store.write(lambda tx: tx.change(stored.key, distrusted, None, Action.EDITED))
    owner = Viewer(role=Role.WORKER, agent=stored.memory.owner, interface=Interface.MCP)
    with pytest.raises(Proposed) as report:
        service.app.memory_service.edit(stored.memory.id, Edit(scope=Scope.SWARM), owner)
    return report.value.proposal


def test_a_lead_injects_and_a_worker_cannot(wide: Service) -> None:
    service = wide
    lead, worker = service.add("lena", Role.LEAD), service.add("will")
    target = service.client(worker).call("GET", "/api/me")["agentId"]
    learning = {"agentId": target, "learning": "Always wear a seatbelt.", "category": "best-practice"}
    (done,) = _called(service, lead, "auto", ("inject-learning", learning))
    assert done.structured_content["success"] is True
    refused, unknown = (
        *_called(service, worker, "auto", ("inject-learning", learning)),
        *_called(service, lead, "auto", ("inject-learning", {**learning, "agentId": "nobody"})),
    )
    assert refused.is_error
    assert unknown.is_error
    assert "nobody" in unknown.structured_content["message"]


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("memory-search", {}, "query"),
        ("memory-search", {"query": ""}, "query"),
        ("memory-search", {"query": "x", "limit": 0}, "limit"),
        ("memory-search", {"query": "x", "limit": 51}, "limit"),
        ("memory-search", {"query": "x", "limit": "ten"}, "limit"),
        ("memory-search", {"query": "x", "scope": "everyone"}, "scope"),
        ("memory-search", {"query": "x", "onlyFitting": "yes"}, "onlyFitting"),
        ("memory-search", {"query": "x", "budget": 49}, "budget"),
        ("memory-search", {"query": "a\0b"}, "query"),
        ("memory-search", {"query": "x", "createdAfter": "soon"}, "must be a date like 2026-01-31 or a time"),
        ("memory-search", {"query": "x", "createdBefore": "2026-01-31T12:00"}, "createdBefore needs a time zone"),
        ("memory-search", {"query": "x", "createdAfter": "2026-02-01", "createdBefore": "2026-01-31"}, "must be later"),
        ("memory-search", {"query": "x", "tag": ["a"]}, "tag must be a text"),
        ("memory-get", {"memoryId": "not-an-id"}, "Search again"),
        ("memory-get", {}, "memoryId"),
        ("memory-store", {"content": "  "}, "content"),
        ("memory-store", {"content": "x", "colour": "red"}, "colour"),
        ("memory-edit", {"name": "x"}, "memoryId"),
        ("memory-edit", {"memoryId": "01a00000-0000-7000-8000-000000000000", "name": "x"}, "Search again"),
        ("memory-edit", {"memoryId": "01a00000-0000-7000-8000-000000000000", "sourcePath": "x"}, "sourcePath"),
        ("memory-delete", {"memoryId": "01a00000-0000-7000-8000-000000000000"}, "Search again"),
        ("no-such-tool", {}, "no-such-tool"),
    ],
)
def test_bad_arguments_are_tool_errors_that_name_the_problem(
    service: Service, tool: str, arguments: dict[str, Any], word: str
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = service.client(service.agent_key).call("POST", "/mcp", body=body)
    assert answer["result"]["isError"] is True
    assert word in answer["result"]["structuredContent"]["message"]


def test_an_operator_key_needs_an_agent_id(service: Service) -> None:
    call = ("memory-search", {"query": "x"})
    (refused,) = _called(service, service.operator_key, "auto", call)
    assert refused.is_error
    assert "X-Agent-ID" in refused.structured_content["message"]
    (answered,) = _called(service, service.operator_key, "auto", call, **{"X-Agent-ID": "local"})
    assert answered.is_error is False


def test_mcp_without_a_key_is_refused(service: Service) -> None:
    with pytest.raises(Unauthenticated):
        service.client(None).call("POST", "/mcp", body={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


def test_a_project_filters_and_a_star_searches_all(service: Service) -> None:
    north = {"X-Hivelore-Project": "north"}
    south = {"X-Hivelore-Project": "south"}
    _called(service, service.agent_key, "auto", ("memory-store", {"content": "gnomon of the north"}), **north)
    here, elsewhere, everywhere = (
        *_called(service, service.agent_key, "auto", ("memory-search", {"query": "gnomon"}), **north),
        *_called(service, service.agent_key, "auto", ("memory-search", {"query": "gnomon"}), **south),
        *_called(service, service.agent_key, "auto", ("memory-search", {"query": "gnomon", "project": "*"}), **south),
    )
    found = ["gnomon" in json.dumps(one.structured_content["results"]) for one in (here, elsewhere, everywhere)]
    assert found == [True, False, True]
    (unknown,) = _called(service, service.agent_key, "auto", ("memory-search", {"query": "gnomon"}))
    assert "Project unknown" in unknown.structured_content["message"]
