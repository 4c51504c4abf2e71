"""The extractive summary: what of a session somebody would want to know the next time, found by rules and in the very
words of those who said it. No model, no cost, no invention.

In the order of what is worth most: what the user corrected, what failed and what helped, what turned out, what was
decided, the last word; then which files were changed and which checks passed.
"""

from collections.abc import Iterator, Sequence

from hivelore.memories.summary import sentences
from hivelore.sessions.lessons.cues import CAUSE, CORRECTION, DECISION, FACT
from hivelore.sessions.lessons.gate import LEAST, LONGEST, prompted, says_something, weight, words, worth
from hivelore.sessions.lessons.tool_use import Trouble, Work, listed, work_of
from hivelore.sessions.model import NOTHING_LEARNED, Summary, Transcript, Turn, Who

MOST = 7
"""Points of a summary."""
FEWEST = 3
"""With fewer than these the last message is told in more sentences."""
SHORTEST = 100
"""Characters of a conversation; with as few, or fewer, nothing can have been learned (A40)."""
_OF_A_KIND = 2
_FILES, _PASSED = "Files changed: ", "Passed: "
_CORRECTION_LENGTH = 300
_LAST = 4
"""Sentences of the last message that are looked at, from its beginning."""


def distilled(conversation: Transcript) -> Summary:
    """At most ``MOST`` points; none where nothing was said that is worth keeping."""
    turns = conversation.turns
    if conversation.size <= SHORTEST:
        return NOTHING_LEARNED
    work = work_of(turns)
    corrections = [f"The user: {one}" for one in dict.fromkeys(_corrections(turns))][-_OF_A_KIND:]
    troubles = [_told(trouble) for trouble in reversed(work.troubles) if trouble.solved][:_OF_A_KIND]
    found = [*_by_cue(_of_assistant(turns))]
    first, *more = *_last_words(turns), ""
    prompts = prompted(turn.text for turn in turns if turn.who is Who.USER)
    points = [*corrections, *worth([*troubles, *found, first], prompts)]
    if len(points) < FEWEST:
        points = [*corrections, *worth([*troubles, *found, first, *more], prompts)][:FEWEST]
    if not points or weight("".join(points)) <= LEAST:
        return NOTHING_LEARNED
    closing = [*_closing(work)]
    kept = (*points[: MOST - len(closing)], *closing)
    return Summary(kept, quotes_tools=any(trouble in kept for trouble in troubles))


def lessons(points: Sequence[str]) -> list[str]:
    """Without those that only say what was done: alone they are of no use to anybody."""
    return [point for point in points if not point.startswith((_FILES, _PASSED))]


def _corrections(turns: Sequence[Turn]) -> Iterator[str]:
    """What a user said to put the assistant right, in the words of the user."""
    answered = False
    for turn in turns:
        if turn.who is not Who.USER:
            answered = True
        elif answered and len(turn.text) <= 4 * _CORRECTION_LENGTH:
            for sentence in sentences(turn.text):
                if len(sentence) <= _CORRECTION_LENGTH and CORRECTION.search(sentence) and _is_statement(sentence):
                    yield sentence


def _is_statement(sentence: str) -> bool:
    return not sentence.endswith(("?", "？")) and len(words(sentence)) >= 2


def _of_assistant(turns: Sequence[Turn]) -> list[str]:
    """What the assistant said, sentence by sentence, the newest first: what was found out later holds."""
    said = [turn.text for turn in turns if turn.who is Who.ASSISTANT]
    return [one for text in reversed(said) for one in sentences(text) if len(one) <= LONGEST and says_something(one)]


def _by_cue(said: Sequence[str]) -> Iterator[str]:
    """A few sentences for each kind of cue."""
    taken: set[str] = set()
    for cue in (CAUSE, DECISION, FACT):
        found = [one for one in said if one not in taken and cue.search(one)][:_OF_A_KIND]
        taken.update(found)
        yield from found


def _last_words(turns: Sequence[Turn]) -> Iterator[str]:
    """The first sentences of the last message that say something."""
    last = next((turn.text for turn in reversed(turns) if turn.who is Who.ASSISTANT), "")
    found = (one for one in sentences(last) if says_something(one) and len(one) <= LONGEST)
    for one, _ in zip(found, range(_LAST), strict=False):
        yield one


def _told(trouble: Trouble) -> str:
    helped = [f"changing {listed(trouble.changed)}"] if trouble.changed else []
    helped += [f"`{trouble.ran[-1]}`"] if trouble.ran else []
    end = f" It worked after {' and '.join(helped)}." if helped else " It worked later."
    return f"`{trouble.command}` failed: {trouble.error.rstrip('.')}.{end}"


def _closing(work: Work) -> Iterator[str]:
    if work.files:
        yield f"{_FILES}{listed(work.files)}."
    if work.passed:
        yield f"{_PASSED}{listed(work.passed[-_OF_A_KIND:])}."
