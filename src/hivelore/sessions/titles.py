"""Titles of stored sessions: the task, or the first words of the first prompt. Equal titles are told apart by time."""

from collections.abc import Iterable
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean, in_one_line
from hivelore.memories.model import Memory, Source
from hivelore.memories.summary import name_from_summary
from hivelore.search.model import Filter, Visibility
from hivelore.sessions.model import Speaker, SubAgent, Task, Transcript

TASK_LENGTH = 80
MAX_COMPARED = 100
"""Newest session summaries from which a name has to differ."""


def first_prompt(whole: Transcript) -> str:
    """Returns what the user said first; empty if nothing is known."""
    return next((turn.text for turn in whole.turns if turn.speaker is Speaker.USER), "")


def session_title(task: Task | None, prompt: str, point: str, subagent: SubAgent | None = None) -> str:
    """Returns the title of a session. ``point``: the first point of its summary, used without task and prompt. A
    sub-agent has a prompt of its own, and the task of its session."""
    about = in_one_line("" if task is None else task.text or task.id)[:TASK_LENGTH]
    asked = name_from_summary(in_one_line(prompt))
    return (asked or about if subagent is not None else about or asked) or name_from_summary(in_one_line(point))


def stored_sessions(agent: AgentId) -> Filter:
    """Returns the condition for the session summaries of an agent."""
    return Filter(visibility=Visibility(own=agent, swarm=False), source=Source.SESSION_SUMMARY)


def distinct_name(name: str, stored: Iterable[Memory], external_id: Clean, at: datetime) -> str:
    """Returns the name, with the time if another stored session has it. A stored session keeps its time."""
    others: set[str] = set()
    for memory in stored:
        if memory.external_id != external_id:
            others.add(memory.name)
        elif memory.name.startswith(f"{name} ("):
            return memory.name
    return f"{name} ({at:%Y-%m-%d %H:%M})" if name in others else name
