"""Verbs that read memories: recall, get, list, recalls, stats."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, cast

from cyclopts import Parameter

from hivelore.cli import output, session
from hivelore.cli.options import AsJson, InProject, Origin, Shelves, Speaker, moment, project_meant, text_of, whole
from hivelore.cli.present import now
from hivelore.domain import wire
from hivelore.domain.memory import Memory
from hivelore.domain.recall_log import Recall
from hivelore.domain.search import DEFAULT_LIMIT, Answer, Hit, Page, Score
from hivelore.errors import Invalid
from hivelore.hive.remote import RemoteHive

_SNIPPET = 200
_PAGE = 500
_TELLING = ("keyword", "vector", "prior", "recency", "access", "update")
"""Parts of a score that say why; the others follow from them."""


def recall(
    *query: Annotated[str, Parameter(help="What you want to know, in your own words; - reads it from stdin.")],
    limit: Annotated[int, Parameter(alias="-n", help="1 to 50.", converter=whole)] = DEFAULT_LIMIT,
    scope: Shelves = "all",
    source: Origin | None = None,
    session_id: Annotated[str | None, Parameter(name="--session")] = None,
    project: InProject = None,
    only_fitting: Annotated[bool, Parameter(help="Nothing rather than what is far-fetched.")] = False,
    diversity: Annotated[float, Parameter(help="0 to 1: towards 1, unlike memories rather than good ones.")] = 0.0,
    budget: Annotated[int | None, Parameter(help="Tokens that all may take, 50 or more.", converter=whole)] = None,
    explain: Annotated[bool, Parameter(help="Show the parts of each score.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Show the memories most worth reading now, best first.

    Example: hivelore recall why do I get a 403 --limit 3 --explain
    """
    text = text_of(query, "what you want to know")
    with session.hive(agent) as hive:
        hits = hive.recall(
            text,
            limit=limit,
            scope=scope,
            source=source,
            session=session_id,
            project=project_meant(project),
            only_fitting=only_fitting,
            diversity=diversity,
            budget=budget,
        )
    if json:
        answer = Answer(hits=tuple(hits), path=hits.path, message=hits.message, id=hits.recall_id)
        output.as_json(wire.answer(answer))
        return
    output.note(hits.message)
    for rank, hit in enumerate(hits, start=1):
        _show(rank, hit)
    if explain and hits:
        parts = list(hits[0].score.parts)
        rows = [[str(rank), *_figures(hit.score)] for rank, hit in enumerate(hits, start=1)]
        output.say()
        output.table(["", *parts], rows)


def _show(rank: int, hit: Hit) -> None:
    memory = hit.memory
    output.say(f"{rank}. {hit.score.total:.2f}  ", (output.shortened(memory.name, 100), "bold"))
    snippet = output.shortened(hit.passage.content, _SNIPPET)
    if snippet != memory.name:
        output.say(f"   {snippet}")
    alike = f"  and {hit.alike} like it" if hit.alike else ""
    output.say((f"   {memory.id}  {memory.scope}  {output.age(memory.created_at, now())}{alike}", "dim"))


def _figures(score: Score) -> list[str]:
    return [f"{part:.3f}" for part in score.parts.values()]


