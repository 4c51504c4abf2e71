"""Configuration entries on every interface, and their secrets in no file, log, answer or export."""

import json
import logging
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from hivelore.configuration.model import MASK
from hivelore.core.agents import Role
from hivelore.core.capabilities import DEFAULT, Capability
from hivelore.errors import Forbidden, HiveloreError
from hivelore.python.remote import RemoteHive
from hivelore.transfer.jsonl import export
from support.on_disk import stored, written
from support.postgres import DATABASES, service_on
from support.service import Service

SWARM = (*DEFAULT, Capability.SWARM.value)


def tool(service: Service, api_key: str, name: str, /, **arguments: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return service.client(api_key).call("POST", "/mcp", body=body)["result"]["structuredContent"]


def tools(service: Service, key: str) -> set[str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return {one["name"] for one in service.client(key).call("POST", "/mcp", body=body)["result"]["tools"]}


@pytest.mark.parametrize("database", DATABASES)
def test_no_secret_is_in_files_logs_answers_errors_or_exports(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, database: str
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = [f"s{token_hex(12)}" for _ in range(50)]
    answers: list[Any] = []
    with Service(tmp_path, capabilities=SWARM, **(settings := service_on(database))) as service:
        key, lead = service.add("ada"), service.add("lea", Role.LEAD)
        operator = service.client(service.operator_key)
        for number, secret in enumerate(secrets):
            body: dict[str, Any] = {"key": f"TOKEN_{number % 20}", "value": secret, "isSecret": True}
            if number % 3 == 0:
                answers.append(tool(service, key, "set-config", **body))
            elif number % 3 == 1:
                answers.append(service.client(lead).call("PUT", "/api/config", body={**body, "scope": "global"}))
            else:
                with RemoteHive(service.client(key)) as hive:
                    answers.append(repr(hive.set_config(body["key"], secret, is_secret=True)))
        wrong = [{"key": secrets[0]}, {"value": 5, secrets[1]: 1, "key": "A"}, {"key": "PATH", "value": secrets[2]}]
        for body in (*wrong, {"key": "A", "value": secrets[3], "isSecret": secrets[4]}):
            with pytest.raises(HiveloreError) as error:
                operator.call("PUT", "/api/config", body=body)
            answers.append(str(error.value).replace(secrets[1], ""))
        entries = operator.call("GET", "/api/config")["entries"]
        answers += [entries, operator.call("GET", "/api/batches", query={"limit": 100})]
        answers += [operator.call("GET", f"/api/config/{one['id']}/history") for one in entries]
        answers += [tool(service, key, "get-config"), operator.call("GET", "/api/status")]
        assert {one["value"] for one in entries} == {MASK}
        operator.call("POST", "/api/config/rotate-key")
        operator.call("DELETE", f"/api/config/{entries[0]['id']}")
        shown = service.client(service.operator_key, "ada").call("GET", "/api/config/env")
        assert set(secrets) & set(shown["variables"].values())
        with RemoteHive(operator) as hive:
            answers.append("".join(export(hive)))
        data = written(tmp_path) + stored(settings.get("database"))
    data += written(tmp_path) + caplog.text.encode() + json.dumps(answers).encode()
    assert b"TOKEN_1" in data
    assert [secret for secret in secrets if secret.encode() in data] == []


def test_rest_answers_as_documented(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        ada, operator = service.client(service.add("ada")), service.client(service.operator_key)
        agent = ada.call("GET", "/api/me")["agentId"]
        entry = ada.call("PUT", "/api/config", body={"key": "URL", "value": "one", "description": "where"})
        assert set(entry) == {
            *("id", "scope", "scopeId", "scopeName", "key", "value", "isSecret", "envPath", "description", "createdAt"),
            *("lastUpdatedAt", "version", "actor", "warning"),
        }
        assert (entry["scope"], entry["scopeId"], entry["value"], entry["actor"]) == ("agent", agent, "one", agent)
        listed = operator.call("GET", "/api/config", query={"scope": "agent", "scopeId": "ada"})["entries"]
        assert [one["id"] for one in listed] == [entry["id"]]
        operator.call("POST", "/api/repos", body={"url": "https://example.com/acme/shop"})
        operator.call("PUT", "/api/config", body={"key": "URL", "value": "two", "scope": "repo", "scopeId": "shop"})
        found = operator.call("GET", "/api/config/resolved", query={"agentId": agent, "repoId": "shop"})["entries"]
        assert [(one["value"], one["overrides"]) for one in found] == [("two", ["agent"])]
        assert ada.call("GET", f"/api/config/{entry['id'][:13]}/reveal")["value"] == "one"
        undone = operator.call(
            "POST", "/api/undo", body={"id": operator.call("GET", "/api/batches")["batches"][0]["id"]}
        )
        assert len(undone["entries"]) == 1
        gone = ada.call("DELETE", f"/api/config/{entry['id']}")
        assert gone == {"id": entry["id"], "key": "URL", "warning": None}
        assert operator.call("GET", "/api/config")["entries"] == []
        with pytest.raises(Forbidden):
            ada.call("POST", "/api/config/rotate-key")


def test_answers_with_secrets_are_not_cached(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        head = f"GET /api/config/env HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n"
        status, answer = service.raw(f"{head}Authorization: Bearer {service.agent_key}\r\n\r\n".encode())
        assert status == 200
        assert b"cache-control: no-store" in answer.lower()


def test_the_tools_belong_to_a_set_of_their_own(tmp_path: Path) -> None:
    with Service(tmp_path / "default") as service:
        assert not tools(service, service.add("ada")) & {"get-config", "set-config"}
    with Service(tmp_path / "swarm", capabilities=SWARM) as service:
        key = service.add("ada")
        assert tools(service, key) >= {"get-config", "set-config"}
        tool(service, key, "set-config", key="TOKEN", value="x", isSecret=True)
        found = tool(service, key, "get-config")
        assert [(one["key"], one["value"]) for one in found["entries"]] == [("TOKEN", MASK)]
        assert "1 of them" in found["message"]


def test_the_tool_leaves_out_what_would_take_much_context(tmp_path: Path) -> None:
    with Service(tmp_path, capabilities=SWARM) as service:
        key = service.add("ada")
        for name in "ABC":
            tool(service, key, "set-config", key=name, value=name * 30_000)
        found = tool(service, key, "get-config")
        assert [one["key"] for one in found["entries"]] == ["A"]
        assert found["message"] == "3 entries apply to you. 2 are left out here, from B on: ask for each by key."
        assert [one["key"] for one in tool(service, key, "get-config", key="C")["entries"]] == ["C"]


def test_a_restarted_service_reads_its_secrets(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        body = {"key": "TOKEN", "value": "x", "scope": "global", "isSecret": True}
        entry = service.client(service.operator_key).call("PUT", "/api/config", body=body)["id"]
    with Service(tmp_path) as service:
        assert service.client(service.operator_key).call("GET", f"/api/config/{entry}/reveal")["value"] == "x"
        assert (tmp_path / "config.keys").stat().st_mode & 0o777 == 0o600
