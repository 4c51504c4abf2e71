"""`hivelore mcp` with a real service, in both protocol eras."""

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client

from hivelore.api.registry import TOOLS
from hivelore.core.agents import Interface
from hivelore.http.middleware import LARGEST_BODY
from hivelore.mcp.bridge.messages import REPEATABLE
from hivelore.mcp.bridge.relay import LARGEST_MESSAGE
from hivelore.python.client import LARGEST_REQUEST
from support.bridge import DIRECT, Bridge
from support.service import Service, environment

Era = Literal["legacy", "auto"]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
Start = Callable[..., Bridge]
_NOT_JSON = "This line is not JSON. Send one message per line."
TOO_HEAVY = {"mcp", "pydantic", "numpy", "asyncio", "http.client", "ssl", "subprocess", "pathlib", "typing", "apsw"}


@pytest.fixture
def start(service: Service, tmp_path: Path) -> Generator[Start]:
    """Starts bridges to the service of the module, in a folder that belongs to no project."""
    running: list[Bridge] = []

    def start(*arguments: str, cwd: Path = tmp_path, **more: str) -> Bridge:
        bridge = Bridge(environment(service.home, **more), cwd, arguments)
        running.append(bridge)
        return bridge

    yield start
    for bridge in running:
        bridge.__exit__()


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize("command", [DIRECT, [str(Path(sys.executable).with_name("hivelore")), "mcp"]])
def test_the_official_client_lists_stores_searches_and_gets(
    service: Service, tmp_path: Path, era: Era, command: list[str]
) -> None:
    parameters = StdioServerParameters(
        command=command[0], args=command[1:], env=dict(environment(service.home)), cwd=tmp_path
    )

    async def run() -> tuple[Any, Any, Any, Any]:
        async with McpClient(stdio_client(parameters), mode=era) as client:
            listed = await client.list_tools()
            stored = await client.call_tool("memory-store", {"content": f"Ferrets of the {era} era like tunnels"})
            assert stored.structured_content is not None
            memory = stored.structured_content["memoryId"]
            found = await client.call_tool("memory-search", {"query": "ferrets tunnels"})
            return listed, stored, found, await client.call_tool("memory-get", {"memoryId": memory})

    listed, stored, found, got = anyio.run(run)
    assert {tool.name for tool in listed.tools} >= {"memory-search", "memory-get", "memory-store"}
    memory = stored.structured_content["memoryId"]
    assert memory in [result["id"] for result in found.structured_content["results"]]
    assert got.structured_content["memory"]["content"] == f"Ferrets of the {era} era like tunnels"


def test_invalid_json_is_refused_and_the_next_message_is_answered(start: Start) -> None:
    bridge = start()
    bridge.say(b'{"jsonrpc": "2.0", "id": 1,')
    assert bridge.subscribe() == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": _NOT_JSON}}
    assert bridge.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": 1, "method": "\xff"}', "This line is not UTF-8."),
        (b"[" * 100_000, _NOT_JSON),
        (b"\xef\xbb\xbf{}", _NOT_JSON),
        (b"1" * 5_000, _NOT_JSON),
    ],
)
def test_no_invalid_line_ends_the_bridge(start: Start, line: bytes, message: str) -> None:
    bridge = start()
    bridge.say(line)
    assert bridge.subscribe()["error"] == {"code": -32700, "message": message}
    assert bridge.ask("ping")["result"] == {}


@pytest.mark.parametrize(("line", "identity"), [(b"7", None), (b'{"id": 7}', 7), (b'"x"', None)])
def test_invalid_messages_are_refused_under_their_id(start: Start, line: bytes, identity: int | None) -> None:
    bridge = start()
    bridge.say(line)
    answer = bridge.subscribe()
    assert (answer["id"], answer["error"]["code"]) == (identity, -32600)


