"""The sessions of Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-<date>-<id>.jsonl``.

Each line is a message, which takes the place of an earlier one with the same id, or says what became of those before.
"""

import re
from collections.abc import Iterable, Iterator

from hivelore.sessions.model import Turn, Who
from hivelore.sessions.transcripts.entries import (
    Entry,
    answered,
    entries,
    instant,
    mapping,
    parts,
    said,
    texts,
    tool,
    word,
)

WRAPPED = re.compile(r"<(hook_context|session_context)>.*?(?:</\1>|\Z)", re.DOTALL)
"""What the program puts into prompts: what hooks have told it, and where it runs."""
_UNTRUSTED = re.compile(r"</?untrusted_context>\n?")
_EXIT = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE)


def turns(lines: Iterable[str], _of_subagent: bool) -> Iterator[Turn]:
    for message in _messages(lines):
        at, text = instant(message.get("timestamp")), texts(message.get("content"))
        if message.get("type") == "user":
            yield from said(Who.USER, WRAPPED.sub("", text), at)
            continue
        yield from said(Who.ASSISTANT, text, at)
        for part in parts(message.get("toolCalls")):
            call = mapping(part)
            used = tool(word(call.get("name")), call.get("args"), "")
            if used.name:
                ended = instant(call.get("timestamp"))
                output = _output(call)
                code = _EXIT.search(output)
                yield Turn(who=Who.CALL, text="", tool=used, at=at)
                yield answered(used, output, ended, failed=call.get("status") == "error" or _is_bad(code))


def _messages(lines: Iterable[str]) -> list[Entry]:
    found: dict[str, Entry] = {}
    for entry in entries(lines):
        back = entry.get("$rewindTo")
        if isinstance(back, str):
            ids = list(found)
            for gone in ids[ids.index(back) if back in found else 0 :]:
                del found[gone]
        elif entry.get("type") in ("user", "gemini") and word(entry.get("id")):
            found[word(entry.get("id"))] = entry
    return list(found.values())


def _output(call: Entry) -> str:
    """What a tool answered."""
    answers = (mapping(mapping(part).get("functionResponse")).get("response") for part in parts(call.get("result")))
    said = (mapping(answer).get("output") or mapping(answer).get("error") for answer in answers)
    return _UNTRUSTED.sub("", "\n".join(word(text) for text in said))


def _is_bad(code: re.Match[str] | None) -> bool:
    return code is not None and int(code[1]) != 0
