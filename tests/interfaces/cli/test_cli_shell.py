"""The console script in a shell: pipes, signals, terminals, completion."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import HIVELORE, CommandLine, Result, environment, hivelore
from support.missing import missing
from support.service import Service
from support.waiting import until


def count(service: Service, me: str) -> int:
    return service.client(service.operator_key, me).call("GET", "/api/memory/stats")["byScope"]["agent"]


def on_a_terminal(*words: str, env: dict[str, str]) -> Result:
    """Runs a verb with a terminal as stdout and stderr."""
    terminal, inside = pty.openpty()
    process = subprocess.Popen([HIVELORE, *words], env=env, stdin=subprocess.DEVNULL, stdout=inside, stderr=inside)
    os.close(inside)
    shown = b""
    try:
        while more := os.read(terminal, 65_536):
            shown += more
    except OSError:
        pass  # The other side is closed.
    os.close(terminal)
    return Result(process.wait(timeout=150), shown.decode(), "")


def importing(service: Service, me: str, lines: list[str]) -> "subprocess.Popen[bytes]":
    """An import that has stored its input and waits for more."""
    process = subprocess.Popen(
        [HIVELORE, "import", "-", "--agent", me],
        env=environment(service.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write("".join(lines).encode())
    process.stdin.flush()
    until(lambda: count(service, me) >= 200)
    return process


def facts(number: int) -> list[str]:
    return [json.dumps({"id": str(one), "content": f"fact {one}"}) + "\n" for one in range(number)]


def test_a_killed_import_resumes(cli: CommandLine, service: Service, me: str) -> None:
    lines = facts(500)
    Path("in.jsonl").write_text("".join(lines))
    process = importing(service, me, lines[:260])
    process.kill()
    process.communicate()
    kept = count(service, me)
    assert kept < 500
    counts = cli.json("import", "in.jsonl", "--agent", me)
    assert (counts["created"], counts["unchanged"], counts["changed"]) == (500 - kept, kept, 0)
    assert count(service, me) == 500


def test_ctrl_c_ends_an_import_quietly(service: Service, me: str) -> None:
    process = importing(service, me, facts(260))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=150)
    assert (process.returncode, out) == (130, b"")
    assert err.startswith(b"Stopped at line 2")
    assert err.count(b"\n") == 1


@pytest.mark.parametrize("words", [("export",), ("remember", "--help")])
def test_a_closed_pipe_ends_a_verb_quietly(service: Service, me: str, words: tuple[str, ...]) -> None:
    body = {"memories": [{"content": f"{number} " + "x" * 50_000} for number in range(8)]}
    service.client(service.operator_key, me).call("POST", "/api/memory/batch", body=body)
    speaker = () if "--help" in words else ("--agent", me)
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        [HIVELORE, *words, *speaker], env=environment(service.home), stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    _, err = process.communicate(timeout=150)
    assert (process.returncode, err) == (141, b"")


def test_a_terminal_gets_styles_and_no_control_characters(service: Service, me: str) -> None:
    content = "\x1b]0;owned\x07 \x1b[31mred \u202egnitirw"
    body = {"memories": [{"content": content, "name": "Trap"}]}
    done = service.client(service.operator_key, me).call("POST", "/api/memory/batch", body=body)["results"][0]
    words = ("get", done["memory"]["id"], "--agent", me)
    env = environment(service.home, TERM="xterm")
    env.pop("NO_COLOR", None)
    styled = on_a_terminal(*words, env=env)
    assert styled.code == 0
    assert "\x1b[1mTrap\x1b[0m" in styled.out
    assert r"\x1b]0;owned\x07 \x1b[31mred \u202egnitirw" in styled.out
    plain = on_a_terminal(*words, env={**env, "NO_COLOR": "1"})
    assert "\x1b" not in plain.out
    assert "Trap" in plain.out
    piped = hivelore(*words, env=env).out
    assert r"\x1b]0;owned\x07 \x1b[31mred \u202egnitirw" in piped
    # A program that wants what was kept takes JSON.
    as_json = hivelore(*words, "--json", env=env).out
    assert as_json.isascii()
    assert json.loads(as_json)["content"] == content


def test_a_terminal_shows_progress(service: Service, me: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    env = environment(service.home, TERM="xterm")
    shown = on_a_terminal("index", str(tmp_path / "a.md"), "--agent", me, env=env)
    assert shown.code == 0
    assert "Indexing" in shown.out
    assert "Files indexed: 1 new" in shown.out


def test_verbs_run_without_standard_streams(service: Service, me: str) -> None:
    shell = f'"{HIVELORE}" remember nobody listens --agent {me} >&- 2>&- <&-'
    done = subprocess.run(["sh", "-c", shell], env=environment(service.home), timeout=150, check=False)
    assert (done.returncode, count(service, me)) == (0, 1)


def test_a_terminal_without_unicode_still_shows_everything(service: Service, me: str) -> None:
    env = environment(service.home, PYTHONIOENCODING="ascii")
    remembered = hivelore("remember", "Розы", "--agent", me, env=env)
    assert (remembered.code, remembered.err) == (0, "")
    assert r"\u0420\u043e\u0437\u044b" in remembered.out
    printed = hivelore("list", "--json", "--scope", "agent", "--agent", me, env=env)
    assert json.loads(printed.out)["memories"][0]["content"] == "Розы"


def test_a_verb_imports_no_module_of_the_service(service: Service, me: str) -> None:
    heavy = "{'fastapi', 'starlette', 'pydantic', 'uvicorn', 'mcp', 'apsw', 'onnxruntime', 'rich', 'pathspec'}"
    code = f"import sys; from hivelore.cli.dispatch import run; run(sys.argv[1:]); print({heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, "recall", "x", "--agent", me],
        env=environment(service.home),
        capture_output=True,
        text=True,
        timeout=150,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_bash_completes_verbs_and_options(tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        missing("needs bash")
    script = tmp_path / "completion.bash"
    script.write_text(hivelore("completion", "bash", env=environment(tmp_path)).out)
    ask = 'source "$1"; COMP_WORDS=(hivelore "${@:2}"); COMP_CWORD=$(($# - 1)); _hivelore; echo "${COMPREPLY[@]}"'

    def completed(*words: str) -> set[str]:
        done = subprocess.run(
            ["bash", "-c", ask, "-", str(script), *words], capture_output=True, text=True, timeout=150, check=True
        )
        return set(done.stdout.split())

    assert completed("re") == {"remember", "recall", "recalls", "reembed", "repo", "review"}
    assert completed("recall", "--ex") == {"--explain"}
    assert completed("agent", "") >= {"add", "list", "revoke"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(alone: CommandLine, shell: str) -> None:
    result = alone("completion", shell)
    assert result.code == 0
    assert "remember" in result.out


@pytest.mark.parametrize("words", [("completion",), ("completion", "cmd"), ("completion", "")])
def test_other_shells_are_refused(alone: CommandLine, words: tuple[str, ...]) -> None:
    result = alone(*words)
    assert (result.code, result.out) == (2, "")
