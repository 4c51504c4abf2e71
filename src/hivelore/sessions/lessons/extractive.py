"""Extractive summary: what was done in a session, by rules, in the speakers' own words, without a model.

A few points: failures and their fixes, the beginning of the last message, changed files and passed checks. What the
session taught is not here but in its lessons.
"""

from collections.abc import Iterator, Sequence

from hivelore.memories.summary import sentences
from hivelore.sessions.lessons.information import MAX_SENTENCE, MIN_WEIGHT, is_informative, text_weight
from hivelore.sessions.lessons.tool_use import CommandFailure, ToolUse, analyze_tool_use, format_names
from hivelore.sessions.model import EMPTY_SUMMARY, Speaker, Summary, Transcript, Turn

MAX_POINTS = 7
"""Points of a summary."""
MIN_CONVERSATION = 100
"""Conversations of this many characters or fewer teach nothing (A40)."""
_MIN_FILES = 3
"""Changed files of a session that is worth a summary although it taught nothing."""
_MAX_PER_KIND = 2
_MAX_CLOSING_SENTENCES = 2
_FILES, _PASSED = "Files changed: ", "Passed: "


def extract_summary(conversation: Transcript) -> Summary:
    """Returns a few points; none if nothing is worth storing."""
    turns = conversation.turns
    if conversation.size <= MIN_CONVERSATION:
        return EMPTY_SUMMARY
    work = analyze_tool_use(turns)
    failures = [_describe_failure(failure) for failure in reversed(work.failures) if failure.solved][:_MAX_PER_KIND]
    points = [*failures, *_closing_sentences(turns)]
    if not points or text_weight("".join(points)) <= MIN_WEIGHT:
        return EMPTY_SUMMARY
    shows_work = bool(failures) or len(work.files) >= _MIN_FILES
    return Summary((*points, *_activity_points(work)), quotes_tools=bool(failures), shows_work=shows_work)


def without_activity(points: Sequence[str]) -> list[str]:
    """Drops points that only list activity, which are useless alone."""
    return [point for point in points if not point.startswith((_FILES, _PASSED))]


def _closing_sentences(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields the first informative sentences of the last informative message."""
    said = (turn.text for turn in reversed(turns) if turn.speaker is Speaker.ASSISTANT)
    found = ([one for one in sentences(text) if is_informative(one) and len(one) <= MAX_SENTENCE] for text in said)
    yield from next((some[:_MAX_CLOSING_SENTENCES] for some in found if some), ())


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
