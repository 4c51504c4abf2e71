"""Verbs that undo changes and maintain the data: undo, batches, maintain, reembed."""

import time
from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.connection import call, path
from hivelore.cli.options import After, AsJson, Limit100, Number, Reviewer
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted
from hivelore.errors import Conflict, HiveloreError, Invalid, NotFound
from hivelore.python.client import Client

_BATCHES = "/api/batches"
_MAINTENANCE = "/api/maintenance"
_REEMBED = "/api/memory/re-embed"
_BATCH_COLUMNS = (
    Column("id", kind="id"),
    Column("done", "at", "age"),
    Column("kind"),
    Column("changes"),
    Column("by", "actor", "id", "operator"),
    Column("undone", "undoneAt", "age"),
    Column("reason"),
)
_SHOWN = 20
_SLOW = 600.0
"""Seconds to wait for requests that may concern all memories."""
_POLL = (0.02, 0.2)
"""Seconds between two polls of a job: the first pause and the longest."""


def undo(
    which: Annotated[str, Parameter(name="id", help="Id of a batch, or of a memory: its last change.")],
    /,
    *,
    reason: Annotated[str | None, Parameter(help="Reason; stored with the change.", metavar="TEXT")] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Undo a change: all of it or nothing.

    Memories that were forgotten cannot be restored.

    Example: hivelore undo ID
    """
    body = {"id": which, "reason": reason}
    done = call("POST", "/api/undo", agent=agent, operator=True, body=body, timeout=_SLOW)
    restored = [*done["memories"], *done["entries"], *done["repos"], *done["profiles"]]
    short = output.short_ids([*restored, done["by"]])
    shown = (
        ", ".join(short[one] for one in restored[:_SHOWN]) if done["batch"]["script"] is None else "the setup script"
    )
    output.result(done, json, "Restored: ", (shown, "bold"))
    if json:
        return
    if len(restored) > _SHOWN:
        output.note(f"... and {len(restored) - _SHOWN:,} more.")
    if done["forgotten"]:
        output.note(f"Forgotten since, and not restored: {done['forgotten']:,}.")
    for warning in done["warnings"]:
        output.note(warning)
    if done["by"] is not None:
        output.note(f"'hivelore undo {short[done['by']]}' reverts this.")


def batches(
    batch: Annotated[str | None, Parameter(name="id", help="Show one batch with its memories.")] = None,
    /,
    *,
    memory: Annotated[str | None, Parameter(help="Only changes of this memory.", metavar="ID")] = None,
    drop: Annotated[
        bool, Parameter(help="Delete the stored previous states of the batch: it can no longer be undone.")
    ] = False,
    limit: Limit100 = 20,
    after: After = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List changes that can be undone, newest first.

    Example: hivelore batches --limit 5
    """
    if batch is None:
        if drop:
            raise Invalid("Say which batch to drop.", field="id")
        query = {"limit": limit, "after": after, "memory": memory}
        answer = call("GET", _BATCHES, agent=agent, operator=True, query=query)
        more = "--limit shows up to 100, --after continues"
        output.page(answer, "batches", json, _BATCH_COLUMNS, empty="No change can be undone.", more=more)
    elif drop:
        call("DELETE", path(_BATCHES, batch), agent=agent, operator=True)
        output.result({"dropped": 1}, json, "Dropped: ", (batch, "bold"))
    else:
        found = call("GET", path(_BATCHES, batch), agent=agent, operator=True)
        if json:
            output.print_json(found)
            return
        known = found["batch"]
        output.show_fields({column.head: column.read(known) for column in _BATCH_COLUMNS if column.kind != "age"})
        output.show_fields({"done": known["at"], "undone": known["undoneAt"]})
        if known["script"] is not None:
            output.show_fields({"setup script of": known["script"]["agent"] or "all agents"})
            output.show_fields({"versions": f"{known['script']['before']} to {known['script']['after']}"})
            return
        output.say()
        if found["memories"]:
            output.show_table((Column("memory", "id", "id"), Column("name")), found["memories"])
        if found["entries"]:
            output.show_table((Column("entry", "id", "id"), Column("scope"), Column("key")), found["entries"])
        if found["repos"]:
            output.show_table((Column("repository", "id", "id"), Column("name")), found["repos"])
        if found["profiles"]:
            columns = (Column("profile of", "agentId", "id"), Column("before"), Column("after"))
            output.show_table(columns, found["profiles"])


def maintain(
    *,
    purge_expired: Annotated[bool, Parameter(help="Remove expired memories.")] = False,
    merge: Annotated[bool, Parameter(help="Propose to merge duplicates.")] = False,
    reindex: Annotated[bool, Parameter(help="Rebuild the keyword index.")] = False,
    vacuum: Annotated[bool, Parameter(help="Reclaim unused disk space.")] = False,
    apply: Annotated[bool, Parameter(help="Apply the changes (default: preview).")] = False,
    dry_run: Annotated[bool, Parameter(help="Preview the changes, as without --apply.")] = False,
    yes_delete: Annotated[Number, Parameter(help="Confirm the removal of exactly N memories.", metavar="N")] = None,
    json: AsJson = False,
) -> None:
    """Preview maintenance, or apply it.

    Without one of the first four options, purging and merging are previewed. Purged memories can be restored for a
    while. Ctrl-C cancels a long job.

    Example: hivelore maintain --purge-expired
    """
    if apply and dry_run:
        raise Invalid("Choose one of --apply and --dry-run.", field="apply")
    if not (apply or purge_expired or merge or reindex or vacuum):
        purge_expired = merge = True
    body = {
        "purgeExpired": purge_expired,
        "merge": merge,
        "reindex": reindex,
        "vacuum": vacuum,
        "apply": apply,
        "yesDelete": yes_delete,
    }
    with connection.operator() as client:
        if merge or vacuum:
            done = _maintain_in_background(client, body)
        else:
            done = client.call("POST", _MAINTENANCE, body=body, timeout=_SLOW)
    if json:
        output.print_json(done)
    elif done["applied"]:
        _show_applied(done, purge_expired=purge_expired, merge=merge)
    else:
        _show_preview(done, purge_expired=purge_expired, merge=merge)


def _maintain_in_background(client: Client, body: Json) -> Json:
    job = client.call("POST", _MAINTENANCE, body={**body, "background": True})
    try:
        job = _wait_for_job(client, _MAINTENANCE, job, "Maintenance", None)
    except KeyboardInterrupt:
        with suppress(HiveloreError):
            client.call("DELETE", f"{_MAINTENANCE}/{job['id']}")
        output.note("Cancelled. 'hivelore batches' lists the changes that were made before, if any.")
        raise
    if job["state"] != "done":
        raise Conflict(job["error"] or f"Job {job['id']} is {job['state']}: another operator ended it.")
    if job["result"] is None:
        raise NotFound(f"The result of job {job['id']} is no longer stored. Run it again.")
    return job["result"]


def _show_applied(done: Json, *, purge_expired: bool, merge: bool) -> None:
    if purge_expired:
        output.say(f"Expired memories removed: {done['purged']:,} of {done['memories']:,}.")
    if merge:
        output.say(f"Merges proposed: {done['proposed']:,}.")
    for name in done["done"]:
        output.say(f"Done: {name}.")
    if done["batch"] is not None:
        output.note(f"'hivelore undo {output.short_id(done['batch'])}' restores the removed memories.")


def _show_preview(done: Json, *, purge_expired: bool, merge: bool) -> None:
    expired, most = done["expired"], done["mostUnasked"]
    if purge_expired:
        output.say(f"Expired memories to remove: {expired:,} of {done['memories']:,}.")
        if examples := done["examples"][:_SHOWN]:
            output.show_table(
                (Column("id", kind="id"), Column("expired", "expiredAt", "age"), Column("name")), examples
            )
    if merge:
        output.say(f"Duplicate pairs to propose for merging: {len(done['alike']):,}.")
        if pairs := done["alike"][:_SHOWN]:
            shown = [{**pair, "name": pair["names"][1]} for pair in pairs]
            output.show_table(
                (Column("older", kind="id"), Column("newer", kind="id"), Column("name"), Column("why")), shown
            )
    if expired > most:
        removed = f"Removing more than {counted(most, 'memory', 'memories')}"
        output.note(f"{removed} needs confirmation: --apply --yes-delete {expired}.")
    output.note("Nothing was changed. --apply applies this; --json shows more of it.")


def reembed(
    *,
    everything: Annotated[bool, Parameter(help="Include passages that have a vector of this model already.")] = False,
    detach: Annotated[bool, Parameter(help="Do not wait for the end.")] = False,
    json: AsJson = False,
) -> int:
    """Embed passages that have no vector of the configured model.

    Passages that failed before are tried again. Searches use the old vectors until the new ones are complete. Ctrl-C
    stops waiting; the service continues.

    Example: hivelore reembed --detach
    """
    with connection.operator() as client:
        job = client.call("POST", _REEMBED, body={"everything": everything})
        if not detach:
            try:
                job = _wait_for_job(client, _REEMBED, job, "Embedding", job["total"])
            except KeyboardInterrupt:
                output.note("Stopped waiting. The service continues; 'hivelore status' shows the remaining passages.")
                raise
        failed = 0 if job["state"] == "running" else client.call("GET", "/api/memory/stats")["failed"]
    output.result({**job, "failed": failed}, json, _describe_embedding(job, failed))
    if failed and not json:
        output.note("They are found by keywords only. 'hivelore doctor' shows the cause.")
    return exits.UNEXPECTED if failed or job["state"] == "failed" else 0


def _describe_embedding(job: Json, failed: int) -> str:
    total = counted(job["total"], "passage")
    if job["state"] == "running":
        return f"Re-embedding runs in the background: {job['done']:,} of {total} embedded so far."
    if failed:
        return f"Embedded {max(job['done'] - failed, 0):,} of {total}; {failed:,} failed."
    error = f" ({job['error']})" if job["error"] else ""
    return f"Re-embedding is {job['state']}: {job['done']:,} of {total}{error}."


def _wait_for_job(client: Client, place: str, job: Json, label: str, total: float | None) -> Json:
    pause, longest = _POLL
    with output.progress(label, total) as advance:
        while job["state"] == "running":
            time.sleep(pause)
            pause = min(2 * pause, longest)
            job = client.call("GET", f"{place}/{job['id']}")
            advance(job["done"], job["total"])
    return job
