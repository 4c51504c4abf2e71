"""Small scripts in the place of an agent program."""

import json
import sys
from pathlib import Path
from typing import Any

SESSION = "b6121a09-f25c-4407-8b02-76df1be7ea76"


def script(folder: Path, body: str, name: str = "claude") -> Path:
    """Writes an executable Python script and returns its path."""
    file = folder / name
    file.write_text(f"#!{sys.executable}\nimport json, os, signal, subprocess, sys, time\n{body}\n")
    file.chmod(0o755)
    return file


def event(**fields: Any) -> str:
    """Returns the statement that prints an event."""
    return f"print({json.dumps(fields)!r}, flush=True)"


def began(session: str = SESSION) -> str:
    return event(type="system", subtype="init", session_id=session)


def says(text: str, session: str = SESSION) -> str:
    message = {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return event(type="assistant", message=message, session_id=session)


def answers(text: str, session: str = SESSION, cost: float = 0.25) -> str:
    usage = {"input_tokens": 100, "output_tokens": 20}
    fields = {"result": text, "session_id": session, "usage": usage, "total_cost_usd": cost}
    return event(type="result", subtype="success", is_error=False, **fields)
