"""Drawing lessons from a conversation: which statements belong together, what kind of lesson they are, and which
earlier lessons a later turn takes back."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from hivelore.core.values import replace
from hivelore.memories.summary import name_from_summary
from hivelore.sessions.lessons.classifier import LessonClassifier
from hivelore.sessions.lessons.cues import ADVICE, CONSENT, CUES, INSTRUCTION, REVOCATION, STANDING
from hivelore.sessions.lessons.features import Odds
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
TAKEN_BACK = 0.15
"""Probability from which a later turn takes back a statement. A stale lesson costs more than a lost one."""
_NEAR = 2
"""Turns of user and agent between two statements of one lesson, at most."""
_LENGTH = 700
"""Characters of the statements of a lesson."""
_VAGUE = content_terms(
    "said decided agreed told rule decision convention policy instruction agreement thing stuff idea plan regel "
    "entscheidung vorgabe anweisung absprache règle décision consigne regla decisión instrucción 规则 决定 约定 "
    "always never ever every before after first last new old back again instead use run test change check build call "
    "write add put make set keep delete remove start stop install import open send ask answer file folder code line "
    "commit push merge deploy release work branch repository repo project die das der den dem ein eine mit von "
    "für über immer nie sur les des une avec sobre las los con"
)
"""Words that point to a rule, or that so many rules share that they name none."""
_NAMED_SHARE = 0.25
"""Share of the telling words of a lesson that a name covers at least, for it to be what the lesson is about."""
_REJECTED = regex.compile(
    r"(?:\b(?:instead of|rather than|(?:not|never|don'?t)(?: use)?|statt|nicht|au lieu de|plutôt que|"
    r"en (?:vez|lugar) de)|不要用?|而不是)\s*[^\s,.;]+",
    regex.IGNORECASE,
)
"""What a lesson advises against."""
_CONTEXT = 120
_NO_STATEMENT = ("?", "？", "!", "！")
"""Ends of questions, and of what is said in jest."""
_SUBJECT = 3
"""Different words of a prompt or statement that names a subject."""
_AFTER = 8
"""Turns after a lesson begins in which its changed files and commands are."""


@dataclass(frozen=True, slots=True)
class Drawing:
    lessons: tuple[Lesson, ...]
    """In the order of their first statements."""
    retracted: tuple[Lesson, ...]
    """Lessons that a later turn of the same conversation takes back, in whole or in part."""
    retractions: tuple["Retraction", ...]
    """What a user gives up by name that is none of these lessons. It may be an earlier one."""
    statements: Mapping[str, int]
    """Turn of each statement, by its key."""
    evidence: float
    """Sum of the ``COUNTED`` highest odds."""


@dataclass(frozen=True, slots=True)
class Retraction:
    turn: int
    what: str
    """What the user takes back, in the user's words."""
    is_rule: bool
    """True if these words call it a rule or a decision."""

    def concerned(self, texts: Collection[str]) -> str | None:
        """Returns the lesson whose text shares most words with what is taken back, of equals the last; None if it may
        be about something else than any of them."""
        wanted = content_terms(self.what)
        weights = {text: _weight(wanted & content_terms(text)) for text in texts if self._is_about(text)}
        return max(reversed(weights), key=weights.__getitem__, default=None)

    def _is_about(self, text: str) -> bool:
        """Returns True if most of what is named is in the lesson. A mere name must also cover enough of the lesson, and
        not only what it advises against: *scrap npm* agrees with *use yarn instead of npm*."""
        named, told = content_terms(self.what) - _VAGUE, content_terms(text) - _VAGUE
        shared = named & told
        if not shared or 2 * len(shared) <= len(named):
            return False
        advised = content_terms(_REJECTED.sub("", text))
        return self.is_rule or (len(shared) >= _NAMED_SHARE * len(told) and not shared.isdisjoint(advised))


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
    keys = statement_keys(statements)
    heard = _Heard(turns, statements, odds, keys)
    groups = lesson_groups(turns, statements, odds, has_taught=has_taught or evidence >= EVIDENCE)
    pairs = retraction_pairs(turns, statements, groups)
    shares = classifier.retraction_odds(turns, statements, odds, pairs)
    found = [pair for pair, share in zip(pairs, shares, strict=True) if share >= TAKEN_BACK]
    gone, answered = {row for _, row in found}, {turn for turn, _ in found}
    lessons: list[Lesson] = []
    retracted: list[Lesson] = []
    for group in groups:
        left = [row for row in group if row not in gone]
        if left != group:
            retracted.append(_lesson(heard, group))
        stays = left == group or _has_standing_word([statements[row] for row in left])
        if left and (stays or odds[left].max() >= ANCHOR):
            lessons.append(_lesson(heard, left))
    unknown = tuple(one for one in _retractions(turns, statements) if one.turn not in answered)
    places = {key: one.turn for key, one in zip(keys, statements, strict=True)}
    return Drawing(tuple(lessons), tuple(retracted), unknown, places, evidence)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A conversation with what the classifier says of each statement."""

    turns: Sequence[Turn]
    statements: Sequence[Statement]
    odds: Odds
    keys: Sequence[str]

    def bears(self, turn: int) -> bool:
        """Returns True if a statement of the turn may be part of a lesson."""
        return any(one.turn == turn and self.odds[row] >= LEAST for row, one in enumerate(self.statements))


def lesson_groups(
    turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds, *, has_taught: bool
) -> list[list[int]]:
    """Returns the statements of each lesson before anything is taken back, in order."""
    groups = _joined(turns, statements, odds) if has_taught else []
    passed = [group for group in groups if odds[group].max() >= ANCHOR]
    drawn = {row for group in passed for row in group}
    stated = _explicit(turns, statements, odds)
    return sorted([*passed, *(sorted(one.rows - drawn) for one in stated if not drawn.intersection(one.core))])


def retraction_pairs(
    turns: Sequence[Turn], statements: Sequence[Statement], groups: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """Returns the pairs of a turn and an earlier statement that it may take back. The agent takes back what it said
    itself, unless the user has agreed."""
    settled = {row for group in groups if _is_explicit(turns, [statements[row] for row in group]) for row in group}
    rows = sorted(row for group in groups for row in group)
    return [
        (later, row)
        for later, turn in enumerate(turns)
        if turn.tool is None
        for row in rows
        if statements[row].turn < later
        and (turn.speaker is Speaker.USER or (statements[row].speaker is turn.speaker and row not in settled))
    ]


def statement_keys(statements: Sequence[Statement]) -> list[str]:
    """Returns short digests by which statements are found again. One that says little, such as *yes, do that*, is
    told apart by the one before."""
    befores = ["", *(one.text for one in statements)]
    return [
        _key(one.text if len(content_terms(one.text)) >= _SUBJECT else f"{before}\n{one.text}")
        for one, before in zip(statements, befores, strict=False)
    ]


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _joined(turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds) -> list[list[int]]:
    """Returns the statements that may carry lessons, those of one lesson together."""
    place = _places(turns)
    groups: list[list[int]] = []
    size = 0
    for row, one in enumerate(statements):
        if odds[row] < LEAST:
            continue
        last = statements[groups[-1][-1]] if groups else None
        if last is not None and place[one.turn] - place[last.turn] <= _NEAR and size + len(one.text) <= _LENGTH:
            groups[-1].append(row)
            size += len(one.text)
        else:
            groups.append([row])
            size = len(one.text)
    return groups


@dataclass(frozen=True, slots=True)
class _Explicit:
    """The explicit word of a user."""

    core: frozenset[int]
    """Statements of an instruction, or of what a user agrees to."""
    rows: frozenset[int]
    """With the statements beside it."""


def _explicit(turns: Sequence[Turn], statements: Sequence[Statement], odds: Odds) -> Iterator[_Explicit]:
    """Yields what a user tells the agent to do from now on, or agrees to. No statement is in two of them. Other
    statements of the same turn come along if they are likely to bear a lesson."""
    taken = set[int]()
    advice: dict[int, list[int]] = {}
    for row, one in enumerate(statements):
        if one.text.endswith(_NO_STATEMENT):
            continue
        if one.speaker is Speaker.USER and INSTRUCTION.search(one.text):
            turn = (number for number, other in enumerate(statements) if other.turn == one.turn)
            likely = [number for number in turn if odds[number] >= ANCHOR]
            beside = [it for it in likely if it not in taken and not INSTRUCTION.search(statements[it].text)]
            taken.update(beside)
            yield _Explicit(frozenset([row]), frozenset([row, *beside]))
        elif one.speaker is Speaker.ASSISTANT and ADVICE.search(one.text):
            answer = _answer(turns, one.turn)
            if answer is not None and CONSENT.search(turns[answer].text):
                advice.setdefault(answer, []).append(row)
    for answer, rows in advice.items():
        said = [number for number, other in enumerate(statements) if other.turn == answer]
        yield _Explicit(frozenset(rows), frozenset([*rows, *said]))


def _is_explicit(turns: Sequence[Turn], said: Sequence[Statement]) -> bool:
    return _has_standing_word(said) or _is_accepted(turns, said)


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


def _lesson(heard: _Heard, group: Sequence[int]) -> Lesson:
    turns, said = heard.turns, [heard.statements[row] for row in group]
    best = heard.statements[max(group, key=lambda row: float(heard.odds[row]))]
    work = analyze_tool_use(turns, slice(max(0, said[0].turn - _AFTER), said[-1].turn + _AFTER))
    failure = next((one for one in reversed(work.failures)), None)
    return Lesson(
        kind=_kind(said, is_solved=failure is not None and failure.solved),
        text=_text(said, "" if _is_instruction(said) else _context(heard, said[0].turn)),
        name=name_from_summary(best.text),
        is_explicit=_is_explicit(turns, said),
        statements=tuple(heard.keys[row] for row in group),
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


def _context(heard: _Heard, begin: int) -> str:
    """Returns the beginning of the last prompt before a turn that names a subject and no lesson."""
    for number, turn in reversed([*enumerate(heard.turns[:begin])]):
        if turn.speaker is Speaker.USER and len(content_terms(turn.text)) >= _SUBJECT and not heard.bears(number):
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


def _retractions(turns: Sequence[Turn], statements: Sequence[Statement]) -> list[Retraction]:
    """Returns the rules and decisions that the user gives up by name, after the agent has said something."""
    begun = next((number for number, turn in enumerate(turns) if turn.speaker is Speaker.ASSISTANT), len(turns))
    said = (one for one in statements if one.turn > begun and one.speaker is Speaker.USER)
    found = ((one.turn, match) for one in said if (match := REVOCATION.search(one.text)))
    return [Retraction(turn, one["rule"] or one["name"], one["rule"] is not None) for turn, one in found]


def _places(turns: Sequence[Turn]) -> dict[int, int]:
    """Returns the position of each spoken turn among them."""
    return {number: place for place, number in enumerate(n for n, turn in enumerate(turns) if turn.tool is None)}


def _weight(terms: Collection[str]) -> int:
    return sum(2 if any(map(str.isdigit, term)) else 1 for term in terms)
