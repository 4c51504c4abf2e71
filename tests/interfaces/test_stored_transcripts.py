"""Stored transcripts over REST: authority, redaction, encryption, limits, chains and deletion."""

import json
import threading
from collections.abc import Generator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hivelore.core.agents import Role
from hivelore.core.ids import transcript_id
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, TooLarge
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.memories.model import Action
from hivelore.python.client import Client
from hivelore.storage.ports import Transaction
from hivelore.stored_transcripts import service as stored_transcripts
from hivelore.stored_transcripts.model import MAX_APPENDED, StoredTranscript, TranscriptChunk, TranscriptId
from hivelore.stored_transcripts.packing import pack
from support.fake_secrets import scramble
from support.on_disk import stored, written
from support.postgres import DATABASES, service_on
from support.service import Service
from support.transcripts import a_line, said, session_id

PATH = "/api/transcripts"
SECRET = "gh" + "p_" + "a1B2c3D4" * 4 + "e5F6"
_NUMBERS = count()


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    settings = service_on(request.param)
    with Service(tmp_path_factory.mktemp("hivelore"), transcript_mb=2, **settings) as running:
        yield running


@pytest.fixture
def ada(service: Service) -> Client:
    return service.client(service.add(f"ada {next(_NUMBERS)}"))


def append(client: Client, *lines: str, session: int = 1, **more: Any) -> Any:
    body = {"projectKey": "-work", "sessionId": session_id(session), "lines": list(lines), **more}
    return client.call("POST", PATH, body=body)


def load(client: Client, session: int = 1, **more: Any) -> list[str]:
    query = {"projectKey": "-work", "sessionId": session_id(session), **more}
    lines: list[str] = []
    after: int | None = 0
    while after is not None:
        page = client.call("GET", f"{PATH}/lines", query={**query, "after": after})
        lines += page["lines"]
        after = page["next"]
    return lines


def of_agent(service: Service, client: Client) -> tuple[list[StoredTranscript], list[TranscriptChunk]]:
    """Returns the transcripts of an agent and their chunks."""
    owner = client.call("GET", "/api/me")["agentId"]
    with service.app.store.read() as view:
        found = [one for one in view.transcripts_after(TranscriptId(""), 1_000) if one.owner == owner]
        return found, [chunk for one in found for chunk in view.transcript_chunks(one.id, 0, 1_000)]


def test_entries_keep_their_exact_text(ada: Client) -> None:
    lines = ['{"b": 1.0, "a": "\\ud800\\u0000☃",  "a": 1e400}', said("user", f"It is {SECRET}.", "a")]
    done = append(ada, *lines, machine="host-1")
    assert (done["appended"], done["known"], done["shortened"]) == (2, 0, 0)
    assert load(ada) == lines
    (one,) = ada.call("GET", PATH)["sessions"]
    assert (one["machine"], one["folder"], one["version"], one["entries"]) == ("host-1", "/work", "2.1.330", 2)
    assert one["isExact"]


@pytest.mark.parametrize("role", [Role.LEAD, Role.OPERATOR])
def test_others_read_a_redacted_copy(service: Service, ada: Client, role: Role) -> None:
    lines = [said("user", f"It is {SECRET}.", "a"), said("assistant", "Fine. <private>mine</private>", "b")]
    number = append(ada, *lines)["id"]
    key = service.operator_key if role is Role.OPERATOR else service.add(f"lead {next(_NUMBERS)}", role)
    other = service.client(key)
    shown = json.dumps(other.call("GET", f"{PATH}/{number}/turns"))
    assert "It is [" in shown
    assert "Fine." in shown
    assert SECRET not in shown
    assert "mine" not in shown
    assert not next(one for one in other.call("GET", PATH)["sessions"] if one["id"] == number)["isExact"]
    with pytest.raises((Forbidden, NotFound)):
        load(other)
    with service.app.store.read() as view:
        assert [one.actor for one in view.audit(9, number)] == [other.call("GET", "/api/me")["agentId"]]


