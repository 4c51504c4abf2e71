"""Hooks that are killed between any two changes of the disk: neither the user's file nor an edit is lost (D02, D04)."""

import os
import subprocess
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hivelore.hooks import profile_files
from hivelore.hooks.profile_files import MAX_KEPT, ProfileFile, Service

USERS = "The user's own file.\n"
EDIT = "An edit of the agent."
OURS = "The notes of the profile."
AGENT = "01a0"
KEY = "f00d"
_CHANGES = ("replace", "rename", "unlink", "chmod", "fsync", "mkdir", "rmdir")


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_after(steps: int) -> Generator[list[int]]:
    """Ends the process, as it were, after so many changes of the disk. Yields the number of changes so far."""
    count = [0]
    patch = pytest.MonkeyPatch()

    def counted(name: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if count[0] >= steps:
                raise Killed
            count[0] += 1
            return real(*arguments, **named)

        patch.setattr(os, name, call)

    for name in _CHANGES:
        counted(name)
    try:
        yield count
    finally:
        patch.undo()


@dataclass
class StandIn(Service):
    """A service with one profile."""

    text: str = OURS
    version: int = 1
    stored: list[str] = field(default_factory=list[str])
    during: Callable[[], object] = lambda: None
    """Happens while an edit is on its way."""
    status: int = 200

    def profile(self) -> dict[str, Any]:
        return {"agentId": AGENT, "version": self.version, "notes": self.text}

    def put(self, field: str, text: str, version: int) -> tuple[int, dict[str, Any]]:
        self.during()
        if self.status != 200:
            return self.status, {}
        self.stored.append(text)
        if version != self.version and text != self.text:
            return 412, {"current": self.version}
        self.version, self.text = self.version + 1, text
        return 200, {"version": self.version}


def a_user(name: str, *, is_alive: bool = True) -> dict[str, Any]:
    user = profile_files._user(name, KEY, str(os.getpid()))
    return user if is_alive else {**user, "started": "0"}


def described(machine: "Machine") -> str:
    return " ".join(map(str, machine.file.describe_kept()))


class Machine:
    def __init__(self, folder: Path, own: str | None = USERS) -> None:
        self.path = folder / "CLAUDE.md"
        self.folder = folder / ".hivelore-CLAUDE.md"
        if own is not None:
            self.path.write_text(own)
        self.service = StandIn()

    @property
    def file(self) -> ProfileFile:
        """Each hook is a new process."""
        return ProfileFile(self.path, "notes", follows_link=True)

    def start(self, name: str, *, is_alive: bool = True) -> None:
        self.file.recover(a_user(name))
        self.file.send(AGENT, self.service)
        self.file.start(a_user(name, is_alive=is_alive), self.service.profile())

    def prepare(self) -> None:
        self.file.recover(None)
        self.file.send(AGENT, self.service)
        self.file.start(profile_files._user(profile_files.PREPARED, KEY, "0"), self.service.profile())

    def end(self, name: str) -> None:
        self.file.end(a_user(name))
        self.file.send(AGENT, self.service)
        self.file.remove_folder()

    def kept(self, kind: str) -> list[bytes]:
        return [file.read_bytes() for file in sorted(self.folder.glob(f"{kind}*"))]

    def is_somewhere(self, text: str) -> bool:
        found = [*self.service.stored, *(file.read_text() for file in self.folder.glob("*"))]
        return text in found or (self.path.exists() and self.path.read_text() == text)


def a_session(machine: Machine, *, is_alive: bool) -> None:
    machine.start("one", is_alive=is_alive)
    machine.path.write_text(EDIT)
    machine.end("one")


def an_update(machine: Machine, *, is_alive: bool) -> None:
    machine.start("one", is_alive=is_alive)
    machine.service.text, machine.service.version = "newer", 2
    machine.start("one", is_alive=is_alive)
    machine.end("one")


def a_preparation(machine: Machine, *, is_alive: bool) -> None:
    for name in ("one", "two"):
        machine.prepare()
        machine.path.write_text(EDIT)
        if name == "two":
            machine.start(name, is_alive=is_alive)
    machine.end("two")


STEPS = 120
"""More than a session has; see ``test_the_steps_suffice``."""


@pytest.mark.parametrize("story", [a_session, an_update, a_preparation])
@pytest.mark.parametrize("own", [USERS, None])
def test_the_steps_suffice(tmp_path: Path, own: str | None, story: Callable[..., None]) -> None:
    with killed_after(1_000) as count:
        story(Machine(tmp_path, own), is_alive=True)
    assert 8 < count[0] < STEPS


@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize("own", [USERS, None])
@pytest.mark.parametrize("story", [a_session, an_update, a_preparation])
def test_the_users_file_comes_back_wherever_a_hook_is_killed(
    tmp_path: Path, story: Callable[..., None], own: str | None, is_edited: bool
) -> None:
    for steps in range(STEPS):
        folder = tmp_path / str(steps)
        folder.mkdir()
        machine = Machine(folder, own)
        with killed_after(steps), suppress(Killed):
            story(machine, is_alive=False)
        was_ours = machine.path.exists() and machine.path.read_text() != own
        had_edit = was_ours and machine.path.read_text() == EDIT
        if is_edited and was_ours:
            machine.path.write_text("edited after the crash")
        machine.start("two")
        machine.end("two")
        assert (machine.path.read_text() if machine.path.exists() else None) == own, steps
        if had_edit and not is_edited:
            assert machine.is_somewhere(EDIT), steps
        if is_edited and was_ours:
            assert machine.is_somewhere("edited after the crash"), steps
        assert not list(machine.folder.glob("*.new")), steps
        assert not (machine.folder / "state.json").exists(), steps


@pytest.mark.parametrize("again", range(30))
def test_a_hook_that_restores_after_a_crash_may_be_killed_too(tmp_path: Path, again: int) -> None:
    for steps in range(STEPS):
        folder = tmp_path / str(steps)
        folder.mkdir()
        machine = Machine(folder)
        for number, process in ((steps, "one"), (again, "two")):
            with killed_after(number):
                try:
                    machine.start(process, is_alive=False)
                    machine.path.write_text(f"{EDIT} {process}")
                    machine.end(process)
                except Killed:
                    pass
        machine.start("three")
        machine.end("three")
        assert machine.path.read_text() == USERS, steps


def test_a_session_that_goes_on_after_its_hook_was_killed_sends_its_edit(tmp_path: Path) -> None:
    for steps in range(STEPS):
        folder = tmp_path / str(steps)
        folder.mkdir()
        machine = Machine(folder)
        with killed_after(steps), suppress(Killed):
            machine.start("one")
        if machine.path.read_text() == OURS:
            machine.path.write_text(EDIT)
            machine.end("one")
            assert machine.service.stored == [EDIT], steps
        machine.end("one")
        assert machine.path.read_text() == USERS, steps


def test_an_edit_of_a_crashed_session_is_sent_before_the_profile_is_written(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start("one", is_alive=False)
    machine.path.write_text(EDIT)
    machine.start("two")
    assert machine.path.read_text() == machine.service.text == EDIT
    for number in range(3):
        machine.path.write_text(f"edit {number}")
        machine.file.send(AGENT, machine.service)
        assert machine.service.text == f"edit {number}"


def test_a_conflicting_file_stays_and_its_next_edit_is_stored(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start("one")
    machine.service.text, machine.service.version = "of another host", 2
    machine.path.write_text("mine")
    machine.file.send(AGENT, machine.service)
    machine.service.text, machine.service.version = "again of another host", 3
    machine.start("one")
    assert machine.path.read_text() == "mine"
    machine.service.version = 2
    machine.path.write_text("mine, too")
    machine.file.send(AGENT, machine.service)
    assert machine.service.text == "mine, too"


def test_text_that_is_not_utf_8_is_kept_as_it_is(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    text = "caf\xe9".encode("latin-1")
    machine.start("one")
    machine.path.write_bytes(text)
    file = machine.file
    file.send(AGENT, machine.service)
    file.send(AGENT, machine.service)
    assert len(file.notices) == 1
    machine.end("one")
    assert machine.kept("refused-") == [text]
    assert "refused-" in described(machine)
    assert machine.path.read_text() == USERS


def test_an_edit_that_the_service_refuses_is_kept_and_reported(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.service.status = 400
    machine.start("one")
    machine.path.write_text(EDIT)
    machine.end("one")
    assert machine.kept("refused-") == [EDIT.encode()]
    assert str(machine.folder) in described(machine)


def test_edits_that_were_not_sent_are_never_deleted(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.service.status = 503
    for number in range(MAX_KEPT):
        machine.start("one")
        machine.path.write_text(f"edit {number}")
        machine.end("one")
    file = machine.file
    file.start(a_user("one"), machine.service.profile())
    assert machine.path.read_text() == USERS
    assert f"keeps {MAX_KEPT} texts" in file.notices[0]
    machine.service.status = 200
    machine.end("one")
    assert machine.service.stored == [f"edit {number}" for number in range(MAX_KEPT)]
    machine.start("one")
    assert machine.path.read_text() == machine.service.text


def test_an_edit_while_an_earlier_one_is_sent_is_sent_too(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start("one")
    machine.path.write_text("first")
    machine.service.during = lambda: machine.path.write_text("second")
    machine.file.send(AGENT, machine.service)
    machine.service.during = lambda: None
    machine.end("one")
    assert machine.service.stored == ["first", "second"]
    assert machine.path.read_text() == USERS


def test_nothing_waits_for_a_service_to_restore_the_file(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start("one")
    machine.path.write_text("first")

    def end_meanwhile() -> None:
        machine.service.during = lambda: None
        machine.path.write_text("second")
        machine.file.end(a_user("one"))
        assert machine.path.read_text() == USERS

    machine.service.during = end_meanwhile
    machine.file.send(AGENT, machine.service)
    assert machine.kept("unsent-") == [b"second"]
    machine.file.send(AGENT, machine.service)
    assert machine.service.stored == ["first", "second"]


def test_a_file_that_the_user_wrote_after_a_crash_is_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path, None)
    machine.start("one", is_alive=False)
    machine.path.write_text("the user's new file")
    machine.file.recover(a_user("two"))
    assert machine.kept("aside-") == [b"the user's new file"]
    assert "aside-" in described(machine)


def test_a_file_that_the_user_wrote_while_ours_was_away_is_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start("one", is_alive=False)
    machine.path.write_text(EDIT)
    machine.path.rename(machine.folder / "last")
    machine.path.write_text("the user's new file")
    machine.file.recover(a_user("two"))
    assert machine.path.read_text() == USERS
    assert sorted(machine.kept("aside-")) == [EDIT.encode(), b"the user's new file"]
    assert machine.kept("unsent-") == [EDIT.encode()]


def test_a_file_that_changes_while_it_is_taken_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    file = machine.file
    save = file._save

    def change(state: dict[str, Any]) -> None:
        save(state)
        machine.path.write_text("changed meanwhile")

    monkeypatch.setattr(file, "_save", change)
    with pytest.raises(OSError, match="changed at the same time"):
        file.start(a_user("one"), machine.service.profile())
    machine.end("one")
    assert machine.path.read_text() == "changed meanwhile"
    assert not machine.service.stored


def test_the_folder_is_removed_when_nothing_is_left(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    def sessions(name: str) -> None:
        for _ in range(30):
            machine.start(name)
            machine.end(name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(sessions, ("one", "two")))
    assert machine.path.read_text() == USERS
    assert [file.name for file in tmp_path.iterdir()] == ["CLAUDE.md"]


def test_a_program_is_found_through_the_shells_between(tmp_path: Path) -> None:
    assert profile_files._find_program(os.getpid()) == os.getpid()
    assert profile_files._find_program(2**30) == 0
    code = "echo $$; read line"
    with subprocess.Popen(["sh", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        assert shell.stdin is not None
        inner = int(shell.stdout.readline())
        assert profile_files._find_program(inner) == os.getpid()
        shell.stdin.write(b"\n")
