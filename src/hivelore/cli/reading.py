"""Verbs that read memories: recall, get, list, recalls, stats."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.clock import now
from hivelore.cli.options import (
    AsJson,
    AsOf,
    InProject,
    Origin,
    Shelves,
    Speaker,
    Superseded,
    instant_of,
    project_meant,
    text_of,
    whole,
)
from hivelore.cli.rating import in_words
from hivelore.errors import Invalid
from hivelore.feedback.model import NO_USAGE, Usefulness
from hivelore.feedback.recalls import Recall
from hivelore.memories import codec
from hivelore.memories.model import Memory
from hivelore.python.argument_checks import ID, check
from hivelore.python.remote import memory_path
from hivelore.search.model import DEFAULT_LIMIT, Hit, MemoryPage, RecallResult, Score

_SNIPPET = 200
_PAGE = 500
_TELLING = ("keyword", "vector", "prior", "recency", "access", "usefulness", "update")
"""Parts of a score that say why; the others follow from them."""


def recall(
    *query: Annotated[str, Parameter(help="What you want to know, in your own words; - reads it from stdin.")],
    limit: Annotated[int, Parameter(alias="-n", help="1 to 50.", converter=whole)] = DEFAULT_LIMIT,
    scope: Shelves = "all",
    source: Origin | None = None,
    session_id: Annotated[str | None, Parameter(name="--session")] = None,
    project: InProject = None,
    as_of: AsOf = None,
    superseded: Superseded = False,
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
    with connection.hive(agent) as hive:
        hits = hive.recall(
            text,
            limit=limit,
            scope=scope,
            source=source,
            session=session_id,
            project=project_meant(project),
            as_of=instant_of(as_of, "as-of"),
            superseded=superseded,
            only_fitting=only_fitting,
            diversity=diversity,
            budget=budget,
        )
    if json:
        answer = RecallResult(hits=tuple(hits), path=hits.path, message=hits.message, id=hits.recall_id)
        output.as_json(codec.answer(answer))
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
    replaced = "" if memory.valid_until is None else f"  until {output.age(memory.valid_until, now())}"
    alike = f"  and {hit.alike} like it" if hit.alike else ""
    output.say((f"   {memory.id}  {memory.scope}  {output.age(memory.created_at, now())}{replaced}{alike}", "dim"))


def _figures(score: Score) -> list[str]:
    return [f"{part:.3f}" for part in score.parts.values()]


def get(
    memory: Annotated[str, Parameter(name="id", help="Which memory.")],
    /,
    *,
    chunks: Annotated[bool, Parameter(help="As it is cut for the index.")] = False,
    as_of: AsOf = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Show one memory, also one that has expired or was superseded.

    Example: hivelore get ID
    """
    if chunks and as_of is not None:
        raise Invalid("Choose one of --chunks and --as-of.")
    check(ID, memory=memory)
    with connection.client(agent) as client:
        asked = {"asOf": codec.told(instant_of(as_of, "as-of"), "asOf")}
        body = client.call("GET", memory_path(memory), query=asked)
        found = codec.read_memory(body)
        parts = client.call("GET", f"/api/memory/{found.id}/chunks") if chunks else None
    if json:
        output.as_json(body if parts is None else parts)
    elif parts is None:
        _show_whole(found, codec.read_usefulness(body.get("usefulness")))
    else:
        _show_chunks(parts["chunks"])


def _show_whole(memory: Memory, known: Usefulness) -> None:
    output.say((memory.name, "bold"))
    fields = codec.memory(memory)
    for name in ("content", "name"):
        del fields[name]
    for name, value in fields.items():
        if value not in (None, [], {}):
            output.say((f"{name:14}", "dim"), _told(value))
    if known.use != NO_USAGE:
        output.say((f"{'usefulness':14}", "dim"), in_words(known))
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


def _show_page(page: MemoryPage) -> None:
    at = now()
    rows = [
        [one.id, output.age(one.created_at, at), one.scope, one.source, _status(one, at), one.name]
        for one in page.memories
    ]
    output.table(["id", "created", "scope", "source", "status", "name"], rows)
    if page.next is not None:
        output.note("There are more: --all shows them.")


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
    subject: Annotated[str | None, Parameter(help="Only facts about this.")] = None,
    as_of: AsOf = None,
    superseded: Superseded = False,
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
        "subject": subject,
        "as_of": instant_of(as_of, "as-of"),
        "superseded": superseded,
        "created_after": instant_of(since, "since"),
        "created_before": instant_of(until, "until"),
    }
    with connection.hive(agent) as hive:
        page = hive.list(limit=_PAGE if every else limit, after=after, **filters)
        while every and page.next is not None:
            more = hive.list(limit=_PAGE, after=page.next, **filters)
            page = MemoryPage(memories=page.memories + more.memories, next=more.next)
    if json:
        output.as_json(codec.page(page))
    else:
        _show_page(page)


def _status(memory: Memory, at: datetime) -> str:
    if memory.valid_until is not None:
        return "superseded"
    return "" if memory.is_live(at) else "expired"


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
    with connection.hive(agent) as hive:
        page = hive.recalls(limit=limit, after=after, agent=owner, memory=memory)
    if json:
        output.as_json(codec.recalls(page))
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
    output.say((f"   {output.age(one.at, now())}  {who} ({one.interface})  {one.path}  {found}  {one.id}", "dim"))
    for hit in one.hits:
        parts = [f"{name} {part:.2f}" for name, part in hit.score.parts.items() if name in _TELLING and part]
        output.say(f"{hit.rank:4}. {hit.score.total:.2f}  {hit.memory}  ", ("  ".join(parts), "dim"))


def stats(*, agent: Speaker = None, json: AsJson = False) -> None:
    """Count what is kept.

    Example: hivelore stats
    """
    with connection.hive(agent) as hive:
        counts = hive.stats()
    if json:
        output.as_json(codec.stats(counts))
        return
    rows = [("memories", counts.total), ("expired", counts.expired)]
    rows += [(f"scope {scope.value}", count) for scope, count in counts.by_scope.items()]
    rows += [(f"source {source.value}", count) for source, count in counts.by_source.items()]
    rows += [("waiting for a vector", counts.pending_embeddings), ("failed to embed", counts.failed)]
    for name, count in rows:
        output.say((f"{name:24}", "dim"), f"{count:>10,}")