def test_workers_know_nothing_of_the_sessions_of_others(service: Service, ada: Client) -> None:
    number = append(ada, said("user", "x", "a"))["id"]
    bob = service.client(service.add(f"bob {next(_NUMBERS)}"))
    assert bob.call("GET", PATH)["sessions"] == []
    for path in (f"{PATH}/{number}/turns", f"{PATH}/{TranscriptId('0' * 36)}/turns"):
        with pytest.raises(NotFound, match="No stored transcript"):
            bob.call("GET", path)
    append(bob, said("user", "y", "a"))
    assert load(ada) == [said("user", "x", "a")]


def test_what_is_stored_is_encrypted(service: Service, ada: Client) -> None:
    append(ada, *(said("user", f"{number}", str(number)) for number in range(9)))
    _, chunks = of_agent(service, ada)
    assert all(one.sealed_with is not None for one in chunks)
    altered = chunks[0]
    service.app.store.write(
        lambda tx: tx.put_transcript_chunk(
            TranscriptChunk(
                transcript=altered.transcript,
                number=altered.number + 1,
                size=altered.size,
                data=altered.data,
                sealed_with=altered.sealed_with,
            )
        )
    )
    with pytest.raises(HiveloreError, match="altered"):
        load(ada)


def test_without_encryption_it_is_compressed_alone(tmp_path: Path) -> None:
    with Service(tmp_path, transcript_encryption=False) as service:
        client = service.client(service.agent_key)
        append(client, said("user", "x" * 10_000, "a"))
        (one,), (chunk,) = of_agent(service, client)
        assert chunk.sealed_with is None
        assert len(chunk.data) < 1_000 < one.size
        assert len(chunk.data) < one.stored_size < 2_000
        assert len(load(client)) == 1
        assert not (tmp_path / "config.keys").exists()


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        client = service.client(service.agent_key)
        append(client, said("user", "x", "a"))
        (tmp_path / "config.keys").rename(tmp_path / "config.keys.away")
        with pytest.raises(Conflict, match=r"encryption key [0-9a-f]{8} is missing"):
            load(client)
        with pytest.raises(Conflict, match=r"encryption key [0-9a-f]{8} is missing"):
            append(client, said("user", "y", "b"))


def test_earlier_keys_still_read_after_a_rotation(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        client, operator = service.client(service.agent_key), service.client(service.operator_key)
        append(client, a_line("a"))
        operator.call("POST", "/api/config/rotate-key", body={})
        append(client, a_line("b"))
        assert load(client) == [a_line("a"), a_line("b")]
        _, chunks = of_agent(service, client)
        assert len({one.sealed_with for one in chunks}) == 2


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"sessionId": "../x"}, "sessionId is no name of a file"),
        ({"sessionId": ""}, "sessionId is no name of a file"),
        ({"projectKey": "/etc"}, "projectKey is no name of a file"),
        ({"subKey": "subagents/../../x"}, "subKey is no name of a file"),
        ({"sessionId": SECRET}, "looks like a secret"),
        ({"lines": ["{}", "[1]"]}, "Line 2 is no JSON object"),
        ({"lines": ['{"a":\n1}']}, "Line 1 is no JSON object"),
        ({"lines": ["{"]}, "Line 1 is no JSON object"),
        ({"lines": ["[" * 100_000]}, "Line 1 is no JSON object"),
        ({"lines": ["x" * 5_000_000]}, "Line 1 has more than 4,000,000 bytes"),
        ({"lines": ["{}"] * (MAX_APPENDED + 1)}, "at most 2,000 entries"),
        ({"lines": [f'{{"a": "{"x" * 2_600_000}"}}'] * 2}, "Send them in parts"),
    ],
)
def test_bad_input_is_refused(ada: Client, fields: dict[str, Any], problem: str) -> None:
    body = {"projectKey": "-work", "sessionId": session_id(1), "lines": ["{}"], **fields}
    with pytest.raises((Invalid, TooLarge), match=problem):
        ada.call("POST", PATH, body=body)
    assert ada.call("GET", PATH)["sessions"] == []


