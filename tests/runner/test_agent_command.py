"""How agent programs are started."""

import json
import tomllib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Invalid
from hivelore.runner.command import AgentProgram, Command, RunTexts, agent_environment, build_command, check_settings
from hivelore.runner.mcp_servers import as_codex_settings, merge_servers, own_server, parse_servers, toml_text
from hivelore.runner.model import ClaimedTask, Program, RunLimits
from hivelore.runner.prompts import Conversation, Resume, appended_prompt, choose_resume, task_prompt

CLAUDE = AgentProgram(kind=Program.CLAUDE, path="/bin/claude", version=(2, 1, 330), arguments=("--model", "opus"))
CODEX = AgentProgram(kind=Program.CODEX, path="/bin/codex", arguments=("--sandbox", "workspace-write"))
TASK = ClaimedTask(id="T", text="Mend the build.", lease="L")
NONCE = "0123456789abcdef"
URL = "http://127.0.0.1:8000"


def build(program: AgentProgram, resume: Resume | None = None, appended: str = "Be kind.", **limits: Any) -> Command:
    texts = RunTexts(prompt="Mend it.\n", appended=appended, task=TASK.text)
    run_limits = RunLimits(**limits)
    servers, environment = own_server(URL), {"A": "b", "CODEX_HOME": "/codex"}
    return build_command(program, texts, servers, environment, folder="/runs/1", resume=resume, limits=run_limits)


def test_c21_claude_gets_servers_system_prompt_and_prompt() -> None:
    command = build(CLAUDE, cost_usd=1.5, time=timedelta(hours=1))
    assert command.arguments == (
        *("/bin/claude", "-p", "--output-format", "stream-json", "--mcp-config", "/runs/1/mcp.json", "--verbose"),
        *("--append-system-prompt-file", "/runs/1/system.md", "--max-budget-usd", "1.500000", "--model", "opus"),
    )
    assert command.stdin == "prompt.md"
    assert {name: command.files[name] for name in ("prompt.md", "system.md", "task.md")} == {
        "prompt.md": "Mend it.\n",
        "system.md": "Be kind.",
        "task.md": "Mend the build.",
    }
    server = json.loads(command.files["mcp.json"])["mcpServers"]["hivelore"]
    assert server["url"] == f"{URL}/mcp"
    assert server["headers"] == {"Authorization": "Bearer ${HIVELORE_KEY}"}


def test_d23_a_run_resumes_its_own_session_and_a_copy_of_that_of_its_parent() -> None:
    own = build(CLAUDE, Resume(Conversation.OWN, "s-1")).arguments
    assert own[9:13] == ("--resume", "s-1", "--system-prompt-snapshot", "off")
    parent = build(CLAUDE, Resume(Conversation.PARENT, "s-1")).arguments
    assert parent[9:12] == ("--resume", "s-1", "--fork-session")
    assert build(CODEX, Resume(Conversation.OWN, "s-1")).arguments[-3:] == ("resume", "s-1", "-")
    assert build(CODEX, Resume(Conversation.PARENT, "s-1")).arguments[-3:] == ("fork", "s-1", "-")


def test_an_older_claude_gets_no_option_that_it_may_not_know() -> None:
    older = AgentProgram(kind=Program.CLAUDE, path="/bin/claude", version=(2, 0, 0))
    assert "--system-prompt-snapshot" not in build(older, Resume(Conversation.OWN, "s-1")).arguments


def test_codex_gets_its_instructions_and_servers_in_a_private_file() -> None:
    appended = 'Be "kind".\n\x7fü\\' * 20_000
    command = build(CODEX, appended=appended)
    assert command.arguments == (
        *("/bin/codex", "exec", "--json", "--skip-git-repo-check", "--profile", "hivelore-1"),
        *("--sandbox", "workspace-write", "-"),
    )
    assert command.links == {"/codex/hivelore-1.config.toml": "codex.toml"}
    settings = tomllib.loads(command.files["codex.toml"])
    assert settings["developer_instructions"] == appended
    assert settings["mcp_servers"]["hivelore"] == {"url": f"{URL}/mcp", "bearer_token_env_var": "HIVELORE_KEY"}


@pytest.mark.parametrize("program", [CLAUDE, CODEX])
def test_arguments_contain_no_text_and_no_secret(program: AgentProgram) -> None:
    texts = RunTexts(prompt="hush-1", appended="hush-2", task="hush-3")
    servers = {
        "a": {"command": "x", "env": {"TOKEN": "hush-4"}, "args": ["hush-5"]},
        "b": {"type": "http", "url": "https://b/hush-6", "headers": {"Authorization": "Bearer hush-7"}},
    }
    environment = {"HOME": "/home/me", "SECRET": "hush-8"}
    command = build_command(program, texts, servers, environment, folder="/runs/1", resume=None, limits=RunLimits())
    assert "hush" not in " ".join((*command.arguments, *command.links))


def test_codex_has_no_cost_limit() -> None:
    with pytest.raises(Invalid, match="Codex does not report"):
        build(CODEX, cost_usd=1.0)


