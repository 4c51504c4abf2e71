"""Drawing lessons from a conversation: which statements belong together, what kind of lesson they are, and which
earlier lessons a later turn takes back."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hivelore.core.values import replace
from hivelore.memories.summary import name_from_summary
from hivelore.sessions.lessons.classifier import LessonClassifier, Odds
from hivelore.sessions.lessons.cues import ADVICE, CONSENT, CUES, INSTRUCTION, RETRACTION, STANDING
from hivelore.sessions.lessons.information import content_terms
from hivelore.sessions.lessons.statements import Statement, statements_of
from hivelore.sessions.lessons.tool_use import analyze_tool_use
from hivelore.sessions.model import Lesson, LessonKind, Speaker, Transcript, Turn

WINDOW = 60
"""Newest turns of user and agent that are read."""
MAX_OUTPUT = 2_000
"""Characters of a tool output that are read."""
LEAST = 0.1
"""Odds of a statement that becomes part of a lesson."""
ANCHOR = 0.4
"""Odds that one statement of each lesson reaches."""
COUNTED = 4
"""Statements of a session whose odds are added up."""
EVIDENCE = 1.75
"""Sum of these odds from which a session teaches something. In cross-validation 5 % of the sessions without lessons
reach 1.47. The rest leaves room for the rules, which add to them."""
_NEAR = 2
"""Turns of user and agent between two statements of one lesson, at most."""
_LENGTH = 700
"""Characters of the statements of a lesson."""
_POINTERS = frozenset(["said", "rule", "thing", "things", "stuff", "idea", "plan"])
"""Words that only point to what is taken back."""
_CONTEXT = 120
_NO_STATEMENT = ("?", "？", "!", "！")
"""Ends of questions, and of what is said in jest."""
_SUBJECT = 3
"""Different words of a prompt that names a subject."""
_AFTER = 8
"""Turns after a lesson begins in which its changed files and commands are."""
_SHARED = 2
"""Words that a retraction without an object shares with what it takes back; numbers count twice."""
_DECISIVE = 100
"""Weight of the words that name what is taken back, against all others."""


@dataclass(frozen=True, slots=True)
class Drawing:
    lessons: tuple[Lesson, ...]
    """In the order of their first statements."""
    retracted: tuple[Lesson, ...]
    """Drawn lessons that a later turn of the same conversation takes back."""
    retractions: tuple["Retraction", ...]
    """What a user takes back that is none of these lessons. It may be an earlier one."""
    statements: Mapping[str, int]
    """Turn of each statement, by ``statement_key``."""
    evidence: float
    """Sum of the ``COUNTED`` highest odds."""


@dataclass(frozen=True, slots=True)
class Retraction:
    turn: int
    what: str
    """What the user takes back; empty if other words say it."""
    said: str
    """The whole turn, with what the agent said before."""

    def concerns(self, text: str) -> int:
        """Returns how strongly it concerns a lesson; 0 if it does not."""
        terms = content_terms(text)
        named, shared = _weight(terms & content_terms(self.what)), _weight(terms & content_terms(self.said))
        if self.what:
            return _DECISIVE * named + shared if named else 0
        return shared if shared >= _SHARED else 0


def spoken_end(whole: Transcript) -> Transcript:
    """Returns the newest turns with at most ``WINDOW`` of user and agent, with the beginnings of tool outputs."""
    spoken = [number for number, turn in enumerate(whole.turns) if turn.tool is None]
    begin = spoken[-WINDOW] if len(spoken) > WINDOW else 0
    turns = (replace(turn, text=turn.text[:MAX_OUTPUT]) if turn.tool else turn for turn in whole.turns[begin:])
    return replace(whole, turns=tuple(turns), cut=whole.cut or begin > 0)


def draw_lessons(turns: Sequence[Turn], classifier: LessonClassifier, *, has_taught: bool = False) -> Drawing:
    """Draws the lessons of a conversation. ``has_taught``: the session taught something in earlier turns."""
    statements = statements_of(turns)
    odds = classifier.odds(turns, statements)
    evidence = float(np.sort(odds)[-COUNTED:].sum())
    taught = has_taught or evidence >= EVIDENCE
    retractions = _retractions(turns)
    groups = _groups(turns, statements, odds, {one.turn for one in retractions})
    bearing = {one.turn for one, share in zip(statements, odds, strict=True) if share >= LEAST}
    passed = [group for group in groups if taught and odds[group].max() >= ANCHOR]
    drawn = {row for group in passed for row in group}
    passed = sorted(
        [*passed, *(group for group in _explicit(turns, statements, odds) if not drawn.intersection(group))]
    )
    kept: dict[int, Lesson] = {
        number: _lesson(turns, statements, group, odds, bearing) for number, group in enumerate(passed)
    }
    retracted: list[Lesson] = []
    unknown: list[Retraction] = []
    for one in retractions:
        found = retracted_by(one, [lesson for lesson in kept.values() if lesson.last_turn < one.turn])
        if found is None:
            unknown.append(one)
            continue
        number = next(number for number, lesson in kept.items() if lesson is found)
        passed[number] = _without(turns, statements, passed[number], one)
        retracted.append(kept.pop(number))
        if passed[number] and odds[passed[number]].max() >= ANCHOR:
            kept[number] = _lesson(turns, statements, passed[number], odds, bearing)
    lessons = tuple(kept[number] for number in sorted(kept))
    keys = {statement_key(one.text): one.turn for one in statements}
    return Drawing(lessons, tuple(retracted), tuple(unknown), keys, evidence)


def retracted_by(retraction: Retraction, lessons: Sequence[Lesson]) -> Lesson | None:
    """Returns the lesson that a retraction takes back, if any: the one that it concerns most, of equals the last."""
    found = max(reversed(lessons), key=lambda one: retraction.concerns(one.text), default=None)
    return found if found is not None and retraction.concerns(found.text) else None


def statement_key(text: str) -> str:
    """Returns a short digest by which a statement is found again."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _groups(
    turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds, breaks: Collection[int]
) -> list[list[int]]:
    """Returns the statements of each lesson. A turn in ``breaks`` begins a new lesson."""
    place = _places(turns)
    groups: list[list[int]] = []
    size = 0
    for row, one in enumerate(statements):
        if odds[row] < LEAST:
            continue
        last = statements[groups[-1][-1]] if groups else None
        if (
            last is not None
            and place[one.turn] - place[last.turn] <= _NEAR
            and size + len(one.text) <= _LENGTH
            and not any(last.turn < number <= one.turn for number in breaks)
        ):
            groups[-1].append(row)
            size += len(one.text)
        else:
            groups.append([row])
            size = len(one.text)
    return groups


