"""Names of categories and services: every interface accepts, refuses and compares the same ones."""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hivelore
from hivelore.core.capabilities import Capability
from hivelore.errors import HiveloreError, Invalid, TooLarge
from hivelore.python.client import Client
from support.cases import Cases
from support.command_line import CommandLine, environment, settings
from support.command_line import hivelore as run_process
from support.interfaces import OK, CliInterface, Interface, McpServer, PythonInterface, RestInterface
from support.postgres import DATABASES, service_on
from support.service import Service
from support.waiting import until

LONG, CUT = "x" * 101, "at most 100 are allowed. Use a short name such as"
GOOD = [
    "timing",
    " TIMING\t",
    "api gateway",
    "c++",
    "ci/cd",
    "10.0.0.1",
    "---",
    "Ausfälle",
    "конфигурация",
    "時間",
    "می‌خواهم",
    "🚀",
    "👩‍💻",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "x" * 100,
    f"{' ' * 200}timing{' ' * 200}",
]
TOO_LONG = {
    LONG: f"The {{}} has 101 characters; {CUT}",
    "x" * 100_000: f"The {{}} has 100,000 characters; {CUT}",
    f"a{' b' * 60}": f"The {{}} has 121 characters; {CUT}",
}
BAD = TOO_LONG | {
    "a\x1b[2Jb": "The {} has a control character (U+001B) at position 1: remove it and send the rest again.",
    "a\x7f": "The {} has a control character (U+007F) at position 1",
    "tim\u202eing": "The {} has an invisible character (U+202E) at position 3",
    "\u200b": "The {} has an invisible character (U+200B) at position 0",
    "\u200d": "The {} has no visible character. Use a name such as",
    "\u3164": "The {} has an invisible character (U+3164) at position 0",
    "a\ue000": "The {} has a private-use character (U+E000) at position 1",
}
BLANK = ["", "   ", "\n\t\u3000"]
KINDS = {
    "rest": {Invalid: "422 invalid", TooLarge: "413 too-large"},
    "mcp": dict.fromkeys((Invalid, TooLarge), "tool error"),
    "cli": {Invalid: "2 invalid", TooLarge: "2 too-large"},
    "embedded": {Invalid: "Invalid", TooLarge: "TooLarge"},
    "remote": {Invalid: "Invalid", TooLarge: "TooLarge"},
}
"""What each interface calls an error."""
SPELLINGS = {
    "category": ("timing", "Timings", "TIMING", "zeiten"),
    "service": ("Postgres", "postgre-sql", "pg", "db-1"),
}
ALIASES = ("zeiten=timing", "DB-1=postgres")


@dataclass(frozen=True)
class World:
    service: Service
    interfaces: Mapping[str, Interface]
    command: CommandLine

    @property
    def client(self) -> Client:
        return self.service.client(self.service.agent_key)


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    with Service(home, capabilities=tuple(Capability), aliases=ALIASES, **service_on(request.param)) as running:
        yield running


