"""The texts that an agent program is started with (B11, C21, D23)."""

from dataclasses import dataclass
from enum import StrEnum

from hivelore.core.sanitizer import sanitize
from hivelore.runner.model import ClaimedTask
from hivelore.sessions.fence import fence_text


class Conversation(StrEnum):
    """The conversation that a run has."""

    FRESH = "fresh"
    OWN = "own"
    """That of an earlier run of the same task."""
    PARENT = "parent"
    """A copy of that of the task which this one continues."""


@dataclass(frozen=True, slots=True)
class Resume:
    conversation: Conversation
    session: str


_GO_ON = "Your work on this task was interrupted. Look at what is done already, and go on."
_TASK = "Your task:"
_COMMAND_SIGNS = ("/", "!", "#")
_EARLIER = "## Earlier work on this task"


def choose_resume(task: ClaimedTask, *, has_own: bool, has_parent: bool) -> Resume | None:
    """Returns the conversation that a run goes on with: its own, else that of its parent (X16). None: a fresh one.
    ``has_own``, ``has_parent``: the program of this host can resume it."""
    if task.session is not None and has_own:
        return Resume(Conversation.OWN, task.session)
    if task.session is None and task.parent_session is not None and has_parent:
        return Resume(Conversation.PARENT, task.parent_session)
    return None


def task_prompt(task: ClaimedTask, resume: Resume | None, knowledge: str, nonce: str) -> str:
    """Returns the prompt of a run: the task, what was reported of earlier work, and relevant past knowledge. A
    conversation that is resumed gets the reports, too: it may be a copy that another host stored before they were made.
    ``nonce``: see ``fence_text``. ``knowledge``: with its heading and fence; empty if there is none."""
    parts = [_without_command(task.text)]
    if resume is not None and resume.conversation is Conversation.OWN:
        parts.insert(0, _GO_ON)
    if handover := task.handover.strip():
        parts.append(f"{_EARLIER}\n\n{fence_text(sanitize(handover), nonce)}")
    if knowledge.strip():
        parts.append(knowledge.strip())
    return "\n\n".join(parts) + "\n"


def _without_command(text: str) -> str:
    """Returns a text that no program takes for one of its own commands, such as ``/model``."""
    return f"{_TASK}\n\n{text}" if text.lstrip().startswith(_COMMAND_SIGNS) else text


def appended_prompt(system_prompt: str, environment: str, block: str) -> str:
    """Returns the text that is appended to the program's own system prompt: who the agent is, its environment, and the
    operational block, in the order of C21."""
    return "\n\n".join(part for text in (system_prompt, environment, block) if (part := text.strip()))