def _without(
    turns: Sequence[Turn], statements: Sequence[Statement], group: Sequence[int], retraction: Retraction
) -> list[int]:
    """Returns the statements that are neither taken back nor in a turn beside one that is."""
    place = _places(turns)
    about = retraction.what or retraction.said
    gone = {place[statements[row].turn] for row in group if content_terms(about) & content_terms(statements[row].text)}
    return [row for row in group if not any(abs(place[statements[row].turn] - one) <= 1 for one in gone)]


def _explicit(turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds) -> Iterator[list[int]]:
    """Yields the statements of what a user tells the agent to do from now on, or agrees to. Other statements of the
    same turn come along if they are likely to bear a lesson."""
    taken = set[int]()
    for row, one in enumerate(statements):
        if one.speaker is Speaker.USER:
            if INSTRUCTION.search(one.text) and not one.text.endswith(_NO_STATEMENT):
                turn = (number for number, other in enumerate(statements) if other.turn == one.turn)
                likely = [number for number in turn if odds[number] >= ANCHOR]
                beside = [it for it in likely if it not in taken and not INSTRUCTION.search(statements[it].text)]
                taken.update(beside)
                yield sorted({row, *beside})
        elif ADVICE.search(one.text) and not one.text.endswith(_NO_STATEMENT):
            answer = _answer(turns, one.turn)
            if answer is not None and CONSENT.search(turns[answer].text):
                said = [number for number, other in enumerate(statements) if other.turn == answer]
                yield [row, *said]


def _has_standing_word(said: Sequence[Statement]) -> bool:
    """Returns True if a user says something that holds until further notice."""
    return any(
        one.speaker is Speaker.USER and (STANDING.search(one.text) or INSTRUCTION.search(one.text)) for one in said
    )


def _is_instruction(said: Sequence[Statement]) -> bool:
    """Returns True for one sentence that needs no context."""
    return len(said) == 1 and said[0].speaker is Speaker.USER and INSTRUCTION.search(said[0].text) is not None


