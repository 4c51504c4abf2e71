"""Imports past sessions and memories of agent programs: ``import claude-code``, ``import codex``."""

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.cli import connection, exits, output
from hivelore.cli.file_writes import report_skipped, store_files
from hivelore.cli.options import resolve_project
from hivelore.core.agents import AgentId
from hivelore.core.text import counted
from hivelore.errors import Invalid
from hivelore.local import endpoint
from hivelore.memories.drafts import Draft
from hivelore.transfer.backfill import CAPTURED_LIVE, SourceFile, find_files, is_captured, read_draft
from hivelore.transfer.files import Skipped

if TYPE_CHECKING:
    from hivelore.python.hive import Hive

_COLUMN_LENGTH = 60
"""Characters of each column in the preview."""
_MOST_OF_SESSION = 500
"""Memories of a session that are looked at, newest first."""


def import_from_program(
    program: str, *, project: str | None, since: datetime | None, dry_run: bool, agent: str | None, as_json: bool
) -> int:
    """``project``: import only this project."""
    home = endpoint.agent_homes().get(program)
    if home is None:
        raise Invalid("The home folder is unknown. Set HOME.", field="file")
    files = find_files(program, home, since)
    with connection.hive(agent) as hive:
        me = hive.me().agent

        def read(kept: SourceFile) -> Draft | Skipped | None:
            found = _read(program, kept, project)
            return _unless_captured(hive, me, program, kept, found) if isinstance(found, Draft) else found

        return _preview(files, read, as_json) if dry_run else _store(hive, program, files, read, as_json)


def _read(program: str, kept: SourceFile, project: str | None) -> Draft | Skipped | None:
    """Return None for a file of another project."""
    found = read_draft(program, kept, lambda folder: resolve_project(None, folder) or str(folder))
    return None if isinstance(found, Draft) and project is not None and found.project != project else found


def _unless_captured(hive: "Hive", me: AgentId | None, program: str, kept: SourceFile, draft: Draft) -> Draft | Skipped:
    """Return the draft, unless its session was captured live, so that its lessons are already stored."""
    if draft.session is None:
        return draft
    try:
        known = hive.list(agent=me, session=draft.session, superseded=True, limit=_MOST_OF_SESSION)
    except Invalid as error:
        return Skipped(kept.path, str(error))
    return Skipped(kept.path, CAPTURED_LIVE, expected=True) if is_captured(program, known.memories) else draft


def _preview(files: list[SourceFile], read: Callable[[SourceFile], Draft | Skipped | None], as_json: bool) -> int:
    found = [read(kept) for kept in files]
    drafts = [one for one in found if isinstance(one, Draft)]
    refused = [one for one in found if isinstance(one, Skipped)]
    captured = _count_captured(refused)
    left_out = report_skipped(one for one in refused if not one.expected)
    code = exits.LEFT_OUT if left_out else 0
    if as_json:
        output.print_json({"memories": [_as_json(one) for one in drafts], "files": len(files), "captured": captured})
        return code
    if drafts:
        output.table(["day", "project", "name", "content"], [_row(one) for one in drafts])
    output.say(f"{counted(len(files), 'file')}, {len(drafts):,} of them would become memories. Nothing was stored.")
    if captured:
        one_or_more = counted(captured, "session was", "sessions were")
        output.say(f"{one_or_more} captured live. The import leaves what is stored of them as it is.")
    return code


def _store(
    hive: "Hive",
    program: str,
    files: list[SourceFile],
    read: Callable[[SourceFile], Draft | Skipped | None],
    as_json: bool,
) -> int:
    def read_with_path(kept: SourceFile) -> tuple[Path, Draft] | Skipped | None:
        found = read(kept)
        return (kept.path, found) if isinstance(found, Draft) else found

    counts, refused = store_files(hive, f"Importing from {program}", files, read_with_path)
    left_out = report_skipped(one for one in refused if not one.expected)
    captured = _count_captured(refused)
    empty = len(refused) - len(left_out) - captured
    skipped = [{"path": str(one.path), "reason": one.reason} for one in left_out]
    created = counted(counts["created"], "new memory", "new memories")
    output.result(
        {**counts, "empty": empty, "captured": captured, "skipped": skipped},
        as_json,
        f"{counted(len(files), 'file')} of {program}: {created}, {counts['changed']} changed, "
        f"{counts['unchanged']} unchanged, {empty} without content, {captured} captured live, "
        f"{len(left_out)} skipped.",
    )
    return exits.LEFT_OUT if left_out else 0


def _count_captured(refused: Iterable[Skipped]) -> int:
    return sum(one.reason == CAPTURED_LIVE for one in refused)


def _row(draft: Draft) -> list[str]:
    day = "" if draft.created_at is None else draft.created_at.date().isoformat()
    texts = (output.shortened(text, _COLUMN_LENGTH) for text in (draft.name or "", draft.content))
    return [day, draft.project or "-", *texts]


def _as_json(draft: Draft) -> dict[str, object]:
    at = None if draft.created_at is None else draft.created_at.isoformat()
    metadata = draft.metadata or {}
    known = {"name": draft.name, "project": draft.project, "createdAt": at, "content": draft.content}
    return {**known, "externalId": draft.external_id, "origin": metadata.get("origin")}
