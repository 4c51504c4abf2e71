"""Imports agents, setup scripts, repositories and configuration from a database of Agent Swarm."""

from collections import Counter
from pathlib import Path

from hivelore.cli import connection, exits, output
from hivelore.core.text import counted
from hivelore.errors import HiveloreError
from hivelore.python.remote import RemoteHive
from hivelore.transfer.agent_swarm.database import read_tables
from hivelore.transfer.agent_swarm.importer import SwarmImporter
from hivelore.transfer.agent_swarm.model import Kind, Outcome, Result

_LEFT_OUT = (Result.CONFLICT, Result.REFUSED)


def import_database(path: Path, *, dry_run: bool, as_json: bool) -> int:
    tables = read_tables(path)
    outcomes: list[Outcome] = []
    with connection.operator() as client:
        importer = SwarmImporter(RemoteHive(client), connection.hive, dry_run=dry_run)
        total = sum(len(table.rows) for table in tables.values())
        try:
            with output.progress("Importing", total) as advance:
                for outcome in importer.run(tables):
                    outcomes.append(outcome)
                    advance(min(len(outcomes), total))
        except (HiveloreError, KeyboardInterrupt):
            _report(outcomes, dry_run=dry_run, is_incomplete=True, as_json=as_json)
            output.note("The import stopped. Run it again to continue: what was imported stays.")
            raise
    _report(outcomes, dry_run=dry_run, is_incomplete=False, as_json=as_json)
    return exits.LEFT_OUT if any(one.result in _LEFT_OUT for one in outcomes) else 0


def _report(outcomes: list[Outcome], *, dry_run: bool, is_incomplete: bool, as_json: bool) -> None:
    counts = Counter(one.result for one in outcomes)
    if as_json:
        items = [{"kind": one.kind, "name": one.name, "result": one.result, "reason": one.reason} for one in outcomes]
        report = {"dryRun": dry_run, "incomplete": is_incomplete, "items": items}
        output.print_json({**{str(one): counts[one] for one in Result}, **report})
        return
    if dry_run and outcomes:
        rows = [[one.kind, one.name, one.result, one.reason or ""] for one in outcomes]
        output.table(["kind", "name", "result", "reason"], rows)
    elif not dry_run:
        for one in outcomes:
            if one.reason is not None:
                output.note(f"{one.kind} {one.name}: {one.result}. {one.reason}")
    summary = f"{counted(len(outcomes), 'item')}: " + ", ".join(f"{counts[one]} {one}" for one in Result)
    notes = (" Nothing was stored." if dry_run else "", " The import is incomplete." if is_incomplete else "")
    output.say(f"{summary}.{''.join(notes)}")
    if not dry_run and any(one.kind is Kind.AGENT and one.result is Result.CREATED for one in outcomes):
        output.note("Imported agents are workers without a key. Make one with 'hivelore agent add NAME [--role lead]'.")
