"""The files in which agent programs keep their sessions, as turns.

Those formats are internal to the programs and change with every version. So nothing is required of a line: what is cut,
unknown or without anything said is passed over, and so is what was put into the conversation by us or by the program.
"""

from collections.abc import Iterable
from dataclasses import replace

from hivelore.sessions.model import Transcript, Turn
from hivelore.sessions.transcripts import claude_code, codex, copilot, gemini
from hivelore.sessions.transcripts.entries import as_mapping, as_text, is_own_tool, parse_entries

READERS = {
    "claude-code": claude_code.turns,
    "codex": codex.turns,
    "gemini": gemini.turns,
    "copilot": copilot.turns,
}
"""By program. What is in the file of another one is not known."""


def read_transcript(program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False) -> Transcript:
    """What the lines of a file say. ``cut``: the file has more before them."""
    reader = READERS.get(program)
    return Transcript(() if reader is None else tuple(reader(lines, of_subagent)), cut)


def read_conversation(
    program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False
) -> Transcript:
    """The same without what our own tools were asked and answered."""
    return without_own_tools(read_transcript(program, lines, cut=cut, of_subagent=of_subagent))


def without_own_tools(whole: Transcript) -> Transcript:
    return replace(whole, turns=tuple(turn for turn in whole.turns if turn.tool is None or not is_own_tool(turn.tool)))


def session_and_folder(program: str, lines: Iterable[str]) -> tuple[str | None, str | None]:
    """The session that lines of a file are of, and the folder that it works in, as far as they tell."""
    session = folder = None
    for entry in parse_entries(lines):
        told = as_mapping(entry.get("payload")) if program == "codex" else entry
        folder = folder or as_text(told.get("cwd")) or None
        session = session or as_text(told.get("id" if entry.get("type") == "session_meta" else "sessionId")) or None
        if session and folder:
            break
    return session, folder


def last_turns(whole: Transcript, characters: int) -> Transcript:
    """The last turns, with at most so many characters in them; the first one may have lost its beginning."""
    kept: list[Turn] = []
    left = characters
    for turn in reversed(whole.turns):
        if turn.size > left:
            if turn.tool is None and left:
                kept.append(replace(turn, text=turn.text[-left:]))
            return Transcript(tuple(reversed(kept)), True)
        kept.append(turn)
        left -= turn.size
    return whole
