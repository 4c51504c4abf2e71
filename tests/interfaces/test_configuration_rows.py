"""Configuration as the specification says, row by row (D50 to D56), through REST and MCP on both databases."""

import subprocess
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Any, NamedTuple

import pytest

from hivelore.configuration.model import MASK
from hivelore.core.agents import Role
from hivelore.core.capabilities import DEFAULT, Capability
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound
from hivelore.local import launcher
from hivelore.python.client import Client
from support.command_line import HIVELORE
from support.on_disk import stored, written
from support.postgres import DATABASES, service_on
from support.service import Service, environment

SWARM = (*DEFAULT, Capability.SWARM.value)
DOCUMENTED = {
    "id",
    "scope",
    "scopeId",
    "key",
    "value",
    "isSecret",
    "envPath",
    "description",
    "createdAt",
    "lastUpdatedAt",
}
"""The columns of an entry in the document."""


class Swarm(NamedTuple):
    service: Service
    database: str | None
    ada: Client
    """A worker."""
    lea: Client
    """A lead."""
    operator: Client

    def put(
        self, client: Client, key: str, value: str, scope: str = "global", to: str | None = None, **more: Any
    ) -> Any:
        place = {} if to is None else {"scopeId": to}
        return client.call("PUT", "/api/config", body={"key": key, "value": value, "scope": scope, **place, **more})

    def tool(self, client: Client, name: str, /, **arguments: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        return client.call("POST", "/mcp", body=body)["result"]

    def runner(self, agent: str = "ada") -> Client:
        """The program that starts an agent: an operator's key that acts for it."""
        return self.service.client(self.service.operator_key, agent)

    @property
    def workspace(self) -> Path:
        return self.service.home / "workspace"


@pytest.fixture(params=DATABASES)
def swarm(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Swarm]:
    settings = service_on(request.param)
    with Service(tmp_path, capabilities=SWARM, **settings) as service:
        ada, lea = service.client(service.add("ada")), service.client(service.add("lea", Role.LEAD))
        service.add("bob")
        (tmp_path / "workspace").mkdir(exist_ok=True)
        for repo in ("bank", "shop"):
            lea.call("POST", "/api/repos", body={"url": f"https://example.com/acme/{repo}"})
        yield Swarm(service, settings.get("database"), ada, lea, service.client(service.operator_key))


def test_d50_an_entry_has_the_documented_fields_and_is_unique_by_scope_id_and_key(swarm: Swarm) -> None:
    places = [("global", None), ("agent", "ada"), ("agent", "bob"), ("repo", "shop")]
    made = [swarm.put(swarm.operator, "URL", "one", *place, description="where") for place in places]
    assert all(set(one) >= DOCUMENTED for one in made)
    assert len({one["id"] for one in made}) == len(places)
    again = swarm.put(swarm.operator, "URL", "two", "repo", "shop", isSecret=False)
    assert (again["id"], again["createdAt"], again["value"]) == (made[3]["id"], made[3]["createdAt"], "two")
    assert again["lastUpdatedAt"] > made[3]["lastUpdatedAt"]
    with pytest.raises(Invalid):
        swarm.put(swarm.operator, "URL", "x", "everywhere")
    mine = swarm.tool(swarm.ada, "set-config", key="URL", value="mine")["structuredContent"]["entry"]
    assert (mine["id"], mine["value"]) == (made[1]["id"], "mine")


def test_d51_the_routes_list_set_and_delete_by_scope(swarm: Swarm) -> None:
    agent = swarm.ada.call("GET", "/api/me")["agentId"]
    for place in (("global", None), ("agent", agent), ("repo", "shop"), ("repo", "bank")):
        swarm.put(swarm.operator, "URL", "x", *place)

    def listed(**query: str) -> list[tuple[str, str | None]]:
        found = swarm.operator.call("GET", "/api/config", query=query)["entries"]
        for one in found:
            assert (one["scopeId"] is None) is (one["scope"] == "global")
        return [(one["scope"], one["scopeName"]) for one in found]

    assert listed(scope="global") == [("global", None)]
    assert listed(scope="agent", scopeId=agent) == [("agent", "ada")]
    assert listed(scope="repo", scopeId="shop") == [("repo", "shop")]
    assert listed() == [("global", None), ("agent", "ada"), ("repo", "bank"), ("repo", "shop")]
    entry = swarm.operator.call("GET", "/api/config", query={"scope": "repo", "scopeId": "bank"})["entries"][0]["id"]
    with pytest.raises(Forbidden):
        swarm.ada.call("DELETE", f"/api/config/{entry}")
    assert swarm.lea.call("DELETE", f"/api/config/{entry}")["id"] == entry
    assert listed(scope="repo") == [("repo", "shop")]
    with pytest.raises(NotFound):
        swarm.lea.call("DELETE", f"/api/config/{entry}")


def test_d52_repo_beats_agent_beats_global_and_each_value_says_where_it_came_from(swarm: Swarm) -> None:
    agent = swarm.ada.call("GET", "/api/me")["agentId"]
    swarm.put(swarm.operator, "URL", "global")
    swarm.put(swarm.operator, "ONLY", "global")
    swarm.put(swarm.ada, "URL", "agent", "agent")
    swarm.put(swarm.lea, "URL", "repo", "repo", "shop")

    def resolved(client: Client, **query: str) -> dict[str, tuple[str, str, list[str]]]:
        found = client.call("GET", "/api/config/resolved", query=query)["entries"]
        return {one["key"]: (one["value"], one["scope"], one["overrides"]) for one in found}

    whole = resolved(swarm.operator, agentId=agent, repoId="shop")
    assert whole == {"ONLY": ("global", "global", []), "URL": ("repo", "repo", ["global", "agent"])}
    assert resolved(swarm.ada, repoId="shop") == whole
    assert resolved(swarm.ada)["URL"] == resolved(swarm.ada, agentId="me")["URL"] == ("agent", "agent", ["global"])
    with pytest.raises(Invalid, match="belongs to no agent"):
        resolved(swarm.operator, agentId="me")
    assert resolved(swarm.operator)["URL"] == ("global", "global", [])
    assert resolved(swarm.ada, key="ONLY").keys() == {"ONLY"}
    with pytest.raises(Forbidden):
        resolved(swarm.ada, agentId="bob")
    tool = swarm.tool(swarm.ada, "get-config", repoId="shop")["structuredContent"]["entries"]
    assert {one["key"]: (one["value"], one["scope"]) for one in tool} == {
        "ONLY": ("global", "global"),
        "URL": ("repo", "repo"),
    }


def test_d53_secrets_are_masked_and_revealed_by_right_in_the_audit_trail(swarm: Swarm) -> None:
    secret = f"s{token_hex(12)}"
    shared = swarm.put(swarm.operator, "SHARED", secret, isSecret=True)
    own = swarm.tool(swarm.ada, "set-config", key="TOKEN", value=secret, isSecret=True)["structuredContent"]["entry"]
    answers = [
        shared,
        own,
        swarm.operator.call("GET", "/api/config"),
        swarm.operator.call("GET", f"/api/config/{own['id']}/history"),
        swarm.tool(swarm.ada, "get-config"),
        swarm.ada.call("GET", "/api/config/resolved"),
    ]
    assert secret not in repr(answers)
    assert shared["value"] == own["value"] == MASK
    for client, entry in ((swarm.operator, shared), (swarm.ada, own), (swarm.runner(), shared)):
        assert client.call("GET", f"/api/config/{entry['id']}/reveal")["value"] == secret
    for client, entry in ((swarm.ada, shared), (swarm.lea, shared), (swarm.lea, own)):
        with pytest.raises(Forbidden):
            client.call("GET", f"/api/config/{entry['id']}/reveal")
    agent = swarm.ada.call("GET", "/api/me")["agentId"]
    reads = swarm.operator.call("GET", f"/api/config/{shared['id']}/history")["reads"]
    assert [one["actor"] for one in reads] == [agent, None]
    data = written(swarm.service.home) + stored(swarm.database)
    assert secret.encode() not in data


def test_d54_an_agents_process_gets_the_entries_as_its_environment(swarm: Swarm) -> None:
    swarm.put(swarm.operator, "SHARED", "it's $x\n", isSecret=True)
    swarm.put(swarm.operator, "URL", "x", "repo", "shop")
    mine = swarm.ada.call("GET", "/api/config/env", query={"repoId": "shop"})
    assert mine["variables"] == {"URL": "x"}
    assert [(one["key"], one["isForbidden"]) for one in mine["withheld"]] == [("SHARED", True)]
    given = swarm.runner().call("GET", "/api/config/env", query={"repoId": "shop"})
    assert given == {"variables": {"SHARED": "it's $x\n", "URL": "x"}, "withheld": []}
    for key in ("LD_PRELOAD", "PROMPT_COMMAND", "HIVELORE_URL", "GIT_SSH_COMMAND"):
        with pytest.raises(Invalid, match="reserved"):
            swarm.put(swarm.operator, key, "x")
        assert swarm.tool(swarm.ada, "set-config", key=key, value="x")["isError"] is True
    with pytest.raises(Forbidden):
        swarm.put(swarm.lea, "ANTHROPIC_BASE_URL", "https://example.com")
    swarm.put(swarm.operator, "ANTHROPIC_BASE_URL", "https://example.com")


def test_d55_an_entry_with_env_path_is_a_line_of_that_file_in_the_workspace(swarm: Swarm) -> None:
    folder = swarm.workspace / "repos/my-app"
    folder.mkdir(parents=True)
    file = folder / ".env"
    file.write_text("# mine\nA=1\n")
    entry = swarm.put(swarm.lea, "URL", "one", envPath=str(file))
    assert entry["envPath"] == "repos/my-app/.env"
    assert file.read_text() == "# mine\nA=1\nURL=one\n"
    assert file.stat().st_mode & 0o777 == 0o600
    swarm.put(swarm.lea, "URL", "of the shop", "repo", "shop", envPath="repos/my-app/.env")
    swarm.put(swarm.lea, "URL", "two")
    assert file.read_text() == "# mine\nA=1\nURL='of the shop'\n"
    for client, path in ((swarm.ada, "repos/my-app/.env"), (swarm.lea, "../x.env"), (swarm.lea, "/etc/x.env")):
        with pytest.raises((Forbidden, Invalid)):
            swarm.put(client, "KEY", "x", "agent", envPath=path)
    (swarm.workspace / "link.env").symlink_to("/etc/hostname")
    with pytest.raises(Conflict, match="link"):
        swarm.put(swarm.lea, "KEY", "x", envPath="link.env")
    swarm.lea.call("DELETE", f"/api/config/{entry['id']}")
    assert file.read_text() == "# mine\nA=1\nURL='of the shop'\n"
    (left,) = swarm.lea.call("GET", "/api/config", query={"scope": "repo"})["entries"]
    swarm.lea.call("DELETE", f"/api/config/{left['id']}")
    assert file.read_text() == "# mine\nA=1\n"
    swarm.lea.call("POST", "/api/undo", body={"id": swarm.lea.call("GET", "/api/batches")["batches"][0]["id"]})
    assert file.read_text() == "# mine\nA=1\nURL='of the shop'\n"


def test_d56_workers_set_their_own_entries_and_every_change_has_a_version_and_an_undo(swarm: Swarm) -> None:
    entry = swarm.tool(swarm.ada, "set-config", key="URL", value="one")["structuredContent"]["entry"]["id"]
    for arguments in ({"scope": "global"}, {"scope": "repo", "scopeId": "shop"}, {"scope": "agent", "scopeId": "bob"}):
        assert swarm.tool(swarm.ada, "set-config", key="URL", value="x", **arguments)["isError"] is True
    swarm.put(swarm.operator, "URL", "two", "agent", "ada", description="where")
    agent = swarm.ada.call("GET", "/api/me")["agentId"]
    versions = swarm.ada.call("GET", f"/api/config/{entry}/history")["versions"]
    assert [(one["value"], one["actor"], one["changed"]) for one in versions] == [
        ("one", agent, ["value"]),
        ("two", None, ["value", "description"]),
    ]
    batch = swarm.operator.call("GET", "/api/batches")["batches"][0]["id"]
    for client in (swarm.ada, swarm.lea):
        with pytest.raises((Forbidden, NotFound)):
            client.call("POST", "/api/undo", body={"id": batch})
    assert swarm.operator.call("POST", "/api/undo", body={"id": batch})["entries"] == [entry]
    assert swarm.ada.call("GET", "/api/config")["entries"][0]["value"] == "one"


@contextmanager
def serving(home: Path, **settings: str) -> Generator[tuple[Client, subprocess.Popen[bytes]]]:
    """A service in a process of its own."""
    given = {f"HIVELORE_{name.upper()}": value for name, value in settings.items()}
    env = environment(home, HIVELORE_URL="http://127.0.0.1:0", **given)
    with subprocess.Popen([HIVELORE, "serve"], env=env, stderr=subprocess.PIPE) as process:
        try:
            url = None
            while url is None or not launcher.is_alive(url):
                assert process.poll() is None, process.stderr and process.stderr.read().decode()
                Event().wait(0.05)
                url = launcher.running(home)
            with closing(Client(url, (home / "operator.key").read_text().strip())) as operator:
                yield operator, process
        finally:
            process.kill()


def prepare(home: Path, url: str, variables: Sequence[str]) -> bytes:
    """Prepares the workspace and runs its start-up file with these variables; returns what is printed."""
    env = environment(
        home,
        HIVELORE_URL=url,
        HIVELORE_RUN_SETUP_SCRIPTS="1",
        HIVELORE_SETUP_SCRIPT_VARIABLES=",".join(variables),
    )
    done = subprocess.run([HIVELORE, "workspace", "prepare"], env=env, capture_output=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.parametrize("database", DATABASES)
def test_fifty_secrets_are_nowhere_in_clear_after_the_service_was_killed(tmp_path: Path, database: str) -> None:
    """Ten of them were set in clear before, ten are in a file, and ten are secrets again after an undo. A setup script
    prints all of them."""
    secrets = [f"s{token_hex(12)}" for _ in range(50)]
    settings = service_on(database)
    (tmp_path / "workspace").mkdir()
    file = tmp_path / "workspace/.env"
    with serving(tmp_path, **settings) as (operator, process):
        for number, secret in enumerate(secrets):
            body: dict[str, Any] = {"key": f"TOKEN_{number}", "value": secret, "scope": "global"}
            if number % 5 == 0:
                operator.call("PUT", "/api/config", body=body)
            if number % 5 == 1:
                body["envPath"] = ".env"
            operator.call("PUT", "/api/config", body={**body, "isSecret": True})
            if number % 5 == 2:
                operator.call("PUT", "/api/config", body={**body, "isSecret": False})
                batch = operator.call("GET", "/api/batches")["batches"][0]["id"]
                operator.call("POST", "/api/undo", body={"id": batch})
        operator.call("GET", "/api/config/env")
        with pytest.raises(Invalid):
            operator.call("PUT", "/api/config", body={"key": secrets[0], "value": "x", "scope": "global"})
        operator.call("PUT", "/api/setup-script", body={"setupScript": "env\n"})
        prepared = prepare(tmp_path, operator.url, [f"TOKEN_{number}" for number in range(50)])
        process.kill()
        process.wait()
        said = process.stderr.read() if process.stderr is not None else b""
    in_file = {secret for secret in secrets if secret in file.read_text()}
    assert in_file == {secret for number, secret in enumerate(secrets) if number % 5 == 1}
    file.rename(tmp_path.with_suffix(".env"))
    data = written(tmp_path) + stored(settings.get("database")) + said
    data += prepared
    assert b"TOKEN_1" in data
    assert b"TOKEN_1=***" in (tmp_path / "workspace" / "personal" / "start-up.log").read_bytes()
    assert [secret for secret in secrets if secret.encode() in data] == []
    tmp_path.with_suffix(".env").rename(file)
    with serving(tmp_path, **settings) as (operator, _):
        found = operator.call("GET", "/api/config/env")
        assert sorted(found["variables"].values()) == sorted(secrets)
        report = operator.call("GET", "/api/config/check")
        assert (report["unreadableCount"], report["problemCount"], report["lines"]) == (0, 0, 10)