def test_empty_lines_and_windows_line_ends_are_ignored(start: Start) -> None:
    bridge = start()
    bridge.say(b"\n\r\n   \n" + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\r")
    assert bridge.subscribe() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_batch_is_passed_to_the_service_which_refuses_it(start: Start) -> None:
    bridge = start()
    bridge.say([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
    answer = bridge.subscribe()
    assert answer["id"] is None
    assert "error" in answer


def test_a_notification_is_not_answered(start: Start) -> None:
    bridge = start()
    assert bridge.ask("initialize", **HELLO)["result"]["protocolVersion"] == "2025-06-18"
    bridge.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert bridge.ask("ping", 2) == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "de_DE.ISO-8859-1"])
def test_every_language_works_in_any_locale(start: Start, locale: str) -> None:
    bridge = start(LANG=locale, LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    text = f"Ключ лежит под горшком, 鍵は植木鉢の下 🔑 \u2028 {locale}"
    memory = bridge.call("memory-store", content=text, name="Schlüssel")["memoryId"]
    assert bridge.call("memory-get", memoryId=memory)["memory"]["content"] == text


def test_a_message_that_is_too_large_is_refused_under_its_id(start: Start) -> None:
    bridge = start()
    answer = bridge.ask("tools/call", "big", name="memory-store", arguments={"content": "x" * LARGEST_MESSAGE})
    assert (answer["id"], answer["error"]["code"]) == ("big", -32600)
    assert "16 MB" in answer["error"]["message"]
    assert bridge.ask("ping")["result"] == {}


def test_the_bridge_accepts_messages_as_large_as_the_service() -> None:
    assert LARGEST_MESSAGE == LARGEST_REQUEST == LARGEST_BODY


def test_a_wrong_key_is_an_error_that_says_so(start: Start) -> None:
    answer = start(HIVELORE_KEY="hl_1_0123456789_wrong").ask("tools/list", "a")
    assert (answer["id"], answer["error"]["code"]) == ("a", -32000)
    assert "key" in answer["error"]["message"]


def test_a_given_key_wins_over_the_file(service: Service, start: Start) -> None:
    bridge = start(HIVELORE_KEY=service.add("wren"))
    mine = service.app.agents.viewer(service.agent_key, Interface.MCP).agent
    assert bridge.call("memory-search", query="anything")["yourAgentId"] != mine


def test_the_current_repository_is_the_project(service: Service, start: Start, tmp_path: Path) -> None:
    inside = tmp_path / "clone" / "src"
    inside.mkdir(parents=True)
    git = ["git", "-C", str(tmp_path / "clone")]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "git@example.com:hives/Über-hive.git"], check=True)
    memory = start(cwd=inside).call("memory-store", content="Only here the build needs two passes")["memoryId"]
    assert _project(service, memory) == "example.com/hives/Über-hive"


def test_an_argument_names_the_project(service: Service, start: Start) -> None:
    bridge = start("--project", "apiary, Łódź 100%")
    memory = bridge.call("memory-store", content="The smoker is in the shed")["memoryId"]
    assert _project(service, memory) == "apiary, Łódź 100%"


def test_a_star_searches_all_projects_and_is_refused_for_storing(service: Service, start: Start) -> None:
    bridge = start("--project", "*")
    refused = bridge.call("memory-store", content="The skeps are in every barn")
    assert refused["success"] is False
    assert "stands for all projects" in refused["message"]
    named = bridge.call("memory-store", content="The skeps are in the north barn", project="north")["memoryId"]
    found = bridge.call("memory-search", query="skeps")
    assert ([hit["id"] for hit in found["results"]], "Project unknown" in found["message"]) == ([named], False)


@pytest.mark.parametrize("arguments", [(), ("--project=",)])
def test_outside_of_a_project_no_project_is_sent(service: Service, start: Start, arguments: tuple[str, ...]) -> None:
    memory = start(*arguments).call("memory-store", content=f"Bees see ultraviolet {arguments}")["memoryId"]
    assert _project(service, memory) is None


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_usage_errors_show_the_usage(start: Start, argument: str) -> None:
    bridge = start(argument)
    assert bridge.ended() == 0
    assert bridge.complaints() == ""


def test_other_arguments_are_refused(start: Start) -> None:
    bridge = start("--agent", "x")
    assert bridge.ended() == 2
    assert bridge.complaints() == "usage: hivelore mcp [--project NAME]\n"


def test_concurrent_requests_are_all_answered(start: Start) -> None:
    bridge = start()
    for number in range(200):
        bridge.say({"jsonrpc": "2.0", "id": number, "method": "ping"})
    assert sorted(bridge.subscribe()["id"] for _ in range(200)) == list(range(200))


def test_the_bridge_uses_little_memory_and_loads_few_modules(service: Service, tmp_path: Path) -> None:
    command = [DIRECT[0], "-X", "importtime", *DIRECT[1:]]
    with Bridge(environment(service.home), tmp_path, command=command) as bridge:
        bridge.ask("initialize", **HELLO)
        bridge.call("memory-store", 2, content="Propolis is glue")
        bridge.call("memory-search", 3, query="propolis")
        assert bridge.memory() < 20_000
        bridge.hang_up()
        loaded = {line.rpartition("|")[2].strip() for line in bridge.complaints().splitlines()}
    assert "hivelore.mcp.bridge.relay" in loaded
    assert not {name for name in loaded if name in TOO_HEAVY or name.partition(".")[0] in TOO_HEAVY}


def test_an_idle_bridge_loads_few_modules(service: Service, tmp_path: Path) -> None:
    command = [DIRECT[0], "-X", "importtime", *DIRECT[1:]]
    with Bridge(environment(service.home), tmp_path, command=command) as bridge:
        bridge.hang_up()
        loaded = {line.rpartition("|")[2].strip() for line in bridge.complaints().splitlines()}
    assert {name for name in loaded if name.startswith("hivelore")} == {
        "hivelore",
        "hivelore.mcp",
        "hivelore.mcp.bridge",
        "hivelore.mcp.bridge.loop",
        "hivelore.mcp.bridge.streams",
    }
    assert not loaded & {"json", "re", "enum", "collections", "functools", "socket", "threading"}


def test_only_repeatable_tools_are_called_twice() -> None:
    harmless = {tool.name for tool in TOOLS if tool.read_only or (tool.idempotent and not tool.destructive)}
    assert harmless >= REPEATABLE


def _project(service: Service, memory: str) -> object:
    return service.client(service.agent_key).call("GET", f"/api/memory/{memory}")["project"]
