"""The verbs ``session`` and ``handover``."""

import json
import os
from pathlib import Path

import pytest

from hivelore.core.agents import Role
from hivelore.local.claude_code_files import project_folder_name
from support.command_line import CommandLine
from support.service import Service
from support.transcripts import a_line, said

SESSION = "11111111-2222-4333-8444-555555555555"


def project(folder: Path | None = None) -> Path:
    """Returns the folder in which Claude Code looks for sessions of a workspace."""
    return Path(os.environ["HOME"], ".claude", "projects", project_folder_name(folder or Path.cwd()))


@pytest.fixture
def own(cli: CommandLine, service: Service, me: str, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line with the key of an agent."""
    monkeypatch.setenv("HIVELORE_KEY", service.add(me))
    return cli


def write(*lines: str, folder: Path | None = None, session: str = SESSION) -> Path:
    file = project(folder) / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def test_a_session_is_saved_shown_restored_and_deleted(own: CommandLine, tmp_path: Path) -> None:
    lines = [said("user", "Where is the kettle?", "a"), said("assistant", "In the attic.", "b"), a_line(title="x")]
    file = write(*lines)
    part = file.with_suffix("") / "subagents" / "agent-1.jsonl"
    part.parent.mkdir(parents=True)
    part.write_text(a_line("s") + "\n")
    assert own("session", "save", SESSION[:8]).out == f"Sent 4 entries of {SESSION}\n"
    assert SESSION[:8] in own("session", "list").out
    assert "In the attic." in own("session", "show", SESSION).out
    assert "Where is the kettle?" in own("handover", SESSION).out
    other = tmp_path / "another workspace"
    other.mkdir()
    restored = own("session", "restore", SESSION[:8], "--folder", str(other))
    target = project(other) / f"{SESSION}.jsonl"
    assert restored.out.splitlines() == [f"Restored: {target}", f"cd '{other}' && claude --resume {SESSION}"]
    assert target.read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
    assert (project(other) / SESSION / "subagents" / "agent-1.jsonl").read_text() == part.read_text()
    assert own.json("session", "restore", SESSION)["outcome"] == "kept"
    assert own("session", "delete", SESSION).out == f"Deleted 2 transcripts of {SESSION}\n"
    assert own("session", "show", SESSION).code == 3


def test_a_file_with_entries_that_are_not_stored_is_not_replaced(own: CommandLine) -> None:
    file = write(said("user", "x", "a"))
    own("session", "save", SESSION)
    own_lines = [said("user", "x", "a"), said("user", "only here", "b")]
    other = write(*own_lines, said("user", "on another host", "c"), folder=Path("/tmp"))
    own("session", "save", SESSION, "--folder", "/tmp")
    assert other.exists()
    write(said("user", "x", "a"), said("user", "never sent", "d"))
    refused = own("session", "restore", SESSION)
    assert "hivelore session save" in refused.err
    assert "never sent" in file.read_text()
    own("session", "save", SESSION)
    assert own.json("session", "restore", SESSION)["outcome"] == "extended"
    uuids = [json.loads(line)["uuid"] for line in file.read_text().splitlines()]
    assert sorted(uuids) == ["a", "b", "c", "d"]


def test_only_the_key_of_the_agent_restores(own: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    other = SESSION[:-1] + "6"
    write(said("user", "x", "a"), session=other)
    own("session", "save", other)
    monkeypatch.setenv("HIVELORE_KEY", (Path(os.environ["HIVELORE_HOME"]) / "operator.key").read_text().strip())
    refused = own("session", "restore", other)
    assert refused.code == 4
    assert "HIVELORE_KEY" in refused.err
    assert own("session", "show", other).code == 0


def test_a_restore_keeps_unsent_entries_to_be_sent(own: CommandLine) -> None:
    session = SESSION[:-1] + "9"
    lines = [said("user", "x", name) for name in "abc"]
    write(lines[0], session=session)
    own("session", "save", session)
    file = write(*lines[:2], session=session)
    assert own.json("session", "restore", session)["outcome"] == "kept"
    with file.open("a") as out:
        out.write(f"{lines[2]}\n")
    assert own.json("session", "save", session)["sent"] == 2
    file.unlink()
    own("session", "restore", session)
    assert file.read_text().splitlines() == lines


def test_an_origin_is_restored_although_another_session_continues_it(own: CommandLine) -> None:
    origin, later = SESSION[:-1] + "7", SESSION[:-1] + "8"
    write(said("user", "x", "a", sessionId=origin), session=origin)
    write(said("user", "x", "a", sessionId=origin), said("user", "y", "b"), session=later)
    own("session", "save", origin)
    own("session", "save", later)
    assert own.json("session", "restore", origin)["sessionId"] == later
    assert own.json("session", "restore", origin, "--exact")["sessionId"] == origin
    assert own.json("handover", origin, "--exact")["sessionId"] == origin
    assert "x" in own("session", "show", origin, "--exact").out


def test_unknown_sessions_and_folders_are_named(own: CommandLine) -> None:
    assert "No stored session" in own("session", "restore", "99999999").err
    assert "no folder" in own("session", "restore", SESSION, "--folder", "/nowhere").err
    assert "No session begins" in own("session", "save", "99999999").err
    assert "No session begins" in own("session", "save", "../*").err
    assert "is no name of a file" in own("session", "show", "../x").err
    assert own("session", "list").err == "No stored sessions.\n"


def test_a_lead_names_the_agent_of_a_session(
    cli: CommandLine, service: Service, me: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SESSION[:-1] + "a"
    for name in (me, f"{me}-2"):
        write(said("user", f"I am {name}.", name), session=session)
        monkeypatch.setenv("HIVELORE_KEY", service.add(name))
        assert cli("session", "save", session).code == 0
    monkeypatch.setenv("HIVELORE_KEY", service.add(f"{me}-lead", Role.LEAD))
    assert "--agent" in cli("session", "show", session).err
    for name in (me, f"{me}-2"):
        found = cli.json("session", "list", "--agent", name)["sessions"]
        assert [one["sessionId"] for one in found] == [session]
        for words in (("session", "show", session), ("handover", session)):
            shown = cli(*words, "--agent", name)
            assert f"I am {name}." in shown.out, shown.err
    assert cli("session", "delete", session, "--agent", me).code == 4
    monkeypatch.setenv("HIVELORE_KEY", service.operator_key)
    assert cli("session", "delete", session, "--agent", me).code == 0
    assert cli.json("session", "list", "--agent", me)["sessions"] == []
