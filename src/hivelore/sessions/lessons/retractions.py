"""Retractions: what describes that a later turn takes back an earlier statement.

A pair of turn and statement is described by the words of the turn, by what both share, and by the work after each of
them: whoever takes back a decision often undoes its change, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import regex

from hivelore.sessions.lessons.cues import CUES, INSTRUCTION, RETRACTION, REVISIONS, STANDING
from hivelore.sessions.lessons.features import Features, Odds
from hivelore.sessions.lessons.information import content_terms
from hivelore.sessions.lessons.statements import Statement
from hivelore.sessions.model import Speaker, ToolEffect, Turn

_WORD = regex.compile(r"[\p{L}\p{N}_][\p{L}\p{N}_.:/-]*")
_REPLACED = re.compile(r"\bs([/|#,])(?P<old>(?:\\.|(?!\1)[^\\])+)\1(?P<new>(?:\\.|(?!\1)[^\\])*)\1")
"""What sed replaces."""
_UNDONE = re.compile(r"\bgit (?:checkout|restore|revert|reset)\b|\brm\b")
_TURN_CUES = ("rejection", "decision", "alternative", "negation")
_BEARING = 0.4
"""Odds of a statement that may be what a turn takes back."""
_READ = 600
"""Characters of a turn that are read."""
_FAR = 6
_MANY = 3


@dataclass(frozen=True, slots=True)
class Change:
    """What calls have changed, as words in lower case."""

    added: frozenset[str]
    removed: frozenset[str]
    named: frozenset[str]
    """Changed files, and words of commands."""
    is_undoing: bool


def describe_pairs(
    turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds, pairs: Sequence[tuple[int, int]]
) -> Features:
    """Returns a row for each pair of the number of a later turn and that of an earlier statement."""
    conversation = _Conversation(turns, statements, odds)
    return np.array([conversation.describe(later, row) for later, row in pairs], np.float32)


def change_of(turns: Sequence[Turn]) -> Change:
    """Returns what the calls among these turns have changed."""
    added, removed, named = set[str](), set[str](), set[str]()
    is_undoing = False
    for turn in turns:
        tool = turn.tool
        if tool is None or turn.speaker is not Speaker.CALL:
            continue
        pieces: list[tuple[str, str]] = []
        if tool.effect is ToolEffect.WRITE:
            pieces = [(tool.written, tool.removed)]
            named.update(filter(None, tool.target.lower().split("\n")))
        elif tool.effect is ToolEffect.RUN:
            pieces = [(found["new"], found["old"]) for found in _REPLACED.finditer(tool.target)]
            named |= _words(tool.target)
            is_undoing = is_undoing or _UNDONE.search(tool.target) is not None
        for new, old in pieces:
            added |= _words(new) - _words(old)
            removed |= _words(old) - _words(new)
    return Change(frozenset(added), frozenset(removed), frozenset(named - added - removed), is_undoing)


class _Turn:
    """A spoken turn, and what is known of it alone."""

    def __init__(self, turn: Turn, work: Sequence[Turn]) -> None:
        self.is_user = turn.speaker is Speaker.USER
        self.text = turn.text[:_READ]
        self._work = work

    @cached_property
    def terms(self) -> frozenset[str]:
        return content_terms(self.text)

    @cached_property
    def change(self) -> Change:
        """What the calls after the turn change, up to the next prompt."""
        return change_of(self._work)

    @cached_property
    def retracted(self) -> frozenset[str]:
        """Terms that name what is taken back."""
        return content_terms(" ".join(found["what"] or "" for found in RETRACTION.finditer(self.text)))

    @cached_property
    def features(self) -> list[float]:
        return [
            *(cue.search(self.text) is not None for cue in REVISIONS.values()),
            *(CUES[name].search(self.text) is not None for name in _TURN_CUES),
            RETRACTION.search(self.text) is not None,
            min(len(self.terms), 40) / 10,
            self.text.rstrip().endswith(("?", "？")),
            self.is_user,
            self.change.is_undoing,
            bool(self.change.added or self.change.named),
        ]


class _Conversation:
    def __init__(self, turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds) -> None:
        self._turns, self._statements, self._odds = turns, statements, odds
        self._spoken = [number for number, turn in enumerate(turns) if turn.tool is None]
        self._place = {number: place for place, number in enumerate(self._spoken)}
        self._prompts = [number for number in self._spoken if turns[number].speaker is Speaker.USER]
        self._known: dict[int, _Turn] = {}
        self._best: dict[int, float] = {}
        for one, share in zip(statements, odds, strict=True):
            self._best[one.turn] = max(self._best.get(one.turn, 0.0), float(share))

    def describe(self, later: int, row: int) -> list[float]:
        """Returns the features of a pair."""
        one, turn = self._statements[row], self._turn(later)
        before, reply, agreed = self._beside(later, -1), self._beside(later, 1), self._beside(one.turn, 1)
        terms = content_terms(one.text)
        shared = terms & turn.terms
        done, undone = self._turn(one.turn).change, turn.change
        prompts = sum(one.turn < prompt < later for prompt in self._prompts)
        bearing = sum(one.turn < number < later and best >= _BEARING for number, best in self._best.items())
        distance = self._place[later] - self._place[one.turn]
        return [
            *turn.features,
            bool(turn.retracted & terms),
            bool(turn.retracted - terms),
            _share(turn.retracted & terms, turn.retracted),
            _share(turn.retracted & terms, turn.retracted) == 1.0 and turn.is_user,
            STANDING.search(one.text) is not None or INSTRUCTION.search(one.text) is not None,
            min(len(shared), 4) / 2,
            _share(shared, terms),
            _share(shared, turn.terms),
            sum(any(map(str.isdigit, term)) for term in shared),
            0.0 if reply is None else _share(terms & reply.terms, terms),
            0.0 if before is None else _share(terms & before.terms, terms),
            self._best.get(later, 0.0),
            float(self._odds[row]),
            one.speaker is Speaker.USER,
            agreed is not None and CUES["acceptance"].search(agreed.text) is not None,
            min(distance, _FAR) / _FAR,
            distance == 1,
            min(prompts, _MANY) / _MANY,
            bearing == 0,
            min(bearing, _MANY) / _MANY,
            _share(done.added & undone.removed, done.added),
            _share(undone.removed & (done.added | terms), undone.removed),
            _share(done.removed & undone.added, done.removed),
            bool(done.named & undone.named),
            any(turn.failed for turn in self._turns[one.turn : later]),
            before is not None and REVISIONS["problem"].search(before.text) is not None,
            reply is not None and REVISIONS["back"].search(reply.text) is not None,
        ]

    def _turn(self, number: int) -> _Turn:
        if number not in self._known:
            end = next((prompt for prompt in self._prompts if prompt > number), len(self._turns))
            self._known[number] = _Turn(self._turns[number], self._turns[number + 1 : end])
        return self._known[number]

    def _beside(self, number: int, step: int) -> _Turn | None:
        place = self._place[number] + step
        return self._turn(self._spoken[place]) if 0 <= place < len(self._spoken) else None


def _words(text: str) -> frozenset[str]:
    return frozenset(one.lower().rstrip(".:-/") for one in _WORD.findall(text))


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part) / len(whole) if whole else 0.0
