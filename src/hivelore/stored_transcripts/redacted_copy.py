"""The copy of a conversation that others may read: its turns, without secrets and private text."""

from collections.abc import Callable, Iterable

from hivelore.core.values import replace
from hivelore.sessions.model import Tool, Transcript, Turn
from hivelore.sessions.programs import storable
from hivelore.sessions.transcripts import read_with_margins, shorten, without_markers, without_own_tools
from hivelore.stored_transcripts.model import ReadTurn

_MOST_NAME = 200
"""Most characters of the name of a tool."""


def redacted_turns(
    program: str, lines: Iterable[str], clean: Callable[[str], str], *, of_subagent: bool
) -> tuple[Turn, ...]:
    """Returns the turns in the lines of a transcript, redacted by ``clean`` and with long texts shortened."""
    found = read_with_margins(program, lines, of_subagent=of_subagent)
    tools: dict[object, Tool] = {}
    turns: list[Turn] = []
    for turn in without_own_tools(found).turns:
        if turn.tool is not None and turn.tool.call not in tools:
            name, target = clean(storable(turn.tool.name))[:_MOST_NAME], clean(storable(turn.tool.target))
            tools[turn.tool.call] = replace(turn.tool, name=name, target=target, written="", removed="")
        tool = None if turn.tool is None else tools[turn.tool.call]
        turns.append(replace(turn, text=clean(storable(turn.text)), tool=tool))
    return without_markers(shorten(Transcript(tuple(turns)))).turns


def read_turn(turn: Turn) -> ReadTurn:
    return ReadTurn(
        speaker=turn.speaker.value,
        text=turn.text,
        tool=None if turn.tool is None else turn.tool.name,
        target=None if turn.tool is None else turn.tool.target,
        failed=turn.failed,
        at=turn.at,
    )