def get(
    memory: Annotated[str, Parameter(name="id", help="Which memory.")],
    /,
    *,
    chunks: Annotated[bool, Parameter(help="As it is cut for the index.")] = False,
    history: Annotated[bool, Parameter(help="Every version.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Show one memory, also one that has expired.

    Example: hivelore get ID --history
    """
    if chunks and history:
        raise Invalid("Choose one of --chunks and --history.")
    with session.client(agent) as client:
        found = RemoteHive(client).get(memory)
        if chunks or history:
            parts = client.call("GET", f"/api/memory/{found.id}/{'chunks' if chunks else 'history'}")
        else:
            parts = None
    if json:
        output.as_json(wire.memory(found) if parts is None else parts)
    elif parts is None:
        _show_whole(found)
    elif chunks:
        _show_chunks(parts["chunks"])
    else:
        _show_history(parts["versions"])


def _show_whole(memory: Memory) -> None:
    output.say((memory.name, "bold"))
    fields = wire.memory(memory)
    for name in ("content", "name"):
        del fields[name]
    for name, value in fields.items():
        if value not in (None, [], {}):
            output.say((f"{name:14}", "dim"), _told(value))
    output.say()
    output.say(memory.content)


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast(list[object], value)))
    return str(value)


def _show_chunks(chunks: Iterable[dict[str, Any]]) -> None:
    for chunk in chunks:
        heading = " > ".join(chunk["headings"])
        output.say((f"[{chunk['chunkIndex'] + 1}/{chunk['totalChunks']}] {heading}".rstrip(), "bold"))
        output.say(chunk["content"])
        output.say()


def _show_history(versions: Iterable[dict[str, Any]]) -> None:
    rows = [
        [str(one["version"]), one["at"], one["action"], one["door"], one["reason"] or "", one["content"]]
        for one in versions
    ]
    output.table(["version", "at", "action", "door", "reason", "content"], rows)


def list_memories(
    *,
    limit: Annotated[int, Parameter(alias="-n", help="1 to 500.", converter=whole)] = 20,
    every: Annotated[bool, Parameter(name="--all", help="All pages.")] = False,
    after: Annotated[str | None, Parameter(help="Go on behind a page: its `next` (--json).")] = None,
    scope: Shelves = "all",
    source: Origin | None = None,
    status: Literal["all", "live", "expired"] = "all",
    owner: Annotated[str | None, Parameter(help="Only those of this agent (id).")] = None,
    project: InProject = None,
    session_id: Annotated[str | None, Parameter(name="--session")] = None,
    tag: str | None = None,
    category: str | None = None,
    since: Annotated[str | None, Parameter(help="Created since: 7d, 2026-01-31.", metavar="WHEN")] = None,
    until: Annotated[str | None, Parameter(help="Created before.", metavar="WHEN")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """List memories, newest first.

    Example: hivelore list --since 7d --tag auth
    """
    filters: dict[str, Any] = {
        "scope": scope,
        "source": source,
        "status": status,
        "agent": owner,
        "project": project_meant(project),
        "session": session_id,
        "tag": tag,
        "category": category,
        "created_after": None if since is None else moment(since, now(), past=True, field="since"),
        "created_before": None if until is None else moment(until, now(), past=True, field="until"),
    }
    with session.hive(agent) as hive:
        page = hive.list(limit=_PAGE if every else limit, after=after, **filters)
        while every and page.next is not None:
            more = hive.list(limit=_PAGE, after=page.next, **filters)
            page = Page(memories=page.memories + more.memories, next=more.next)
    if json:
        output.as_json(wire.page(page))
        return
    rows = [[one.id, output.age(one.created_at, now()), one.scope, one.source, one.name] for one in page.memories]
    output.table(["id", "created", "scope", "source", "name"], rows)
    if page.next is not None:
        output.note("There are more: --all shows them.")


def recalls(
    *,
    limit: Annotated[int, Parameter(alias="-n", help="1 to 100.", converter=whole)] = 20,
    after: Annotated[str | None, Parameter(help="Go on behind a page: its `next` (--json).")] = None,
    memory: Annotated[str | None, Parameter(help="Only those that gave this memory (id).", metavar="ID")] = None,
    owner: Annotated[str | None, Parameter(help="Only those of this agent (id).")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Show what was asked, and what was given why.

    Example: hivelore recalls --limit 5
    """
    with session.hive(agent) as hive:
        page = hive.recalls(limit=limit, after=after, agent=owner, memory=memory)
    if json:
        output.as_json(wire.recalls(page))
        return
    for one in page.recalls:
        _show_recall(one)
    if not page.recalls:
        output.note("No recall is logged that you may see.")
    if page.next is not None:
        output.note("There are more: --limit shows up to 100, --after goes on.")


def _show_recall(one: Recall) -> None:
    output.say((output.shortened(one.question, 100), "bold"))
    who = "operator" if one.agent is None else one.agent
    withheld = f", {one.withheld} not shown" if one.withheld else ""
    found = f"{len(one.hits)} of {one.candidates}{withheld}"
    output.say((f"   {output.age(one.at, now())}  {who} ({one.door})  {one.path}  {found}  {one.id}", "dim"))
    for hit in one.hits:
        parts = [f"{name} {part:.2f}" for name, part in hit.score.parts.items() if name in _TELLING and part]
        output.say(f"{hit.rank:4}. {hit.score.total:.2f}  {hit.memory}  ", ("  ".join(parts), "dim"))


def stats(*, agent: Speaker = None, json: AsJson = False) -> None:
    """Count what is kept.

    Example: hivelore stats
    """
    with session.hive(agent) as hive:
        counts = hive.stats()
    if json:
        output.as_json(wire.stats(counts))
        return
    rows = [("memories", counts.total), ("expired", counts.expired)]
    rows += [(f"scope {scope.value}", count) for scope, count in counts.by_scope.items()]
    rows += [(f"source {source.value}", count) for source, count in counts.by_source.items()]
    rows += [("waiting for a vector", counts.pending_embeddings), ("failed to embed", counts.failed)]
    for name, count in rows:
        output.say((f"{name:24}", "dim"), f"{count:>10,}")
