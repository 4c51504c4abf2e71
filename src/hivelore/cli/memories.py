"""Verbs about memories: remember, recall, get, history, diff, list, edit, forget, rate, recalls, stats."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import (
    STDIN,
    ActingAgent,
    After,
    AsJson,
    AsOf,
    Scope,
    ScopeFilter,
    SearchProject,
    Source,
    Superseded,
    Tags,
    TargetProject,
    future,
    now,
    past,
    read_stdin,
    read_text,
    resolve_project,
    whole_number,
)
from hivelore.errors import Invalid, NotFound
from hivelore.python.client import Client

_MEMORIES = "/api/memory"
_SNIPPET_LENGTH = 200
_PAGE = 500
_SHOWN_PARTS = ("keyword", "vector", "prior", "recency", "access", "usefulness", "update")
"""Parts of a score that `recalls` shows; the other parts follow from them."""
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}

Id = Annotated[str, Parameter(name="id", help="Id of the memory.")]
Session = Annotated[str | None, Parameter(name="--session")]
Expiry = Annotated[str | None, Parameter(help="When it expires: 7d, 12h, or 2026-01-31.", metavar="WHEN")]
Json = Mapping[str, Any]


def remember(
    *text: Annotated[str, Parameter(help="Text to remember; - reads it from stdin.")],
    name: str | None = None,
    scope: Annotated[Scope, Parameter(help="agent: private; swarm: shared with all agents.")] = "agent",
    tag: Tags = (),
    category: str | None = None,
    source: Source = "manual",
    session_id: Session = None,
    author: str | None = None,
    project: TargetProject = None,
    expires: Expiry = None,
    subject: Annotated[
        str | None, Parameter(help="Fact key, like db.port: the new fact replaces the older one.")
    ] = None,
    valid_from: Annotated[
        str | None, Parameter(help="Since when the fact holds (default: now).", metavar="WHEN")
    ] = None,
    supersedes: Annotated[str | None, Parameter(help="Id of the memory that it replaces.", metavar="ID")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Remember a text.

    It is stored durably when this returns. The same text again is the same memory.

    Example: hivelore remember "The API wants a Bearer prefix." --scope swarm
    """
    content = read_text(text, "what to remember")
    draft: dict[str, Any] = {
        "content": content,
        "name": name,
        "scope": scope,
        "source": source,
        "category": category,
        "tags": list(tag),
        "session": session_id,
        "author": author,
        "project": resolve_project(project),
        "expiresAt": future(expires, "expires"),
        "subject": subject,
        "validFrom": past(valid_from, "valid-from"),
        "supersedes": supersedes,
    }
    memories = [{field: value for field, value in draft.items() if value is not None}]
    with connection.client(agent) as client:
        (stored,) = client.call("POST", f"{_MEMORIES}/batch", body={"memories": memories})["results"]
    if json:
        output.as_json(stored)
        return
    memory = stored["memory"]
    done = "Remembered" if stored["created"] else "Renewed" if stored["changed"] else "Known already:"
    output.say(done, " ", (memory["id"], "bold"), ": ", output.shortened(memory["name"], 100))
    if memory["content"] != content:
        output.note("Text that looks like a secret was masked before it was stored.")
    if stored.get("dropped"):
        output.note(
            "It replaces nothing: the memory it should replace is shared with others, and too many of your proposals "
            "wait for a decision. Tell a lead."
        )
    elif stored.get("proposal") is not None:
        output.note(
            "It replaces nothing yet: the memory it should replace is shared with others. Proposal "
            f"{stored['proposal']} asks a lead."
        )


