"""Extractive summary: selects the points of a session by rules, in the speakers' own words, without a model.

Points are ordered by value: user corrections, failures and their fixes, causes, decisions, the last message; then
changed files and passed checks.
"""

from collections.abc import Iterator, Sequence

from hivelore.memories.summary import sentences
from hivelore.sessions.lessons.claims import (
    MAX_SENTENCE,
    MIN_WEIGHT,
    content_terms,
    is_informative,
    parse_prompts,
    select_points,
    text_weight,
)
from hivelore.sessions.lessons.cues import CAUSE, CORRECTION, DECISION, FACT
from hivelore.sessions.lessons.tool_use import CommandFailure, ToolUse, analyze_tool_use, format_names
from hivelore.sessions.model import EMPTY_SUMMARY, Speaker, Summary, Transcript, Turn

MAX_POINTS = 7
"""Points of a summary."""
MIN_POINTS = 3
"""With fewer points, more sentences of the last message are added."""
MIN_CONVERSATION = 100
"""Conversations of this many characters or fewer teach nothing (A40)."""
_MAX_PER_KIND = 2
_FILES, _PASSED = "Files changed: ", "Passed: "
_CORRECTION_LENGTH = 300
_MAX_CLOSING_SENTENCES = 4
"""Sentences taken from the beginning of the last message."""


def extract_summary(conversation: Transcript) -> Summary:
    """Returns at most ``MAX_POINTS`` points; none if nothing is worth storing."""
    turns = conversation.turns
    if conversation.size <= MIN_CONVERSATION:
        return EMPTY_SUMMARY
    work = analyze_tool_use(turns)
    corrections = [f"The user: {one}" for one in dict.fromkeys(_corrections(turns))][-_MAX_PER_KIND:]
    failures = [_describe_failure(failure) for failure in reversed(work.failures) if failure.solved][:_MAX_PER_KIND]
    found = [*_select_by_cue(_assistant_sentences(turns))]
    first, *more = *_closing_sentences(turns), ""
    prompts = parse_prompts(turn.text for turn in turns if turn.speaker is Speaker.USER)
    points = [*corrections, *select_points([*failures, *found, first], prompts)]
    if len(points) < MIN_POINTS:
        points = [*corrections, *select_points([*failures, *found, first, *more], prompts)][:MIN_POINTS]
    if not points or text_weight("".join(points)) <= MIN_WEIGHT:
        return EMPTY_SUMMARY
    closing = [*_activity_points(work)]
    kept = (*points[: MAX_POINTS - len(closing)], *closing)
    return Summary(kept, quotes_tools=any(failure in kept for failure in failures))


def without_activity(points: Sequence[str]) -> list[str]:
    """Drops points that only list activity, which are useless alone."""
    return [point for point in points if not point.startswith((_FILES, _PASSED))]


def _corrections(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields user sentences that correct the assistant."""
    answered = False
    for turn in turns:
        if turn.speaker is not Speaker.USER:
            answered = True
        elif answered and len(turn.text) <= 4 * _CORRECTION_LENGTH:
            for sentence in sentences(turn.text):
                is_statement = not sentence.endswith(("?", "？")) and len(content_terms(sentence)) >= 2
                if len(sentence) <= _CORRECTION_LENGTH and CORRECTION.search(sentence) and is_statement:
                    yield sentence


def _assistant_sentences(turns: Sequence[Turn]) -> list[str]:
    """Returns the assistant's informative sentences, newest first, because later findings supersede earlier ones."""
    said = [turn.text for turn in turns if turn.speaker is Speaker.ASSISTANT]
    return [
        one for text in reversed(said) for one in sentences(text) if len(one) <= MAX_SENTENCE and is_informative(one)
    ]


def _select_by_cue(said: Sequence[str]) -> Iterator[str]:
    """Yields a few sentences for each kind of cue."""
    taken: set[str] = set()
    for cue in (CAUSE, DECISION, FACT):
        found = [one for one in said if one not in taken and cue.search(one)][:_MAX_PER_KIND]
        taken.update(found)
        yield from found


def _closing_sentences(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields the first informative sentences of the last message."""
    last = next((turn.text for turn in reversed(turns) if turn.speaker is Speaker.ASSISTANT), "")
    found = (one for one in sentences(last) if is_informative(one) and len(one) <= MAX_SENTENCE)
    for one, _ in zip(found, range(_MAX_CLOSING_SENTENCES), strict=False):
        yield one


def _describe_failure(failure: CommandFailure) -> str:
    helped = [f"changing {format_names(failure.changed_files)}"] if failure.changed_files else []
    helped += [f"`{failure.commands[-1]}`"] if failure.commands else []
    end = f" It worked after {' and '.join(helped)}." if helped else " It worked later."
    return f"`{failure.command}` failed: {failure.error.rstrip('.')}.{end}"


def _activity_points(work: ToolUse) -> Iterator[str]:
    if work.files:
        yield f"{_FILES}{format_names(work.files)}."
    if work.passed_checks:
        yield f"{_PASSED}{format_names(work.passed_checks[-_MAX_PER_KIND:])}."
