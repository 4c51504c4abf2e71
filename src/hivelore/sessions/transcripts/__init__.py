"""Transcripts of agent programs, parsed into turns.

The formats are internal to the programs and change between versions. Lines that are cut, unknown or empty are skipped,
and so is text inserted by Hivelore or the program.
"""

from collections.abc import Iterable

from hivelore.core.redaction.excerpts import safe_start
from hivelore.core.values import replace
from hivelore.observations.markers import remove_markers
from hivelore.sessions.model import Transcript, Turn
from hivelore.sessions.transcripts import claude_code, codex, copilot, gemini
from hivelore.sessions.transcripts.entries import as_mapping, as_text, is_own_tool, parse_entries, shorten_turn

READERS = {
    "claude-code": claude_code.turns,
    "codex": codex.turns,
    "gemini": gemini.turns,
    "copilot": copilot.turns,
}
"""Parser by program. Transcripts of other programs are not parsed."""


def read_transcript(program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False) -> Transcript:
    """Parses the lines of a transcript. ``cut``: earlier lines are missing."""
    return shorten(read_with_margins(program, lines, cut=cut, of_subagent=of_subagent))


def read_with_margins(
    program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False
) -> Transcript:
    """Parses a transcript to be redacted. Call ``shorten`` afterwards."""
    reader = READERS.get(program)
    return Transcript(() if reader is None else tuple(reader(lines, of_subagent)), cut)


def shorten(whole: Transcript) -> Transcript:
    """Returns the transcript without the margins of its texts."""
    return replace(whole, turns=tuple(map(shorten_turn, whole.turns)))


def read_conversation(
    program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False
) -> Transcript:
    """Parses a transcript without calls of Hivelore's own tools."""
    return without_own_tools(read_transcript(program, lines, cut=cut, of_subagent=of_subagent))


def without_own_tools(whole: Transcript) -> Transcript:
    return replace(whole, turns=tuple(turn for turn in whole.turns if turn.tool is None or not is_own_tool(turn.tool)))


def without_markers(whole: Transcript) -> Transcript:
    """Returns the transcript without the markers in it, which are stored as observations, events and cooldowns."""
    turns = (replace(turn, text=remove_markers(turn.text)) for turn in whole.turns)
    return replace(whole, turns=tuple(turn for turn in turns if turn.tool is not None or turn.text.strip()))


def session_and_folder(program: str, lines: Iterable[str]) -> tuple[str | None, str | None]:
    """Returns the session and working folder named in the lines, if any."""
    session = folder = None
    for entry in parse_entries(lines):
        fields = as_mapping(entry.get("payload")) if program == "codex" else entry
        folder = folder or as_text(fields.get("cwd")) or None
        session = session or as_text(fields.get("id" if entry.get("type") == "session_meta" else "sessionId")) or None
        if session and folder:
            break
    return session, folder


def last_turns(whole: Transcript, characters: int) -> Transcript:
    """Returns the last turns with at most this many characters; the first may lose its beginning, with the rest of a
    line or of a private key."""
    kept: list[Turn] = []
    left = characters
    for turn in reversed(whole.turns):
        if turn.size > left:
            if turn.tool is None and left:
                kept.append(replace(turn, text=turn.text[safe_start(turn.text, len(turn.text) - left) :]))
            return Transcript(tuple(reversed(kept)), True)
        kept.append(turn)
        left -= turn.size
    return whole
