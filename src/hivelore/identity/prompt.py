"""The system prompt of an agent, composed of named parts in a fixed order (D04, D44).

Each part stands between marks of its own, and no text can contain one. So a reader finds every part once, whatever the
texts say. Text with less authority than the profile is fenced as data.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hivelore.core.agents import AgentId, Role
from hivelore.core.sanitizer import sanitize, show_letters
from hivelore.core.text import in_one_line
from hivelore.core.token_count import estimate
from hivelore.core.values import Value
from hivelore.identity.profile import Profile
from hivelore.sessions.fence import fence_text


class PartName(StrEnum):
    """The parts of a system prompt, in their order."""

    BASE = "base"
    NAME = "name"
    DESCRIPTION = "description"
    CAPABILITIES = "capabilities"
    SOUL = "soul"
    IDENTITY = "identity"
    REPO = "repo"
    TASK = "task"
    MEMORY = "memory"


_HEADINGS = {
    PartName.SOUL: "# Your soul (SOUL.md)",
    PartName.IDENTITY: "# Your identity (IDENTITY.md)",
    PartName.REPO: "# Guidelines of the repository",
    PartName.TASK: "# Your task",
    PartName.MEMORY: "# How to use your memory",
}
_MARK = re.compile(r"<!(?=-*\s*/?\s*hivelore:)", re.IGNORECASE)
"""The beginning of a mark, in spellings that a reader could take for one."""
_TITLES = frozenset(map(show_letters, _HEADINGS.values()))
_TAG = re.compile(r"<[^<>\n]{0,200}>")
_IN_TEXT = "(text) "
"""Stands before a line that reads like the heading of a part."""


@dataclass(frozen=True, slots=True)
class Section:
    """A text for the prompt from another capability."""

    text: str
    is_trusted: bool
    """True if operators or leads decide what it says outside of fences of its own. Other text is fenced as data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSources:
    agent: AgentId
    role: Role
    profile: Profile
    repo: Section | None = None
    task: Section | None = None
    memory: str = ""
    """How to use the memory with the enabled tools."""


class PromptPart(Value, frozen=True, kw_only=True):
    name: PartName
    text: str
    """With its marks and heading."""
    tokens: int
    """An estimate."""


class Prompt(Value, frozen=True, kw_only=True):
    text: str
    tokens: int
    parts: tuple[PromptPart, ...]
    """In their order; empty ones are left out."""


def opening_mark(name: PartName) -> str:
    return f"<!-- hivelore:{name.value} -->"


def closing_mark(name: PartName) -> str:
    return f"<!-- /hivelore:{name.value} -->"


def compose(sources: PromptSources, nonce: str) -> Prompt:
    """Returns the system prompt. ``nonce``: see ``fence_text``."""
    texts = _texts(sources, nonce)
    parts = [_part(name, text) for name in PartName if (text := texts[name].strip())]
    return Prompt(
        text="\n\n".join(part.text for part in parts) + "\n",
        tokens=sum(part.tokens for part in parts),
        parts=tuple(parts),
    )


def _texts(sources: PromptSources, nonce: str) -> dict[PartName, str]:
    profile = sources.profile
    name = in_one_line(_harmless(profile.name))
    return {
        PartName.BASE: _base(sources),
        PartName.NAME: f"Your name is {name}.",
        PartName.DESCRIPTION: _harmless(profile.description),
        PartName.CAPABILITIES: _capabilities(profile.capabilities),
        PartName.SOUL: _harmless(profile.soul),
        PartName.IDENTITY: _harmless(profile.identity),
        PartName.REPO: _section(sources.repo, nonce),
        PartName.TASK: _section(sources.task, nonce),
        PartName.MEMORY: _harmless(sources.memory),
    }


def _base(sources: PromptSources) -> str:
    role = in_one_line(_harmless(sources.profile.role))
    work = f" Your work: {role}." if role else ""
    return (
        f"You are an agent of a swarm, with the rights of a {sources.role}. Your id is {sources.agent}.{work} "
        "After you complete a task, reflect on what you learned and write it to your memory. Propose changes of your "
        "setup that would help later sessions. Your memories persist across sessions."
    )


def _capabilities(capabilities: Sequence[str]) -> str:
    shown = "; ".join(in_one_line(_harmless(one)) for one in capabilities)
    return f"You are good at: {shown}." if shown else ""


def _section(section: Section | None, nonce: str) -> str:
    if section is None or not section.text.strip():
        return ""
    text = _harmless(section.text)
    return text if section.is_trusted else fence_text(sanitize(text), nonce)


def _part(name: PartName, text: str) -> PromptPart:
    heading = f"{_HEADINGS[name]}\n\n" if name in _HEADINGS else ""
    whole = f"{opening_mark(name)}\n{heading}{text}\n{closing_mark(name)}"
    return PromptPart(name=name, text=whole, tokens=estimate(whole))


def _harmless(text: str) -> str:
    """Returns a text that contains no mark, no heading of a part, and nothing that a model could take for its frame."""
    lines = _MARK.sub("<", sanitize(text)).splitlines(keepends=True)
    return "".join(_IN_TEXT + line if _reads_like_heading(line) else line for line in lines)


def _reads_like_heading(line: str) -> bool:
    """Returns True for the title of a part, whatever makes it a heading: #, an underline, tags, bold, a number."""
    return show_letters(_TAG.sub("", line)).lstrip("0123456789") in _TITLES
