"""Verbs that move many memories: index, import, export."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from cyclopts import Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.clock import now
from hivelore.cli.options import STDIN, AsJson, Shelf, Speaker, moment, project_meant
from hivelore.core.sanitizer import escaped_json
from hivelore.errors import HiveloreError, Invalid
from hivelore.local import endpoint, private_files
from hivelore.memories.drafts import WriteResult
from hivelore.memories.model import Scope
from hivelore.transfer.batched_writes import BatchedWriter
from hivelore.transfer.files import Skipped, find_files, read_draft, resolve_path
from hivelore.transfer.jsonl import ImportReport, export, fingerprint, import_lines

_MOST_SHOWN = 100
"""Bad lines that the JSON of an import lists; all of them are told on stderr."""


def index(
    path: Annotated[str, Parameter(help="A file or a folder.")],
    /,
    *paths: Annotated[str, Parameter(help="More of them.")],
    scope: Shelf = "agent",
    project: Annotated[
        str | None, Parameter(help="A project's name, '' for none. Else: the git repository of each path.")
    ] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> int:
    """Keep text files, and folders of them.

    What .gitignore excludes stays outside. A file that was indexed before keeps its
    id; its unchanged parts keep their vectors.

    Example: hivelore index docs README.md
    """
    if not all((path, *paths)):
        raise Invalid("A path is empty.", field="path")
    roots = [resolve_path(Path(name)) for name in (path, *paths)]
    files = [(file, root) for root in roots for file in find_files(root)]
    counts = {"created": 0, "changed": 0, "unchanged": 0}
    skipped: list[Skipped] = []
    projects = {root: project_meant(project, root) for root in roots}

    def kept(_: Path, done: WriteResult) -> None:
        counts["created" if done.created else "changed" if done.changed else "unchanged"] += 1

    with connection.hive(agent) as hive, output.progress("Indexing", len(files)) as advance:
        keeper = BatchedWriter[Path](hive, kept=kept, refused=lambda file, why: skipped.append(Skipped(file, why)))
        for number, (file, root) in enumerate(files, start=1):
            found = file if isinstance(file, Skipped) else read_draft(file, Scope(scope), projects[root])
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                keeper.add(Path(found.source_path or root), found, len(found.content))
            advance(number)
        keeper.flush()
    left_out = [one for one in skipped if not one.expected or one.path in roots]
    for one in left_out:
        output.note(f"Left out {one.path}: {one.reason}")
    if json:
        output.as_json({**counts, "skipped": [{"path": str(one.path), "reason": one.reason} for one in skipped]})
    else:
        output.say(
            f"Files indexed: {counts['created']} new, {counts['changed']} changed or renewed, "
            f"{counts['unchanged']} as before, {len(skipped)} left out ({len(skipped) - len(left_out)} without text)."
        )
    return exits.LEFT_OUT if left_out else 0


def import_file(
    file: Annotated[str, Parameter(help="A file of JSON lines, - for stdin; or claude-code, or codex.")],
    /,
    *,
    project: Annotated[str | None, Parameter(help="Of a program: only what it kept in this one.")] = None,
    since: Annotated[str | None, Parameter(help="Of a program: what it kept since then, like 2026-01-31, 30d.")] = None,
    dry_run: Annotated[bool, Parameter(help="Of a program: show what would come in, and store nothing.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> int:
    """Take in memories from a file, or what an agent program kept.

    Fields: content (or text), and where known id, name, createdAt (or timestamp), session, author, tags, scope,
    source, project, metadata. Anything else goes to the metadata. Bad lines are told and the rest goes in. The same
    file again changes nothing, so an import that was interrupted is simply run again.

    claude-code and codex: their sessions of before, distilled by rules, and their own memories.

    Example: hivelore import memories.jsonl
    """
    if file in endpoint.IMPORTED:
        # What reads sessions is loaded for nobody else.
        from hivelore.cli.backfill import take_over

        instant = None if since is None else moment(since, now(), past=True, field="since")
        return take_over(file, project=project, since=instant, dry_run=dry_run, agent=agent, as_json=json)
    if project is not None or since is not None or dry_run:
        raise Invalid("--project, --since and --dry-run are for claude-code and codex, not for files.", field="file")
    return _import_lines(file, agent, as_json=json)


def _import_lines(file: str, agent: str | None, *, as_json: bool) -> int:
    shown: list[dict[str, Any]] = []

    def refused(number: int, reason: str) -> None:
        output.note(f"Line {number}: {reason}")
        if len(shown) < _MOST_SHOWN:
            shown.append({"line": number, "reason": reason})

    report = ImportReport()
    with _opened(file) as (stream, size), connection.hive(agent) as hive:
        try:
            with output.progress("Importing", size) as advance:

                def progress(far: ImportReport) -> None:
                    nonlocal report
                    report = far
                    if size is not None:
                        advance(stream.tell())

                report = import_lines(hive, stream, refused=refused, progress=progress)
        except (HiveloreError, KeyboardInterrupt):
            output.note(f"Stopped at line {report.lines}. Run it again to go on: what is in stays as it is.")
            raise
    if report.assumed_utc:
        output.note("Some times had no time zone: taken as UTC.")
    if as_json:
        output.as_json({**_counts(report), "bad": shown})
    else:
        output.say(
            f"{report.lines} lines: {report.created} new, {report.changed} changed or renewed, "
            f"{report.unchanged} as before, {report.refused} left out."
        )
    return exits.LEFT_OUT if report.refused else 0


def _counts(report: ImportReport) -> dict[str, Any]:
    counts = asdict(report)
    return counts | {"assumedUtc": counts.pop("assumed_utc")}


@contextmanager
def _opened(file: str) -> Generator[tuple[BinaryIO, int | None]]:
    """A file and its size; None for one that is not known."""
    if file == STDIN:
        yield sys.stdin.buffer, None
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise Invalid(f"{file} cannot be read: {error.strerror}.", field="file") from None
        yield stream, os.fstat(stream.fileno()).st_size if stream.seekable() else None


def export_file(
    file: Annotated[str | None, Parameter(help="Where to. Else: stdout.")] = None,
    /,
    *,
    fingerprint_only: Annotated[bool, Parameter(name="--hash", help="Print only the canonical hash.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Write all memories as JSON lines.

    That is all the agent sees, with a hash that tells whether two stores say
    the same.

    Example: hivelore export memories.jsonl
    """
    with connection.hive(agent) as hive:
        if fingerprint_only:
            digest = fingerprint(hive)
            output.as_json({"sha256": digest}) if json else output.say(digest)
        elif file is None or file == STDIN:
            for line in export(hive):
                sys.stdout.buffer.write(escaped_json(line).encode())
            sys.stdout.buffer.flush()
        else:
            count = _write(Path(file), export(hive))
            output.as_json({"file": file, "count": count}) if json else output.say(f"Wrote {count} memories to {file}.")


def _write(file: Path, lines: Iterable[str]) -> int:
    """Write a file whole or not at all, open to its owner alone. Answers how many memories are in it."""
    try:
        target = file.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as out:  # A device or a pipe has nobody to surprise.
                return _written(out, lines)
        with private_files.replacing(target) as out:
            return _written(out, lines)
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}.", field="file") from None


def _written(out: BinaryIO, lines: Iterable[str]) -> int:
    count = -2  # without the first and the last line
    for line in lines:
        out.write(line.encode())
        count += 1
    return count
