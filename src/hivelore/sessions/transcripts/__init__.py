"""The files in which agent programs keep their sessions, as turns.

Those formats are internal to the programs and change with every version. So nothing is required of a line: what is cut,
unknown or without anything said is passed over, and so is what was put into the conversation by us or by the program.
"""

from collections.abc import Iterable

from hivelore.core.values import replace
from hivelore.sessions.model import Transcript, Turn
from hivelore.sessions.transcripts import claude_code, codex, copilot, gemini
from hivelore.sessions.transcripts.entries import entries, is_ours, mapping, word

READERS = {
    "claude-code": claude_code.turns,
    "codex": codex.turns,
    "gemini": gemini.turns,
    "copilot": copilot.turns,
}
"""By program. What is in the file of another one is not known."""


def everything(program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False) -> Transcript:
    """What the lines of a file say. ``cut``: the file has more before them."""
    reader = READERS.get(program)
    return Transcript(() if reader is None else tuple(reader(lines, of_subagent)), cut)


def transcript(program: str, lines: Iterable[str], *, cut: bool = False, of_subagent: bool = False) -> Transcript:
    """The same without what our own tools were asked and answered."""
    return without_ours(everything(program, lines, cut=cut, of_subagent=of_subagent))


def without_ours(whole: Transcript) -> Transcript:
    return replace(whole, turns=tuple(turn for turn in whole.turns if turn.tool is None or not is_ours(turn.tool)))


def about(program: str, lines: Iterable[str]) -> tuple[str | None, str | None]:
    """The session that lines of a file are of, and the folder that it works in, as far as they tell."""
    session = folder = None
    for entry in entries(lines):
        told = mapping(entry.get("payload")) if program == "codex" else entry
        folder = folder or word(told.get("cwd")) or None
        session = session or word(told.get("id" if entry.get("type") == "session_meta" else "sessionId")) or None
        if session and folder:
            break
    return session, folder


def latest(whole: Transcript, characters: int) -> Transcript:
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
