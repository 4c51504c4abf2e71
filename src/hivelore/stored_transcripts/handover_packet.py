"""Hand-over packet: what another agent needs to continue a session that it cannot resume (N09)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hivelore.core.sanitizer import sanitize
from hivelore.core.text import in_one_line
from hivelore.memories.summary import sentences
from hivelore.sessions.fence import fence_text
from hivelore.sessions.lessons.tool_use import analyze_tool_use
from hivelore.sessions.model import Speaker, Turn
from hivelore.stored_transcripts.model import StoredTranscript

MAX_GOAL = 2_000
MAX_PROGRESS = 2_000
MAX_LINE = 300
MAX_LINES = 10
"""Most lines of a list."""
MAX_FILES = 40
_DECIDED = re.compile(
    r"\b(decided|decision|chose|chosen|instead of|because|rather than|settled on|agreed|will use|trade-?off)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverPacket:
    """All texts are redacted and bounded. An empty one is unknown."""

    goal: str
    request: str
    """The latest request, if it is not the goal."""
    progress: str
    """The beginning of the last answer."""
    decisions: tuple[str, ...]
    files: tuple[str, ...]
    """Changed files, the most recently changed last."""
    last_error: str
    questions: tuple[str, ...]
    """Questions that nobody has answered."""
    notes: tuple[str, ...]
    """Memories of the session."""


def handover_packet(first: Sequence[Turn], last: Sequence[Turn], notes: Iterable[str] = ()) -> HandoverPacket:
    """Returns the packet of a session. ``first`` and ``last``: its first and last turns, redacted. Of a short session
    both are all of them."""
    asked = [turn.text for turn in last if turn.speaker is Speaker.USER]
    goal = next((turn.text for turn in first if turn.speaker is Speaker.USER), asked[0] if asked else "")
    request = asked[-1] if asked and asked[-1] != goal else ""
    answers = [turn for turn in last if turn.speaker is Speaker.ASSISTANT]
    work = analyze_tool_use(last)
    unsolved = [one for one in work.failures if not one.solved]
    return HandoverPacket(
        goal=_cut(goal, MAX_GOAL),
        request=_cut(request, MAX_GOAL),
        progress=_cut(answers[-1].text if answers else "", MAX_PROGRESS),
        decisions=_newest(line for turn in answers for line in _sentences(turn.text) if _DECIDED.search(line)),
        files=tuple(_cut(in_one_line(path), MAX_LINE) for path in work.files[-MAX_FILES:]),
        last_error=_cut(f"{unsolved[-1].command}: {unsolved[-1].error}", MAX_LINE) if unsolved else "",
        questions=_newest(_open_questions(last)),
        notes=tuple(_cut(in_one_line(note), MAX_LINE) for note in notes)[:MAX_LINES],
    )


def session_origin(of: StoredTranscript) -> str:
    """Returns the words that say of which session a packet is."""
    used = f"{of.last_used_at:%Y-%m-%d %H:%M} UTC"
    return f"Session {of.key.session} of the agent {of.owner} in {of.program}, last used {used}"


def format_packet(packet: HandoverPacket, origin: str, nonce: str, reported: str = "") -> str:
    """Returns the packet for a person or an agent. What was said in the session stands in a fence, as data. ``origin``:
    of what it is; ``reported``: what was reported of the task."""
    sections = (
        ("Task", [reported]),
        ("Goal", [packet.goal]),
        ("Latest request", [packet.request]),
        ("Progress", [packet.progress]),
        ("Decisions", _listed(packet.decisions)),
        ("Files changed", _listed(packet.files)),
        ("Last error", [packet.last_error]),
        ("Open questions", _listed(packet.questions)),
        ("Notes of the session", _listed(packet.notes)),
    )
    shown = [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections if any(lines)]
    if not shown:
        return f"# Hand-over\n\n{sanitize(origin)}. It has no conversation."
    body = fence_text(sanitize("\n\n".join(shown)), nonce)
    return f"# Hand-over\n\n{sanitize(origin)}.\n\n{body}"


def _open_questions(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields the questions of the answers since the last request."""
    since = next((place for place in range(len(turns), 0, -1) if turns[place - 1].speaker is Speaker.USER), 0)
    for turn in turns[since:]:
        if turn.speaker is Speaker.ASSISTANT:
            yield from (line for line in _sentences(turn.text) if line.endswith("?"))


def _sentences(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        line = in_one_line(sentence)
        if line:
            yield line


def _newest(lines: Iterable[str]) -> tuple[str, ...]:
    """Returns the last different lines, in order."""
    kept = dict.fromkeys(reversed([_cut(line, MAX_LINE) for line in lines]))
    return tuple(reversed(list(kept)[:MAX_LINES]))


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: most - 4].rstrip()} ..."
