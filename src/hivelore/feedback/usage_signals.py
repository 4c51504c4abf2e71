"""Signs in a transcript that an agent used the memories it was given.

Words of a memory count only if nobody else said them before, and the agent did not say them before it was given the
memory. For an injected memory only commands and written files count, since agents repeat what is injected; copying it
into another memory does not count. For a memory that the agent searched for, its answers count too.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hivelore.feedback.recalls import Sign
from hivelore.folders.rules import PERSONAL, SHARED
from hivelore.memories.model import MemoryId
from hivelore.search.model import RecallId
from hivelore.search.tokenizer import distinct_terms
from hivelore.sessions.lessons.tool_use import analyze_tool_use
from hivelore.sessions.model import Speaker, Tool, ToolEffect, Turn
from hivelore.sessions.transcripts.entries import is_own_tool

RARE = 2.5
"""Minimum rarity (``search.tokenizer.rarity``) of a word that identifies a memory: it occurs in at most 7 % of the
chunks. A store with fewer than about 20 chunks has no such words."""
LEAST, MOST = 3, 12
"""Minimum number of such words in an action or answer. It grows with their number in the memory, up to ``MOST``."""
SHARE = 0.2
_NUMBER = 4
"""Minimum length of a word with a digit, such as a port or version, to count as this many words."""
_OURS = "hivelore"
_ID = re.compile(r"\b[0-9a-f]{8}[0-9a-f-]{0,28}\b")
"""An id, or the beginning of one, as injected lines show it."""
_RECALL = re.compile(r"recallId\W{1,6}([\w-]{4,40})")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMemory:
    """A memory that an agent was given in a session."""

    memory: MemoryId
    words: frozenset[str]
    """Its words, without those of the query."""
    shown_at: datetime | None = None
    """Time of its injection; None if it was not injected."""
    recalls: frozenset[RecallId] = frozenset()
    """Recalls of the agent that returned it."""


@dataclass(slots=True)
class ObservedUsage:
    """The use of one memory in a transcript."""

    given: GivenMemory
    open: set[str]
    """Its words that nobody has said so far."""
    is_given: bool = False
    is_asked_for: bool = False
    is_opened: bool = False
    is_cited: bool = False
    done: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Its words in each action."""
    said: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Its words in each answer."""

    @property
    def is_in_doubt(self) -> bool:
        """True if the sign depends on the rarity of its words."""
        return bool(self.done or self.said)

    def is_named(self, text: str, ids: Iterable[str]) -> bool:
        """Returns True if a text contains the id or a beginning of it. ``ids``: see ``_ids_in``."""
        return self.given.memory in text or any(map(self.given.memory.startswith, ids))

    def sign(self, rare: Collection[str]) -> Sign | None:
        """Returns the strongest sign. ``rare``: words that few memories have."""
        needed = min(max(LEAST, SHARE * len(self.given.words.intersection(rare))), MOST)
        if any(_weight(words.intersection(rare)) >= needed for words in self.done):
            return Sign.APPLIED
        if self.is_cited:
            return Sign.CITED
        if any(_weight(words.intersection(rare)) >= needed for words in self.said):
            return Sign.REPEATED
        return None


def recalls_in(turns: Iterable[Turn]) -> frozenset[RecallId]:
    """Returns the recalls that Hivelore's own tools answered."""
    return frozenset(recall for turn in turns for recall in _recalls(turn))


def observe_usage(turns: Iterable[Turn], given: Sequence[GivenMemory]) -> Mapping[MemoryId, ObservedUsage]:
    """Returns the use of each memory in a transcript that includes calls of Hivelore's own tools."""
    found = [ObservedUsage(one, set(one.words)) for one in given]
    for turn in turns:
        for one in found:
            shown_at = one.given.shown_at
            one.is_given |= shown_at is not None and (turn.at is None or turn.at >= shown_at)
        if turn.tool is not None and _is_memory_access(turn.tool):
            _observe_memory_access(turn, turn.tool.target.lower(), found)
        elif turn.speaker in (Speaker.USER, Speaker.RESULT):
            words = distinct_terms(turn.text)
            for one in found:
                one.open -= words
        else:
            _observe_agent_turn(turn, found)
    return {one.given.memory: one for one in found}


def _is_memory_access(tool: Tool) -> bool:
    """Returns True if the tool call reads or writes a memory."""
    on = tool.target.lower()
    if tool.effect is ToolEffect.WRITE:
        return any(f"{folder.path}/" in on for folder in (PERSONAL, SHARED))
    return is_own_tool(tool) or (tool.effect is ToolEffect.RUN and _OURS in on)


def _observe_memory_access(turn: Turn, on: str, found: Iterable[ObservedUsage]) -> None:
    recalls, ids = frozenset(_recalls(turn)), _ids_in(on)
    for one in found:
        if one.given.recalls & recalls:
            one.is_given = one.is_asked_for = True
        one.is_opened |= one.is_given and one.is_named(on, ids)


def _observe_agent_turn(turn: Turn, found: Iterable[ObservedUsage]) -> None:
    text = turn.text if turn.tool is None else f"{turn.tool.target}\n{turn.tool.written}"
    words, named = distinct_terms(text), text.lower()
    ids = _ids_in(named)
    for one in found:
        if not one.is_given:
            one.open -= words
            continue
        one.is_cited |= one.is_named(named, ids)
        same = words & one.open
        if same and turn.tool is not None and turn.tool.effect in (ToolEffect.RUN, ToolEffect.WRITE):
            one.done.append(same)
        elif same and turn.tool is None and one.is_asked_for:
            one.said.append(same)


def _ids_in(text: str) -> frozenset[str]:
    """Returns the ids in a text, and what could be the beginning of one."""
    return frozenset(_ID.findall(text))


def _recalls(turn: Turn) -> Iterable[RecallId]:
    if turn.speaker is Speaker.RESULT and turn.tool is not None and _is_memory_access(turn.tool):
        yield from (RecallId(found) for found in _RECALL.findall(turn.text))


def _weight(words: Iterable[str]) -> int:
    return sum(_NUMBER if len(word) >= _NUMBER and any(map(str.isdigit, word)) else 1 for word in words)


def session_outcome(turns: Sequence[Turn]) -> Sign | None:
    """Returns SUCCEEDED if checks passed and nothing is left that fails, FAILED if something does, None if unknown."""
    work = analyze_tool_use(turns)
    if any(not trouble.solved for trouble in work.failures):
        return Sign.FAILED
    return Sign.SUCCEEDED if work.passed_checks else None
