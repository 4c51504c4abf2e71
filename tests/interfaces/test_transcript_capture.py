"""Sending what transcript files grew by, to a service."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hivelore.errors import Unavailable
from hivelore.hooks.install import copy_to, file_in
from hivelore.local import transcript_capture
from hivelore.local.transcript_capture import (
    Refused,
    Sender,
    capture_pending,
    capture_session,
    note_waiting,
    restoring,
)
from hivelore.local.transcript_entries import MAX_ENTRY_BYTES, SHORTENED
from hivelore.local.transcript_restore import Restored, restore_file
from hivelore.python.remote import RemoteHive
from hivelore.storage.ports import Transaction
from hivelore.stored_transcripts.model import TranscriptItem
from support.hooks import finish_hooks
from support.ports import free_url
from support.service import Service
from support.transcripts import SESSION, a_line, said, session_id
from support.waiting import until


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore"), transcript_mb=5) as running:
        yield running


class Host:
    """A host with its own home folder and a transcript."""

    def __init__(self, folder: Path, service: Service, key: str, project: str = "-work") -> None:
        self.home = folder / "home"
        self.file = folder / "projects" / project / f"{SESSION}.jsonl"
        self.file.parent.mkdir(parents=True)
        self.key = key
        self.sender = Sender(service.url, key)
        self.hive = RemoteHive(service.client(key))

    def write(self, *lines: str, end: str = "\n") -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write("".join(f"{line}\n" for line in lines).removesuffix("\n") + end if lines else end)

    def capture(self) -> int:
        return capture_session(self.file, self.sender, self.home, lambda: False)

    def stored(self, sub_key: str | None = None, project: str = "-work") -> list[str]:
        lines: list[str] = []
        after: int | None = 0
        while after is not None:
            page = self.hive.load_transcript(project_key=project, session=SESSION, sub_key=sub_key, after=after)
            lines += page.lines
            after = page.next
        return lines


NewHost = Callable[..., Host]
_NUMBERS = count()


@pytest.fixture
def new_host(tmp_path: Path, service: Service) -> Generator[NewHost]:
    made: list[Host] = []

    def host(key: str | None = None, project: str = "-work") -> Host:
        key = key or service.add(f"agent {next(_NUMBERS)}")
        made.append(Host(tmp_path / str(len(made)), service, key, project))
        return made[-1]

    yield host
    for one in made:
        one.sender.close()


@pytest.fixture
def host(new_host: NewHost) -> Host:
    return new_host()


def test_what_a_file_grew_by_is_sent_once(host: Host) -> None:
    first, title, second = said("user", "Fix it", "a"), a_line(title="Fix"), said("assistant", "Done", "b")
    host.write(first, title, title)
    assert host.capture() == 3
    assert host.capture() == 0
    host.write(title, second)
    host.capture()
    assert host.stored() == [first, title, title, title, second]


def test_nothing_is_stored_twice_when_the_state_is_lost(host: Host) -> None:
    lines = [a_line(mode="plan"), said("user", "x", "a"), a_line(title="x"), a_line(title="x"), said("user", "y", "b")]
    host.write(*lines)
    host.capture()
    for state in (host.home / "transcripts").iterdir():
        state.unlink()
    host.write(a_line(title="x"))
    host.capture()
    assert host.stored() == [*lines, a_line(title="x")]


def test_a_line_that_is_being_written_waits_for_its_end(host: Host) -> None:
    line = said("user", "x", "a")
    host.write(line[:20], end="")
    assert host.capture() == 0
    host.write(line[20:])
    assert host.capture() == 1
    assert host.stored() == [line]


def test_garbage_is_left_out(host: Host) -> None:
    good = said("user", "ü☃", "a")
    host.file.write_bytes(b"\xff\xfe{}\nnull\n[1]\n{\n\n\0\n" + good.encode() + b'\n{"type": 1e999\n')
    host.capture()
    assert host.stored() == [good]


def test_an_entry_that_is_too_long_loses_its_long_texts(host: Host) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * MAX_ENTRY_BYTES}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [image, {"type": "text", "text": "kept"}]}
    host.write(said("user", "x", "a", message={"role": "user", "content": [result]}, parentUuid="z"))
    host.capture()
    (line,) = host.stored()
    entry = json.loads(line)
    assert (entry["uuid"], entry["parentUuid"]) == ("a", "z")
    assert entry["message"]["content"][0]["tool_use_id"] == "t1"
    assert entry["message"]["content"][0]["content"] == [
        {"type": "text", "text": SHORTENED},
        {"type": "text", "text": "kept"},
    ]


def test_beyond_the_limit_the_beginning_stays_stored(host: Host) -> None:
    host.write(*(said("user", f"{number} " * 150_000, str(number)) for number in range(20)))
    with pytest.raises(Refused, match="HIVELORE_TRANSCRIPT_MB"):
        host.capture()
    stored = host.stored()
    assert 0 < sum(map(len, stored)) <= 5_000_000
    assert [json.loads(line)["uuid"] for line in stored] == [str(number) for number in range(len(stored))]


def test_another_host_continues_the_same_transcript(host: Host, new_host: NewHost) -> None:
    host.write(said("user", "x", "a"), a_line(title="x"))
    host.capture()
    other = new_host(host.key, "-other-work")
    other.write(*host.stored(), said("user", "y", "b"))
    other.capture()
    assert [json.loads(line).get("uuid") for line in host.stored()] == ["a", None, "b"]


def test_two_hosts_may_append_at_once(host: Host, new_host: NewHost) -> None:
    hosts = [host, new_host(host.key, "-other")]
    for number, one in enumerate(hosts):
        one.write(*(said("user", "x", f"{number}-{each}") for each in range(50)))

    threads = [threading.Thread(target=one.capture) for one in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [
        json.loads(line)["uuid"]
        for session in host.hive.transcripts().sessions
        for line in host.stored(project=session.project_key)
    ]
    for number in range(2):
        assert [one for one in found if one.startswith(f"{number}-")] == [f"{number}-{each}" for each in range(50)]


def test_transcripts_of_sub_agents_are_sent_with_their_type(host: Host) -> None:
    host.write(said("user", "x", "a"))
    part = host.file.with_suffix("") / "subagents" / "runs" / "agent-1.jsonl"
    part.parent.mkdir(parents=True)
    part.write_text(said("user", "look", "s") + "\n")
    part.with_name("agent-1.meta.json").write_text('{"agentType": "Explore"}')
    assert host.capture() == 2
    assert host.capture() == 0
    line, metadata = host.stored("subagents/runs/agent-1")
    assert json.loads(line)["uuid"] == "s"
    assert json.loads(metadata) == {"agentType": "Explore", "type": "agent_metadata"}


def test_links_and_other_files_are_not_sent(host: Host, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(said("user", "x", "a") + "\n")
    host.file.symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        host.capture()
    named = host.file.with_name("notes.jsonl")
    named.write_text(said("user", "x", "a") + "\n")
    assert capture_session(named, host.sender, host.home, lambda: False) == 0


def test_what_a_service_missed_is_sent_later(host: Host) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    host.write(said("user", "y", "b"))
    down = Sender(free_url(), host.key)
    with pytest.raises(Unavailable):
        capture_session(host.file, down, host.home, lambda: False)
    capture_pending(host.sender, host.home, lambda: False)
    assert len(host.stored()) == 2


def test_the_transcript_of_one_agent_is_not_sent_with_the_key_of_another(host: Host, new_host: NewHost) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    host.write(said("user", "y", "b"))
    capture_pending(new_host().sender, host.home, lambda: False)
    assert len(host.stored()) == 1
    capture_pending(host.sender, host.home, lambda: False)
    assert len(host.stored()) == 2


def test_a_file_that_was_replaced_is_sent_from_its_beginning(host: Host) -> None:
    host.write(*(said("user", "x", f"a{number}") for number in range(5)))
    host.capture()
    host.file.unlink()
    host.write(said("user", "y", "b"))
    host.capture()
    assert json.loads(host.stored()[-1])["uuid"] == "b"


def test_a_restored_file_is_not_sent_again(host: Host, new_host: NewHost) -> None:
    host.write(said("user", "x", "a"), a_line(title="x"))
    host.capture()
    other = new_host(host.key)
    restored = restore_file(other.file, host.stored(), other.file.parent)
    other.write(said("user", "meanwhile", "b"))
    _note(other, restored)
    assert _sent_lines(other) == [said("user", "meanwhile", "b")]
    assert host.stored() == [said("user", "x", "a"), a_line(title="x"), said("user", "meanwhile", "b")]


def test_after_a_file_was_kept_its_own_entries_are_sent(host: Host) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    host.write(said("user", "only here", "b"))
    restored = restore_file(host.file, host.stored(), host.file.parent)
    _note(host, restored)
    host.capture()
    assert len(host.stored()) == 2


def test_after_a_deletion_the_whole_session_is_sent(host: Host) -> None:
    lines = [said("user", "x", "a"), a_line(title="x"), said("user", "y", "b")]
    host.write(*lines)
    part = _sub_agent(host, 1, said("user", "look", "s"))
    host.capture()
    host.hive.delete_transcripts(session=SESSION)
    host.write(said("user", "z", "c"))
    assert host.capture() == 5
    assert host.stored() == [*lines, said("user", "z", "c")]
    assert json.loads(host.stored(f"subagents/{part.stem}")[0])["uuid"] == "s"


def test_what_a_restored_database_lacks_is_sent_again(host: Host, service: Service) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    (one,) = host.hive.transcripts().sessions
    with service.app.store.read() as view:
        backup = view.transcript_by_id(one.id)
    host.write(said("user", "y", "b"), a_line(title="x"))
    host.capture()
    assert backup is not None

    def restore(tx: Transaction) -> None:
        tx.erase_transcript(one.id, 1_000)
        tx.put_transcript(backup)
        tx.put_transcript_digests(one.id, [])

    service.app.store.write(restore)
    host.write(said("user", "z", "c"))
    host.capture()
    assert [json.loads(line).get("uuid") for line in host.stored()] == ["a", "b", None, "c"]


def test_a_session_that_was_written_while_the_service_was_down_is_sent_later(host: Host, service: Service) -> None:
    host.write(said("user", "x", "a"))
    with pytest.raises(Unavailable):
        capture_session(host.file, Sender(free_url(), host.key), host.home, lambda: False)
    other = host.file.with_name(f"{session_id(2)}.jsonl")
    other.write_text(said("user", "y", "b") + "\n")
    note_waiting(other, host.key, host.home)
    capture_pending(host.sender, host.home, lambda: False)
    assert {one.session_id for one in host.hive.transcripts().sessions} == {SESSION, session_id(2)}
    assert not list(host.home.glob("transcripts/*.waiting"))


def test_the_sessions_that_wait_longest_are_sent_first(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_capture, "MOST_WAITING", 2)
    for number in range(2, 6):
        file = host.file.with_name(f"{session_id(number)}.jsonl")
        file.write_text((said("user", "x", "a") if number != 2 else "x" * 10) + "\n")
        note_waiting(file, host.key, host.home)
    for expected in ({3}, {3, 4, 5}):
        capture_pending(host.sender, host.home, lambda: False)
        assert {one.session_id for one in host.hive.transcripts().sessions} == set(map(session_id, expected))


def test_a_session_that_is_refused_lets_others_pass(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_capture, "MOST_WAITING", 1)
    for number, size in ((2, 6_000_000), (3, 1)):
        file = host.file.with_name(f"{session_id(number)}.jsonl")
        file.write_text("".join(said("user", "x" * (size // 2), f"{each}") + "\n" for each in range(2)))
        note_waiting(file, host.key, host.home)
    for _ in range(2):
        capture_pending(host.sender, host.home, lambda: False)
    assert session_id(3) in {one.session_id for one in host.hive.transcripts().sessions}


def test_a_lone_surrogate_in_a_long_entry_is_sent(host: Host) -> None:
    entry = {"type": "user", "uuid": "a", "message": {"role": "user", "content": "x\ud83d" + "y" * MAX_ENTRY_BYTES}}
    host.write(json.dumps(entry), said("user", "y", "b"))
    host.capture()
    first, second = host.stored()
    assert json.loads(first)["message"]["content"].startswith("x\ud83d")
    assert json.loads(second)["uuid"] == "b"


def test_entries_without_a_uuid_are_all_stored_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_capture, "BATCH_LINES", 3)
    modes = [a_line(m=number % 2) for number in range(20)]
    lines = [*modes[:5], said("user", "x", "a"), *modes]
    for line in lines:
        host.write(line)
        if line == lines[7]:
            host.capture()
    host.capture()
    for state in (host.home / "transcripts").iterdir():
        state.unlink()
    host.write(modes[0])
    assert host.capture() == 1
    assert host.stored() == [*lines, modes[0]]


def test_an_idle_session_with_sub_agents_sends_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.write(said("user", "x", "a"))
    for number in range(9):
        _sub_agent(host, number, said("user", "x" * number, "s"))
    host.capture()
    opened: list[Path] = []

    def opening(file: Path, *_: object) -> None:
        opened.append(file)

    monkeypatch.setattr(transcript_capture, "capture_session", opening)
    capture_pending(host.sender, host.home, lambda: False)
    assert opened == []
    assert len(list((host.home / "transcripts").iterdir())) == 1
    _sub_agent(host, 3, said("user", "longer", "t"))
    capture_pending(host.sender, host.home, lambda: False)
    assert opened == [host.file]


def test_a_broken_file_of_a_sub_agent_lets_others_pass(host: Host) -> None:
    host.write(said("user", "x", "a"))
    for number in range(3):
        _sub_agent(host, number, *(said("user", "x" * (3_000_000 if number == 0 else 1), f"{n}") for n in range(2)))
    with pytest.raises(Refused, match="HIVELORE_TRANSCRIPT_MB"):
        host.capture()
    assert [len(host.stored(f"subagents/agent-{number}")) for number in range(3)] == [1, 2, 2]


def test_another_agent_does_not_get_the_earlier_conversation(host: Host, new_host: NewHost) -> None:
    host.write(said("user", "secret", "a"))
    host.capture()
    host.write(said("user", "y", "b"))
    other = new_host()
    with pytest.raises(Refused, match="another key"):
        capture_session(host.file, other.sender, host.home, lambda: False)
    assert other.hive.transcripts().sessions == ()
    assert capture_session(host.file, other.sender, host.home, lambda: False, with_any_key=True) == 2
    with pytest.raises(Refused, match="another key"):
        host.capture()


def test_a_session_goes_on_with_a_new_key_of_its_agent(host: Host, service: Service) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    renewed = Sender(service.url, service.app.agents.issue(host.hive.me().agent).text)
    assert renewed.key_id != host.sender.key_id
    host.write(said("user", "y", "b"))
    assert capture_session(host.file, renewed, host.home, lambda: False) == 1
    renewed.close()


def test_entries_of_another_host_are_missed_in_a_file(host: Host, new_host: NewHost) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    (one,) = host.hive.transcripts().sessions
    assert _is_whole(host, one)
    other = new_host(host.key)
    other.write(said("user", "x", "a"), said("user", "y", "b"))
    other.capture()
    host.write(said("user", "z", "c"))
    host.capture()
    (one,) = host.hive.transcripts().sessions
    assert one.entries == 3
    assert not _is_whole(host, one)
    _note(host, restore_file(host.file, host.stored(), host.file.parent))
    assert _is_whole(host, one)
    host.write(said("user", "not sent", "d"))
    assert not _is_whole(host, one)


def _note(host: Host, restored: Restored) -> None:
    (one,) = host.hive.transcripts().sessions
    with restoring(host.file, host.sender.url, host.key, host.home) as state:
        state.note("", host.file, restored, one.id, one.entries)


def _is_whole(host: Host, one: TranscriptItem) -> bool:
    with restoring(host.file, host.sender.url, host.key, host.home) as state:
        return state.is_whole("", host.file, one.id, one.entries)


def _sub_agent(host: Host, number: int, *lines: str) -> Path:
    file = host.file.with_suffix("") / "subagents" / f"agent-{number}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write("".join(f"{line}\n" for line in lines))
    return file


def _sent_lines(host: Host) -> list[str]:
    """Captures the session, and returns the lines that are sent."""
    sent: list[str] = []
    send = host.sender.send

    def recorded(place: Any, lines: list[str], *before: Any) -> Any:
        sent.extend(lines)
        return send(place, lines, *before)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host.sender, "send", recorded)
        host.capture()
    return sent


def test_the_time_for_sending_is_bounded(host: Host) -> None:
    host.write(*(said("user", "x" * 900_000, str(number)) for number in range(4)))
    answers: Any = iter([False, True])
    assert capture_session(host.file, host.sender, host.home, lambda: next(answers, True)) == 1
    capture_pending(host.sender, host.home, lambda: False)
    assert len(host.stored()) == 4


def test_a_session_that_no_time_was_left_for_waits(host: Host) -> None:
    host.write(said("user", "x", "a"))
    assert capture_session(host.file, host.sender, host.home, lambda: True) == 0
    capture_pending(host.sender, host.home, lambda: False)
    assert len(host.stored()) == 1


@pytest.mark.parametrize("program", ["claude-code", "codex"])
@pytest.mark.parametrize("setting", ["", "0", "1"])
def test_a_hook_sends_the_transcript_only_where_a_setting_turns_it_on(
    host: Host, service: Service, setting: str, program: str
) -> None:
    host.write(said("user", "x", "a"))
    assert _run_hook(host, service.url, program, HIVELORE_STORE_TRANSCRIPTS=setting) == 0
    if (setting, program) == ("1", "claude-code"):
        until(lambda: bool(host.hive.transcripts().sessions))
        assert host.stored() == [said("user", "x", "a")]
    finish_hooks(file_in(host.home))
    assert bool(host.hive.transcripts().sessions) == ((setting, program) == ("1", "claude-code"))


def test_a_hook_ends_well_while_the_service_is_down(host: Host, service: Service) -> None:
    host.write(said("user", "x", "a"))
    host.capture()
    host.write(said("user", "y", "b"))
    assert _run_hook(host, free_url(), "claude-code", HIVELORE_STORE_TRANSCRIPTS="1") == 0
    finish_hooks(file_in(host.home))
    assert len(host.stored()) == 1
    assert _run_hook(host, service.url, "claude-code", HIVELORE_STORE_TRANSCRIPTS="1") == 0
    until(lambda: len(host.stored()) == 2)
    finish_hooks(file_in(host.home))


def _run_hook(host: Host, url: str, program: str, **settings: str) -> int:
    event = {"hook_event_name": "Stop", "session_id": SESSION, "transcript_path": str(host.file), "cwd": "/"}
    command = [sys.executable, "-I", "-S", str(copy_to(host.home)), "--agent", program]
    env = {"HIVELORE_HOME": str(host.home), "HIVELORE_URL": url, "HIVELORE_KEY": host.key, **settings}
    return subprocess.run(
        command, input=json.dumps(event), env=env, capture_output=True, text=True, timeout=60, check=False
    ).returncode
