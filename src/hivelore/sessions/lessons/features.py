"""Features of statements: what the classifier reads of a sentence, its turn and its neighbours."""

import re
from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from hivelore.sessions.lessons.cues import CUES
from hivelore.sessions.lessons.statements import Statement
from hivelore.sessions.model import Speaker, ToolEffect, Turn

Features = NDArray[np.float32]
"""One row for each statement, or for each pair."""
Odds = NDArray[np.float32]
"""A probability for each statement, or for each pair."""
_READ = 600
"""Characters of a turn that its features describe."""
_NAME = regex.compile(
    r"`[^`]+`|\b\w+[_./:-]\w[\w./:-]*|\b[a-z]+[A-Z]\w*|--\w[\w-]*|\b[A-Z]{2,}[\w-]*\b",
)
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_CHANGING = re.compile(r"sed -i|git (?:commit|push|revert|checkout)|>>|mv |rm |apply|install|chmod|cp ")
"""Commands that change something."""
_CJK = 0x2E80
_SHAPE = 13
OWN = len(CUES) + _SHAPE
"""Number of features of a text alone; they come first in a row."""
_AFTER = 6
"""Turns after a statement, and before, whose changes and failures count."""


def describe_text(text: str) -> Features:
    """Returns the features of a text without its context."""
    count = len(_WORD.findall(text))
    cues = [cue.search(text) is not None for cue in CUES.values()]
    shape = [
        np.log1p(count) / 3,
        count < 4,
        count > 25,
        text.rstrip().endswith(("?", "？")),
        text.rstrip().endswith("!"),
        min(len(_NAME.findall(text)), 5) / 3,
        min(len(_NUMBER.findall(text)), 5) / 3,
        "`" in text,
        "→" in text or "->" in text,
        ":" in text,
        "(" in text,
        text[:1].islower(),
        any(ord(one) > _CJK for one in text),
    ]
    return np.array([*cues, *shape], np.float32)


def describe(turns: Sequence[Turn], statements: Sequence[Statement]) -> Features:
    """Returns the features of the statements of these turns, a row each."""
    spoken = [number for number, turn in enumerate(turns) if turn.tool is None]
    position = {number: place for place, number in enumerate(spoken)}
    of_turn = {number: describe_text(turns[number].text[:_READ]) for number in spoken}
    changes = [_changes(turn) for turn in turns]
    failures = [turn.speaker is Speaker.RESULT and turn.failed for turn in turns]
    sizes = np.bincount([one.turn for one in statements], minlength=len(turns))
    own = [describe_text(one.text) for one in statements]
    nothing = np.zeros(OWN, np.float32)
    rows: list[Features] = []
    for row, one in enumerate(statements):
        number, place = one.turn, position[one.turn]
        is_user = one.speaker is Speaker.USER
        before = spoken[place - 1] if place else None
        after = spoken[place + 1] if place + 1 < len(spoken) else None
        later = spoken[place + 2] if place + 2 < len(spoken) else None
        work_before = slice(0 if before is None else before + 1, number)
        work_after = slice(number + 1, after)
        context = [
            is_user,
            not is_user,
            place == 0,
            place == 1,
            after is None,
            min(place, 12) / 6,
            sizes[number] / 3,
            np.log1p(len(turns[number].text)) / 5,
            any(changes[work_after]),
            any(changes[work_before]),
            any(failures[work_before]),
            any(failures[work_after]),
            any(changes[:number]),
            any(failures[max(0, number - _AFTER) : number]),
            work_before.stop > work_before.start,
            len(turns[work_after]) > 0,
            any(changes[number : number + _AFTER]),
            before is not None and turns[before].speaker is Speaker.USER,
            after is not None and turns[after].speaker is Speaker.USER,
        ]
        around = np.concatenate(
            [
                np.array(context, np.float32),
                *(nothing if other is None else of_turn[other] for other in (before, after, later)),
            ]
        )
        is_first = row == 0 or statements[row - 1].turn != number
        is_last = row + 1 == len(statements) or statements[row + 1].turn != number
        rows.append(
            np.concatenate(
                [
                    own[row],
                    own[row] * is_user,
                    around,
                    around * is_user,
                    nothing if is_first else own[row - 1],
                    nothing if is_last else own[row + 1],
                    np.array([is_first, is_last, one.place / 5], np.float32),
                ]
            )
        )
    return np.array(rows, np.float32)


def describe_neighbours(statements: Sequence[Statement], odds: Odds) -> Features:
    """Returns what a first estimate says of each statement and of those around it."""
    best: dict[int, float] = {}
    for one, share in zip(statements, odds, strict=True):
        best[one.turn] = max(best.get(one.turn, 0.0), float(share))
    order = sorted(best)
    place_of = {number: place for place, number in enumerate(order)}
    rank = np.searchsorted(np.sort(odds), odds, side="right") / max(len(odds), 1)
    rows: list[list[float]] = []
    for row, one in enumerate(statements):
        place = place_of[one.turn]
        near = [best[order[place + step]] if 0 <= place + step < len(order) else 0.0 for step in (-1, 1, -2, 2)]
        is_first = row == 0 or statements[row - 1].turn != one.turn
        is_last = row + 1 == len(statements) or statements[row + 1].turn != one.turn
        left = 0.0 if is_first else float(odds[row - 1])
        right = 0.0 if is_last else float(odds[row + 1])
        rows.append([float(odds[row]), left, right, best[one.turn], *near, float(rank[row])])
    return np.array(rows, np.float32)


def _changes(turn: Turn) -> bool:
    """Returns True for a call that changes files or settings."""
    tool = turn.tool
    if tool is None or turn.speaker is not Speaker.CALL:
        return False
    return tool.effect is ToolEffect.WRITE or (
        tool.effect is ToolEffect.RUN and _CHANGING.search(tool.target) is not None
    )
