"""The verb ``move``: copies everything to another database."""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hivelore.cli import exits, output
from hivelore.cli.options import AsJson
from hivelore.errors import Conflict, HiveloreError, Invalid

if TYPE_CHECKING:
    from hivelore.memories.whole import Counts
    from hivelore.runtime.settings import Settings
    from hivelore.transfer.migrate.endpoints import DatabaseLocation, MigrationSource, MigrationTarget
    from hivelore.transfer.migrate.migrator import Comparison, Migrator

_ROUNDS = 10
"""Most rounds of copying while a service writes."""
_FEW = 50
"""A round that copies no more memories than this is the last one."""
_TRIES = 3
_POLL_EVERY = 0.1
_FOLLOW_EVERY = 10
"""Polls between two rounds of copying with --wait."""


def move(
    *,
    to: Annotated[str, Parameter(help="Target: a SQLite file or its folder, or the URL of a PostgreSQL database.")],
    source: Annotated[
        str | None,
        Parameter(name="--from", help="Source, in the same form (default: HIVELORE_DATABASE).", metavar="PLACE"),
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Examine both and copy nothing.")] = False,
    wait: Annotated[bool, Parameter(help="Copy while a service runs until it is stopped, then finish.")] = False,
    json: AsJson = False,
) -> int:
    """Copy everything to another database, SQLite or PostgreSQL.

    The source does not change, and a service may use it meanwhile. In that case, stop the service and run the same
    command again: it copies the rest, compares both databases and completes the target. An interrupted move continues
    where it stopped.

    Example: hivelore move --to postgresql://hivelore@db.example.com/hivelore --dry-run
    """
    from hivelore.runtime.settings import load
    from hivelore.transfer.migrate import endpoints

    settings = load()
    with _naming("--from"):
        origin = endpoints.configured_location(settings) if source is None else endpoints.parse_location(source)
    with _naming("--to"):
        goal = endpoints.parse_location(to)
        if goal == origin:
            raise Invalid("Source and target are the same database.")
    if dry_run:
        return _show_preview(origin, goal, settings, as_json=json)
    with ExitStack() as stack:
        with _naming("--from"):
            here = stack.enter_context(endpoints.open_source(origin, settings))
        with _naming("--to"):
            there = stack.enter_context(endpoints.open_target(goal, settings))
            moving = endpoints.build_migrator(here, there, output.progress)
            finished_at = moving.begin().finished_at
        output.note(f"From {here.place} ({here.store.name}) to {there.place} ({there.store.name}).")
        try:
            holder = None if finished_at is not None else _copy_while_in_use(moving, here, wait=wait)
            if holder is not None:
                return _show_unfinished(here, there, holder, as_json=json)
            compared = _finish(moving) if finished_at is None else moving.compare()
        except (HiveloreError, KeyboardInterrupt):
            output.note("Stopped. Run it again to continue: copied data stays.")
            raise
        return _show_result(here, there, compared, finished_at, as_json=json)


def _copy_while_in_use(moving: "Migrator", source: "MigrationSource", *, wait: bool) -> str | None:
    """Copy while another process may write to the source. Returns that process; None when there is none."""
    holder = source.holder()
    if holder is None:
        return None
    moving.follow(logs=True)
    moving.index()
    for _ in range(_ROUNDS):
        if moving.follow() <= _FEW:
            break
    if not wait:
        return source.holder()
    output.note(f"Everything is copied so far. {holder} Stop it; then this finishes.")
    looks = 0
    while source.holder() is not None:
        time.sleep(_POLL_EVERY)
        looks += 1
        if looks % _FOLLOW_EVERY == 0:
            moving.follow()
    return None


def _finish(moving: "Migrator") -> "Comparison":
    for _ in range(_TRIES):
        compared = moving.finish()
        if compared is not None:
            return compared
    raise Conflict("Another process still writes to the source. Stop every service that uses it, then run this again.")


def _show_result(
    source: "MigrationSource",
    target: "MigrationTarget",
    compared: "Comparison",
    finished_at: str | None,
    *,
    as_json: bool,
) -> int:
    here, there = compared.source, compared.target
    if as_json:
        sides = {
            "source": {"place": str(source.place), "counts": _counts(here.counts), "sha256": here.sha256},
            "target": {"place": str(target.place), "counts": _counts(there.counts), "sha256": there.sha256},
        }
        output.print_json({"finished": compared.is_equal, "equal": compared.is_equal, **sides})
    else:
        counts = zip(_counts(here.counts).items(), _counts(there.counts).values(), strict=True)
        rows = [[name, f"{one:,}", f"{other:,}"] for (name, one), other in counts]
        output.table(["", "from", "to"], [*rows, ["sha256", here.sha256[:16], there.sha256[:16]]])
        if compared.is_equal:
            output.say("Both databases are equal. Set HIVELORE_DATABASE to the target, then start the service.")
    if not compared.is_equal and finished_at is None:
        output.note("The databases are NOT equal. Keep the source, and move it to another, empty database.")
    elif not compared.is_equal:
        output.note(f"The move was completed at {finished_at}; one of the databases has changed since.")
    return 0 if compared.is_equal else exits.UNEXPECTED


def _show_unfinished(source: "MigrationSource", target: "MigrationTarget", holder: str, *, as_json: bool) -> int:
    if as_json:
        sides = {"source": {"place": str(source.place)}, "target": {"place": str(target.place)}}
        output.print_json({"finished": False, "holder": holder, **sides})
    else:
        output.say(f"Everything is copied so far. {holder}")
        output.say("Stop it, then run this again to copy the rest and compare both databases.")
    return exits.LEFT_OUT


def _show_preview(origin: "DatabaseLocation", goal: "DatabaseLocation", settings: "Settings", *, as_json: bool) -> int:
    from hivelore.transfer.migrate import endpoints

    with ExitStack() as stack:
        with _naming("--from"):
            source = stack.enter_context(endpoints.open_source_read_only(origin, settings))
        with _naming("--to"):
            state = endpoints.examine_target(goal, settings, source.store)
        with source.store.read() as view:
            counts = _counts(view.counts())
        holder = source.holder()
    if as_json:
        sides = {"source": {"place": str(origin), "counts": counts}, "target": {"place": str(goal), "state": state}}
        output.print_json({"finished": False, "holder": holder, **sides})
        return 0
    output.table(["", "to copy"], [[name, f"{count:,}"] for name, count in counts.items()])
    output.say(f"From {origin}")
    output.say(f"To   {goal}, which {state}.")
    if holder is not None:
        output.say(f"{holder} It may keep running until everything is copied.")
    return 0


def _counts(counts: "Counts") -> dict[str, int]:
    return {name.replace("token_codes", "tokens"): count for name, count in asdict(counts).items()}


@contextmanager
def _naming(option: str) -> Generator[None]:
    """Put the option that an error is about before its message."""
    try:
        yield
    except HiveloreError as error:
        error.args = (f"{option}: {error}",)
        raise
