"""Whether a person attends the run of an agent program."""

import os
import subprocess
import sys

import pytest

from hivelore.local.attendance import INTERACTIVE, is_attended


@pytest.mark.parametrize("entrypoint", INTERACTIVE)
def test_a_person_uses_the_terminal_or_an_editor(entrypoint: str) -> None:
    assert is_attended("claude-code", {"CLAUDE_CODE_ENTRYPOINT": entrypoint})


@pytest.mark.parametrize("entrypoint", ["sdk-cli", "sdk-py", "sdk-ts", "claude-code-github-action", "", "new"])
def test_print_mode_and_unknown_entrypoints_are_headless(entrypoint: str) -> None:
    assert not is_attended("claude-code", {"CLAUDE_CODE_ENTRYPOINT": entrypoint})
    assert not is_attended("claude-code", {})


def test_other_programs_show_it_elsewhere() -> None:
    assert is_attended("codex", {})
    assert is_attended("codex", {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"})


@pytest.mark.parametrize(("given", "attended"), [("true", False), ("1", False), ("", True), ("0", True)])
def test_continuous_integration_is_headless(given: str, attended: bool) -> None:
    assert is_attended("codex", {"CI": given}) is attended
    assert is_attended("claude-code", {"CI": given, "CLAUDE_CODE_ENTRYPOINT": "cli"}) is attended


@pytest.mark.parametrize(("option", "attended"), [("-p", False), ("--print", False), ("--resume", True)])
def test_the_arguments_show_a_headless_run_within_an_interactive_one(option: str, attended: bool) -> None:
    waits = "import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", waits, option]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        environment = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PID": str(process.pid)}
        assert is_attended("claude-code", environment) is attended
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("pid", ["", "0", "-1", "../self", "99999999999", "²"])
def test_an_unknown_process_counts_as_attended(pid: str) -> None:
    assert is_attended("claude-code", {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PID": pid})


def test_a_process_that_ends_meanwhile_counts_as_attended(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "-p"], stdin=subprocess.PIPE) as process:
        open_file = os.open

        def open_and_end(name: str, flags: int) -> int:
            descriptor = open_file(name, flags)
            process.kill()
            process.wait()
            return descriptor

        monkeypatch.setattr(os, "open", open_and_end)
        assert is_attended("claude-code", {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PID": str(process.pid)})
