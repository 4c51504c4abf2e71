"""The script of a fake language model: the lines of its prompt that begin with ``>>``.

    >> say The port is 5433.
    >> conclude Gur cbeg vf 5433.
    >> use Write {"file_path": "notes.md", "content": "..."}

One line is one turn. A prompt without such lines is answered with ``UNDERSTOOD``, and so is what comes after the last.
Where the lines would disturb, since hooks and transcripts have the prompt as well, they are given apart (``Scripts``).
"""

import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

UNDERSTOOD = "Understood."
SUMMARY = "Summary: the kettle is in the attic, and the work goes on there."
"""The answer to an agent program that wants its conversation summed up."""
_SUMMING_UP = ("create a detailed summary", "CONTEXT CHECKPOINT COMPACTION")
"""Words with which agent programs ask for that."""


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation: a text of a user or of a model, or a tool call."""

    who: Literal["user", "model"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Use:
    tool: str
    """Its name, or the end of it."""
    arguments: dict[str, Any]


Scripts = dict[str, str]
"""Lines by the prompt, which has none of its own."""


def next_step(conversation: Sequence[Said], scripts: Mapping[str, str]) -> Say | Use:
    """Returns the next step of the model. Raises ValueError for an unknown line."""
    for place in range(len(conversation) - 1, -1, -1):
        said = conversation[place]
        if said.who != "user":
            continue
        if any(words in said.text for words in _SUMMING_UP):
            return Say(SUMMARY)
        if steps := steps_of(scripts.get(said.text.strip(), said.text)):
            done = sum(later.who == "model" for later in conversation[place:])
            return steps[done] if done < len(steps) else Say(UNDERSTOOD)
    return Say(UNDERSTOOD)


def steps_of(prompt: str) -> list[Say | Use]:
    lines = map(str.strip, prompt.splitlines())
    return [_step(line.removeprefix(">>").strip()) for line in lines if line.startswith(">>")]


def _step(line: str) -> Say | Use:
    verb, _, rest = line.partition(" ")
    if verb == "say":
        return Say(rest)
    if verb == "conclude":
        return Say(codecs.decode(rest, "rot13"))
    tool, _, arguments = rest.partition(" ")
    if verb != "use" or not tool:
        raise ValueError(f"{line!r}: a step is '>> say TEXT', '>> conclude ROT13' or '>> use TOOL {{...}}'.")
    return Use(tool, json.loads(arguments or "{}"))


def conclude(text: str) -> str:
    """Returns the line of a prompt that makes the model say a text that the prompt does not contain."""
    return f">> conclude {codecs.encode(text, 'rot13')}"


def use(tool: str, **arguments: Any) -> str:
    """Returns the line of a prompt that makes the model call a tool."""
    return f">> use {tool} {json.dumps(arguments)}"


def full_name(tool: str, offered: Sequence[str]) -> str:
    """Returns the matching tool among those a request offers, or the name itself."""
    endings = [name for name in offered if name.replace("-", "_").endswith(tool.replace("-", "_"))]
    return min(endings, key=len, default=tool)
