"""What the runner reads and writes on this machine."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hivelore.errors import Unavailable
from hivelore.runner import outbox as outbox_module
from hivelore.runner import run_folders, task_locks
from hivelore.runner.local_transcripts import LocalTranscripts
from hivelore.runner.model import NO_USAGE, ClaimedTask, Program, Usage
from hivelore.runner.orphans import VARIABLE
from hivelore.runner.outbox import Outbox, Sent
from hivelore.runner.ports import Call
from support.processes import has_ended
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


def test_keys_are_removed_from_the_folders_of_runners_that_were_killed(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "killed"
    folder.mkdir(parents=True)
    for name in ("mcp.json", "codex.toml", "output.jsonl"):
        (folder / name).write_text("a key")
    run_folders.clean_up(tmp_path / "runs", lambda _: None)
    assert [one.name for one in folder.iterdir()] == ["output.jsonl"]


def test_one_run_at_a_time_works_on_a_task(tmp_path: Path) -> None:
    """The second one waits for the first; that of another task does not."""
    order: list[str] = []

    def work(name: str) -> None:
        with task_locks.locked(tmp_path, "task-1", name, lambda: False) as is_held:
            assert is_held
            order.append(name)

    with task_locks.locked(tmp_path, "task-1", "run-1", lambda: False):
        second = threading.Thread(target=work, args=("run-2",))
        second.start()
        with task_locks.locked(tmp_path, "task-2", "run-3", lambda: False):
            second.join(0.3)
        order.append("run-1")
    second.join()
    assert order == ["run-1", "run-2"]
    assert list((tmp_path / task_locks.LOCKS).iterdir()) == []


def test_locks_of_killed_runners_are_removed(tmp_path: Path) -> None:
    with task_locks.locked(tmp_path, "task-1", "run-1", lambda: False):
        (held,) = (tmp_path / task_locks.LOCKS).iterdir()
        held.with_name("of-a-killed-runner").write_text("run-2")
        task_locks.clean_up(tmp_path)
        assert list((tmp_path / task_locks.LOCKS).iterdir()) == [held]


def test_a_run_that_is_stopped_waits_no_longer(tmp_path: Path) -> None:
    with task_locks.locked(tmp_path, "task-1", "run-1", lambda: False):
        looks = iter([False, False, True])
        with task_locks.locked(tmp_path, "task-1", "run-2", lambda: next(looks)) as is_held:
            assert not is_held


def test_a_run_that_does_not_end_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_locks, "_PAUSES", 2)
    with (
        task_locks.locked(tmp_path, "task-1", "run-1", lambda: False),
        pytest.raises(Unavailable, match="still works"),
        task_locks.locked(tmp_path, "task-1", "run-2", lambda: False),
    ):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_processes_of_a_killed_run_are_ended_before_the_task_goes_on(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2] / 'src')!r})\n"
        "import os, subprocess\nfrom pathlib import Path\nfrom hivelore.runner import task_locks\n"
        f"with task_locks.locked(Path({str(tmp_path)!r}), 'task-1', 'killed', lambda: False):\n"
        f"    env, quiet = {{{VARIABLE!r}: 'killed'}}, subprocess.DEVNULL\n"
        "    child = subprocess.Popen(['sleep', '1000'], env=env, stdout=quiet, start_new_session=True)\n"
        "    print(child.pid, flush=True)\n    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    pid = int(done.stdout)
    os.kill(pid, 0)
    with task_locks.locked(tmp_path, "task-1", "run-2", lambda: False):
        assert has_ended(pid)


def test_the_outbox_is_bounded_and_says_what_it_deletes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "MOST_CALLS", 3)
    notes: list[str] = []
    outbox = Outbox(tmp_path / "outbox", notes.append)
    service = TaskService()
    service.is_away = True
    for number in range(5):
        assert outbox.send(service, Call("POST", "/memories", {"observation": str(number)})) is Sent.KEPT
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
    service.is_away = True
    assert outbox.send(service, Call("POST", "/memories", {"observation": "second"})) is Sent.KEPT
    service.is_away = False
    assert outbox.send(service, Call("POST", "/memories", {"observation": "third"})) is Sent.MADE
    assert [one["observation"] for one in service.made("/memories")] == ["first", "second", "third"]


def test_a_call_at_which_the_service_fails_does_not_hold_up_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    outbox.keep(Call("POST", "/api/broken", {}))
    for text in ("first", "second"):
        assert outbox.send(service, Call("POST", "/memories", {"observation": text})) is Sent.MADE
    assert [outbox.waiting(), len(service.made("/api/broken"))] == [1, 1]
    outbox.deliver(service)
    assert len(service.made("/api/broken")) == 1
    now = time.time_ns()
    monkeypatch.setattr("hivelore.runner.outbox.time.time_ns", lambda: now + 10**10)
    outbox.deliver(service)
    assert [outbox.waiting(), len(service.made("/api/broken"))] == [1, 2]
    monkeypatch.setattr("hivelore.runner.outbox.time.time_ns", lambda: now + 10**15)
    outbox.deliver(service)
    assert [outbox.waiting(), len(service.made("/api/broken"))] == [0, 2], "it is too old"


def test_calls_about_a_task_stay_in_their_order_although_the_service_fails_at_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    task = service.add("Mend the build.")
    queue = service.queue()
    claimed = queue.claim(0)
    assert isinstance(claimed, ClaimedTask)
    service.is_broken = True
    outbox.keep(queue.progress_call(claimed, "Half is done.", None, NO_USAGE))
    outbox.deliver(service)
    service.is_broken = False
    assert outbox.send(service, queue.release_call(claimed)) is Sent.KEPT
    assert outbox.send(service, Call("POST", "/memories", {"observation": "It is slow."})) is Sent.MADE
    now = time.time_ns()
    monkeypatch.setattr("hivelore.runner.outbox.time.time_ns", lambda: now + 10**10)
    outbox.deliver(service)
    assert (task.progress, task.state, outbox.waiting()) == (["Half is done."], "open", 0)


def test_a_kept_call_that_the_service_refuses_is_made_easier(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    service.refuses_usage, service.longest_output = True, 2_000
    task = service.add("Mend the build.")
    queue = service.queue()
    claimed = queue.claim(0)
    assert isinstance(claimed, ClaimedTask)
    outbox.keep(queue.complete_call(claimed, "x" * 5_000, None, Usage(input_tokens=1)))
    outbox.deliver(service)
    assert (task.state, task.usage) == ("completed", None)
    assert len(task.output or "") > 1_000


def test_calls_are_kept_while_others_are_made(tmp_path: Path) -> None:
    notes: list[str] = []
    outbox = Outbox(tmp_path / "outbox", notes.append)
    service = TaskService()
    calls = [Call("POST", "/memories", {"observation": str(number)}) for number in range(400)]
    for call in calls[:200]:
        outbox.keep(call)
    delivering = threading.Thread(target=outbox.deliver, args=(service,))
    delivering.start()
    assert {outbox.keep(call) for call in calls[200:]} == {Sent.KEPT}
    delivering.join()
    outbox.deliver(service)
    assert notes == []
    assert [one["observation"] for one in service.made("/memories")] == [str(number) for number in range(400)]


def test_a_runner_that_ends_does_not_wait_for_all_kept_calls(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    for number in range(3):
        outbox.keep(Call("POST", "/memories", {"observation": str(number)}))
    outbox.end_within(0.0)
    assert (outbox.deliver(service), outbox.waiting()) == (0, 3)


def test_many_kept_calls_do_not_hold_up_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "MOST_BEFORE", 2)
    outbox = Outbox(tmp_path / "outbox", lambda _: None)
    service = TaskService()
    for number in range(3):
        outbox.keep(Call("POST", "/memories", {"observation": str(number)}))
    assert outbox.send(service, Call("POST", "/memories", {"observation": "new"})) is Sent.KEPT
    assert service.calls == []


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
    assert Outbox(tmp_path / "outbox", notes.append).send(service, Call("POST", "/memories", {})) is Sent.LOST
    assert "is lost" in notes[0]
    with pytest.raises(Unavailable):
        service.call("GET", "/")
