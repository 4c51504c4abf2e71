"""Imports past sessions and memories of agent programs: ``import claude-code``, ``import codex``."""

from datetime import datetime
from pathlib import Path

from hivelore.cli import exits, output
from hivelore.cli.file_writes import report_skipped, store_files
from hivelore.cli.options import resolve_project
from hivelore.core.text import counted
from hivelore.errors import Invalid
from hivelore.local import endpoint
from hivelore.memories.drafts import Draft
from hivelore.transfer.backfill import SourceFile, find_files, read_draft
from hivelore.transfer.files import Skipped

_COLUMN_LENGTH = 60
"""Characters of each column in the preview."""


def import_from_program(
    program: str, *, project: str | None, since: datetime | None, dry_run: bool, agent: str | None, as_json: bool
) -> int:
    """``project``: import only this project."""
    home = endpoint.agent_homes().get(program)
    if home is None:
        raise Invalid("The home folder is unknown. Set HOME.", field="file")
    files = find_files(program, home, since)
    return _preview(program, files, project, as_json) if dry_run else _store(program, files, project, agent, as_json)


def _read(program: str, kept: SourceFile, project: str | None) -> Draft | Skipped | None:
    """Return None for a file of another project."""
    found = read_draft(program, kept, lambda folder: resolve_project(None, folder) or str(folder))
    return None if isinstance(found, Draft) and project is not None and found.project != project else found


def _preview(program: str, files: list[SourceFile], project: str | None, as_json: bool) -> int:
    found = [_read(program, kept, project) for kept in files]
    drafts = [one for one in found if isinstance(one, Draft)]
    left_out = report_skipped(one for one in found if isinstance(one, Skipped) and not one.expected)
    code = exits.LEFT_OUT if left_out else 0
    if as_json:
        output.print_json({"memories": [_as_json(one) for one in drafts], "files": len(files)})
        return code
    if drafts:
        output.table(["day", "project", "name", "content"], [_row(one) for one in drafts])
    output.say(f"{counted(len(files), 'file')}, {len(drafts):,} of them would become memories. Nothing was stored.")
    return code


def _store(program: str, files: list[SourceFile], project: str | None, agent: str | None, as_json: bool) -> int:
    def read(kept: SourceFile) -> tuple[Path, Draft] | Skipped | None:
        found = _read(program, kept, project)
        return (kept.path, found) if isinstance(found, Draft) else found

    counts, refused = store_files(f"Importing from {program}", files, read, agent)
    left_out = report_skipped(one for one in refused if not one.expected)
    empty = len(refused) - len(left_out)
    skipped = [{"path": str(one.path), "reason": one.reason} for one in left_out]
    created = counted(counts["created"], "new memory", "new memories")
    output.result(
        {**counts, "empty": empty, "skipped": skipped},
        as_json,
        f"{counted(len(files), 'file')} of {program}: {created}, {counts['changed']} changed, "
        f"{counts['unchanged']} unchanged, {empty} without content, {len(left_out)} skipped.",
    )
    return exits.LEFT_OUT if left_out else 0


def _row(draft: Draft) -> list[str]:
    day = "" if draft.created_at is None else draft.created_at.date().isoformat()
    texts = (output.shortened(text, _COLUMN_LENGTH) for text in (draft.name or "", draft.content))
    return [day, draft.project or "-", *texts]


def _as_json(draft: Draft) -> dict[str, object]:
    at = None if draft.created_at is None else draft.created_at.isoformat()
    metadata = draft.metadata or {}
    known = {"name": draft.name, "project": draft.project, "createdAt": at, "content": draft.content}
    return {**known, "externalId": draft.external_id, "origin": metadata.get("origin")}
