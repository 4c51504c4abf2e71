"""Verbs about memories: remember, recall, get, history, diff, list, edit, forget, rate, recalls, stats, task-done."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.connection import call
from hivelore.cli.options import (
    ALL_PROJECTS,
    STDIN,
    ActingAgent,
    After,
    AsJson,
    AsOf,
    Limit50,
    Limit100,
    Limit500,
    Number,
    Reason,
    Scope,
    ScopeFilter,
    SearchProject,
    Session,
    Source,
    Tags,
    TargetProject,
    future,
    given,
    past,
    read_stdin,
    read_text,
    resolve_project,
)
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted
from hivelore.errors import Invalid, NotFound
from hivelore.python.client import Client

_MEMORIES = "/api/memory"
_SNIPPET_LENGTH = 200
_LEAST_RELEVANCE = 0.05
"""Of the results that are shown unless all are wanted."""
_PAGE = 500
_SHOWN_PARTS = ("keyword", "vector", "prior", "recency", "access", "usefulness", "update")
"""Parts of a score that `recalls` shows; the other parts follow from them."""

Id = Annotated[str, Parameter(name="id", help="Id of the memory.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """Options that narrow a search or a list."""

    scope: ScopeFilter = "all"
    source: Source | None = None
    session_id: Session = None
    tag: Annotated[str | None, Parameter(help="Only memories with this tag.", metavar="TEXT")] = None
    category: Annotated[str | None, Parameter(help="Only memories of this category.", metavar="TEXT")] = None
    project: SearchProject = None
    since: Annotated[str | None, Parameter(help="Created since: 7d, 2026-01-31.", metavar="WHEN")] = None
    until: Annotated[str | None, Parameter(help="Created before.", metavar="WHEN")] = None
    as_of: AsOf = None
    superseded: Annotated[bool, Parameter(help="Include memories that another memory replaced.")] = False

    def fields(self) -> dict[str, Any]:
        return given(
            scope=self.scope,
            source=self.source,
            session=self.session_id,
            tag=self.tag,
            category=self.category,
            project=resolve_project(self.project),
            createdAfter=past(self.since, "since"),
            createdBefore=past(self.until, "until"),
            asOf=past(self.as_of, "as-of"),
        )


_ANY = Narrowing()


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
    expires: Annotated[str | None, Parameter(help="When it expires: 7d, 12h, or 2026-01-31.", metavar="WHEN")] = None,
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
    draft = given(
        content=read_text(text, "what to remember"),
        name=name,
        scope=scope,
        source=source,
        category=category,
        tags=list(tag),
        session=session_id,
        author=author,
        project=resolve_project(project),
        expiresAt=future(expires, "expires"),
        subject=subject,
        validFrom=past(valid_from, "valid-from"),
        supersedes=supersedes,
    )
    (stored,) = call("POST", f"{_MEMORIES}/batch", agent=agent, body={"memories": [draft]})["results"]
    memory = stored["memory"]
    done = "Remembered" if stored["created"] else "Renewed" if stored["changed"] else "Known already:"
    short = output.short_id(memory["id"])
    output.result(stored, json, done, " ", (short, "bold"), ": ", output.shortened(memory["name"], 100))
    if json:
        return
    if memory["content"] != draft["content"]:
        output.note("Private text was removed, or a secret was masked, before it was stored.")
    if stored.get("proposal") is not None:
        output.note(
            "It replaces nothing yet: the memory it should replace is shared with others. Proposal "
            f"{output.short_id(stored['proposal'])} asks a lead."
        )


def recall(
    *query: Annotated[str, Parameter(help="Question in your own words; - reads it from stdin.")],
    limit: Limit50 = 10,
    narrowing: Narrowing = _ANY,
    only_fitting: Annotated[bool, Parameter(help="Omit results that are hardly relevant.")] = False,
    rerank: Annotated[bool, Parameter(help="Let a model read the best results: slower, more precise.")] = False,
    show_all: Annotated[bool, Parameter(name="--all", help="Also show results with little relevance.")] = False,
    diversity: Annotated[float, Parameter(help="0 to 1: higher prefers results that differ from each other.")] = 0.0,
    budget: Annotated[Number, Parameter(help="Most tokens of all results together, 50 or more.")] = None,
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
        **narrowing.fields(),
        "superseded": narrowing.superseded,
        "onlyFitting": only_fitting,
        "rerank": rerank,
        "diversity": diversity,
        "budget": budget,
    }
    preferred = resolve_project(None) if narrowing.project == ALL_PROJECTS else None
    answer = call("POST", f"{_MEMORIES}/search", agent=agent, project=preferred, body=body)
    if json:
        output.print_json(answer)
        return
    output.note(answer["message"])
    hits = [hit for hit in answer["results"] if show_all or _is_worth_showing(answer, hit)]
    if hidden := len(answer["results"]) - len(hits):
        output.note(f"{hidden} of little relevance {'is' if hidden == 1 else 'are'} not shown; --all shows all.")
    updates = [hit["updated"]["by"] for hit in hits if hit["updated"] is not None]
    short = output.short_ids([*(hit["memory"]["id"] for hit in hits), *updates])
    for rank, hit in enumerate(hits, start=1):
        _show_hit(rank, hit, short)
    if explain and hits:
        for kind in ("evidence", "score"):
            parts = [["" if part is None else f"{part:.3f}" for part in hit[kind].values()] for hit in hits]
            output.say()
            output.table(["", *hits[0][kind]], [[str(rank), *row] for rank, row in enumerate(parts, 1)])


def _is_worth_showing(answer: Json, hit: Json) -> bool:
    """Returns False for a hit of little relevance. Recent memories were not compared with the question."""
    return answer["path"] == "recent" or hit["relevance"] >= _LEAST_RELEVANCE


def _heading_path(passage: Json) -> str:
    return " > ".join(passage["headings"])


def _show_hit(rank: int, hit: Json, short: Mapping[str | None, str]) -> None:
    memory = hit["memory"]
    output.say(f"{rank}. {hit['relevance']:.0%}  ", (output.shortened(memory["name"], 100), "bold"))
    snippet = output.shortened(hit["passage"]["content"], _SNIPPET_LENGTH)
    if snippet != memory["name"]:
        if hit["passage"]["headings"]:
            output.say((f"   {_heading_path(hit['passage'])}", "dim"))
        output.say(f"   {snippet}")
    replaced = "" if memory["validUntil"] is None else f"  valid until {output.age(memory['validUntil'])}"
    alike = f"  and {hit['alike']} similar" if hit["alike"] else ""
    age = output.age(memory["createdAt"])
    output.say((f"   {short[memory['id']]}  {memory['scope']}  {age}{replaced}{alike}", "dim"))
    if (updated := hit["updated"]) is not None:
        output.say((f"   updated {output.age(updated['at'])} by {short[updated['by']]}", "yellow"))


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
        output.print_json(found if parts is None else parts)
    elif parts is None:
        output.say((found["name"], "bold"))
        shown = {name: value for name, value in found.items() if name not in ("content", "name")}
        if "usefulness" in found:
            shown["usefulness"] = _describe_usefulness(found["usefulness"])
        output.show_fields(shown, width=14)
        output.say()
        output.say(found["content"])
    else:
        for chunk in parts["chunks"]:
            place = f"[{chunk['chunkIndex'] + 1}/{chunk['totalChunks']}] {_heading_path(chunk)}"
            output.say((place.rstrip(), "bold"))
            output.say(chunk["content"])
            output.say()


def history(memory: Id, /, *, agent: ActingAgent = None, json: AsJson = False) -> None:
    """Show every version of a memory: who changed it, when and why.

    Also shows the memories that it replaced and that replaced it.

    Example: hivelore history ID
    """
    found = call("GET", f"{_path(memory)}/history", agent=agent)
    if json:
        output.print_json(found)
        return
    columns = (
        Column("version"),
        Column("at", _instant_of),
        Column("action"),
        Column("actor", kind="id", missing="operator"),
        Column("interface"),
        Column("reason"),
        Column("content"),
    )
    output.show_table(columns, found["versions"])
    short = output.short_ids([found["supersedes"], *found["supersededBy"]])
    if found["supersedes"] is not None:
        output.say(("replaced        ", "dim"), short[found["supersedes"]])
    for successor in found["supersededBy"]:
        output.say(("was replaced by ", "dim"), short[successor])
    for undone in found.get("takenBack", ()):
        who = undone["actor"] or "operator"
        output.say(("undone          ", "dim"), f"{_instant_of(undone)} by {who}: {undone['change']}")


def diff(
    memory: Id,
    older: Annotated[Number, Parameter(name="from", help="Older version (default: the previous one).")] = None,
    newer: Annotated[Number, Parameter(name="to", help="Newer version (default: the current one).")] = None,
    /,
    *,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Compare two versions of a memory.

    Example: hivelore diff ID 1 1
    """
    found = call("GET", f"{_path(memory)}/diff", agent=agent, query={"from": older, "to": newer})
    output.difference(found, json)


