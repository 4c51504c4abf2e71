"""What the runner reads and writes on this machine."""

import json
from pathlib import Path

import pytest

from hivelore.errors import Unavailable
from hivelore.runner import outbox as outbox_module
from hivelore.runner import run_folders
from hivelore.runner.local_transcripts import LocalTranscripts
from hivelore.runner.model import Program, Usage
from hivelore.runner.outbox import Outbox
from hivelore.runner.ports import Call
from support.task_service import TaskService

SESSION = "b6121a09-f25c-4407-8b02-76df1be7ea76"


def never() -> bool:
    return False


def test_a_conversation_of_claude_code_is_found_by_its_folder(tmp_path: Path) -> None:
    work = tmp_path / "my work_1"
    work.mkdir()
    transcripts = LocalTranscripts(Program.CLAUDE, {"HOME": str(tmp_path)})
    assert not transcripts.has(SESSION, work, never)
    name = "".join(char if char.isalnum() and char.isascii() else "-" for char in str(work.resolve()))
    folder = tmp_path / ".claude" / "projects" / name
    folder.mkdir(parents=True)
    (folder / f"{SESSION}.jsonl").write_text("{}\n")
    assert transcripts.has(SESSION, work, never)
    assert not transcripts.has(SESSION, tmp_path, never)
    assert transcripts.usage_before(SESSION) == Usage()


def test_a_conversation_of_codex_tells_what_it_has_used(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "sessions" / "2026" / "11" / "28"
    folder.mkdir(parents=True)

    def line(tokens: int) -> str:
        total = {"input_tokens": tokens, "cached_input_tokens": 30, "output_tokens": 5}
        return json.dumps({"payload": {"type": "token_count", "info": {"total_token_usage": total}}})

    text = "\n".join([line(40), "{broken", line(100), '{"payload": {"type": "other"}}'])
    (folder / f"rollout-2026-11-28T07-15-36-{SESSION}.jsonl").write_text(text + "\n")
    transcripts = LocalTranscripts(Program.CODEX, {"HOME": str(tmp_path)})
    assert transcripts.has(SESSION, tmp_path / "anywhere", never)
    assert transcripts.usage_before(SESSION) == Usage(70, 5, 30)


@pytest.mark.parametrize("kind", Program)
@pytest.mark.parametrize("session", ["../../x", "*", "", "a/b", "[a]", "x" * 300])
def test_a_session_is_never_a_path_or_a_pattern(tmp_path: Path, kind: Program, session: str) -> None:
    (tmp_path / ".codex" / "sessions" / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions" / "a" / "b" / "c" / "rollout-x-y.jsonl").write_text("")
    assert not LocalTranscripts(kind, {"HOME": str(tmp_path)}).has(session, tmp_path, never)


def test_folders_of_running_runners_stay(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    running = run_folders.create(runs)
    for number in range(run_folders.KEPT + 5):
        (runs / f"old-{number}").mkdir()
    run_folders.clean_up(runs, lambda _: None)
    assert running.path.is_dir()
    assert len(list(runs.iterdir())) <= run_folders.KEPT + 1
    running.release()


def test_the_outbox_is_bounded_and_says_what_it_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "MOST_CALLS", 3)
    notes: list[str] = []
    outbox = Outbox(tmp_path / "outbox", notes.append)
    service = TaskService()
    service.is_away = True
    for number in range(5):
        assert not outbox.send(service, Call("POST", "/memories", {"observation": str(number)}))
    assert outbox.waiting() == 3
    assert len(notes) == 2
    outbox.keep(Call("POST", "/memories", {"observation": "x" * 2_000_000}))
    assert "is lost" in notes[-1]
    service.is_away = False
    assert outbox.deliver(service) == 3
    assert [one["observation"] for one in service.made("/memories")] == ["2", "3", "4"]


def test_a_call_waits_behind_earlier_ones(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    outbox.keep(Call("POST", "/memories", {"observation": "first"}))
    assert not outbox.send(service, Call("POST", "/memories", {"observation": "second"}))
    assert outbox.deliver(service) == 2
    assert [one["observation"] for one in service.made("/memories")] == ["first", "second"]


def test_files_that_are_no_calls_are_deleted(tmp_path: Path) -> None:
    notes: list[str] = []
    outbox = Outbox(tmp_path / "outbox", notes.append)
    outbox.keep(Call("POST", "/memories", {}))
    (file,) = (tmp_path / "outbox").iterdir()
    file.write_text("[")
    assert outbox.deliver(TaskService()) == 0
    assert outbox.waiting() == 0
    assert "cannot be read" in notes[0]


def test_a_token_survives_and_a_secret_does_not(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    secret = "ghp_" + "a1B2" * 9
    body = {"leaseToken": secret, "observation": f"The token is {secret}."}
    outbox.keep(Call("POST", "/memories", body, frozenset({"leaseToken"})))
    outbox.deliver(service)
    (made,) = service.made("/memories")
    assert made["leaseToken"] == secret
    assert secret not in made["observation"]


def test_a_full_disk_loses_a_call_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("")
    notes: list[str] = []
    service = TaskService()
    service.is_away = True
    Outbox(tmp_path / "outbox", notes.append).send(service, Call("POST", "/memories", {}))
    assert "is lost" in notes[0]
    with pytest.raises(Unavailable):
        service.call("GET", "/")