def _answer(turns: Sequence[Turn], number: int) -> int | None:
    """Returns the next spoken turn if it is the user's."""
    after = next((place for place in range(number + 1, len(turns)) if turns[place].tool is None), None)
    return after if after is not None and turns[after].speaker is Speaker.USER else None


def _lesson(
    turns: Sequence[Turn],
    statements: Sequence[Statement],
    group: Sequence[int],
    odds: Odds,
    bearing: Collection[int],
) -> Lesson:
    said = [statements[row] for row in group]
    best = statements[max(group, key=lambda row: float(odds[row]))]
    work = analyze_tool_use(turns[max(0, said[0].turn - _AFTER) : said[-1].turn + _AFTER])
    failure = next((one for one in reversed(work.failures)), None)
    return Lesson(
        kind=_kind(said, is_solved=failure is not None and failure.solved),
        text=_text(said, "" if _is_instruction(said) else _context(turns, said, bearing)),
        name=name_from_summary(best.text),
        is_explicit=_has_standing_word(said) or _is_accepted(turns, said),
        statements=tuple(statement_key(one.text) for one in said),
        first_turn=said[0].turn,
        last_turn=said[-1].turn,
        at=turns[said[0].turn].at,
        files=tuple(work.files[-3:]),
        command="" if failure is None else failure.command,
        error="" if failure is None else failure.error,
    )


def _text(said: Sequence[Statement], about: str) -> str:
    """Returns the statements in order, with their speakers if there are two, and the prompt that they are about."""
    lines: list[str] = []
    speaker = None
    for one in said:
        if one.speaker is speaker:
            lines[-1] += f" {one.text}"
        else:
            lines.append(one.text)
        speaker = one.speaker
    first = said[0].speaker
    if len(lines) > 1:
        who = ("User", "Agent") if first is Speaker.USER else ("Agent", "User")
        lines = [f"{who[number % 2]}: {line}" for number, line in enumerate(lines)]
    return "\n".join([f"About: {about}", *lines] if about else lines)


def _context(turns: Sequence[Turn], said: Sequence[Statement], bearing: Collection[int]) -> str:
    """Returns the beginning of the last prompt before the statements that names a subject and no lesson. ``bearing``:
    turns with parts of lessons."""
    for number, turn in reversed([*enumerate(turns[: said[0].turn])]):
        if turn.speaker is Speaker.USER and number not in bearing and len(content_terms(turn.text)) >= _SUBJECT:
            return name_from_summary(" ".join(turn.text.split())[:_CONTEXT])
    return ""


def _is_accepted(turns: Sequence[Turn], said: Sequence[Statement]) -> bool:
    """Returns True if the user agrees to what the agent recommends in these statements."""
    for one in said:
        if one.speaker is Speaker.ASSISTANT and CUES["recommendation"].search(one.text):
            answer = _answer(turns, one.turn)
            if answer is not None and CUES["acceptance"].search(turns[answer].text):
                return True
    return False


def _kind(said: Sequence[Statement], *, is_solved: bool) -> LessonKind:
    users = " ".join(one.text for one in said if one.speaker is Speaker.USER)
    every = " ".join(one.text for one in said)
    if any(one.speaker is Speaker.USER and CUES["rejection"].search(one.text) for one in said):
        return LessonKind.CORRECTION
    if STANDING.search(users):
        return LessonKind.CONVENTION
    if is_solved or (CUES["fix"].search(every) and CUES["cause"].search(every)):
        return LessonKind.FIX
    if CUES["decision"].search(users):
        return LessonKind.DECISION
    return LessonKind.CONFIGURATION if CUES["past"].search(every) is None else LessonKind.FIX


def _retractions(turns: Sequence[Turn]) -> list[Retraction]:
    found: list[Retraction] = []
    before = ""
    for number, turn in enumerate(turns):
        if turn.speaker is Speaker.ASSISTANT:
            before = turn.text
        elif turn.speaker is Speaker.USER and before:
            for one in RETRACTION.finditer(turn.text):
                what = one["what"] if content_terms(one["what"] or "") - _POINTERS else ""
                found.append(Retraction(number, what, f"{turn.text}\n{before}"))
    return found


def _places(turns: Sequence[Turn]) -> dict[int, int]:
    """Returns the position of each spoken turn among them."""
    return {number: place for place, number in enumerate(n for n, turn in enumerate(turns) if turn.tool is None)}


def _weight(terms: Collection[str]) -> int:
    return sum(2 if any(map(str.isdigit, term)) else 1 for term in terms)