def list_memories(
    *,
    limit: Limit500 = 20,
    every: Annotated[bool, Parameter(name="--all", help="All pages.")] = False,
    after: After = None,
    narrowing: Narrowing = _ANY,
    status: Literal["all", "live", "expired"] = "all",
    owner: Annotated[str | None, Parameter(help="Only memories of this agent (id).")] = None,
    subject: Annotated[str | None, Parameter(help="Only facts with this key.")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List memories, newest first.

    Example: hivelore list --since 7d --tag auth
    """
    query = narrowing.fields() | {
        "limit": _PAGE if every else limit,
        "after": after,
        "status": status,
        "agentId": owner,
        "subject": subject,
        "superseded": "true" if narrowing.superseded else None,
    }
    with connection.client(agent) as client:
        page = client.call("GET", _MEMORIES, query=query)
        memories = page["memories"]
        while every and page["next"] is not None:
            page = client.call("GET", _MEMORIES, query={**query, "after": page["next"]})
            memories += page["memories"]
    columns = (
        Column("id", kind="id"),
        Column("created", "createdAt", "age"),
        Column("scope"),
        Column("source"),
        Column("status", _status),
        Column("name"),
    )
    empty = "No memories match. Widen the filters, or store one with 'hivelore remember TEXT'."
    output.page(
        {"memories": memories, "next": page["next"]}, "memories", json, columns, empty=empty, more="--all shows them"
    )


def _status(memory: Json) -> str:
    if memory["validUntil"] is not None:
        return "superseded"
    expires = memory["expiresAt"]
    return "expired" if expires is not None and datetime.fromisoformat(expires) <= output.now() else ""


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
    reason: Reason = None,
    if_version: Annotated[Number, Parameter(help="Edit only if this is the current version.")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Change a memory.

    Fields that are not given stay. The previous version stays in the history.

    Example: hivelore edit ID --scope swarm --reason "useful to all"
    """
    changes = given(
        content=read_stdin() if content == STDIN else content,
        name=name,
        scope=scope,
        summary=summary,
        category=category,
        tags=None if tag is None else list(tag),
        subject=subject,
        supersedes=supersedes,
        validFrom=past(valid_from, "valid-from"),
    )
    if project is not None:
        changes["project"] = resolve_project(project)
    if expires is not None:
        changes["expiresAt"] = None if expires == "never" else future(expires, "expires")
    if not changes:
        raise Invalid("Say what to change, like --content TEXT or --scope swarm.")
    edited = call("PATCH", _path(memory), agent=agent, body=changes | given(reason=reason), version=if_version)
    short = output.short_id(edited["id"])
    output.result(edited, json, f"Version {edited['version']} of ", (short, "bold"), f": {edited['name']}")


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
    output.result({"forgotten": count}, json, f"Forgotten: {counted(count, 'memory', 'memories')}.")


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
        known = call("PUT", f"{_path(memory)}/rating", agent=agent, body=body)
    output.result(known, json, "Usefulness: ", _describe_usefulness(known))


def _describe_usefulness(known: Json) -> str:
    """Format it like ``1.10 (applied 1, useful 2)``."""
    signals = ", ".join(f"{name} {count}" for name, count in known["seen"].items())
    return f"{known['factor']:.2f} ({signals or 'no ratings'})"


def recalls(
    *,
    limit: Limit100 = 20,
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
    page = call("GET", "/api/recalls", agent=agent, query=query)
    if json:
        output.print_json(page)
        return
    searches = page["recalls"]
    short = output.short_ids(
        one
        for search in searches
        for one in (search["agentId"], search["id"], *(hit["memoryId"] for hit in search["hits"]))
    )
    for search in searches:
        output.say((output.shortened(search["query"], 100), "bold"))
        who = f"{short[search['agentId']] if search['agentId'] else 'operator'} ({search['interface']})"
        withheld = f", {search['withheld']} hidden" if search["withheld"] else ""
        found = f"{len(search['hits'])} of {search['candidates']}{withheld}"
        line = f"   {output.age(search['at'])}  {who}  {search['path']}  {found}  {short[search['id']]}"
        output.say((line, "dim"))
        for hit in search["hits"]:
            score = hit["score"]
            parts = [f"{name} {part:.2f}" for name, part in score.items() if name in _SHOWN_PARTS and part]
            output.say(f"{hit['rank']:4}. {score['total']:.2f}  {short[hit['memoryId']]}  ", ("  ".join(parts), "dim"))
    if not searches:
        output.note("The log has no searches that you may see.")
    output.note_more(page, "--limit shows up to 100, --after continues")


def stats(*, agent: ActingAgent = None, json: AsJson = False) -> None:
    """Count memories.

    Example: hivelore stats
    """
    counts = call("GET", f"{_MEMORIES}/stats", agent=agent)
    rows = {"memories": counts["total"], "expired": counts["expired"]}
    rows |= {f"scope {scope}": count for scope, count in counts["byScope"].items()}
    rows |= {f"source {source}": count for source, count in counts["bySource"].items()}
    rows |= {"waiting for a vector": counts["pendingEmbeddings"], "failed to embed": counts["failed"]}
    if json:
        output.print_json(counts)
    else:
        output.show_fields({name: f"{count:>10,}" for name, count in rows.items()}, width=24)


def task_done(
    task: Annotated[str, Parameter(name="id", help="Id of the task, like T-7.")],
    /,
    *text: Annotated[str, Parameter(help="Text of the task.")],
    result: Annotated[
        str | None, Parameter(name="--output", help="Result, or what went wrong; - reads it from stdin.")
    ] = None,
    failed: Annotated[bool, Parameter(help="The task failed.")] = False,
    project: TargetProject = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Store a completed or failed task.

    Another output of the same task updates its memory.

    Example: hivelore task-done T-7 Fix the login --output "Renewed the token."
    """
    body = given(
        taskId=task,
        task=read_text(text, "what the task was"),
        output=read_stdin() if result == STDIN else result,
        status="failed" if failed else "completed",
        project=resolve_project(project),
    )
    done = call("POST", "/api/tasks/complete", agent=agent, body=body)
    memory = done["memory"]
    if memory is None:
        output.result(done, json, done["message"])
        return
    state = "Stored" if done["created"] else "Updated" if done["changed"] else "Known already"
    short = output.short_id(memory["id"])
    output.result(done, json, state, ": ", (short, "bold"), " ", output.shortened(memory["name"], 100))


def _path(memory: str) -> str:
    return connection.path(_MEMORIES, memory)


def _instant_of(entry: Json) -> str:
    """Return the ISO time of an entry without the fraction of a second."""
    return f"{entry['at'][:19]}Z"