def test_an_operator_without_an_agent_has_no_sessions(service: Service) -> None:
    with pytest.raises(Invalid, match="belongs to an agent"):
        append(service.client(service.operator_key), "{}")


def test_a_transcript_beyond_the_limit_is_refused_and_stays_as_it_was(
    ada: Client, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        append(ada, a_line(str(number), text="x" * 600_000))
    with pytest.raises(Conflict, match=r"2,400,\d+ bytes .* at most 2,000,000 .* HIVELORE_TRANSCRIPT_MB"):
        append(ada, a_line("3", text="x" * 600_000))
    assert [json.loads(line)["uuid"] for line in load(ada)] == ["0", "1", "2"]
    assert f"The transcript of session {session_id(1)} of agent" in caplog.text


def test_two_writers_keep_their_order(service: Service, ada: Client) -> None:
    append(ada, a_line("first"))

    def work(name: str, client: Client) -> None:
        for number in range(15):
            append(client, a_line(f"{name}{number}"), a_line(n=number))

    key = service.add(f"two {next(_NUMBERS)}")
    clients = [service.client(key), service.client(key)]
    threads = [threading.Thread(target=work, args=(name, client)) for name, client in zip("ab", clients, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [json.loads(line).get("uuid") for line in load(clients[0])]
    assert len(found) == 60
    for name in "ab":
        assert [one for one in found if one and one[0] == name] == [f"{name}{number}" for number in range(15)]


def test_the_newest_session_that_continues_one_is_found(ada: Client) -> None:
    append(ada, said("user", "x", "a", sessionId=session_id(1)))
    append(ada, said("user", "x", "a", sessionId=session_id(1)), session=2)
    append(ada, said("user", "y", "b", sessionId=session_id(2)), session=3)
    append(ada, a_line("s"), session=3, subKey="subagents/agent-1")
    found = ada.call("GET", f"{PATH}/find", query={"sessionId": session_id(1)})
    assert found["session"]["sessionId"] == session_id(3)
    assert found["chain"] == [session_id(1), session_id(2), session_id(3)]
    assert [one["subKey"] for one in found["subKeys"]] == ["subagents/agent-1"]
    exact = ada.call("GET", f"{PATH}/find", query={"sessionId": session_id(1), "newest": "false"})
    assert exact["session"]["sessionId"] == session_id(1)
    with pytest.raises(Invalid, match="Several sessions begin"):
        ada.call("GET", f"{PATH}/find", query={"sessionId": "00000000"})
    with pytest.raises(NotFound):
        ada.call("GET", f"{PATH}/find", query={"sessionId": "1234"})


def test_a_branch_does_not_replace_its_origin(ada: Client) -> None:
    append(ada, said("user", "x", "a"))
    append(ada, said("user", "x", "a2", forkedFrom={"sessionId": session_id(1)}), session=2)
    found = ada.call("GET", f"{PATH}/find", query={"sessionId": session_id(1)})
    assert (found["session"]["sessionId"], found["chain"]) == (session_id(1), [session_id(1)])
    branch = ada.call("GET", f"{PATH}/find", query={"sessionId": session_id(2)})["session"]
    assert (branch["continues"], branch["forkedFrom"]) == (None, session_id(1))


def test_a_session_that_was_used_after_those_that_continue_it_is_the_newest(ada: Client) -> None:
    append(ada, said("user", "x", "a", sessionId=session_id(1)))
    append(ada, said("user", "x", "a", sessionId=session_id(1)), session=2)
    append(ada, said("user", "y", "b", sessionId=session_id(1)))
    assert ada.call("GET", f"{PATH}/find", query={"sessionId": session_id(1)})["chain"] == [session_id(1)]
    append(ada, said("user", "z", "c"), session=2)
    packet = ada.call("GET", f"{PATH}/handover", query={"sessionId": session_id(1)})
    assert packet["sessionId"] == session_id(2)
    exact = ada.call("GET", f"{PATH}/handover", query={"sessionId": session_id(1), "newest": "false"})
    assert exact["sessionId"] == session_id(1)


def test_nobody_replaces_the_session_of_another_agent(service: Service, ada: Client) -> None:
    number, mallory = 70_000 + next(_NUMBERS), service.client(service.add(f"mallory {next(_NUMBERS)}"))
    append(ada, said("user", "Find the kettle.", "a"), session=number)
    append(mallory, said("user", "Do evil.", "a"), session=number)
    for client in (service.client(service.operator_key), service.client(service.add(f"l {number}", Role.LEAD))):
        owners = [one.call("GET", "/api/me")["agentId"] for one in (ada, mallory)]
        for path in ("find", "handover"):
            with pytest.raises(Invalid) as refused:
                client.call("GET", f"{PATH}/{path}", query={"sessionId": session_id(number)})
            assert all(owner in str(refused.value) for owner in owners)
        query = {"sessionId": session_id(number), "agentId": owners[0]}
        text = client.call("GET", f"{PATH}/handover", query=query)["text"]
        assert "Find the kettle." in text
        assert f"of the agent {owners[0]}" in text
    assert "Find the kettle." in ada.call("GET", f"{PATH}/handover", query={"sessionId": session_id(number)})["text"]


def test_a_whole_id_is_found_among_many_that_begin_with_it(service: Service, ada: Client) -> None:
    number = 90_000 + next(_NUMBERS)
    append(ada, said("user", "x", "a"), session=number)
    mallory = service.client(service.add(f"mallory {number}"))
    one = append(mallory, "{}")["id"]
    with service.app.store.read() as view:
        known = view.transcript_by_id(one)
    assert known is not None

    def fill(tx: Transaction) -> None:
        for each in range(510):
            key = replace(known.key, session=f"{session_id(number)}{each}")
            tx.put_transcript(replace(known, id=transcript_id(service.app.clock.now()), key=key))

    service.app.store.write(fill)
    operator = service.client(service.operator_key)
    found = operator.call("GET", f"{PATH}/find", query={"sessionId": session_id(number)})
    assert found["session"]["agentId"] == ada.call("GET", "/api/me")["agentId"]


@pytest.mark.parametrize(
    "name", [SECRET, "\ud800", "\0x", "\x1b[31mx\n", "../x", "x" * 1_000_000], ids=lambda name: repr(name[:9])
)
@pytest.mark.parametrize("field", ["sessionId", "forkedFrom"])
def test_a_session_that_an_entry_names_is_kept_only_if_it_may_be_one(ada: Client, name: str, field: str) -> None:
    entry = {"uuid": "a", field: name if field == "sessionId" else {"sessionId": name}}
    append(ada, json.dumps(entry))
    (one,) = ada.call("GET", PATH)["sessions"]
    assert (one["continues"], one["forkedFrom"]) == (None, None)


def test_pages_of_sessions_repeat_none_while_sessions_grow(ada: Client) -> None:
    for number in range(1, 6):
        append(ada, a_line("a"), session=number)
    first = ada.call("GET", PATH, query={"limit": 2})
    append(ada, a_line("b"), session=4)
    second = ada.call("GET", PATH, query={"limit": 2, "after": first["next"]})
    ada.call("DELETE", PATH, query={"sessionId": session_id(2)})
    third = ada.call("GET", PATH, query={"limit": 2, "after": second["next"]})
    shown = [[int(one["sessionId"][-1]) for one in page["sessions"]] for page in (first, second, third)]
    assert shown == [[5, 4], [3, 2], [1]]
    with pytest.raises(Invalid, match="after is not"):
        ada.call("GET", PATH, query={"after": "x"})


def test_the_name_of_a_tool_is_redacted_and_short(ada: Client) -> None:
    content = [{"type": "tool_use", "id": "t", "name": f"{SECRET} {'x' * 999}", "input": {"command": "ls"}}]
    number = append(ada, said("assistant", "x", "a", message={"role": "assistant", "content": content}))["id"]
    shown = ada.call("GET", f"{PATH}/{number}/turns")["turns"]
    assert SECRET not in json.dumps(shown)
    assert all(len(one["tool"] or "") <= 200 for one in shown)


def test_a_session_that_copies_another_one_continues_it(service: Service, ada: Client) -> None:
    def copied(session: int) -> str:
        return said("user", "x", "a", sessionId=session_id(session))

    append(ada, copied(1))
    append(ada, a_line(mode="plan"), session=2)
    append(ada, copied(2), said("user", "y", "b", sessionId=session_id(2)), session=2)
    bob = service.client(service.add(f"bob {next(_NUMBERS)}"))
    append(bob, copied(4), session=4)
    assert chain(ada, 1) == [1, 2]
    assert chain(bob, 4) == [4]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (1, 3, 2)])
def test_the_longest_copy_is_the_newest_in_whatever_order_they_are_sent(ada: Client, order: tuple[int, ...]) -> None:
    for number in order:
        entries = [
            said("user", "x", f"u{each}", sessionId=session_id(number), timestamp=f"2026-11-28T0{each}:00:00.000Z")
            for each in range(1, number + 1)
        ]
        append(ada, *entries, session=number)
    assert chain(ada, 1)[-1] == chain(ada, 2)[-1] == 3
    assert chain(ada, 3) == [3]


def test_entries_that_are_sent_late_are_not_the_newest(ada: Client) -> None:
    def at(hour: int, uuid: str, session: int) -> str:
        return said("user", "x", uuid, sessionId=session_id(session), timestamp=f"2026-11-28T0{hour}:00:00.000Z")

    append(ada, at(1, "a", 1))
    append(ada, at(1, "a", 2), at(3, "c", 2), session=2)
    append(ada, at(2, "b", 1))
    assert chain(ada, 1) == [1, 2]


def chain(client: Client, session: int) -> list[int]:
    found = client.call("GET", f"{PATH}/find", query={"sessionId": session_id(session)})
    return [int(one[-12:]) for one in found["chain"]]


def test_the_session_of_a_child_task_does_not_continue_that_of_its_parent(service: Service, ada: Client) -> None:
    me = ada.call("GET", "/api/me")["agentId"]
    parent = ada.call("POST", "/api/tasks", body={"text": "Find the kettle.", "assignee": me})["id"]
    child = ada.call("POST", "/api/tasks", body={"text": "Mend the kettle.", "assignee": me, "parentTaskId": parent})
    ada.call("POST", "/api/tasks/claim", body={})
    ada.call("POST", "/api/tasks/claim", body={})
    append(ada, said("user", "Look in the attic.", "a"))
    copied = said("user", "Look in the attic.", "a", sessionId=session_id(2))
    append(ada, copied, said("user", "Use glue.", "b", timestamp="2026-11-28T09:00:00.000Z"), session=2)
    assert chain(ada, 1) == [1, 2]
    for task, session in ((parent, 1), (child["id"], 2)):
        body = {"text": "Half.", "sessionId": session_id(session)}
        ada.call("POST", f"/api/tasks/{task}/progress", body=body)
    assert chain(ada, 1) == [1]
    for client in (ada, service.client(service.operator_key)):
        found = client.call("GET", f"{PATH}/handover", query={"sessionId": parent})
        assert found["sessionId"] == session_id(1)
        assert "Use glue." not in found["text"]
        assert "Use glue." in client.call("GET", f"{PATH}/handover", query={"sessionId": child["id"]})["text"]


def test_reads_and_deletions_for_another_agent_are_audited(service: Service, ada: Client) -> None:
    number = append(ada, said("user", "x", "a"))["id"]
    me = ada.call("GET", "/api/me")["agentId"]
    acting = Client(service.url, service.operator_key, agent=me)
    ada.call("GET", f"{PATH}/{number}/turns")
    acting.call("GET", f"{PATH}/{number}/turns")
    acting.call("DELETE", PATH, query={"sessionId": session_id(1)})
    acting.close()
    number_2 = append(ada, said("user", "x", "a"))["id"]
    operator = service.client(service.operator_key)
    operator.call("DELETE", PATH, query={"sessionId": session_id(1), "agentId": me})
    number_3 = append(ada, said("user", "x", "a"))["id"]
    ada.call("DELETE", PATH, query={"sessionId": session_id(1)})
    with service.app.store.read() as view:
        found = {each: view.audit(9, each) for each in (number, number_2, number_3)}
    assert [(one.actor, one.action) for one in found[number]] == [(me, Action.FORGOTTEN), (me, Action.READ)]
    assert all("an operator who acted for the agent" in (one.detail or "") for one in found[number])
    assert [(one.actor, one.action) for one in found[number_2]] == [(None, Action.FORGOTTEN)]
    assert found[number_3] == []


def test_a_result_is_shown_although_its_call_is_on_the_page_before(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_transcripts, "READ_BYTES", 1)
    used = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "kettle.txt"}]
    number = append(ada, said("user", "Look.", "a"))["id"]
    append(ada, said("assistant", "", "b", message={"role": "assistant", "content": used}))
    append(ada, said("user", "", "c", message={"role": "user", "content": result}), said("assistant", "There.", "d"))
    turns: list[list[str]] = []
    after: int | None = 0
    while after is not None:
        page = ada.call("GET", f"{PATH}/{number}/turns", query={"after": after})
        turns.append([one["text"] for one in page["turns"]])
        after = page["next"]
    assert len(turns) == 3
    assert [text for page in turns for text in page].count("Look.") == 1
    assert turns[-1] == ["kettle.txt", "There."]