@pytest.fixture
def world(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Generator[World]:
    for name, value in settings(service.home, HIVELORE_ALIASES=",".join(ALIASES)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HIVELORE_URL", service.url)
    command = CommandLine(monkeypatch, capsys)
    with hivelore.open(service.home) as remote:
        monkeypatch.delenv("HIVELORE_URL")
        with hivelore.open(tmp_path) as embedded:
            monkeypatch.setenv("HIVELORE_URL", service.url)
            every = (
                RestInterface(service.port, service.agent_key),
                McpServer(service.port, service.agent_key),
                CliInterface(command),
                PythonInterface("remote", remote),
                PythonInterface("embedded", embedded),
            )
            yield World(service, {one.name: one for one in every}, command)


@pytest.mark.parametrize("verb", ["remember", "observe"])
@pytest.mark.parametrize("interface", KINDS)
def test_every_interface_accepts_and_refuses_the_same_names(world: World, interface: str, verb: str) -> None:
    cases = Cases()
    asked = {"remember": {"content": "It says so."}, "observe": {"observation": "Takes 60s", "category": "timing"}}[
        verb
    ]
    fields = {"remember": ["category"], "observe": ["category", "service"]}[verb]
    for field in fields:
        for name in GOOD:
            with cases.case(f"{field} {name[:20]!r}"):
                outcome = world.interfaces[interface].ask(verb, **asked | {field: name})
                assert outcome.kind == OK, outcome.said
        for name, says in BAD.items():
            with cases.case(f"{field} {name[:20]!r}"):
                outcome = world.interfaces[interface].ask(verb, **asked | {field: name})
                assert outcome.said.startswith(says.format(field))
                assert outcome.kind == KINDS[interface][TooLarge if CUT in says else Invalid]
        for name in BLANK:
            with cases.case(f"{field} {name!r}"):
                outcome = world.interfaces[interface].ask(verb, **asked | {field: name})
                if (verb, field) == ("observe", "category"):
                    assert outcome.said == "The category is empty. Use one such as timing."
                    assert outcome.kind == KINDS[interface][Invalid]
                else:
                    assert outcome.kind == OK, outcome.said
    cases.report()


@pytest.mark.parametrize(("name", "code"), [("Ausfälle 🚀", 0), (LONG, 2), ("a\x1b[2Jb", 2)])
def test_the_command_line_refuses_them_in_a_process_of_its_own(service: Service, name: str, code: int) -> None:
    env = environment(service.home, HIVELORE_URL=service.url)
    for option in ("--category", "--service"):
        category = () if option == "--category" else ("--category", "timing")
        result = run_process("observe", "Takes 60s", *category, f"{option}={name}", env=env)
        assert result.code == code, result.err
        assert (BAD[name].format(option[2:]) in result.err) if code else ("Takes 60s" in result.out)


@pytest.mark.parametrize("name", BAD, ids=[repr(name[:20]) for name in BAD])
def test_every_route_refuses_the_same_new_names_and_looks_for_stored_ones(world: World, name: str) -> None:
    client, cases = world.client, Cases()
    operator = world.service.client(world.service.operator_key)
    memory = client.call("POST", "/api/memory/index", body=_memory("It says so."))["memoryIds"][0]
    rated = client.call("POST", "/memories", body={"observation": "Takes 60s", "category": "timing"})["memory"]["id"]
    sure = {"confidence": 0.5, "confidentAt": "2026-01-01T00:00:00Z"}
    category: list[tuple[Client, str, str, dict[str, Any]]] = [
        (client, "POST", "/api/memory/batch", {"memories": [{"content": "x", "category": name}]}),
        (client, "PATCH", f"/api/memory/{memory}", {"category": name}),
        (client, "PUT", f"/memories/{rated}", {"category": name}),
        (operator, "PUT", f"/memories/{rated}", {"category": name}),
        (operator, "POST", "/memories", {"observation": "x", "category": name}),
    ]
    category_filters: list[tuple[Client, str, str, dict[str, Any]]] = [
        (client, "POST", "/api/memory/search", {"query": "x", "category": name}),
        (client, "GET", "/api/memory", {"category": name}),
        (client, "GET", "/memories", {"category": name}),
    ]
    service: list[tuple[Client, str, str, dict[str, Any]]] = [
        (
            operator,
            "POST",
            "/api/memory/batch",
            {"memories": [{"content": "x", "scope": "swarm", "operational": sure | {"service": name}}]},
        ),
        (client, "PUT", f"/memories/{rated}", {"service": name}),
        (operator, "PUT", f"/memories/{rated}", {"service": name}),
        (operator, "POST", "/memories", {"observation": "x", "category": "timing", "service": name}),
        (client, "POST", "/api/events", {"text": "x", "service": name}),
        (client, "PUT", "/api/cooldowns", {"service": name, "action": "restart", "minutes": 5}),
    ]
    service_filters: list[tuple[Client, str, str, dict[str, Any]]] = [
        (operator, "DELETE", "/api/cooldowns", {"service": name}),
        (client, "GET", "/api/cooldowns", {"service": name}),
        (client, "GET", "/api/events", {"service": name}),
        (client, "GET", "/memories", {"service": name}),
        (client, "GET", "/api/operational-context", {"service": name}),
    ]
    for field, routes, refused in (
        ("category", category, BAD),
        ("service", service, BAD),
        ("category", category_filters, TOO_LONG),
        ("service", service_filters, TOO_LONG),
    ):
        for who, method, path, given in routes:
            if method in ("GET", "DELETE") and len(name) > 10_000:
                continue  # No URL is as long.
            with cases.case(f"{method} {path.removesuffix(memory).removesuffix(rated)}"):
                answer = _call(who, method, path, given)
                assert answer.startswith(refused.get(name, "accepted").format(field))
    cases.report()


def _call(client: Client, method: str, path: str, given: Mapping[str, Any]) -> str:
    """Returns the error, also of one memory in a batch."""
    try:
        if method in ("GET", "DELETE"):
            client.call(method, path, query=given)
            return "accepted"
        answer = client.call(method, path, body=given)
    except HiveloreError as error:
        return str(error)
    failed = [str(one["error"]["detail"]) for one in answer.get("results", ()) if one.get("error")]
    return failed[0] if failed else "accepted"


def _memory(content: str, **more: Any) -> dict[str, Any]:
    return {"content": content, "name": content, "scope": "swarm", "source": "manual", **more}


@pytest.mark.parametrize("field", ["category", "service"])
def test_an_import_leaves_out_what_has_such_a_name(world: World, field: str) -> None:
    sure = {"confidence": 0.5, "confidentAt": "2026-01-01T00:00:00Z"}
    lines = [
        {"id": f"{field} {number}", "content": f"Import {number}", "scope": "swarm"}
        | ({"category": name} if field == "category" else {"operational": sure | {"service": name}})
        for number, name in enumerate([*GOOD, *BLANK, *BAD])
    ]
    done = world.command("import", "-", "--json", stdin="\n".join(map(json.dumps, lines)).encode())
    assert (done.json["created"], done.json["refused"]) == (len(GOOD) + len(BLANK), len(BAD)), done.err
    for says in BAD.values():
        assert says.format(field) in done.err


# Spellings.


def test_an_observation_is_one_memory_under_every_spelling_on_every_interface(world: World) -> None:
    text = "The replica lags by 5 minutes"
    for number, name in enumerate(("rest", "mcp", "cli", "remote", "embedded")):
        for one in range(len(SPELLINGS["category"])):
            category, service = SPELLINGS["category"][one - number], SPELLINGS["service"][one]
            asked = world.interfaces[name].ask("observe", observation=text, category=category, service=service)
            assert asked.kind == OK, asked.said
    found = world.client.call("GET", "/memories", query={"service": "PostgreSQL", "category": "Timing"})["memories"]
    assert [one["observation"] for one in found] == [text]


def test_filters_find_every_spelling(world: World) -> None:
    client = world.client
    for number, service in enumerate(SPELLINGS["service"]):
        client.call("POST", "/api/events", body={"text": f"Restart {number}", "service": service})
        client.call("PUT", "/api/cooldowns", body={"service": service, "action": f"a{number}", "minutes": 5})
    for number, category in enumerate(SPELLINGS["category"]):
        client.call("POST", "/api/memory/index", body=_memory(f"Quokka {number}", category=category))
    cases = Cases()
    with hivelore.open(world.service.home) as hive:
        for service, category in zip(SPELLINGS["service"], SPELLINGS["category"], strict=True):
            with cases.case(f"{service} {category}"):
                for events in (
                    client.call("GET", "/api/events", query={"service": service, "limit": 500})["events"],
                    world.command.json("events", "list", "--service", service, "-n", "500")["events"],
                    [{"text": one.text} for one in hive.events(service=service, limit=500).events],
                ):
                    assert {one["text"] for one in events} >= {f"Restart {number}" for number in range(4)}
                for cooldowns in (
                    client.call("GET", "/api/cooldowns", query={"service": service})["cooldowns"],
                    world.command.json("cooldowns", "list", "--service", service)["cooldowns"],
                    [{"action": one.action} for one in hive.cooldowns(service=service)],
                ):
                    assert {one["action"] for one in cooldowns} == {f"a{number}" for number in range(4)}
                for interface in world.interfaces.values():
                    if interface.name != "embedded":
                        shown = interface.ask("recall", query="quokka", category=category).shown
                        assert all(f"Quokka {number}" in shown for number in range(4)), interface.name
                listed = world.command.json("list", "--category", category, "-n", "500")["memories"]
                assert len([one for one in listed if one["content"].startswith("Quokka")]) == 4
    cases.report()


def test_the_same_event_under_another_spelling_is_stored_once(world: World) -> None:
    given = {"text": "The disk is full", "session": "s9"}
    seen = {
        world.client.call("POST", "/api/events", body=given | {"service": one})["id"] for one in SPELLINGS["service"]
    }
    assert len(seen) == 1


@pytest.mark.parametrize("spelling", ["Timing", "TIMINGS", "zeiten"])
def test_a_marker_may_spell_its_category_in_any_way(world: World, spelling: str) -> None:
    line = f"[MEMORY:{spelling}:{spelling}-service] Takes 90s\n".encode()
    stored = world.command("ingest-stream", "--session", f"s {spelling}", "--json", stdin=line)
    assert (stored.json["new"], stored.json["wrong"]) == (1, 0)
    hook = {"hook_event_name": "Stop", "session_id": spelling, "transcript_path": ""}
    said = hook | {"last_assistant_message": f"[MEMORY:{spelling}:{spelling}-hook] Takes 90s"}
    world.client.call("POST", "/api/hooks/claude-code", body={"id": f"hook {spelling}", "payload": said})

    def spellings(service: str) -> list[str]:
        query = {"service": service, "category": "timing"}
        return [one["category"] for one in world.client.call("GET", "/memories", query=query)["memories"]]

    assert spellings(f"{spelling}-service") == [spelling]
    until(lambda: spellings(f"{spelling}-hook") == [spelling])


def test_a_marker_of_an_unknown_category_is_not_stored(world: World) -> None:
    stored = world.command("ingest-stream", "--json", stdin=b"[MEMORY:gossip:x] Takes 90s\n")
    assert (stored.json["wrong"], stored.code) == (1, 0)
    assert "Unknown category gossip. Use one of behavior, dependency" in stored.err
