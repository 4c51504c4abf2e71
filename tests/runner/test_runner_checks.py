"""Checks before a task is claimed."""

import os
from pathlib import Path

import pytest

from hivelore.runner import checks
from hivelore.runner.checks import Check, Problem, check_folder, check_sign_in, find_program
from hivelore.runner.command import AgentProgram
from hivelore.runner.model import Program
from hivelore.runner.orphans import VARIABLE, processes_of
from support.agent_scripts import script
from support.waiting import until

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def program(folder: Path, body: str, kind: Program = Program.CLAUDE, *arguments: str) -> AgentProgram:
    return AgentProgram(kind=kind, path=str(script(folder, body, kind.value)), arguments=arguments)


def test_a_program_is_found_with_its_version(tmp_path: Path) -> None:
    path = script(tmp_path, "print('2.1.330 (Claude Code)')")
    found = find_program(Program.CLAUDE, None, (), {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert isinstance(found, AgentProgram)
    assert (found.path, found.version) == (str(path), (2, 1, 330))


def test_a_missing_program_can_be_installed_or_named(tmp_path: Path) -> None:
    found = find_program(Program.CODEX, None, (), {"PATH": str(tmp_path)})
    assert isinstance(found, Problem)
    assert found.check is Check.PROGRAM
    assert "npm install -g @openai/codex" in found.remedy
    assert isinstance(find_program(Program.CODEX, str(tmp_path), (), ENVIRONMENT), Problem)


@pytest.mark.parametrize("body", ["sys.exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_program_that_does_not_work_is_a_problem(tmp_path: Path, body: str) -> None:
    found = find_program(Program.CLAUDE, str(script(tmp_path, body)), (), ENVIRONMENT)
    assert isinstance(found, Problem)
    assert "does not work (exit code" in found.message


@pytest.mark.parametrize("body", ["while True: print('2.1.330 ' * 10_000)", "sys.stderr.write('x' * 10**7)"])
def test_an_answer_is_bounded(tmp_path: Path, body: str) -> None:
    found = find_program(Program.CLAUDE, str(script(tmp_path, body)), (), ENVIRONMENT)
    assert isinstance(found, Problem)
    assert "more than 100,000 bytes" in found.message


@pytest.mark.parametrize(
    "body", ["time.sleep(1000)", "subprocess.Popen(['sleep', '1000']); print('2.1.330')", "os.close(1); os.close(2)"]
)
def test_a_question_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(checks, "_PATIENCE", 1.0)
    path = str(script(tmp_path, body))
    find_program(Program.CLAUDE, path, (), {**ENVIRONMENT, VARIABLE: "asked"})
    until(lambda: processes_of("asked") == [])  # One that was killed is there for a moment.


@pytest.mark.parametrize(
    ("body", "is_missing"),
    [
        ("print('{\"loggedIn\": true}')", False),
        ("print('{\"loggedIn\": false}'); sys.exit(1)", True),
        ("print('unknown command auth'); sys.exit(1)", False),
    ],
)
def test_claude_code_says_if_it_is_signed_in(tmp_path: Path, body: str, is_missing: bool) -> None:
    problem = check_sign_in(program(tmp_path, body), ENVIRONMENT)
    assert (problem is not None) == is_missing


def test_codex_is_signed_in_by_itself_by_a_key_or_by_a_provider(tmp_path: Path) -> None:
    body = "print('Not logged in', file=sys.stderr); sys.exit(1)"
    codex = program(tmp_path, body, Program.CODEX)
    problem = check_sign_in(codex, ENVIRONMENT)
    assert problem is not None
    assert problem.check is Check.SIGN_IN
    assert check_sign_in(codex, {**ENVIRONMENT, "OPENAI_API_KEY": "k"}) is None
    assert check_sign_in(program(tmp_path, body, Program.CODEX, "-c", 'model_provider="x"'), ENVIRONMENT) is None
    (tmp_path / "config.toml").write_text('model_provider = "x"\n')
    assert check_sign_in(codex, {**ENVIRONMENT, "CODEX_HOME": str(tmp_path)}) is None


def test_a_folder_is_made_and_written_to(tmp_path: Path) -> None:
    assert check_folder(tmp_path / "a" / "b") is None
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").write_text("")
    problem = check_folder(tmp_path / "file" / "workspace")
    assert problem is not None
    assert "HIVELORE_WORKSPACE" in problem.remedy
