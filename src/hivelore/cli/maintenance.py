"""Verbs that take changes back and keep things in order: undo, batches, maintain."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

from cyclopts import Parameter
from msgspec import to_builtins

from hivelore.changes import batch_codec as wire
from hivelore.changes.model import Batch, BatchDetail
from hivelore.cli import connection, output
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson, whole
from hivelore.cli.review import Reviewer, as_reviewer
from hivelore.errors import Invalid
from hivelore.maintenance.model import MaintenanceResult
from hivelore.python.remote import RemoteHive

_SHOWN = 20
Why = Annotated[str | None, Parameter(help="Why; kept with the change.", metavar="TEXT")]


def undo(
    which: Annotated[str, Parameter(name="id", help="A batch, or a memory: its last change.")],
    /,
    *,
    reason: Why = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Take back what was done: all of it or nothing.

    What was forgotten does not come back.

    Example: hivelore undo ID
    """
    with as_reviewer(agent) as hive:
        done = hive.undo(which, reason=reason)
    if json:
        output.as_json(to_builtins(done))
        return
    output.say("As before: ", (", ".join(done.memories[:_SHOWN]), "bold"))
    if len(done.memories) > _SHOWN:
        output.note(f"... and {len(done.memories) - _SHOWN} more.")
    if done.forgotten:
        output.note(f"Forgotten for good since, and not brought back: {done.forgotten:,}.")
    if done.by is not None:
        output.note(f"'hivelore undo {done.by}' takes that back in turn.")


def batches(
    batch: Annotated[str | None, Parameter(name="id", help="Show one, with the memories that it changed.")] = None,
    /,
    *,
    memory: Annotated[str | None, Parameter(help="Only what changed this memory.", metavar="ID")] = None,
    drop: Annotated[bool, Parameter(help="Keep nothing of it any more: it cannot be taken back then.")] = False,
    limit: Annotated[int, Parameter(alias="-n", help="1 to 100.", converter=whole)] = 20,
    after: Annotated[str | None, Parameter(help="Go on behind a page: its `next` (--json).")] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List what was done and can be taken back, newest first.

    Example: hivelore batches --limit 5
    """
    if drop and batch is None:
        raise Invalid("Say which batch to drop.", field="id")
    with as_reviewer(agent) as hive:
        if batch is None:
            page = hive.batches(limit=limit, after=after, memory=memory)
        elif drop:
            hive.drop_batch(batch)
            output.say("Dropped: ", (batch, "bold"))
            return
        else:
            _show(hive.batch(batch), as_json=json)
            return
    if json:
        output.as_json(to_builtins(page))
        return
    output.table(["id", "done", "kind", "memories", "by", "taken back", "why"], [_row(one) for one in page.batches])
    if page.next is not None:
        output.note("There are more: --limit shows up to 100, --after goes on.")


def maintain(
    *,
    purge_expired: Annotated[bool, Parameter(help="Take away what has expired.")] = False,
    merge: Annotated[bool, Parameter(help="Put what says the same to review.")] = False,
    reindex: Annotated[bool, Parameter(help="Make the keyword index anew.")] = False,
    vacuum: Annotated[bool, Parameter(help="Give back the room that nothing takes any more.")] = False,
    apply: Annotated[bool, Parameter(help="Do it; else it is only shown what would be done.")] = False,
    dry_run: Annotated[bool, Parameter(help="Only show it: as without --apply.")] = False,
    yes_delete: Annotated[
        int | None, Parameter(help="Exactly so many are to go.", metavar="N", converter=whole)
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what maintenance would do, or do it.

    Without one of the four it is shown what purging and merging would do. What goes can be taken back for a while.
    Ctrl-C cancels what takes long.

    Example: hivelore maintain --purge-expired
    """
    if apply and dry_run:
        raise Invalid("--apply or --dry-run: one of them.", field="apply")
    if not (apply or purge_expired or merge or reindex or vacuum):
        purge_expired = merge = True
    with (
        _cancelled_by_ctrl_c(merge or vacuum),
        connection.operator() as client,
        RemoteHive(client, output.progress) as hive,
    ):
        found = hive.maintain(
            apply=apply,
            purge_expired=purge_expired,
            merge=merge,
            reindex=reindex,
            vacuum=vacuum,
            yes_delete=yes_delete,
        )
    if json:
        output.as_json(wire.maintained(found))
    elif found.applied:
        _tell_done(found, purge_expired=purge_expired, merge=merge)
    else:
        _tell_planned(found, purge_expired=purge_expired, merge=merge)


@contextmanager
def _cancelled_by_ctrl_c(is_job: bool) -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if is_job:
            output.note("Cancelled. 'hivelore batches' lists what was done until then, if anything.")
        raise


def _tell_done(found: MaintenanceResult, *, purge_expired: bool, merge: bool) -> None:
    if purge_expired:
        output.say(f"Expired and gone: {found.purged:,} of {found.memories:,} memories.")
    if merge:
        output.say(f"Pairs put to review: {found.proposed:,}.")
    for name in found.done:
        output.say(f"Done: {name}.")
    if found.batch is not None:
        output.note(f"'hivelore undo {found.batch}' brings back what is gone.")


def _tell_planned(found: MaintenanceResult, *, purge_expired: bool, merge: bool) -> None:
    if purge_expired:
        output.say(f"Expired, and would go: {found.expired:,} of {found.memories:,} memories.")
        if going := [[one.id, output.age(one.expired_at, now()), one.name] for one in found.examples[:_SHOWN]]:
            output.table(["id", "expired", "name"], going)
    if merge:
        output.say(f"Pairs that say the same, and would be put to review: {len(found.alike):,}.")
        if pairs := [[one.older, one.newer, one.names[1], one.why] for one in found.alike[:_SHOWN]]:
            output.table(["older", "newer", "name", "why"], pairs)
    if found.expired > found.most:
        output.note(f"More than {found.most}: --apply wants --yes-delete {found.expired}, too.")
    output.note("Nothing was done. --apply does it; --json shows more of it.")


def _show(case: BatchDetail, *, as_json: bool) -> None:
    if as_json:
        output.as_json(to_builtins(case))
        return
    output.table(["id", "done", "kind", "memories", "by", "taken back", "why"], [_row(case.batch)])
    output.table(["memory", "name"], [[one.id, one.name] for one in case.memories])


def _row(batch: Batch) -> list[str]:
    return [
        batch.id,
        output.age(batch.at, now()),
        batch.kind.value,
        str(batch.changes),
        batch.actor or "operator",
        "" if batch.undone_at is None else output.age(batch.undone_at, now()),
        batch.reason or "",
    ]
