"""Backfill: turns sessions and notes that agent programs already have on this machine into drafts.

Files are read by the caller's process. Each draft has an external id, so a second run changes nothing.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hivelore.core.values import replace
from hivelore.local.endpoint import SESSIONS
from hivelore.memories.drafts import Draft
from hivelore.memories.model import NAME_LENGTH, Memory, Source
from hivelore.sessions.lessons.classifier import shipped_classifier
from hivelore.sessions.lessons.drawing import draw_lessons
from hivelore.sessions.lessons.information import MIN_WEIGHT
from hivelore.sessions.lessons.summary_draft import MAX_SUMMARISED, build_draft
from hivelore.sessions.model import EventId, SessionEnd, Summary, Transcript, Turn
from hivelore.sessions.programs import storable
from hivelore.sessions.titles import first_prompt, session_title
from hivelore.sessions.transcript_files import MAX_TRANSCRIPT_BYTES, read_first_line, read_last_lines
from hivelore.sessions.transcripts import last_turns, read_conversation, session_and_folder, without_markers
from hivelore.transfer.files import MAX_BYTES, Skipped

NOTHING_LEARNED = "nothing worth storing"
CAPTURED_LIVE = "captured live"
_SESSIONS = {"claude-code": "*/*.jsonl", "codex": "**/*.jsonl"}
_NOTES = {"claude-code": "projects/*/memory/*.md", "codex": "memories/*.md"}
_CAPTURED = ("session", "lesson", "lesson:given", "compacted")
"""Beginnings of the external ids of what live capture stores."""
_ORIGIN = "origin"
"""Metadata field of imported memories."""
_SUBAGENT_PREFIX = "agent-"
_INDEX = "MEMORY.md"
_FRONT = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)
_FIELD = re.compile(r"^(?:metadata:\s*)?\s*(name|description|type):\s*(.+?)\s*$", re.MULTILINE)
_INDEX_LINK = re.compile(r"^\s*[-*]\s*\[[^\]]*\]\([^)\s]+\.md\).*$", re.MULTILINE)
"""A line of the index that only links to another note."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A session or note of an agent program."""

    path: Path
    is_session: bool
    changed_at: datetime


def find_files(program: str, home: Path, since: datetime | None) -> list[SourceFile]:
    """Returns the program's files changed since an instant, oldest first."""
    sessions = (home / SESSIONS[program]).glob(_SESSIONS[program])
    found = [
        *(_source_file(path, True) for path in sessions if not path.name.startswith(_SUBAGENT_PREFIX)),
        *(_source_file(path, False) for path in home.glob(_NOTES[program])),
    ]
    recent = [one for one in found if one is not None and (since is None or one.changed_at >= since)]
    return sorted(recent, key=lambda one: (one.changed_at, one.path))


def _source_file(path: Path, is_session: bool) -> SourceFile | None:
    try:
        changed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return SourceFile(path, is_session, changed_at) if path.is_file() else None
    except OSError:
        return None


def read_draft(program: str, kept: SourceFile, project_of: Callable[[Path], str | None]) -> Draft | Skipped:
    """Returns the draft of a file, or why it is skipped. ``project_of`` maps a working folder to its project."""
    try:
        return (_session_draft if kept.is_session else _note_draft)(program, kept, project_of)
    except OSError as error:
        return Skipped(kept.path, error.strerror or str(error))
    except Exception as error:  # noqa: BLE001 - Programs change their formats; the other files are still read.
        return Skipped(kept.path, f"cannot be parsed ({type(error).__name__}: {error})")


