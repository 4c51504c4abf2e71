"""Verbs about files of memories: index, import, export."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from cyclopts import Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.file_writes import report_skipped, store_files
from hivelore.cli.options import STDIN, ActingAgent, AsJson, Scope, parse_past, resolve_project
from hivelore.core.sanitizer import escaped_json
from hivelore.core.text import counted
from hivelore.errors import HiveloreError, Invalid
from hivelore.local import endpoint, private_files
from hivelore.memories import model
from hivelore.memories.drafts import Draft
from hivelore.transfer.agent_swarm.detection import is_database
from hivelore.transfer.files import Skipped, find_files, read_draft, resolve_path
from hivelore.transfer.jsonl import ImportReport, export, fingerprint, import_lines

_MOST_SHOWN = 100
"""Bad lines in the JSON of an import; stderr lists all of them."""


def index(
    path: Annotated[str, Parameter(help="File or folder.")],
    /,
    *paths: Annotated[str, Parameter(help="Further files or folders.")],
    scope: Scope = "agent",
    project: Annotated[
        str | None, Parameter(help="Project name, or '' for none (default: the git repository of each path).")
    ] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> int:
    """Index text files and folders of them.

    Files that .gitignore excludes are skipped. A file that was indexed before keeps its id, and its unchanged parts
    keep their vectors.

    Example: hivelore index docs README.md
    """
    if not all((path, *paths)):
        raise Invalid("A path is empty.", field="path")
    roots = [resolve_path(Path(name)) for name in (path, *paths)]
    projects = {root: resolve_project(project, root) for root in roots}

    def read(found: tuple[Path | Skipped, Path]) -> tuple[Path, Draft] | Skipped:
        file, root = found
        draft = file if isinstance(file, Skipped) else read_draft(file, model.Scope(scope), projects[root])
        return draft if isinstance(draft, Skipped) else (Path(draft.source_path or root), draft)

    files = [(file, root) for root in roots for file in find_files(root)]
    with connection.hive(agent) as hive:
        counts, skipped = store_files(hive, "Indexing", files, read)
    left_out = report_skipped(one for one in skipped if not one.expected or one.path in roots)
    output.result(
        {**counts, "skipped": [{"path": str(one.path), "reason": one.reason} for one in skipped]},
        json,
        f"Files indexed: {counts['created']} new, {counts['changed']} changed, {counts['unchanged']} unchanged; "
        f"{len(skipped)} skipped ({len(skipped) - len(left_out)} without text).",
    )
    return exits.LEFT_OUT if left_out else 0


def import_file(
    file: Annotated[
        str, Parameter(help="File of JSON lines, - for stdin, claude-code or codex, or a database of Agent Swarm.")
    ],
    /,
    *,
    project: Annotated[str | None, Parameter(help="With a program: only this project.")] = None,
    since: Annotated[str | None, Parameter(help="With a program: only data since then, like 2026-01-31, 30d.")] = None,
    dry_run: Annotated[bool, Parameter(help="With a program or a database: show the result, store nothing.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> int:
    """Import memories, or the agents of Agent Swarm.

    Each line needs content (or text). Optional fields are id, name, createdAt (or timestamp), session, author, tags,
    scope, source, project and metadata; other fields go to the metadata. Bad lines are reported and skipped. Importing
    the same file again changes nothing, so an interrupted import can be run again.

    With claude-code or codex, summaries of its past sessions and its own memories are imported.

    From a SQLite database of Agent Swarm, agents with profiles and setup scripts, repositories and configuration are
    imported. Nothing that exists here is changed. For operators.

    Example: hivelore import memories.jsonl
    """
    if file in endpoint.IMPORTED:
        # Reading sessions needs many modules.
        from hivelore.cli.backfill import import_from_program

        instant = None if since is None else parse_past(since, "since")
        return import_from_program(file, project=project, since=instant, dry_run=dry_run, agent=agent, as_json=json)
    if file != STDIN and is_database(Path(file)):
        # Most imports need no database.
        from hivelore.cli.swarm_import import import_database

        if (project, since, agent) != (None, None, None):
            raise Invalid("Leave out --project, --since and --agent with a database: it is imported as a whole.")
        return import_database(Path(file), dry_run=dry_run, as_json=json)
    if project is not None or since is not None or dry_run:
        raise Invalid(
            "Use --project, --since and --dry-run with claude-code or codex, not with a file of lines.", field="file"
        )
    return _import_lines(file, agent, as_json=json)


def _import_lines(file: str, agent: str | None, *, as_json: bool) -> int:
    shown: list[dict[str, Any]] = []

    def refused(number: int, reason: str) -> None:
        output.note(f"Line {number}: {reason}")
        if len(shown) < _MOST_SHOWN:
            shown.append({"line": number, "reason": reason})

    report = ImportReport()
    with _open(file) as (stream, size), connection.hive(agent) as hive:
        try:
            with output.progress("Importing", size) as advance:

                def progress(far: ImportReport) -> None:
                    nonlocal report
                    report = far
                    if size is not None:
                        advance(stream.tell())

                report = import_lines(hive, stream, refused=refused, progress=progress)
        except (HiveloreError, KeyboardInterrupt):
            output.note(f"Stopped at line {report.lines}. Run it again to continue: imported lines stay.")
            raise
    if report.assumed_utc:
        output.note("Some times had no time zone: taken as UTC.")
    if as_json:
        output.print_json({**_counts(report), "bad": shown})
    else:
        output.say(
            f"{counted(report.lines, 'line')}: {report.created} new, {report.changed} changed, "
            f"{report.unchanged} unchanged, {report.refused} skipped."
        )
    return exits.LEFT_OUT if report.refused else 0


def _counts(report: ImportReport) -> dict[str, Any]:
    counts = asdict(report)
    return counts | {"assumedUtc": counts.pop("assumed_utc")}


@contextmanager
def _open(file: str) -> Generator[tuple[BinaryIO, int | None]]:
    """Open a file; yields it with its size, or None if that is unknown."""
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
    file: Annotated[str | None, Parameter(help="File to write (default: stdout).")] = None,
    /,
    *,
    fingerprint_only: Annotated[bool, Parameter(name="--hash", help="Print only the canonical hash.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Export all memories as JSON lines.

    These are all memories that the agent can see, with a hash that shows whether two databases have the same memories.

    Example: hivelore export memories.jsonl
    """
    with connection.hive(agent) as hive:
        if fingerprint_only:
            digest = fingerprint(hive)
            output.result({"sha256": digest}, json, digest)
        elif file is None or file == STDIN:
            for line in export(hive):
                sys.stdout.buffer.write(escaped_json(line).encode())
            sys.stdout.buffer.flush()
        else:
            count = _write(Path(file), export(hive))
            memories = counted(count, "memory", "memories")
            output.result({"file": file, "count": count}, json, f"Wrote {memories} to {file}.")


def _write(file: Path, lines: Iterable[str]) -> int:
    """Write a private file atomically. Returns the number of memories in it."""
    try:
        target = file.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as out:  # A device or a pipe cannot be replaced.
                return _write_lines(out, lines)
        with private_files.replacing(target) as out:
            return _write_lines(out, lines)
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}.", field="file") from None


def _write_lines(out: BinaryIO, lines: Iterable[str]) -> int:
    count = -2  # without the first and the last line
    for line in lines:
        out.write(line.encode())
        count += 1
    return count
