"""Nudge: whether an agent that learned something, and stored nothing, is asked for lessons when its turn ends."""

import re
from collections.abc import Sequence

from hivelore.core.agents import Interface
from hivelore.memories.model import Memory
from hivelore.observations.markers import remove_markers
from hivelore.sessions.agent_instructions import STORE
from hivelore.sessions.lessons.classifier import LessonClassifier
from hivelore.sessions.lessons.drawing import draw_lessons
from hivelore.sessions.lessons.tool_use import analyze_tool_use
from hivelore.sessions.model import AgentEvent, Session, Speaker, Turn

QUESTION = (
    f"Hivelore: if this session taught something new, store at most three lessons with `{STORE}`, each one fact that "
    "holds beyond this session, or none. Then finish; do not repeat your answer."
)
PROMPTS = 2
"""Newest prompts whose turns are searched for lessons: a correction is understood with the turn before it."""
MAX_TURNS = 24
"""Newest turns of user and agent that are searched."""
EVIDENCE = 1.0
"""Sum of odds (``Drawing.evidence``) from which an agent is asked. Less than for storing: a question costs little.
Chosen on the labelled sessions that train the classifier; ``docs/decisions/0013-capture.md`` has the figures."""
_STORING_CALL = re.compile(
    r'"name":\s*"[\w.-]{0,100}(?:memory[-_](?:store|edit|observe)|task[-_]complete|inject[-_]learning)"', re.ASCII
)
"""Call of a tool with which an agent writes to its memory, in a transcript. Programs add prefixes to the names."""


def may_ask(event: AgentEvent, session: Session, *, can_store: bool) -> bool:
    """Returns False if the agent is not to be asked, whatever the conversation contains. ``can_store``: the agent has
    the tool to store lessons."""
    return (
        can_store
        and event.accepts_nudge
        and not event.is_continuation
        and session.nudge_event is None
        and not session.progress.lessons
    )


def newest_turns(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Returns the turns that are searched for lessons."""
    spoken = [number for number, turn in enumerate(turns) if turn.tool is None]
    prompts = [number for number in spoken if turns[number].speaker is Speaker.USER]
    begins = [found[-most] for found, most in ((prompts, PROMPTS), (spoken, MAX_TURNS)) if len(found) > most]
    return turns[max(begins, default=0) :]


def calls_storing_tool(line: str) -> bool:
    """Returns True for a line of a transcript in which the agent calls a tool that stores something."""
    return _STORING_CALL.search(line) is not None


def writes_marker(turns: Sequence[Turn]) -> bool:
    """Returns True if the agent wrote a marker, which is stored."""
    return any(turn.speaker is Speaker.ASSISTANT and remove_markers(turn.text) != turn.text for turn in turns)


def shows_learning(turns: Sequence[Turn], classifier: LessonClassifier) -> bool:
    """Returns True if a conversation probably teaches something: by what user and agent say, such as a correction or a
    decision, or because a command failed and worked after a change."""
    drawing = draw_lessons(turns, classifier)
    if drawing.lessons or drawing.evidence >= EVIDENCE:
        return True
    return any(one.solved and (one.changed_files or one.commands) for one in analyze_tool_use(turns).failures)


def was_stored_by_owner(memory: Memory) -> bool:
    """Returns True if a memory was stored by the agent that owns it, or comes from a file in its folders. What hooks
    report counts only if it comes from a marker of the agent."""
    return memory.provenance.interface is not Interface.HOOK or memory.operational is not None
