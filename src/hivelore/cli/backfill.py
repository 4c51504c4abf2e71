"""Taking over what agent programs have kept: ``import claude-code``, ``import codex``."""

from collections import Counter
from datetime import datetime
from pathlib import Path

from hivelore.cli import connection, exits, output
from hivelore.cli.options import project_meant
from hivelore.errors import Invalid
from hivelore.local import endpoint
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.transfer.backfill import SourceFile, find_files, read_draft
from hivelore.transfer.batched_writes import BatchedWriter
from hivelore.transfer.files import Skipped

_SHOWN = 60
"""Characters of a name, and of a point, in the preview."""


def take_over(
    program: str, *, project: str | None, since: datetime | None, dry_run: bool, agent: str | None, as_json: bool
) -> int:
    """``project``: only what was kept in it."""
    home = endpoint.agent_homes().get(program)
    if home is None:
        raise Invalid("There is no home folder to look in. Set HOME.", field="file")
    files = find_files(program, home, since)
    return _preview(program, files, project, as_json) if dry_run else _store(program, files, project, agent, as_json)


def _read(program: str, kept: SourceFile, project: str | None) -> Draft | Skipped | None:
    """None for what belongs to another project."""
    found = read_draft(program, kept, lambda folder: project_meant(None, folder) or str(folder))
    return None if isinstance(found, Draft) and project is not None and found.project != project else found


def _preview(program: str, files: list[SourceFile], project: str | None, as_json: bool) -> int:
    found = [_read(program, kept, project) for kept in files]
    drafts = [one for one in found if isinstance(one, Draft)]
    _told([one for one in found if isinstance(one, Skipped)])
    if as_json:
        output.as_json({"memories": [_shown(one) for one in drafts], "files": len(files)})
        return 0
    if drafts:
        output.table(["day", "project", "name", "content"], [_row(one) for one in drafts])
    output.say(f"{len(files)} files, of which {len(drafts)} would become memories. Nothing was stored.")
    return 0


def _store(program: str, files: list[SourceFile], project: str | None, agent: str | None, as_json: bool) -> int:
    counts = Counter[str]()
    refused: list[Skipped] = []

    def kept(_: Path, done: WriteResult) -> None:
        counts["created" if done.created else "changed" if done.changed else "unchanged"] += 1

    with connection.hive(agent) as hive, output.progress(f"Importing from {program}", len(files)) as advance:
        keeper = BatchedWriter[Path](hive, kept=kept, refused=lambda path, why: refused.append(Skipped(path, why)))
        try:
            for number, one in enumerate(files, start=1):
                found = _read(program, one, project)
                if isinstance(found, Skipped):
                    refused.append(found)
                elif found is not None:
                    keeper.add(one.path, found, len(found.content))
                advance(number)
            keeper.flush()
        except KeyboardInterrupt:
            output.note("Stopped. Run it again to go on: what is in stays as it is.")
            raise
    left_out = _told(refused)
    empty = len(refused) - len(left_out)
    if as_json:
        told = [{"path": str(one.path), "reason": one.reason} for one in left_out]
        names = ("created", "changed", "unchanged")
        output.as_json({**{name: counts[name] for name in names}, "empty": empty, "skipped": told})
    else:
        output.say(
            f"{len(files)} files of {program}: {counts['created']} new memories, {counts['changed']} changed, "
            f"{counts['unchanged']} as before, {empty} with nothing to keep, {len(left_out)} left out."
        )
    return exits.LEFT_OUT if left_out else 0


def _told(skipped: list[Skipped]) -> list[Skipped]:
    """Those that should have been read; each is told."""
    left_out = [one for one in skipped if not one.expected]
    for one in left_out:
        output.note(f"Left out {one.path}: {one.reason}")
    return left_out


def _row(draft: Draft) -> list[str]:
    day = "" if draft.created_at is None else draft.created_at.date().isoformat()
    texts = (output.shortened(text, _SHOWN) for text in (draft.name or "", draft.content))
    return [day, draft.project or "-", *texts]


def _shown(draft: Draft) -> dict[str, object]:
    at = None if draft.created_at is None else draft.created_at.isoformat()
    metadata = draft.metadata or {}
    known = {"name": draft.name, "project": draft.project, "createdAt": at, "content": draft.content}
    return {**known, "externalId": draft.external_id, "origin": metadata.get("origin")}