def test_entries_are_compressed_outside_of_transactions(
    service: Service, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_writing, packed = [False], list[bool]()
    write = service.app.store.write

    def writing(work: Any, *more: Any) -> Any:
        def inside(tx: Transaction) -> Any:
            is_writing[0] = True
            try:
                return work(tx)
            finally:
                is_writing[0] = False

        return write(inside, *more)

    def packing(lines: Any) -> bytes:
        packed.append(is_writing[0])
        return pack(lines)

    monkeypatch.setattr(service.app.store, "write", writing)
    monkeypatch.setattr(stored_transcripts, "pack", packing)
    append(ada, said("user", "x", "a"))
    append(ada, said("user", "x", "a"), said("user", "y", "b"))
    assert packed == [False, False]
    assert len(load(ada)) == 2


def test_a_task_is_handed_over_by_its_newest_stored_session(service: Service, ada: Client) -> None:
    me = ada.call("GET", "/api/me")["agentId"]
    task = ada.call("POST", "/api/tasks", body={"text": "Find the kettle.", "assignee": me})["id"]
    ada.call("POST", "/api/tasks/claim", body={})
    query = {"sessionId": task}
    append(ada, said("user", "Look in the attic.", "a"), session=1)
    append(ada, said("user", "Another one.", "b", sessionId=session_id(3)), session=3)
    empty = ada.call("GET", f"{PATH}/handover", query=query)
    assert empty["sessionId"] is None
    assert "Find the kettle." in empty["text"]
    for session in (session_id(1), session_id(2), session_id(3)[:8]):
        ada.call("POST", f"/api/tasks/{task}/progress", body={"text": "Half.", "sessionId": session})
    found = ada.call("GET", f"{PATH}/handover", query=query)
    assert found["sessionId"] == session_id(1)
    assert "Look in the attic." in found["text"]
    assert "Half." in found["text"]
    assert ada.call("GET", f"{PATH}/handover", query={"sessionId": task[:18]})["sessionId"] == session_id(1)
    lead = service.client(service.add(f"lead {next(_NUMBERS)}", Role.LEAD))
    assert lead.call("GET", f"{PATH}/handover", query=query)["sessionId"] == session_id(1)
    other = service.client(service.add(f"bob {next(_NUMBERS)}"))
    with pytest.raises(NotFound, match="no task has this id"):
        other.call("GET", f"{PATH}/handover", query=query)


def test_a_handover_is_made_of_a_long_transcript(ada: Client) -> None:
    filling = "word " * 20_000
    for number in range(9):
        lines = [said("user", "Find the kettle." if number == 0 else "Go on.", f"u{number}")]
        append(ada, *lines, said("assistant", f"{filling} Is it {number}?", f"a{number}"))
    text = ada.call("GET", f"{PATH}/handover", query={"sessionId": session_id(1)})["text"]
    assert "Find the kettle." in text
    assert len(text) < 20_000


@pytest.mark.parametrize("sub_key", [None, "subagents/agent-1"])
def test_a_deleted_transcript_leaves_nothing(service: Service, ada: Client, sub_key: str | None) -> None:
    append(ada, *(a_line(str(number), text=scramble(200, seed=str(number))) for number in range(50)))
    append(ada, a_line("s"), subKey="subagents/agent-1")
    _, chunks = of_agent(service, ada)
    assert all(_is_on_disk(service, one) for one in chunks)
    query = {"sessionId": session_id(1), **({} if sub_key is None else {"subKey": sub_key})}
    assert ada.call("DELETE", PATH, query=query)["deleted"] == (2 if sub_key is None else 1)
    left, chunks_left = of_agent(service, ada)
    assert [one.key.sub_key for one in left] == ([] if sub_key is None else [""])
    service.app.store.purge_log()
    for one in chunks:
        assert _is_on_disk(service, one) == (one in chunks_left)


def test_all_transcripts_of_an_agent_are_deleted(service: Service, ada: Client) -> None:
    for number in range(1, 5):
        append(ada, "{}", session=number)
    with pytest.raises(Invalid, match="sessionId"):
        ada.call("DELETE", PATH)
    owner = ada.call("GET", "/api/me")["agentId"]
    operator = service.client(service.operator_key)
    assert operator.call("DELETE", PATH, query={"every": "true", "agentId": owner})["deleted"] == 4
    assert of_agent(service, ada) == ([], [])


def test_unused_transcripts_are_deleted_in_the_background(service: Service, ada: Client) -> None:
    append(ada, "{}")
    app = service.app
    Housekeeper(app.store, app.keywords, app.clock, transcripts=timedelta(days=1)).run_step()
    assert len(load(ada)) == 1
    housekeeper = Housekeeper(app.store, app.keywords, app.clock, transcripts=timedelta(days=-1))
    for _ in range(50):  # Each step expires a few of those that the other tests left.
        housekeeper.run_step()
    assert of_agent(service, ada) == ([], [])


def test_what_a_deletion_leaves_is_erased_in_the_background(
    service: Service, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_transcripts, "_ERASE_BUDGET", 0.0)
    monkeypatch.setattr(stored_transcripts, "_MARKED", 2)
    for number in range(1, 6):
        append(ada, a_line("a"), session=number)
    assert ada.call("DELETE", PATH, query={"every": "true"})["deleted"] == 5
    assert ada.call("GET", PATH)["sessions"] == []
    assert len(of_agent(service, ada)[0]) == 5
    app = service.app
    housekeeper = Housekeeper(app.store, app.keywords, app.clock)
    for _ in range(50):
        housekeeper.run_step()
    assert of_agent(service, ada) == ([], [])


def test_the_usage_counts_rows_without_much_data(service: Service, ada: Client) -> None:
    append(ada, *(a_line(str(number)) for number in range(100)))
    with service.app.store.read() as view:
        usage = view.transcript_usage(ada.call("GET", "/api/me")["agentId"])
    assert usage.transcripts == 1
    assert usage.stored_size > 100 * 100


def _is_on_disk(service: Service, chunk: TranscriptChunk) -> bool:
    """Returns True if a piece of the chunk is in a file or table. A file has a large row in pieces."""
    url = service.app.settings.postgres_url
    if url is not None:
        return chunk.data.hex().encode() in stored(url)
    files = written(service.home)
    return any(chunk.data[place : place + 32] in files for place in range(0, len(chunk.data), 32))