def _session_draft(program: str, kept: SourceFile, project_of: Callable[[Path], str | None]) -> Draft | Skipped:
    lines, cut = read_last_lines(kept.path, MAX_TRANSCRIPT_BYTES)
    # Codex names the session in the first line only.
    beginning = [read_first_line(kept.path, MAX_TRANSCRIPT_BYTES)] if cut else []
    session, folder = session_and_folder(program, [*beginning, *lines])
    conversation = _storable_conversation(read_conversation(program, lines, cut=cut))
    whole = without_markers(last_turns(conversation, MAX_SUMMARISED))
    lessons = draw_lessons(whole.turns, shipped_classifier()).lessons
    summary = Summary(tuple(one.text.replace("\n", "\n  ") for one in lessons), by="extractive")
    if not summary.points:
        return Skipped(kept.path, NOTHING_LEARNED, expected=True)
    ended = SessionEnd(
        id=EventId(""),
        program=program,
        session=storable(session or kept.path.stem),
        at=next((turn.at for turn in reversed(whole.turns) if turn.at is not None), kept.changed_at),
        project=None if folder is None else project_of(Path(storable(folder))),
    )
    title = session_title(None, first_prompt(conversation), summary.points[0])
    return _as_imported(build_draft(ended, summary, f"Session: {title}"), kept, ended.at)


def is_captured(program: str, memories: Iterable[Memory]) -> bool:
    """Returns True if live capture stored some of these memories of a session. What only an import stored does not
    count."""
    ids = tuple(f"{kind}:{program}:" for kind in _CAPTURED)
    return any((one.external_id or "").startswith(ids) and _ORIGIN not in one.metadata for one in memories)


def _storable_conversation(whole: Transcript) -> Transcript:
    return replace(whole, turns=tuple(_storable_turn(turn) for turn in whole.turns))


def _storable_turn(turn: Turn) -> Turn:
    tool = turn.tool
    if tool is not None:
        target, written, removed = map(storable, (tool.target, tool.written, tool.removed))
        tool = replace(tool, target=target, written=written, removed=removed)
    return replace(turn, text=storable(turn.text), tool=tool)


def _note_draft(program: str, kept: SourceFile, project_of: Callable[[Path], str | None]) -> Draft | Skipped:
    """Returns the draft of a note with the frontmatter fields ``name``, ``description`` and ``type``."""
    data = kept.path.read_bytes()
    if len(data) > MAX_BYTES:
        return Skipped(kept.path, f"larger than {MAX_BYTES:,} bytes")
    text = data.decode(errors="replace").replace("\0", "\ufffd")
    front = _FRONT.match(text)
    fields = dict(_FIELD.findall(front[1])) if front else {}
    content = (text[front.end() :] if front else text).strip()
    if kept.path.name == _INDEX:
        content = _INDEX_LINK.sub("", content).strip()
    if len(content) <= MIN_WEIGHT:
        return Skipped(kept.path, NOTHING_LEARNED, expected=True)
    folder = _project_folder(program, kept.path)
    draft = Draft(
        content=content,
        name=storable(fields.get("name") or kept.path.stem).strip("\"'")[:NAME_LENGTH],
        summary=fields.get("description", "").strip("\"'") or None,
        category=fields.get("type", "").strip("\"'") or None,
        project=None if folder is None else project_of(folder),
        external_id=storable(f"memory:{program}:{kept.path.parent.parent.name}/{kept.path.name}"),
        metadata={"program": program},
    )
    return _as_imported(draft, kept, kept.changed_at)


def _project_folder(program: str, path: Path) -> Path | None:
    """Returns the working folder of the sessions stored with a note."""
    for session in sorted(path.parent.parent.glob("*.jsonl")) if program == "claude-code" else ():
        folder = session_and_folder(program, read_last_lines(session, MAX_TRANSCRIPT_BYTES)[0])[1]
        if folder is not None:
            return Path(storable(folder))
    return None


def _as_imported(draft: Draft, kept: SourceFile, at: datetime) -> Draft:
    """Marks a draft as imported. The source is manual, so that it does not expire."""
    metadata = {**(draft.metadata or {}), _ORIGIN: storable(str(kept.path))}
    # Without trust, which the service decides.
    fields: dict[str, Any] = {name: getattr(draft, name) for name in Draft.__struct_fields__}
    fields |= {"source": Source.MANUAL, "created_at": at, "tags": ("imported",), "metadata": metadata}
    return Draft(**fields)
