"""Events in the output of an agent program, the same for all programs, and what a run has shown so far."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hivelore.core.redaction import Redactor
from hivelore.observations.markers import remove_markers
from hivelore.runner.model import NO_USAGE, Usage

MAX_TEXT_BYTES = 65_536
"""Bytes of a text of the agent that are kept."""
MAX_SESSION_LENGTH = 200
MAX_COUNT = 10**12
MAX_COST = 1_000_000.0
_CUT = "\n[...]"
_SHARES = (1.0, 0.95, 0.5)
"""Parts of a limit to which a text is cut, until it is within the limit after its secrets are masked again: masking a
secret that was cut in two adds some bytes."""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    session: str


@dataclass(frozen=True, slots=True)
class AssistantText:
    """A text of the agent, whole: markers may stand in any line of it."""

    text: str
    message: str = ""
    """Id of the message that the text is a part of; empty if it has none."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    name: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens and money."""

    usage: Usage
    is_total: bool = False
    """True for the sum since the session began, False for what was added since the last report."""


@dataclass(frozen=True, slots=True)
class MessageUsage:
    """Tokens of one message, reported with each of its parts. They count until the turn reports its usage."""

    message: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent has answered."""

    text: str | None
    """Its answer; None if that is the last text."""
    session: str | None = None


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The agent program has given up."""

    reason: str
    session: str | None = None
    is_final: bool = False
    """True if another attempt would end in the same way."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no event of this program."""


StreamEvent = (
    SessionStarted | AssistantText | ToolStarted | UsageReported | MessageUsage | TurnEnded | TurnFailed | Unreadable
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """What the output of a run has shown so far."""

    session: str | None = None
    """The newest one (D21)."""
    last_text: str = ""
    """The last text of the agent without its markers, cut."""
    tool: str | None = None
    """The tool that the agent used last."""
    tools: int = 0
    usage: Usage = NO_USAGE
    reported: Usage = NO_USAGE
    """The part of ``usage`` that ended turns have reported."""
    earlier: Usage = NO_USAGE
    """Usage of the messages of this turn before the current one."""
    message: tuple[str, Usage] = ("", NO_USAGE)
    """The current message."""
    answer: str | None = None
    """The answer with which the last turn ended; None as long as none has ended."""
    failure: str | None = None
    """Why the agent program gave up; None if it did not."""
    is_final: bool = False
    """True if another attempt would fail in the same way."""
    unreadable: int = 0
    """Lines that are no events."""


def advance(state: RunState, event: StreamEvent, before: Usage = NO_USAGE) -> RunState:
    """Returns the state after an event. ``before``: what the session had used before this run."""
    match event:
        case SessionStarted(session):
            return replace(state, session=session)
        case AssistantText(text):
            return replace(state, last_text=_without_markers(text)) if text.strip() else state
        case ToolStarted(name):
            return replace(state, tool=name, tools=state.tools + 1)
        case UsageReported(usage, is_total):
            reported = _without(usage, before) if is_total else state.reported + usage
            return replace(state, usage=reported, reported=reported, earlier=NO_USAGE, message=("", NO_USAGE))
        case MessageUsage(message, usage):
            last, used = state.message
            earlier = state.earlier if message == last else state.earlier + used
            sum_ = state.reported + earlier + usage
            return replace(state, usage=sum_, earlier=earlier, message=(message, usage))
        case TurnEnded(text, session):
            answer = state.last_text if text is None else _without_markers(text)
            return replace(state, session=session or state.session, answer=answer, failure=None, is_final=False)
        case TurnFailed(reason, session, is_final):
            failure = cut_text(reason)
            session = session or state.session
            return replace(state, session=session, answer=None, failure=failure, is_final=is_final)
        case Unreadable():
            return replace(state, unreadable=state.unreadable + 1)


def advance_all(state: RunState, events: Iterable[StreamEvent], before: Usage = NO_USAGE) -> RunState:
    for event in events:
        state = advance(state, event, before)
    return state


def _without(usage: Usage, before: Usage) -> Usage:
    return Usage(
        max(usage.input_tokens - before.input_tokens, 0),
        max(usage.output_tokens - before.output_tokens, 0),
        max(usage.cache_read_tokens - before.cache_read_tokens, 0),
        max(usage.cache_write_tokens - before.cache_write_tokens, 0),
        max(usage.cost_usd - before.cost_usd, 0.0),
    )


def _without_markers(text: str) -> str:
    """Returns a text without its markers, which are stored by themselves, and cut; whole if there is nothing else."""
    return cut_text(remove_markers(text).strip() or text)


def cut_text(text: str, most: int = MAX_TEXT_BYTES) -> str:
    """Returns a text that every store accepts: valid Unicode without NUL, of at most ``most`` bytes."""
    data = text.replace("\0", "").encode(errors="replace")
    if len(data) > most:
        data = data[: max(most - len(_CUT), 0)] + _CUT.encode()
    return data.decode(errors="ignore")


def fit_text(text: str, most: int, redactor: Redactor) -> str:
    """Returns a text of at most ``most`` bytes, before and after the service has masked its secrets: a mask may be
    longer than what it replaces."""
    text = cut_text(text)
    clean: str = redactor.clean(text)
    if max(len(text.encode()), len(clean.encode())) <= most:
        return text
    for share in _SHARES:
        fitted = redactor.clean(cut_text(clean, int(most * share)))
        if len(fitted.encode()) <= most:
            return fitted
    return ""


# Values in events, of which none can be trusted.


def as_session(value: object) -> str | None:
    """Returns a session id; None for anything else, such as a path."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_SESSION_LENGTH:
        return None
    return value if all(char.isascii() and (char.isalnum() or char in "-_") for char in value) else None


def as_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_COUNT:
        return 0
    return int(value)


def as_cost(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_COST:
        return 0.0
    return float(value)
