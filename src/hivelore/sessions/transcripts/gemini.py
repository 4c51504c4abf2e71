"""Transcripts of Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-<date>-<id>.jsonl``.

Each line is a message, which replaces an earlier one with the same id, or a command such as ``$rewindTo``.
"""

import re
from collections.abc import Iterable, Iterator

from hivelore.sessions.model import Speaker, Turn
from hivelore.sessions.transcripts.entries import (
    Entry,
    as_list,
    as_mapping,
    as_text,
    join_texts,
    parse_entries,
    parse_instant,
    parse_tool,
    result_turn,
    spoken_turn,
)

INSERTED = re.compile(r"<(hook_context|session_context)>.*?(?:</\1>|\Z)", re.DOTALL)
"""Text that the program inserts into prompts: output of hooks, and facts about the session."""
_UNTRUSTED = re.compile(r"</?untrusted_context>\n?")
_EXIT = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE)


def turns(lines: Iterable[str], _of_subagent: bool) -> Iterator[Turn]:
    for message in _messages(lines):
        at, text = parse_instant(message.get("timestamp")), join_texts(message.get("content"))
        if message.get("type") == "user":
            yield from spoken_turn(Speaker.USER, INSERTED.sub("", text), at)
            continue
        yield from spoken_turn(Speaker.ASSISTANT, text, at)
        for part in as_list(message.get("toolCalls")):
            call = as_mapping(part)
            used = parse_tool(as_text(call.get("name")), call.get("args"), "")
            if used.name:
                ended = parse_instant(call.get("timestamp"))
                output = _output(call)
                code = _EXIT.search(output)
                failed = call.get("status") == "error" or (code is not None and int(code[1]) != 0)
                yield Turn(speaker=Speaker.CALL, text="", tool=used, at=at)
                yield result_turn(used, output, ended, failed=failed)


def _messages(lines: Iterable[str]) -> list[Entry]:
    found: dict[str, Entry] = {}
    for entry in parse_entries(lines):
        back = entry.get("$rewindTo")
        if isinstance(back, str):
            ids = list(found)
            for gone in ids[ids.index(back) if back in found else 0 :]:
                del found[gone]
        elif entry.get("type") in ("user", "gemini") and as_text(entry.get("id")):
            found[as_text(entry.get("id"))] = entry
    return list(found.values())


def _output(call: Entry) -> str:
    answers = (
        as_mapping(as_mapping(part).get("functionResponse")).get("response") for part in as_list(call.get("result"))
    )
    said = (as_mapping(answer).get("output") or as_mapping(answer).get("error") for answer in answers)
    return _UNTRUSTED.sub("", "\n".join(as_text(text) for text in said))
