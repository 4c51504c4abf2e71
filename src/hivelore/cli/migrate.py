"""The verb ``move``: a whole swarm from one database to another."""

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
    from hivelore.transfer.migrate.copy import Comparison, Migrator
    from hivelore.transfer.migrate.endpoints import DatabaseLocation, MigrationSource, MigrationTarget

_ROUNDS = 10
"""So often at most the service is followed, before it is said that it has to stop."""
_FEW = 50
"""Memories of a round after which there is no use in another one."""
_TRIES = 3
_LOOK_EVERY = 0.1
_FOLLOW_EVERY = 10
"""Looks between two rounds of who waits."""


def move(
    *,
    to: Annotated[str, Parameter(help="A SQLite file or its folder, or the URL of a PostgreSQL database.")],
    source: Annotated[
        str | None, Parameter(name="--from", help="The same. Else: what HIVELORE_DATABASE names.", metavar="PLACE")
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Look at both and copy nothing.")] = False,
    wait: Annotated[bool, Parameter(help="Follow a running service until it is stopped, then finish.")] = False,
    json: AsJson = False,
) -> int:
    """Copy everything to another database, SQLite or PostgreSQL.

    The source stays as it is, and may be in use meanwhile: then stop its service and run the same again, which copies
    what is new, compares both, and lets the target be used. An interrupted move goes on where it was.

    Example: hivelore move --to postgresql://hivelore@db.example.com/hivelore --dry-run
    """
    from hivelore.runtime.settings import load
    from hivelore.transfer.migrate import endpoints

    settings = load()
    with _about("--from"):
        origin = endpoints.configured_location(settings) if source is None else endpoints.parse_location(source)
    with _about("--to"):
        goal = endpoints.parse_location(to)
        if goal == origin:
            raise Invalid("Source and target are the same database.")
    if dry_run:
        return _looked_at(origin, goal, settings, as_json=json)
    with ExitStack() as stack:
        with _about("--from"):
            here = stack.enter_context(endpoints.open_source(origin, settings))
        with _about("--to"):
            there = stack.enter_context(endpoints.open_target(goal, settings))
            moving = endpoints.build_migrator(here, there, output.progress)
            finished_at = moving.begin().finished_at
        output.note(f"From {here.place} ({here.store.name}) to {there.place} ({there.store.name}).")
        try:
            holder = None if finished_at is not None else _followed(moving, here, wait=wait)
            if holder is not None:
                return _unfinished(here, there, holder, as_json=json)
            compared = _finished(moving) if finished_at is None else moving.compare()
        except (HiveloreError, KeyboardInterrupt):
            output.note("Stopped. Run it again to go on: what is copied stays.")
            raise
        return _told(here, there, compared, finished_at, as_json=json)


def _followed(moving: "Migrator", source: "MigrationSource", *, wait: bool) -> str | None:
    """Copy everything while somebody else may write to the source. Answers who; None once nobody does."""
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
    output.note(f"All is copied, and so is what comes. {holder} Stop it: this ends by itself then.")
    looks = 0
    while source.holder() is not None:
        time.sleep(_LOOK_EVERY)
        looks += 1
        if looks % _FOLLOW_EVERY == 0:
            moving.follow()
    return None


def _finished(moving: "Migrator") -> "Comparison":
    for _ in range(_TRIES):
        compared = moving.finish()
        if compared is not None:
            return compared
    raise Conflict("Somebody goes on writing to the source. Stop every service on it, then run this again.")


def _told(
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
        output.as_json({"finished": compared.is_equal, "equal": compared.is_equal, **sides})
    else:
        counts = zip(_counts(here.counts).items(), _counts(there.counts).values(), strict=True)
        rows = [[name, f"{one:,}", f"{other:,}"] for (name, one), other in counts]
        output.table(["", "from", "to"], [*rows, ["sha256", here.sha256[:16], there.sha256[:16]]])
        if compared.is_equal:
            output.say("Both have the same. Let HIVELORE_DATABASE name the target, then start the service.")
    if not compared.is_equal and finished_at is None:
        output.note("Both have NOT the same. Keep the source, and let a new move fill another, empty database.")
    elif not compared.is_equal:
        output.note(f"The move was finished at {finished_at}; since then one of them was used.")
    return 0 if compared.is_equal else exits.UNEXPECTED


def _unfinished(source: "MigrationSource", target: "MigrationTarget", holder: str, *, as_json: bool) -> int:
    if as_json:
        sides = {"source": {"place": str(source.place)}, "target": {"place": str(target.place)}}
        output.as_json({"finished": False, "holder": holder, **sides})
    else:
        output.say(f"All is copied but what comes from now on. {holder}")
        output.say("Stop it, then run this again: it copies what is new, compares both, and is done.")
    return exits.LEFT_OUT


def _looked_at(origin: "DatabaseLocation", goal: "DatabaseLocation", settings: "Settings", *, as_json: bool) -> int:
    from hivelore.transfer.migrate import endpoints

    with ExitStack() as stack:
        with _about("--from"):
            source = stack.enter_context(endpoints.open_source_read_only(origin, settings))
        with _about("--to"):
            state = endpoints.examine_target(goal, settings, source.store)
        with source.store.read() as view:
            counts = _counts(view.counts())
        holder = source.holder()
    if as_json:
        sides = {"source": {"place": str(origin), "counts": counts}, "target": {"place": str(goal), "state": state}}
        output.as_json({"finished": False, "holder": holder, **sides})
        return 0
    output.table(["", "to copy"], [[name, f"{count:,}"] for name, count in counts.items()])
    output.say(f"From {origin}")
    output.say(f"To   {goal}, which {state}.")
    if holder is not None:
        output.say(f"{holder} It may go on until all is copied.")
    return 0


def _counts(counts: "Counts") -> dict[str, int]:
    return {name.replace("token_codes", "tokens"): count for name, count in asdict(counts).items()}


@contextmanager
def _about(option: str) -> Generator[None]:
    """Says of which end an error tells."""
    try:
        yield
    except HiveloreError as error:
        error.args = (f"{option}: {error}",)
        raise
