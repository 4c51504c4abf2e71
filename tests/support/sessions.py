"""Sessions of agent programs for tests, as lines of the programs' own files."""

import json
from itertools import count
from typing import Any

from hivelore.sessions.model import EventId, SessionEnd
from support.clocks import START

FOLDER = "/home/ada/shop"
_numbers = count(1)


class ClaudeSession:
    """A session as Claude Code writes it."""

    def __init__(self, session: str = "s1", *, sidechain: bool = False, folder: str = FOLDER) -> None:
        self.lines: list[str] = []
        self._common: dict[str, Any] = {"sessionId": session, "cwd": folder, "isSidechain": sidechain}

    def line(self, kind: str, **more: Any) -> "ClaudeSession":
        number = next(_numbers)
        at = f"2026-03-01T12:{number // 60 % 60:02}:{number % 60:02}.000Z"
        self.lines.append(json.dumps({"type": kind, "uuid": f"u{number}", "timestamp": at, **self._common, **more}))
        return self

    def user(self, content: object, **more: Any) -> "ClaudeSession":
        return self.line("user", message={"role": "user", "content": content}, **more)

    def says(self, text: str) -> "ClaudeSession":
        parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
        return self.line("assistant", message={"role": "assistant", "content": parts})

    def uses(self, name: str, output: str = "", *, failed: bool = False, **given: Any) -> "ClaudeSession":
        """Adds a tool call and its result."""
        call = f"toolu_{next(_numbers)}"
        use = {"type": "tool_use", "id": call, "name": name, "input": given}
        self.line("assistant", message={"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": output}]}
        return self.user([{**result, "is_error": failed}])

    def runs(self, command: str, output: str = "", *, failed: bool = False) -> "ClaudeSession":
        return self.uses("Bash", output, failed=failed, command=command)

    def writes(self, path: str) -> "ClaudeSession":
        return self.uses("Edit", "ok", file_path=f"{FOLDER}/{path}", old_string="a", new_string="b")


class GeminiSession:
    """A session as Gemini CLI writes it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line(sessionId="s1", projectHash="b0dec", kind="main")

    def line(self, **entry: Any) -> "GeminiSession":
        self.lines.append(json.dumps(entry))
        return self

    def message(self, kind: str, content: object, number: int | None = None, **more: Any) -> "GeminiSession":
        number = next(_numbers) if number is None else number
        at = f"2026-03-01T12:{number // 60 % 60:02}:{number % 60:02}.000Z"
        self.line(id=f"m{number}", timestamp=at, type=kind, content=content, **more)
        return self.line(**{"$set": {"lastUpdated": at}})

    def user(self, *texts: str) -> "GeminiSession":
        return self.message("user", [{"text": text} for text in texts])

    def says(self, text: str) -> "GeminiSession":
        return self.message("gemini", text, thoughts=[])

    def uses(self, name: str, output: str, status: str = "success", **given: Any) -> "GeminiSession":
        """Adds a tool call whose result is repeated in the same message."""
        number = next(_numbers)
        answer = {"functionResponse": {"id": "c1", "name": name, "response": {"output": output}}}
        call = {"id": "c1", "name": name, "args": given, "result": [answer], "status": status}
        self.message("gemini", "", number)
        self.message("gemini", "", number, toolCalls=[call])
        return self.message("user", [answer])

    def runs(self, command: str, output: str, code: int) -> "GeminiSession":
        result = (
            f"<untrusted_context>\nOutput: {output}\nExit Code: {code}\nProcess Group PGID: 17\n</untrusted_context>"
        )
        return self.uses("run_shell_command", result, command=command)


class CopilotSession:
    """A session as GitHub Copilot CLI writes it; ``agent`` is a sub-agent's id."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.event("session.start", {"sessionId": "s1", "context": {"cwd": FOLDER}})

    def event(self, kind: str, data: object, agent: str | None = None) -> "CopilotSession":
        at = f"2026-03-01T12:{next(_numbers) % 60:02}:00.000Z"
        whose = {} if agent is None else {"agentId": agent}
        self.lines.append(json.dumps({"type": kind, "data": data, **whose, "timestamp": at}))
        return self

    def user(self, text: str, **more: str) -> "CopilotSession":
        return self.event("user.message", {"content": text, "transformedContent": f"<now/>{text}", **more})

    def says(self, text: str, agent: str | None = None) -> "CopilotSession":
        return self.event("assistant.message", {"content": text, "toolRequests": []}, agent)

    def uses(self, name: str, output: str, code: int = 0, server: str = "", **given: Any) -> "CopilotSession":
        call = f"toolu_{next(_numbers)}"
        start = {"toolCallId": call, "toolName": name, "arguments": given, "mcpServerName": server}
        self.event("tool.execution_start", start)
        done = {
            "toolCallId": call,
            "success": True,
            "result": {"content": output},
            "shellExecution": {"exitCode": code},
        }
        return self.event("tool.execution_complete", done)


class CodexSession:
    """A session as Codex writes it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.line("session_meta", {"id": "s1", "cwd": FOLDER, "cli_version": "0.169.0"})

    def line(self, kind: str, payload: object) -> "CodexSession":
        at = f"2026-03-01T12:{next(_numbers) % 60:02}:00.000Z"
        self.lines.append(json.dumps({"timestamp": at, "type": kind, "payload": payload}))
        return self

    def item(self, item: object) -> "CodexSession":
        return self.line("response_item", item)

    def user(self, text: str) -> "CodexSession":
        self.item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        return self.line("event_msg", {"type": "user_message", "message": text, "kind": "plain"})

    def says(self, text: str) -> "CodexSession":
        self.item({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"})
        return self.item({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})

    def runs(self, command: str, output: str = "", code: int = 0) -> "CodexSession":
        call = f"call_{next(_numbers)}"
        given = json.dumps({"cmd": command, "workdir": FOLDER})
        self.item({"type": "function_call", "name": "exec_command", "arguments": given, "call_id": call})
        result = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"
        return self.item({"type": "function_call_output", "call_id": call, "output": result})

    def patches(self, patch: str) -> "CodexSession":
        call = f"call_{next(_numbers)}"
        self.item({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": call})
        result = json.dumps({"output": "Success. Updated the following files:", "metadata": {"exit_code": 0}})
        return self.item({"type": "custom_tool_call_output", "call_id": call, "output": result})


def a_fix() -> ClaudeSession:
    """Returns a session with a lesson."""
    return (
        ClaudeSession()
        .user("The checkout test fails, please have a look.")
        .says("I'll run it first.")
        .runs(
            "cd /home/ada/shop && pytest tests/test_checkout.py -q", "E   KeyError: 'currency'\n1 failed", failed=True
        )
        .says("The root cause is that carts from before March have no currency field.")
        .writes("shop/cart.py")
        .user("No, use the currency of the customer instead of EUR.")
        .writes("shop/cart.py")
        .runs("pytest tests/test_checkout.py -q", "1 passed in 0.31s")
        .says("Old carts now take the currency of their customer. The checkout test passes.")
    )


def an_end(transcript: object = None, **more: Any) -> SessionEnd:
    """Returns the end of session s1, each with a unique event id."""
    given: dict[str, Any] = {
        "id": EventId(f"e{next(_numbers):05}"),
        "program": "claude-code",
        "session": "s1",
        "at": START,
    }
    given["transcript"] = None if transcript is None else str(transcript)
    return SessionEnd(**given | more)