def recall(
    *query: Annotated[str, Parameter(help="Question in your own words; - reads it from stdin.")],
    limit: Annotated[int, Parameter(alias="-n", help="Most results, 1 to 50.", converter=whole_number)] = 10,
    scope: ScopeFilter = "all",
    source: Source | None = None,
    session_id: Session = None,
    tag: Annotated[str | None, Parameter(help="Only memories with this tag.", metavar="TEXT")] = None,
    category: Annotated[str | None, Parameter(help="Only memories of this category.", metavar="TEXT")] = None,
    project: SearchProject = None,
    as_of: AsOf = None,
    superseded: Superseded = False,
    only_fitting: Annotated[bool, Parameter(help="Omit results that are hardly relevant.")] = False,
    diversity: Annotated[float, Parameter(help="0 to 1: higher prefers results that differ from each other.")] = 0.0,
    budget: Annotated[
        int | None, Parameter(help="Most tokens of all results together, 50 or more.", converter=whole_number)
    ] = None,
    explain: Annotated[bool, Parameter(help="Show the parts of each score.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Search for the memories most relevant to a question, best first.

    Example: hivelore recall why do I get a 403 --limit 3 --explain
    """
    question = read_text(query, "what you want to know")
    if not 0.0 <= diversity <= 1.0:
        raise Invalid(f"--diversity is 0 to 1, not {diversity}.", field="diversity")
    body = {
        "query": question,
        "limit": limit,
        "scope": scope,
        "source": source,
        "session": session_id,
        "tag": tag,
        "category": category,
        "project": resolve_project(project),
        "asOf": past(as_of, "as-of"),
        "superseded": superseded,
        "onlyFitting": only_fitting,
        "diversity": diversity,
        "budget": budget,
    }
    with connection.client(agent) as client:
        answer = client.call("POST", f"{_MEMORIES}/search", body=body)
    if json:
        output.as_json(answer)
        return
    output.note(answer["message"])
    hits = answer["results"]
    for rank, hit in enumerate(hits, start=1):
        _show_hit(rank, hit)
    if explain and hits:
        rows = [[str(rank), *(f"{part:.3f}" for part in hit["score"].values())] for rank, hit in enumerate(hits, 1)]
        output.say()
        output.table(["", *hits[0]["score"]], rows)


def _show_hit(rank: int, hit: Json) -> None:
    memory = hit["memory"]
    output.say(f"{rank}. {hit['score']['total']:.2f}  ", (output.shortened(memory["name"], 100), "bold"))
    snippet = output.shortened(hit["passage"]["content"], _SNIPPET_LENGTH)
    if snippet != memory["name"]:
        output.say(f"   {snippet}")
    replaced = "" if memory["validUntil"] is None else f"  valid until {output.age(memory['validUntil'], now())}"
    alike = f"  and {hit['alike']} similar" if hit["alike"] else ""
    details = f"{memory['id']}  {memory['scope']}  {output.age(memory['createdAt'], now())}{replaced}{alike}"
    output.say((f"   {details}", "dim"))


def get(
    memory: Id,
    /,
    *,
    chunks: Annotated[bool, Parameter(help="Show the chunks that the index holds.")] = False,
    as_of: AsOf = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Show one memory, including one that expired or was superseded.

    Example: hivelore get ID
    """
    if chunks and as_of is not None:
        raise Invalid("Choose one of --chunks and --as-of.")
    with connection.client(agent) as client:
        found = client.call("GET", _path(memory), query={"asOf": past(as_of, "as-of")})
        parts = client.call("GET", f"{_path(found['id'])}/chunks") if chunks else None
    if json:
        output.as_json(found if parts is None else parts)
    elif parts is None:
        _show_memory(found)
    else:
        for chunk in parts["chunks"]:
            heading = " > ".join(chunk["headings"])
            output.say((f"[{chunk['chunkIndex'] + 1}/{chunk['totalChunks']}] {heading}".rstrip(), "bold"))
            output.say(chunk["content"])
            output.say()


def _show_memory(memory: Json) -> None:
    output.say((memory["name"], "bold"))
    for name, value in memory.items():
        if name not in ("content", "name", "usefulness") and value not in (None, [], {}):
            output.field(name, value, width=14)
    if "usefulness" in memory:
        output.field("usefulness", _describe_usefulness(memory["usefulness"]), width=14)
    output.say()
    output.say(memory["content"])


def history(memory: Id, /, *, agent: ActingAgent = None, json: AsJson = False) -> None:
    """Show every version of a memory: who changed it, when and why.

    Also shows the memories that it replaced and that replaced it.

    Example: hivelore history ID
    """
    with connection.client(agent) as client:
        found = client.call("GET", f"{_path(memory)}/history")
    if json:
        output.as_json(found)
        return
    rows = [
        [
            str(version["version"]),
            _to_seconds(version["at"]),
            version["action"],
            version["actor"] or "operator",
            version["interface"],
            version["reason"] or "",
            version["content"],
        ]
        for version in found["versions"]
    ]
    output.table(["version", "at", "action", "actor", "interface", "reason", "content"], rows)
    if found["supersedes"] is not None:
        output.say(("replaced        ", "dim"), found["supersedes"])
    for successor in found["supersededBy"]:
        output.say(("was replaced by ", "dim"), successor)
    for undone in found.get("takenBack", ()):
        who = undone["actor"] or "operator"
        output.say(("undone          ", "dim"), f"{_to_seconds(undone['at'])} by {who}: {undone['change']}")


def diff(
    memory: Id,
    older: Annotated[
        int | None, Parameter(name="from", help="Older version (default: the previous one).", converter=whole_number)
    ] = None,
    newer: Annotated[
        int | None, Parameter(name="to", help="Newer version (default: the current one).", converter=whole_number)
    ] = None,
    /,
    *,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Compare two versions of a memory.

    Example: hivelore diff ID 1 1
    """
    with connection.client(agent) as client:
        found = client.call("GET", f"{_path(memory)}/diff", query={"from": older, "to": newer})
    if json:
        output.as_json(found)
        return
    if not found["fields"]:
        output.note(f"Versions {found['from']} and {found['to']} are the same.")
    for name, text in found["fields"].items():
        output.say((name, "bold"))
        for line in text.split("\n"):
            output.say((line, _DIFF_STYLES.get(line[:1], "")))


def list_memories(
    *,
    limit: Annotated[int, Parameter(alias="-n", help="Most results, 1 to 500.", converter=whole_number)] = 20,
    every: Annotated[bool, Parameter(name="--all", help="All pages.")] = False,
    after: After = None,
    scope: ScopeFilter = "all",
    source: Source | None = None,
    status: Literal["all", "live", "expired"] = "all",
    owner: Annotated[str | None, Parameter(help="Only memories of this agent (id).")] = None,
    project: SearchProject = None,
    session_id: Session = None,
    tag: str | None = None,
    category: str | None = None,
    subject: Annotated[str | None, Parameter(help="Only facts with this key.")] = None,
    as_of: AsOf = None,
    superseded: Superseded = False,
    since: Annotated[str | None, Parameter(help="Created since: 7d, 2026-01-31.", metavar="WHEN")] = None,
    until: Annotated[str | None, Parameter(help="Created before.", metavar="WHEN")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List memories, newest first.

    Example: hivelore list --since 7d --tag auth
    """
    query: dict[str, Any] = {
        "limit": _PAGE if every else limit,
        "after": after,
        "scope": scope,
        "source": source,
        "status": status,
        "agentId": owner,
        "project": resolve_project(project),
        "session": session_id,
        "tag": tag,
        "category": category,
        "subject": subject,
        "asOf": past(as_of, "as-of"),
        "superseded": "true" if superseded else None,
        "createdAfter": past(since, "since"),
        "createdBefore": past(until, "until"),
    }
    with connection.client(agent) as client:
        page = client.call("GET", _MEMORIES, query=query)
        memories = page["memories"]
        while every and page["next"] is not None:
            page = client.call("GET", _MEMORIES, query={**query, "after": page["next"]})
            memories += page["memories"]
    if json:
        output.as_json({"memories": memories, "next": page["next"]})
        return
    at = now()
    rows = [
        [
            memory["id"],
            output.age(memory["createdAt"], at),
            memory["scope"],
            memory["source"],
            _status(memory, at),
            memory["name"],
        ]
        for memory in memories
    ]
    output.table(["id", "created", "scope", "source", "status", "name"], rows)
    if page["next"] is not None:
        output.note("There are more: --all shows them.")


def _status(memory: Json, at: datetime) -> str:
    if memory["validUntil"] is not None:
        return "superseded"
    expires = memory["expiresAt"]
    return "expired" if expires is not None and datetime.fromisoformat(expires) <= at else ""


def edit(
    memory: Id,
    /,
    *,
    content: Annotated[str | None, Parameter(help="New text; - reads it from stdin.")] = None,
    name: str | None = None,
    scope: Annotated[Scope | None, Parameter(help="swarm: share it; agent: make it private.")] = None,
    tag: Annotated[tuple[str, ...] | None, Parameter(help="Replaces all tags; '' removes them.")] = None,
    category: str | None = None,
    summary: str | None = None,
    project: Annotated[str | None, Parameter(help="Project name, or '' for none.")] = None,
    expires: Annotated[str | None, Parameter(help="7d, 12h, 2026-01-31, or never.", metavar="WHEN")] = None,
    subject: Annotated[str | None, Parameter(help="Fact key, or '' for none.")] = None,
    valid_from: Annotated[str | None, Parameter(help="Since when the fact holds.", metavar="WHEN")] = None,
    supersedes: Annotated[
        str | None, Parameter(help="Id of the memory that it replaces, or '' for none.", metavar="ID")
    ] = None,
    reason: Annotated[str | None, Parameter(help="Reason; stored in the history.")] = None,
    if_version: Annotated[
        int | None, Parameter(help="Edit only if this is the current version.", converter=whole_number)
    ] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Change a memory.

    Fields that are not given stay. The previous version stays in the history.

    Example: hivelore edit ID --scope swarm --reason "useful to all"
    """
    given: dict[str, Any] = {
        "content": read_stdin() if content == STDIN else content,
        "name": name,
        "scope": scope,
        "summary": summary,
        "category": category,
        "tags": None if tag is None else list(tag),
        "subject": subject,
        "supersedes": supersedes,
        "validFrom": past(valid_from, "valid-from"),
    }
    changes = {field: value for field, value in given.items() if value is not None}
    if project is not None:
        changes["project"] = resolve_project(project)
    if expires is not None:
        changes["expiresAt"] = None if expires == "never" else future(expires, "expires")
    if not changes:
        raise Invalid("Say what to change, like --content TEXT or --scope swarm.")
    if reason is not None:
        changes["reason"] = reason
    with connection.client(agent) as client:
        edited = client.call("PATCH", _path(memory), body=changes, version=if_version)
    if json:
        output.as_json(edited)
    else:
        output.say("Version ", str(edited["version"]), " of ", (edited["id"], "bold"), f": {edited['name']}")


def forget(
    *memory: Annotated[str, Parameter(name="id", help="Ids of the memories.")],
    path: Annotated[Path | None, Parameter(help="Forget what was indexed from this file.")] = None,
    project: Annotated[
        str | None, Parameter(help="With --path: only what was indexed in this project; '' for none.")
    ] = None,
    yes: Annotated[bool, Parameter(alias="-y", help="Do not ask for confirmation.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Delete memories permanently.

    Their text, history, vectors and keywords are deleted too. The id of a memory that maintenance purged can be given
    alone: it can no longer be restored then.

    Example: hivelore forget ID --yes
    """
    if bool(memory) == (path is not None):
        raise Invalid("Say what to forget: ids, or --path FILE.")
    if project is not None and path is None:
        raise Invalid("Use --project together with --path FILE: an id names one memory.")
    with connection.client(agent) as client:
        count = _forget(client, memory, yes) if path is None else _forget_path(client, path, project, yes)
    if json:
        output.as_json({"forgotten": count})
    else:
        output.say(f"Forgotten: {count}.")


def _forget(client: Client, ids: Sequence[str], yes: bool) -> int:
    # All are read before the first is deleted: an unknown id leaves everything as it was.
    try:
        names = {memory["id"]: memory["name"] for memory in (client.call("GET", _path(each)) for each in ids)}
    except NotFound:
        if len(ids) > 1:
            raise
        names = {ids[0]: "no longer exists; only its stored previous states are deleted"}
    if not _confirm((f"{memory}  {output.shortened(name, 100)}" for memory, name in names.items()), len(names), yes):
        return 0
    for memory in names:
        client.call("DELETE", _path(memory))
    return len(names)


def _forget_path(client: Client, path: Path, project: str | None, yes: bool) -> int:
    if not _confirm([f"Everything that was indexed from {path}"], 1, yes):
        return 0
    query = {"sourcePath": str(path.resolve()), "project": project}
    return client.call("DELETE", _MEMORIES, query=query)["forgotten"]


def _confirm(lines: Iterable[str], count: int, yes: bool) -> bool:
    """Ask at a terminal. Without a terminal, one memory is deleted at once and several need --yes."""
    if yes:
        return True
    if not sys.stdin.isatty():
        if count > 1:
            raise Invalid(f"Deleting {count} memories without a terminal needs --yes.")
        return True
    output.note("\n".join([*lines, "Forget for good? y or n:"]))
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def rate(
    memory: Id,
    verdict: Annotated[Literal["useful", "useless"] | None, Parameter(help="useful or useless.")] = None,
    /,
    *,
    session_id: Annotated[
        str | None, Parameter(name="--session", help="Session of the rating (default: one a day).")
    ] = None,
    reset: Annotated[bool, Parameter(help="Delete all ratings and usage of the memory; for operators.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Rate whether a memory was useful.

    It ranks higher or lower from then on. A later rating of the same session replaces the earlier one.

    Example: hivelore rate ID useful
    """
    if (verdict is None) is not reset:
        raise Invalid("Say useful or useless, or --reset alone.", field="verdict")
    if verdict is None:
        with connection.operator() as client:
            client.call("DELETE", f"{_path(memory)}/usefulness")
            known = client.call("GET", _path(memory)).get("usefulness", {"factor": 1.0, "seen": {}})
    else:
        body = {"useful": verdict == "useful", "session": session_id}
        with connection.client(agent) as client:
            known = client.call("PUT", f"{_path(memory)}/rating", body=body)
    if json:
        output.as_json(known)
    else:
        output.say("Usefulness: ", _describe_usefulness(known))


def _describe_usefulness(known: Json) -> str:
    """Format it like ``1.10 (applied 1, useful 2)``."""
    signals = ", ".join(f"{name} {count}" for name, count in known["seen"].items())
    return f"{known['factor']:.2f} ({signals or 'no ratings'})"


def recalls(
    *,
    limit: Annotated[int, Parameter(alias="-n", help="Most results, 1 to 100.", converter=whole_number)] = 20,
    after: After = None,
    memory: Annotated[str | None, Parameter(help="Only searches that returned this memory (id).", metavar="ID")] = None,
    owner: Annotated[str | None, Parameter(help="Only searches of this agent (id).")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List past searches with their results and scores.

    Example: hivelore recalls --limit 5
    """
    query = {"limit": limit, "after": after, "agent": owner, "memory": memory}
    with connection.client(agent) as client:
        page = client.call("GET", "/api/recalls", query=query)
    if json:
        output.as_json(page)
        return
    for search in page["recalls"]:
        output.say((output.shortened(search["query"], 100), "bold"))
        who = f"{search['agentId'] or 'operator'} ({search['interface']})"
        withheld = f", {search['withheld']} hidden" if search["withheld"] else ""
        found = f"{len(search['hits'])} of {search['candidates']}{withheld}"
        line = f"   {output.age(search['at'], now())}  {who}  {search['path']}  {found}  {search['id']}"
        output.say((line, "dim"))
        for hit in search["hits"]:
            score = hit["score"]
            parts = [f"{name} {part:.2f}" for name, part in score.items() if name in _SHOWN_PARTS and part]
            output.say(f"{hit['rank']:4}. {score['total']:.2f}  {hit['memoryId']}  ", ("  ".join(parts), "dim"))
    if not page["recalls"]:
        output.note("The log has no searches that you may see.")
    if page["next"] is not None:
        output.note("There are more: --limit shows up to 100, --after continues.")


def stats(*, agent: ActingAgent = None, json: AsJson = False) -> None:
    """Count memories.

    Example: hivelore stats
    """
    with connection.client(agent) as client:
        counts = client.call("GET", f"{_MEMORIES}/stats")
    if json:
        output.as_json(counts)
        return
    rows = {"memories": counts["total"], "expired": counts["expired"]}
    rows |= {f"scope {scope}": count for scope, count in counts["byScope"].items()}
    rows |= {f"source {source}": count for source, count in counts["bySource"].items()}
    rows |= {"waiting for a vector": counts["pendingEmbeddings"], "failed to embed": counts["failed"]}
    for name, count in rows.items():
        output.say((f"{name:24}", "dim"), f"{count:>10,}")


def _path(memory: str) -> str:
    return connection.path(_MEMORIES, memory)


def _to_seconds(instant: str) -> str:
    """Drop the fraction of a second of an ISO time."""
    return f"{instant[:19]}Z"
