"""Transcripts of agent programs: parsing of each format, and tolerance of invalid lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.model import Speaker, Tool, ToolEffect, Transcript, Turn
from hivelore.sessions.transcripts import READERS, last_turns, read_conversation
from support.fences import fenced
from support.sessions import FOLDER, ClaudeSession, CodexSession, CopilotSession, GeminiSession, a_fix


def claude(session: ClaudeSession, *, of_subagent: bool = False) -> list[Turn]:
    return list(read_conversation("claude-code", session.lines, of_subagent=of_subagent).turns)


def codex(session: CodexSession) -> list[Turn]:
    return list(read_conversation("codex", session.lines).turns)


def gemini(session: GeminiSession) -> list[Turn]:
    return list(read_conversation("gemini", session.lines).turns)


def heard(turns: list[Turn]) -> list[tuple[Speaker, str]]:
    return [(turn.speaker, turn.text or (turn.tool.target if turn.tool else "")) for turn in turns]


def test_a_transcript_of_claude_code_is_parsed() -> None:
    session = (
        ClaudeSession()
        .user("Please fix it.")
        .says("I will.")
        .runs("pytest -q", "1 failed", failed=True)
        .writes("shop/cart.py")
        .user([{"type": "text", "text": "Thanks."}, {"type": "image", "source": {"data": "AAAA"}}])
    )
    turns = claude(session)
    assert heard(turns) == [
        (Speaker.USER, "Please fix it."),
        (Speaker.ASSISTANT, "I will."),
        (Speaker.CALL, "pytest -q"),
        (Speaker.RESULT, "1 failed"),
        (Speaker.CALL, "shop/cart.py"),
        (Speaker.RESULT, "ok"),
        (Speaker.USER, "Thanks."),
    ]
    assert turns[2].tool == turns[3].tool == Tool("Bash", ToolEffect.RUN, "pytest -q")
    assert turns[4].tool == Tool("Edit", ToolEffect.WRITE, "shop/cart.py")
    assert [turn.failed for turn in turns] == [False, False, False, True, False, False, False]
    assert all(turn.at is not None for turn in turns)


def test_a_transcript_of_codex_is_parsed() -> None:
    patch = "*** Begin Patch\n*** Update File: shop/cart.py\n@@\n-a\n+b\n*** Add File: shop/new.py\n+x\n*** End Patch"
    session = (
        CodexSession()
        .user("<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>")
        .user("# AGENTS.md instructions for /home/ada/shop\n\nBe brief.")
        .user('<hook_prompt hook_run_id="stop:0:/home/ada/.codex/hooks.json">Store it.</hook_prompt>')
        .user("Please fix it.")
        .says("I will.")
        .runs("pytest -q", "1 failed", 1)
        .patches(patch)
    )
    turns = codex(session)
    assert heard(turns) == [
        (Speaker.USER, "Please fix it."),
        (Speaker.ASSISTANT, "I will."),
        (Speaker.CALL, "pytest -q"),
        (Speaker.RESULT, "1 failed"),
        (Speaker.CALL, "shop/cart.py\nshop/new.py"),
        (Speaker.RESULT, "Success. Updated the following files:"),
    ]
    assert [turn.failed for turn in turns] == [False, False, False, True, False, False]
    assert turns[2].tool == Tool("exec_command", ToolEffect.RUN, "pytest -q")
    assert turns[4].tool is not None
    assert turns[4].tool.effect is ToolEffect.WRITE


@pytest.mark.parametrize(
    ("item", "output", "command", "failed"),
    [
        (
            {"type": "function_call", "name": "shell", "arguments": json.dumps({"command": ["bash", "-lc", "make x"]})},
            json.dumps({"output": "No rule", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}),
            "make x",
            True,
        ),
        (
            {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls", "-l"]}},
            {"content": "a b", "success": True},
            "ls -l",
            False,
        ),
        (
            {"type": "function_call", "name": "shell_command", "arguments": json.dumps({"command": "make y"})},
            "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nfine",
            "make y",
            False,
        ),
    ],
)
def test_all_command_formats_of_codex_are_parsed(
    item: dict[str, object], output: object, command: str, *, failed: bool
) -> None:
    session = CodexSession()
    session.item({**item, "call_id": "c"})
    session.item({"type": "function_call_output", "call_id": "c", "output": output})
    call, result = codex(session)
    assert call.tool is not None
    assert (call.tool.target, result.failed) == (command, failed)
    assert result.text in ("No rule", "a b", "fine")


def test_an_early_codex_transcript_without_envelopes_is_parsed() -> None:
    lines = [
        json.dumps({"id": "x", "timestamp": "2025-05-01T10:00:00Z", "instructions": None}),
        json.dumps({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]}),
    ]
    assert heard(list(read_conversation("codex", lines).turns)) == [(Speaker.USER, "Go on.")]


def test_text_inserted_by_the_program_is_left_out() -> None:
    session = (
        ClaudeSession()
        .user("<command-name>/compact</command-name>\n<command-message>compact</command-message>")
        .user("<local-command-stdout>Compacted</local-command-stdout>")
        .user("Caveat: something.", isMeta=True)
        .user("Stop hook feedback:\nStore it.", isMeta=True)
        .user("This session is being continued from a previous one.", isCompactSummary=True)
        .user("[Request interrupted by user for tool use]")
        .user("Go on. <system-reminder>\nThe date is today.\n</system-reminder>")
        .line("attachment", attachment={"type": "hook_additional_context", "content": ["secret plan"]})
        .line("system", content="Stopped.")
        .line("summary", summary="A title")
    )
    assert heard(claude(session)) == [(Speaker.USER, "Go on.")]


def test_injected_text_and_own_tool_results_are_left_out() -> None:
    session = (
        ClaudeSession()
        .user(f"{fenced('an old note')}\n\nGo on.")
        .uses("mcp__hivelore__memory-search", "an old note", query="note")
        .uses("mcp__plugin_hivelore_mem__memory-get", "an old note", memoryId="m")
        .uses("Read", f"a file {fenced('an old note')}", file_path="a.md")
    )
    turns = claude(session)
    assert heard(turns) == [(Speaker.USER, "Go on."), (Speaker.CALL, "a.md"), (Speaker.RESULT, "a file")]


def test_sidechains_are_read_only_for_a_sub_agent() -> None:
    session = ClaudeSession(sidechain=True).user("Look there.").says("I looked.")
    assert claude(session) == []
    assert len(claude(session, of_subagent=True)) == 2


def test_a_long_tool_output_keeps_its_beginning_and_end() -> None:
    turns = claude(ClaudeSession().runs("make", f"begin {'x' * 100_000} end"))
    assert len(turns[1].text) < 4_000
    assert turns[1].text.startswith("begin ")
    assert turns[1].text.endswith(" end")


def test_files_outside_the_working_folder_keep_their_full_path() -> None:
    session = ClaudeSession().uses("Write", file_path="/etc/hosts").uses("Write", file_path=f"{FOLDER}/a b/c.py")
    assert [turn.tool.target for turn in claude(session) if turn.tool and turn.speaker is Speaker.CALL] == [
        "/etc/hosts",
        "a b/c.py",
    ]


def test_a_transcript_of_an_unknown_program_is_empty() -> None:
    assert read_conversation("other", a_fix().lines) == Transcript(())


def test_a_transcript_of_gemini_cli_is_parsed() -> None:
    session = (
        GeminiSession()
        .user("<session_context>\nToday is Sunday.\n</session_context>")
        .user(f"<hook_context>{fenced('Old.')}</hook_context>\n\nPlease fix it.", "<hook_context>More</hook_context>")
        .says("I will.")
        .runs("pytest -q", "1 failed", 1)
        .uses("write_file", "Successfully created", file_path="shop/cart.py", content="x")
        .uses("replace", "no such file", "error", file_path="shop/none.py")
        .uses("mcp_hivelore_memory-search", "Old.", query="x")
        .says("Done.")
    )
    turns = gemini(session)
    assert [(who, text.splitlines()[0]) for who, text in heard(turns)] == [
        (Speaker.USER, "Please fix it."),
        (Speaker.ASSISTANT, "I will."),
        (Speaker.CALL, "pytest -q"),
        (Speaker.RESULT, "Output: 1 failed"),
        (Speaker.CALL, "shop/cart.py"),
        (Speaker.RESULT, "Successfully created"),
        (Speaker.CALL, "shop/none.py"),
        (Speaker.RESULT, "no such file"),
        (Speaker.ASSISTANT, "Done."),
    ]
    assert [turn.failed for turn in turns if turn.speaker is Speaker.RESULT] == [True, False, True]
    assert turns[2].tool == Tool("run_shell_command", ToolEffect.RUN, "pytest -q")
    assert turns[0].text == "Please fix it."
    assert all(turn.at is not None for turn in turns if turn.speaker is not Speaker.RESULT)


@pytest.mark.parametrize(("back", "left"), [("m1002", ["One."]), ("m1001", []), ("unknown", [])])
def test_rewound_messages_of_gemini_cli_are_left_out(back: str, left: list[str]) -> None:
    session = GeminiSession().message("user", "One.", 1001).message("gemini", "Two.", 1002).line(**{"$rewindTo": back})
    assert [turn.text for turn in gemini(session.says("Three."))] == [*left, "Three."]


def test_a_transcript_of_copilot_is_parsed_without_its_sub_agents() -> None:
    session = (
        CopilotSession()
        .user("Please fix it.")
        .user("The skill says ...", source="skill-pdf")
        .says("I will.")
        .uses("bash", "1 failed\n<shellId: 0 completed with exit code 1>", 1, command="pytest -q")
        .uses("create", "Created file", path=f"{FOLDER}/shop/cart.py", file_text="x")
        .uses("memory-search", "Old.", server="hivelore", query="x")
        .event("user.message", {"content": "Look.", "source": "agent-s1"}, "a1")
        .says("Looked.", "a1")
        .event("tool.execution_start", {"toolCallId": "t", "toolName": "edit", "arguments": {"path": "none.py"}})
        .event("tool.execution_complete", {"toolCallId": "t", "success": False, "error": {"message": "No such file"}})
        .says("Done.")
    )
    turns = list(read_conversation("copilot", session.lines).turns)
    assert [(who, text.splitlines()[0]) for who, text in heard(turns)] == [
        (Speaker.USER, "Please fix it."),
        (Speaker.ASSISTANT, "I will."),
        (Speaker.CALL, "pytest -q"),
        (Speaker.RESULT, "1 failed"),
        (Speaker.CALL, "shop/cart.py"),
        (Speaker.RESULT, "Created file"),
        (Speaker.CALL, "none.py"),
        (Speaker.RESULT, "No such file"),
        (Speaker.ASSISTANT, "Done."),
    ]
    assert [turn.failed for turn in turns if turn.speaker is Speaker.RESULT] == [True, False, True]
    assert [turn.tool.effect for turn in turns if turn.tool and turn.speaker is Speaker.CALL] == [
        ToolEffect.RUN,
        ToolEffect.WRITE,
        ToolEffect.WRITE,
    ]


GOOD = {"claude-code": ClaudeSession, "codex": CodexSession, "gemini": GeminiSession, "copilot": CopilotSession}


@pytest.mark.parametrize("program", READERS)
@pytest.mark.parametrize(
    "line",
    [
        "",
        '{"type": "gemini", "id": "a", "toolCalls": [{"name": 5, "result": [{"functionResponse": 1}]}, 3]}',
        '{"type": "user", "id": {}, "content": 5}',
        '{"type": "tool.execution_start", "data": {"toolName": 5, "toolCallId": []}}',
        '{"type": "tool.execution_complete", "data": {"toolCallId": {}, "shellExecution": {"exitCode": "x"}}}',
        "{",
        "null",
        "[]",
        "12",
        '"user"',
        '{"type": "user"}',
        '{"type": "user", "message": 1, "timestamp": 5}',
        '{"type": "user", "message": {"content": {"text": "x"}}, "timestamp": "yesterday"}',
        '{"type": "assistant", "message": {"content": [1, null, [], {"type": "tool_use", "id": 1, "input": 3}]}}',
        '{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": {}}]}}',
        '{"type": "response_item", "payload": []}',
        '{"type": "response_item", "payload": {"type": "function_call", "arguments": "{", "call_id": 1}}',
        '{"type": "response_item", "payload": {"type": "function_call_output", "output": "{"}}',
        '{"type": "response_item", "payload": {"type": "message", "role": "user", "content": {"a": 1}}}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "\ufffd\ufffd{",
        '{"timestamp": "9999-12-31T23:59:59-14:00", "type": "user", "message": {"content": []}}',
    ],
)
def test_invalid_lines_are_skipped(program: str, line: str) -> None:
    good = GOOD[program]().user("Go on.")
    assert heard(list(read_conversation(program, [line, *good.lines, line]).turns)) == [(Speaker.USER, "Go on.")]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["user", "text", "tool_use", "message"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "content", "text", "payload", "role", "id", "input", "name", "output"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(entries=st.lists(json_values | st.text(), max_size=6), program=st.sampled_from(sorted(READERS)))
def test_any_lines_are_parsed(entries: list[object], program: str) -> None:
    read_conversation(program, [json.dumps(entry) for entry in entries], of_subagent=True)


turns = st.builds(Turn, speaker=st.just(Speaker.USER), text=st.text("ab", min_size=1, max_size=9))


@given(said=st.lists(turns, max_size=6), characters=st.integers(0, 60))
def test_the_last_turns_are_the_end_of_the_conversation(said: list[Turn], characters: int) -> None:
    whole = Transcript(tuple(said))
    end = last_turns(whole, characters)
    text, kept = ("".join(turn.text for turn in some.turns) for some in (whole, end))
    expected = text[max(len(text) - characters, 0) :]
    assert expected.endswith(kept)
    assert "\n" in expected or kept == expected
    assert end.cut == (len(text) > characters)
