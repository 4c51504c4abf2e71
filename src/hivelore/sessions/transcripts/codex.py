"""Transcripts of Codex: ``~/.codex/sessions/<year>/<month>/<day>/rollout-<date>-<session>.jsonl``."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from hivelore.sessions.model import Speaker, Tool, Turn
from hivelore.sessions.transcripts.entries import (
    Entry,
    as_mapping,
    as_text,
    join_texts,
    parse_entries,
    parse_instant,
    parse_tool,
    result_turn,
    spoken_turn,
)

_INSERTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill|INSTRUCTIONS|"
    r"collaboration_mode|user_shell_command|subagent_notification|hook_prompt)\b|# AGENTS\.md instructions)"
)
"""Beginnings of messages that the program writes in the name of the user."""
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_EXIT = re.compile(r"(?:Exit code:|exited with code|exit status:?)\s*(\d+)")
_HEAD = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Exit code|Process exited|Original token count|Total output lines)[^\n]*\n)+Output:\n"
)
_BEGINNING = 400


def turns(lines: Iterable[str], _of_subagent: bool) -> Iterator[Turn]:
    called: dict[str, Tool] = {}
    folder = ""
    for entry in parse_entries(lines):
        payload = as_mapping(entry.get("payload"))
        match entry.get("type"):
            case "session_meta" | "turn_context":
                folder = as_text(payload.get("cwd")) or folder
            case "response_item":
                yield from _item_turns(payload, parse_instant(entry.get("timestamp")), called, folder)
            case _:  # Early versions wrote items without an envelope.
                yield from _item_turns(entry, None, called, folder)


def _item_turns(item: Entry, at: datetime | None, called: dict[str, Tool], folder: str) -> Iterator[Turn]:
    kind, key = item.get("type"), as_text(item.get("call_id"))
    if kind == "message":
        text = join_texts(item.get("content"))
        match item.get("role"):
            case "user" if not _INSERTED.match(text):
                yield from spoken_turn(Speaker.USER, text, at)
            case "assistant":
                yield from spoken_turn(Speaker.ASSISTANT, text, at)
            case _:
                pass
    elif kind == "local_shell_call" or (kind in _CALLS and as_text(item.get("name"))):
        is_shell = kind == "local_shell_call"
        given = item.get("action") if is_shell else item.get("arguments", item.get("input"))
        used = called[key] = parse_tool("local_shell" if is_shell else as_text(item.get("name")), given, folder)
        yield Turn(speaker=Speaker.CALL, text="", tool=used, at=at)
    elif kind in _OUTPUTS and key in called:
        output, failed = _parse_output(item.get("output"))
        yield result_turn(called[key], output, at, failed=failed)


def _parse_output(value: object) -> tuple[str, bool]:
    """Returns the output of a tool, and True if the tool failed."""
    if isinstance(value, str) and value.startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    result = as_mapping(value)
    text = join_texts(result.get("output", result.get("content"))) if result else join_texts(value)
    code = as_mapping(result.get("metadata")).get("exit_code")
    if code is None and (shown := _EXIT.search(text[:_BEGINNING])):
        code = int(shown[1])
    return _HEAD.sub("", text), result.get("success") is False or code not in (None, 0)