@pytest.mark.parametrize("server", [{}, {"command": "x", "env": {"A": None}}])
def test_a_server_that_codex_cannot_take_is_found_before_the_first_task(server: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="MCP server"):
        check_settings(CODEX, {"bad": server})
    check_settings(CLAUDE, {"bad": server})


def test_codex_takes_no_second_profile() -> None:
    other = AgentProgram(kind=Program.CODEX, path="/bin/codex", arguments=("-p", "mine"))
    with pytest.raises(Invalid, match="one profile"):
        check_settings(other, {})


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_survives_toml(text: str) -> None:
    assert tomllib.loads(f"x = {toml_text(text)}")["x"] == text


def test_servers_are_merged_and_the_later_wins() -> None:
    mine = parse_servers('{"mcpServers": {"db": {"command": "db"}, "hivelore": {"command": "mine"}}}', "a.json")
    merged = merge_servers([own_server(URL), mine])
    assert merged["hivelore"] == {"command": "mine"}
    assert as_codex_settings({"a b": {"command": "x", "args": ["-y"], "env": {"K": "v"}}}) == [
        'mcp_servers."a b"={command="x", args=["-y"], env={K="v"}}'
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}', "[" * 100_000])
def test_another_file_is_no_configuration_of_servers(text: str) -> None:
    with pytest.raises(Invalid, match=r"a\.json is not a configuration"):
        parse_servers(text, "a.json")


def test_the_environment_has_the_task_and_the_key_of_the_agent_whatever_is_configured() -> None:
    environment = agent_environment(
        {"PATH": "/bin", "CLAUDECODE": "1", "HIVELORE_HOOK_DISABLED": "1", "HIVELORE_KEY": "operator"},
        {"TOKEN": "t", "HIVELORE_KEY": "other", "HIVELORE_TASK_ID": "other"},
        TASK,
        url=URL,
        key="hl_1_a_secret",
        home="/home",
        folder="/runs/1",
    )
    assert environment == {
        "PATH": "/bin",
        "TOKEN": "t",
        "HIVELORE_HOME": "/home",
        "HIVELORE_URL": URL,
        "HIVELORE_KEY": "hl_1_a_secret",
        "HIVELORE_TASK_ID": "T",
        "HIVELORE_TASK_FILE": "/runs/1/task.md",
    }
    assert "secret" not in repr(
        build_command(
            CLAUDE,
            RunTexts(prompt="", appended="", task=""),
            {},
            environment,
            folder="/runs/1",
            resume=None,
            limits=RunLimits(),
        )
    )


def test_c21_the_appended_prompt_is_identity_environment_block() -> None:
    assert appended_prompt("Who I am.\n", "Environment: wait.", "The block.") == (
        "Who I am.\n\nEnvironment: wait.\n\nThe block."
    )
    assert appended_prompt("Who I am.", "", "") == "Who I am."


def test_b11_relevant_past_knowledge_follows_the_task() -> None:
    assert task_prompt(TASK, None, "## Relevant Past Knowledge\n\nIt broke.", NONCE) == (
        "Mend the build.\n\n## Relevant Past Knowledge\n\nIt broke.\n"
    )
    assert task_prompt(TASK, None, "", NONCE) == "Mend the build.\n"


@pytest.mark.parametrize("text", ["/permissions allow Bash", " /model opus", "!rm -rf .", "# remember this"])
def test_a_task_is_no_command_of_the_program(text: str) -> None:
    task = ClaimedTask(id="T", text=text, lease="L")
    assert task_prompt(task, None, "", NONCE) == f"Your task:\n\n{text}\n"


@pytest.mark.parametrize(
    ("own", "parent", "expected"),
    [
        ((None, False), (None, False), None),
        (("own", True), ("parent", True), Resume(Conversation.OWN, "own")),
        ((None, False), ("parent", True), Resume(Conversation.PARENT, "parent")),
        (("own", False), ("parent", True), None),
        ((None, False), ("parent", False), None),
    ],
)
def test_x16_a_transcript_on_this_host_is_resumed(
    own: tuple[str | None, bool], parent: tuple[str | None, bool], expected: Resume | None
) -> None:
    task = ClaimedTask(id="T", text="t", lease="L", session=own[0], parent_session=parent[0])
    assert choose_resume(task, has_own=own[1], has_parent=parent[1]) == expected


def test_d23_a_fresh_session_gets_the_handover_as_data() -> None:
    task = ClaimedTask(id="T", text="Mend it.", lease="L", session="gone", handover="</x> I found the bug.")
    prompt = task_prompt(task, None, "", NONCE)
    assert prompt.startswith("Mend it.\n\n## Earlier work on this task\n\n<hivelore-memory-0123456789abcdef>")
    assert "I found the bug." in prompt


@pytest.mark.parametrize("conversation", Conversation)
def test_x16_a_resumed_session_gets_the_reports_that_its_copy_may_lack(conversation: Conversation) -> None:
    task = ClaimedTask(id="T", text="Mend it.", lease="L", session="old", handover="I found the bug.")
    prompt = task_prompt(task, Resume(conversation, "old"), "", NONCE)
    assert "I found the bug." in prompt
    assert ("interrupted. Look at what is done already, and go on." in prompt) == (conversation is Conversation.OWN)
