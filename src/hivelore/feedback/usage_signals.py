"""Whether what an agent was given was of use to it, as far as a conversation shows.

Only what follows from a memory counts: words that somebody else has said in the conversation before, or the agent
itself before it was given the memory, say nothing. What was put into the conversation unasked is there to be repeated,
so only what is done with it counts, in commands and files, and copying it into a memory is nothing done; an answer to
the agent's own question may also be told on.
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
"""How much a word says at least that tells a memory from others (``search.tokenizer.rarity``): one of 7 in a hundred
chunks. So a store with fewer than about 20 has no such words."""
LEAST, MOST = 3, 12
"""So many of them are in what was done or said at least; more of a memory that has more of them, up to ``MOST``."""
SHARE = 0.2
_NUMBER = 4
"""Characters that a word with a digit has at least to be worth as many others: a port, a version, a code."""
_OURS = "hivelore"
_RECALL = re.compile(r"recallId\W{1,6}([\w-]{4,40})")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenMemory:
    """A memory that an agent was given in a session."""

    memory: MemoryId
    words: frozenset[str]
    """That it says, without those of the question."""
    shown_at: datetime | None = None
    """When it was put into the conversation unasked."""
    recalls: frozenset[RecallId] = frozenset()
    """The agent's own questions that it was an answer to."""


@dataclass(slots=True)
class ObservedUsage:
    """What a conversation shows of one."""

    given: GivenMemory
    open: set[str]
    """Words that nobody else has said so far."""
    is_given: bool = False
    is_asked_for: bool = False
    is_opened: bool = False
    is_cited: bool = False
    done: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Its words in what was done, each time."""
    said: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Likewise in what was answered."""

    @property
    def is_in_doubt(self) -> bool:
        """Whether it has to be known which of its words are rare."""
        return bool(self.done or self.said)

    def sign(self, rare: Collection[str]) -> Sign | None:
        """The surest one; ``rare`` are those of its words that few memories have."""
        needed = min(max(LEAST, SHARE * len(self.given.words.intersection(rare))), MOST)
        if any(_weight(words.intersection(rare)) >= needed for words in self.done):
            return Sign.APPLIED
        if self.is_cited:
            return Sign.CITED
        if any(_weight(words.intersection(rare)) >= needed for words in self.said):
            return Sign.REPEATED
        return None


def recalls_in(turns: Iterable[Turn]) -> frozenset[RecallId]:
    """The recalls that our own tools have answered with."""
    return frozenset(recall for turn in turns for recall in _recalls(turn))


def observe_usage(turns: Iterable[Turn], given: Sequence[GivenMemory]) -> Mapping[MemoryId, ObservedUsage]:
    """What a conversation with our own tools in it shows of each."""
    found = [ObservedUsage(one, set(one.words)) for one in given]
    for turn in turns:
        for one in found:
            shown_at = one.given.shown_at
            one.is_given |= shown_at is not None and (turn.at is None or turn.at >= shown_at)
        if turn.tool is not None and _remembers(turn.tool):
            _of_ours(turn, turn.tool.target.lower(), found)
        elif turn.speaker in (Speaker.USER, Speaker.RESULT):
            words = distinct_terms(turn.text)
            for one in found:
                one.open -= words
        else:
            _of_agent(turn, found)
    return {one.given.memory: one for one in found}


def _remembers(tool: Tool) -> bool:
    """Whether it is for looking into a memory, or writing into one."""
    on = tool.target.lower()
    if tool.effect is ToolEffect.WRITE:
        return any(f"{folder.path}/" in on for folder in (PERSONAL, SHARED))
    return is_own_tool(tool) or (tool.effect is ToolEffect.RUN and _OURS in on)


def _of_ours(turn: Turn, on: str, found: Iterable[ObservedUsage]) -> None:
    recalls = frozenset(_recalls(turn))
    for one in found:
        if one.given.recalls & recalls:
            one.is_given = one.is_asked_for = True
        one.is_opened |= one.is_given and one.given.memory in on


def _of_agent(turn: Turn, found: Iterable[ObservedUsage]) -> None:
    text = turn.text if turn.tool is None else f"{turn.tool.target}\n{turn.tool.written}"
    words, named = distinct_terms(text), text.lower()
    for one in found:
        if not one.is_given:
            one.open -= words
            continue
        one.is_cited |= one.given.memory in named
        same = words & one.open
        if same and turn.tool is not None and turn.tool.effect in (ToolEffect.RUN, ToolEffect.WRITE):
            one.done.append(same)
        elif same and turn.tool is None and one.is_asked_for:
            one.said.append(same)


def _recalls(turn: Turn) -> Iterable[RecallId]:
    if turn.speaker is Speaker.RESULT and turn.tool is not None and _remembers(turn.tool):
        yield from (RecallId(found) for found in _RECALL.findall(turn.text))


def _weight(words: Iterable[str]) -> int:
    return sum(_NUMBER if len(word) >= _NUMBER and any(map(str.isdigit, word)) else 1 for word in words)


def session_outcome(turns: Sequence[Turn]) -> Sign | None:
    """How the work of a session ended: with checks that passed and nothing left that fails, or with something that
    does; None where nobody can tell."""
    work = analyze_tool_use(turns)
    if any(not trouble.solved for trouble in work.failures):
        return Sign.FAILED
    return Sign.SUCCEEDED if work.passed_checks else None
