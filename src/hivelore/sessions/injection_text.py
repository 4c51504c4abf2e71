"""What a model is told without having asked: how memories read in there, and how much of it has room."""

from collections.abc import Sequence
from dataclasses import dataclass

from hivelore.core.sanitizer import harmless
from hivelore.core.text import Harmless
from hivelore.core.token_count import estimate
from hivelore.memories.model import Memory
from hivelore.search.model import RecallId
from hivelore.sessions.fence import fenced

MAX_CHARACTERS = 9_500
"""Claude Code shows no more than 10,000 of what one hook says; the fence takes its part."""
MAX_OPERATIONAL_CHARACTERS = 6_000
"""Characters, of these, that what is known about running things may take, whatever its budget: the rest is for the task
and for what else there is."""
MAX_WHOLE_CHARACTERS = 700
"""Characters of a memory that is shown whole."""


@dataclass(frozen=True, slots=True)
class Note:
    """A memory and what of it is shown."""

    memory: Memory
    text: str
    recall: RecallId | None = None
    """That gave it."""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    notes: Sequence[Note]
    text: str = ""
    """What stands there besides; it counts, and is there at any rate."""


@dataclass(frozen=True, slots=True)
class Injection:
    text: str | None
    """None: there is nothing to tell."""
    notes: Sequence[Note]


NO_INJECTION = Injection(None, ())


def excerpt(memory: Memory) -> Note:
    """A memory nobody asked for in particular: all of it where it is short, else what it is about."""
    whole = memory.content if len(memory.content) <= MAX_WHOLE_CHARACTERS else memory.summary
    return Note(memory, whole.strip())


def environment_line(what: str) -> Harmless:
    """What an agent is told of its environment, in front of all else (C21); empty where there is nothing to tell."""
    return harmless(f"Environment: {what}" if what else "")


def compose(sections: Sequence[Section], tokens: int, nonce: str, before: Injection = NO_INJECTION) -> Injection:
    """The sections within a fence, with as many notes, in their order, as have room in a number of tokens: one that is
    too long for the rest is left out. A section without anything has no heading. ``before``: what stands there first,
    at any rate, and is told with the rest; it takes room, and no tokens. ``nonce``: see ``fenced``."""
    left, room = tokens, MAX_CHARACTERS - len(before.text or "")
    parts = [before.text] if before.text else []
    told = list(before.notes)
    for section in sections:
        lines: list[str] = [harmless(section.text)] if section.text else []
        for note in section.notes:
            line = harmless(_line(note))
            if estimate(line) <= left and len(line) < room:
                lines.append(line)
                told.append(note)
                left, room = left - estimate(line), room - len(line) - 1
        if lines:
            part = "\n".join((f"## {section.heading}", *lines))
            parts.append(part)
            room -= len(section.heading) + len(section.text) + 5
    return Injection(fenced(harmless("\n\n".join(parts)), nonce) if parts else None, told)


def _line(note: Note) -> str:
    """Like ``- [2026-11-03] Ports: 8443 is taken by the proxy.``, with further lines under it."""
    memory = note.memory
    named = not note.text.startswith(memory.name.rstrip("…"))
    text = f"{memory.name}: {note.text}" if named else note.text
    more = "" if len(note.text) >= len(memory.content.strip()) else f" (in full: memory-get {memory.id})"
    return f"- [{memory.updated_at:%Y-%m-%d}] {text}{more}".replace("\n", "\n  ")
