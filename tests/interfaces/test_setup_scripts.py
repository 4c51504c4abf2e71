"""Setup scripts on every interface: one test for each row of the specification, and the law of authority.

Numbers that the specification leaves out stand for clauses of the row before.
"""

import json
import logging
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.agents import Role
from hivelore.core.capabilities import DEFAULT, Capability
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, Proposed, Stale, TooLarge
from hivelore.python.client import Client
from hivelore.python.remote import RemoteHive
from hivelore.review.proposals import MAX_OPEN_SCRIPTS
from support.fake_secrets import SHAPES
from support.laws import examples
from support.on_disk import stored, written
from support.postgres import DATABASES, service_on
from support.service import Service

SWARM = (*DEFAULT, Capability.SWARM.value, Capability.REVIEW.value)


class Swarm:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.keys = {"ada": service.add("ada"), "bob": service.add("bob"), "lea": service.add("lea", Role.LEAD)}
        self.operator = service.client(service.operator_key)
        self.ada, self.bob, self.lea = (service.client(key) for key in self.keys.values())

    def tool(self, who: str, name: str, /, **arguments: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.service.client(self.keys[who]).call("POST", "/mcp", body=body)["result"]
        return answer["content"][0]["text"] if answer.get("isError") else answer["structuredContent"]

    def set(self, client: Client, agent: str | None, text: str, **more: Any) -> Any:
        place = "/api/setup-script" if agent is None else f"/api/agents/{agent}/setup-script"
        return client.call("PUT", place, body={"setupScript": text, **more})

    def scripts(self, agent: str = "ada") -> tuple[str | None, str | None]:
        found = self.operator.call("GET", f"/api/agents/{agent}/setup-script")
        return found["setupScript"], found["globalSetupScript"]


@pytest.fixture(params=DATABASES)
def swarm(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Swarm]:
    with Service(tmp_path, capabilities=SWARM, **service_on(request.param)) as service:
        yield Swarm(service)


def test_d40_scripts_are_global_and_by_agent_and_answered_as_documented(swarm: Swarm) -> None:
    found = swarm.ada.call("GET", "/api/agents/ada/setup-script")
    me = swarm.ada.call("GET", "/api/me")["agentId"]
    nothing = {"agent": me, "setupScript": None, "globalSetupScript": None, "version": 0, "globalVersion": 0}
    assert found == swarm.ada.call("GET", "/api/agents/me/setup-script") == nothing
    with pytest.raises(Invalid, match="belongs to no agent"):
        swarm.operator.call("GET", "/api/agents/me/setup-script")
    done = swarm.set(swarm.operator, None, "echo all")
    assert done == {"setupScript": "echo all\n", "version": 1, "changed": True}
    swarm.set(swarm.operator, "ada", "echo ada", version=0)
    assert swarm.scripts() == ("echo ada\n", "echo all\n")
    assert swarm.scripts("bob") == (None, "echo all\n")
    assert swarm.ada.call("GET", "/api/setup-script") == {"setupScript": "echo all\n", "version": 1}
    own = swarm.tool("ada", "update-setup-script")
    assert (own["setupScript"], own["globalSetupScript"], own["version"]) == ("echo ada\n", "echo all\n", 1)
    with pytest.raises(TooLarge):
        swarm.set(swarm.operator, "ada", "ü" * 40_000)
    with pytest.raises(NotFound):
        swarm.set(swarm.operator, "nobody", "echo")


def test_d42_changes_of_agents_are_proposals_that_the_operator_accepts(swarm: Swarm) -> None:
    swarm.set(swarm.operator, "ada", "echo one")
    said = swarm.tool("ada", "update-setup-script", setupScript="echo two", reason="faster")
    assert "Only operators change setup scripts. The change was proposed" in said
    with pytest.raises(Proposed) as raised:
        swarm.set(swarm.ada, "ada", "echo two")
    assert raised.value.proposal in said
    assert swarm.scripts() == ("echo one\n", None)
    for client in (swarm.ada, swarm.lea):
        with pytest.raises(Forbidden):
            client.call("POST", f"/api/review/{raised.value.proposal}/accept")
    shown = swarm.operator.call("GET", f"/api/review/{raised.value.proposal}")
    assert shown["script"]["diff"].splitlines()[2:] == ["@@ -1 +1 @@", "-echo one", "+echo two"]
    assert shown["proposal"]["why"] == "faster"
    swarm.operator.call("POST", f"/api/review/{raised.value.proposal}/accept")
    assert swarm.scripts() == ("echo two\n", None)
    history = swarm.ada.call("GET", "/api/setup-script/history", query={"agent": "ada"})["versions"]
    assert [(one["number"], one["size"]) for one in history] == [(2, 9), (1, 9)]
    query = {"agent": "ada", "older": 1, "newer": 2}
    assert "+echo two" in swarm.ada.call("GET", "/api/setup-script/diff", query=query)["diff"]
    swarm.operator.call("POST", "/api/setup-script/restore", body={"agent": "ada", "version": 1})
    assert swarm.scripts() == ("echo one\n", None)
    batch = swarm.operator.call("GET", "/api/batches")["batches"][0]
    assert (batch["kind"], batch["script"]["before"], batch["script"]["after"]) == ("setup-script", 2, 3)
    swarm.operator.call("POST", "/api/undo", body={"id": batch["id"]})
    assert swarm.scripts() == ("echo two\n", None)


def test_d42_a_setup_script_in_the_profile_is_a_proposal_too(swarm: Swarm) -> None:
    said = swarm.tool("ada", "update-profile", setupScript="echo two", role="reviewer")
    assert "The change was proposed" in said
    assert swarm.ada.call("GET", "/api/agents/me/profile")["role"] == "reviewer"
    with pytest.raises(Proposed) as raised:
        swarm.ada.call("PUT", "/api/agents/me/profile", body={"setupScript": "echo two"})
    assert raised.value.proposal in said
    assert swarm.scripts() == (None, None)
    before = swarm.ada.call("GET", "/api/agents/me/profile")
    for body, refused in (
        ({"setupScript": "x" * 70_000, "role": "x"}, TooLarge),
        ({"setupScript": "token=ghp_" + "a1B2" * 9, "role": "x"}, Invalid),
    ):
        with pytest.raises(refused):
            swarm.ada.call("PUT", "/api/agents/me/profile", body=body)
    with pytest.raises(Forbidden, match="own"):
        swarm.bob.call("PUT", "/api/agents/ada/profile", body={"setupScript": "echo bob", "role": "x"})
    assert swarm.ada.call("GET", "/api/agents/me/profile") == before
    done = swarm.operator.call("PUT", "/api/agents/ada/profile", body={"setupScript": "echo three"})
    assert (done["role"], swarm.scripts()) == ("reviewer", ("echo three\n", None))


def test_a_refused_proposal_leaves_the_profile_as_it_was(swarm: Swarm) -> None:
    for number in range(MAX_OPEN_SCRIPTS):
        with pytest.raises(Proposed):
            swarm.set(swarm.ada, "ada", f"echo {number}")
    before = swarm.ada.call("GET", "/api/agents/me/profile")
    with pytest.raises(Conflict, match="are open"):
        swarm.ada.call("PUT", "/api/agents/me/profile", body={"notes": "New.", "setupScript": "echo more"})
    assert swarm.ada.call("GET", "/api/agents/me/profile") == before


def test_a_proposal_beside_other_fields_names_the_version_of_the_profile(swarm: Swarm) -> None:
    body = json.dumps({"notes": "New.", "setupScript": "echo two"}).encode()
    status, answer = swarm.service.raw(
        b"PUT /api/agents/me/profile HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/json\r\nAuthorization: Bearer %b\r\nContent-Length: %d\r\n\r\n%b"
        % (swarm.keys["ada"].encode(), len(body), body)
    )
    now = swarm.ada.call("GET", "/api/agents/me/profile")
    assert (status, now["notes"]) == (403, "New.")
    assert b'etag: "%d"\r\n' % now["version"] in answer.lower()
    with pytest.raises(Proposed) as raised:
        swarm.ada.call("PUT", "/api/agents/me/profile", body={"notes": "Newer.", "setupScript": "echo two"})
    assert raised.value.current == now["version"] + 1
    said = swarm.tool("ada", "update-profile", soul="Calm.", setupScript="echo two")
    assert f"The other fields of the profile are at version {now['version'] + 2}." in said


def test_a_script_is_not_proposed_beside_fields_that_conflict(swarm: Swarm) -> None:
    read = swarm.ada.call("PUT", "/api/agents/me/profile", body={"notes": "One."})["version"]
    swarm.ada.call("PUT", "/api/agents/me/profile", body={"notes": "Two."})
    body = {"notes": "Three.", "setupScript": "echo three"}
    with pytest.raises(Stale):
        swarm.ada.call("PUT", "/api/agents/me/profile", body=body, version=read)
    assert swarm.operator.call("GET", "/api/review")["proposals"] == []


def test_the_version_of_a_profile_does_not_guard_a_setup_script(swarm: Swarm) -> None:
    for client in (swarm.ada, swarm.operator):
        with pytest.raises(Invalid, match="Leave version out"):
            client.call("PUT", "/api/agents/ada/profile", body={"setupScript": "echo two"}, version=99)
    assert "Leave version out" in swarm.tool("ada", "update-profile", setupScript="echo two", version=1)
    assert swarm.scripts() == (None, None)
    assert swarm.operator.call("GET", "/api/review")["proposals"] == []


@pytest.mark.parametrize("database", DATABASES)
def test_d45_agents_change_their_own_script_at_once_where_that_is_allowed(tmp_path: Path, database: str) -> None:
    with Service(tmp_path, capabilities=SWARM, accept_setup_scripts=True, **service_on(database)) as service:
        swarm = Swarm(service)
        assert swarm.tool("ada", "update-profile", setupScript="echo none")["success"]
        assert swarm.tool("ada", "update-setup-script", setupScript="echo one")["version"] == 2
        with pytest.raises(Proposed):
            swarm.set(swarm.ada, None, "echo all")


def test_an_operator_resets_an_agent_and_each_part_can_be_undone(swarm: Swarm) -> None:
    for key in ("URL", "PORT"):
        swarm.ada.call("PUT", "/api/config", body={"key": key, "value": "x"})
    default = swarm.ada.call("GET", "/api/agents/me/profile")["soul"]
    swarm.ada.call("PUT", "/api/agents/me/profile", body={"soul": "Calm."})
    swarm.set(swarm.operator, "ada", "echo one")
    for client in (swarm.ada, swarm.lea):
        with pytest.raises(Forbidden):
            client.call("POST", "/api/agents/ada/reset")
    swarm.operator.call("DELETE", "/api/agents/ada")
    done = swarm.operator.call("POST", "/api/agents/ada/reset")
    assert done == {"profile": True, "setupScript": True, "entries": 2, "warnings": []}

    def state() -> tuple[Any, ...]:
        entries = swarm.operator.call("GET", "/api/config")["entries"]
        soul = swarm.operator.call("GET", "/api/agents/ada/profile")["soul"]
        return soul, swarm.scripts()[0], sorted(one["key"] for one in entries)

    assert state() == (default, None, [])
    again = swarm.operator.call("POST", "/api/agents/ada/reset")
    assert again == {"profile": False, "setupScript": False, "entries": 0, "warnings": []}
    kinds = [(one["kind"], one["id"]) for one in swarm.operator.call("GET", "/api/batches")["batches"][:3]]
    assert sorted(kind for kind, _ in kinds) == ["configured", "profiled", "setup-script"]
    for _, batch in kinds:
        swarm.operator.call("POST", "/api/undo", body={"id": batch})
    assert state() == ("Calm.", "echo one\n", ["PORT", "URL"])


def test_python_has_all_of_it(swarm: Swarm) -> None:
    with RemoteHive(swarm.operator) as hive:
        hive.set_setup_script("ada", "echo one")
        hive.set_setup_script("ada", "echo two", reason="faster")
        hive.set_global_setup_script("echo all")
        assert hive.setup_script("ada").setup_script == "echo two\n"
        assert hive.global_setup_script().setup_script == "echo all\n"
        assert [one.reason for one in hive.setup_script_history(agent="ada")] == ["faster", None]
        assert "-echo one" in hive.diff_setup_script(1, 2, agent="ada")
        assert hive.restore_setup_script(1, agent="ada").version == 3


@pytest.mark.parametrize("number", [-1, 2**31, 10**30])
def test_a_number_that_no_version_can_have_is_invalid(swarm: Swarm, number: int) -> None:
    place = "/api/setup-script"
    for call in (
        lambda: swarm.set(swarm.operator, None, "echo one", version=number),
        lambda: swarm.set(swarm.operator, "ada", "echo one", version=number),
        lambda: swarm.operator.call("GET", f"{place}/history", query={"before": number}),
        lambda: swarm.operator.call("GET", f"{place}/diff", query={"older": number, "newer": 1}),
        lambda: swarm.operator.call("GET", f"{place}/diff", query={"older": 1, "newer": number}),
        lambda: swarm.operator.call("POST", f"{place}/restore", body={"version": number}),
    ):
        with pytest.raises(Invalid):
            call()
    swarm.set(swarm.operator, None, "echo one")
    assert swarm.operator.call("GET", f"{place}/history", query={"before": 2**31 - 1})["versions"]


def test_a_secret_in_a_script_is_stored_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = SHAPES["github-token"][0]
    answers: list[str] = []
    for database in DATABASES:
        with Service(tmp_path / database, capabilities=SWARM, **(given := service_on(database))) as service:
            swarm = Swarm(service)
            for client, agent in ((swarm.operator, "ada"), (swarm.ada, "ada"), (swarm.ada, None)):
                with pytest.raises(Invalid, match="Line 1") as raised:
                    swarm.set(client, agent, f"git clone https://x:{secret}@github.com/a/b")
                answers.append(str(raised.value))
            answers.append(str(swarm.tool("ada", "update-setup-script", setupScript=f"export TOKEN={secret}")))
            answers.append(json.dumps(swarm.operator.call("GET", "/api/review")))
            data = written(tmp_path / database) + stored(given.get("database"))
        data += written(tmp_path / database)
        assert secret.encode() not in data
    assert secret not in caplog.text + "".join(answers)


class Call(NamedTuple):
    what: str
    agent: str | None
    number: int


calls = st.builds(
    Call,
    st.sampled_from(["set", "set", "propose", "restore", "decide", "undo", "tool", "profile"]),
    st.sampled_from([None, "ada", "bob", "lea"]),
    st.integers(0, 3),
)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Generator[Swarm]:
    with Service(tmp_path_factory.mktemp("law"), capabilities=SWARM) as service:
        swarm = Swarm(service)
        for agent in (None, "ada", "bob"):
            for number in (1, 2):
                swarm.set(swarm.operator, agent, f"echo {agent} {number}")
        yield swarm


@settings(max_examples=examples(20))
@given(done=st.lists(calls, max_size=6), who=st.sampled_from(["ada", "lea"]))
def test_no_call_of_an_agent_changes_what_runs(lasting: Swarm, done: list[Call], who: str) -> None:
    client = lasting.service.client(lasting.keys[who])
    before = [lasting.scripts(agent) for agent in ("ada", "bob", "lea")]
    for call in done:
        with suppress(HiveloreError):
            _make(lasting, client, who, call)
    assert [lasting.scripts(agent) for agent in ("ada", "bob", "lea")] == before


def _make(swarm: Swarm, client: Client, who: str, call: Call) -> None:
    text = f"echo changed {call.number}"
    match call.what:
        case "set":
            swarm.set(client, call.agent, text)
        case "propose":
            swarm.set(client, call.agent, text, propose=True)
        case "restore":
            body = {"version": call.number, "agent": call.agent}
            client.call("POST", "/api/setup-script/restore", body=body)
        case "decide":
            for proposal in swarm.operator.call("GET", "/api/review")["proposals"]:
                client.call("POST", f"/api/review/{proposal['id']}/accept")
        case "undo":
            for batch in swarm.operator.call("GET", "/api/batches")["batches"]:
                with suppress(HiveloreError):
                    client.call("POST", "/api/undo", body={"id": batch["id"]})
        case "profile":
            body = {"setupScript": text}
            client.call("PUT", f"/api/agents/{call.agent or 'me'}/profile", body=body)
        case _:
            swarm.tool(who, "update-setup-script", setupScript=text)
