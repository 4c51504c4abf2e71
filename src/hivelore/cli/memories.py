"""Verbs that change memories: remember, edit, forget."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.clock import now
from hivelore.cli.options import (
    STDIN,
    AsJson,
    Origin,
    Shelf,
    Speaker,
    Tags,
    ToProject,
    moment,
    project_meant,
    read_text,
    text_of,
    whole,
)
from hivelore.errors import Invalid, NotFound
from hivelore.memories import codec
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.memories.model import Scope, Source
from hivelore.python.client import Client
from hivelore.python.remote import RemoteHive

Expiry = Annotated[str | None, Parameter(help="When it stops being found: 7d, 12h, or 2026-01-31.", metavar="WHEN")]


def remember(
    *text: Annotated[str, Parameter(help="What to keep; - reads it from stdin.")],
    name: str | None = None,
    scope: Annotated[Shelf, Parameter(help="agent: private; swarm: for all agents.")] = "agent",
    tag: Tags = (),
    category: str | None = None,
    source: Origin = "manual",
    session_id: Annotated[str | None, Parameter(name="--session")] = None,
    author: str | None = None,
    project: ToProject = None,
    expires: Expiry = None,
    subject: Annotated[str | None, Parameter(help="What it is a fact about: it replaces what held of that.")] = None,
    valid_from: Annotated[str | None, Parameter(help="Since when it holds, if not now.", metavar="WHEN")] = None,
    supersedes: Annotated[str | None, Parameter(help="The memory it replaces.", metavar="ID")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Keep something you learned.

    It is durable when this returns; the same words again are the same memory.

    Example: hivelore remember "The API wants a Bearer prefix." --scope swarm
    """
    content = text_of(text, "what to remember")
    draft = Draft(
        content=content,
        name=name,
        scope=Scope(scope),
        source=Source(source),
        category=category,
        tags=tag,
        session=session_id,
        author=author,
        project=project_meant(project),
        expires_at=None if expires is None else moment(expires, now(), field="expires"),
        subject=subject,
        valid_from=None if valid_from is None else moment(valid_from, now(), past=True, field="valid-from"),
        supersedes=supersedes,
    )
    with connection.hive(agent) as hive:
        (done,) = hive.remember_many([draft])
    if json:
        output.as_json(codec.remembered(done))
        return
    output.say(_what_happened(done), " ", (done.memory.id, "bold"), ": ", output.shortened(done.memory.name, 100))
    if done.memory.content != content:
        output.note("What looks like a secret in it was masked before it was kept.")
    if done.placement_notice is not None:
        output.note(done.placement_notice)


def _what_happened(done: WriteResult) -> str:
    if done.created:
        return "Remembered"
    return "Renewed" if done.changed else "Known already:"


def edit(
    memory: Annotated[str, Parameter(name="id", help="Which memory.")],
    /,
    *,
    content: Annotated[str | None, Parameter(help="The new text; - reads it from stdin.")] = None,
    name: str | None = None,
    scope: Annotated[Shelf | None, Parameter(help="swarm shares it, agent takes it back.")] = None,
    tag: Annotated[tuple[str, ...] | None, Parameter(help="In place of all tags; '' for none.")] = None,
    category: str | None = None,
    summary: str | None = None,
    project: Annotated[str | None, Parameter(help="'' for none.")] = None,
    expires: Annotated[str | None, Parameter(help="7d, 12h, 2026-01-31, or never.", metavar="WHEN")] = None,
    subject: Annotated[str | None, Parameter(help="What it is a fact about; '' for nothing.")] = None,
    valid_from: Annotated[str | None, Parameter(help="Since when it holds.", metavar="WHEN")] = None,
    supersedes: Annotated[str | None, Parameter(help="The memory it replaces; '' for none.", metavar="ID")] = None,
    reason: Annotated[str | None, Parameter(help="Why; kept in the history.")] = None,
    if_version: Annotated[int | None, Parameter(help="Only if this is still its version.", converter=whole)] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Change a memory.

    What is not given stays. The version before stays in its history.

    Example: hivelore edit ID --scope swarm --reason "useful to all"
    """
    texts = {"content": read_text() if content == STDIN else content, "name": name, "scope": scope, "summary": summary}
    changes: dict[str, Any] = {field: text for field, text in texts.items() if text is not None}
    if category is not None:
        changes["category"] = category
    if tag is not None:
        changes["tags"] = tag
    if project is not None:
        changes["project"] = project_meant(project)
    if expires is not None:
        changes["expires_at"] = None if expires == "never" else moment(expires, now(), field="expires")
    changes |= {name: text for name, text in (("subject", subject), ("supersedes", supersedes)) if text is not None}
    if valid_from is not None:
        changes["valid_from"] = moment(valid_from, now(), past=True, field="valid-from")
    if not changes:
        raise Invalid("Say what to change, like --content TEXT or --scope swarm.")
    with connection.hive(agent) as hive:
        edited = hive.edit(memory, **changes, reason=reason, version=if_version)
    if json:
        output.as_json(codec.memory(edited))
    else:
        output.say("Version ", str(edited.version), " of ", (edited.id, "bold"), f": {edited.name}")


def forget(
    *memory: Annotated[str, Parameter(name="id", help="Which memories.")],
    path: Annotated[Path | None, Parameter(help="What was indexed from this file.")] = None,
    project: Annotated[str | None, Parameter(help="With --path: what was indexed in it; '' in none.")] = None,
    yes: Annotated[bool, Parameter(alias="-y", help="Do not ask.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Remove memories for good.

    Their text, history, vectors and keywords go with them. One that maintenance took away can be
    named, too, alone: it is not brought back then.

    Example: hivelore forget ID --yes
    """
    if bool(memory) == (path is not None):
        raise Invalid("Say what to forget: ids, or --path FILE.")
    if project is not None and path is None:
        raise Invalid("--project goes with --path FILE: an id names one memory.")
    with connection.client(agent) as client:
        if path is None:
            count = _forget(RemoteHive(client), memory, yes)
        else:
            count = _forget_path(client, path, project, yes)
    if json:
        output.as_json({"forgotten": count})
    else:
        output.say(f"Forgotten: {count}.")


def _forget(hive: RemoteHive, ids: Sequence[str], yes: bool) -> int:
    # All are read before the first one goes: one that is unknown leaves everything as it was.
    try:
        found = {memory.id: memory.name for memory in map(hive.get, ids)}
    except NotFound:
        if len(ids) > 1:
            raise
        found = {ids[0]: "is not there any more: what may be kept to bring it back"}
    names = "\n".join(f"{memory}  {output.shortened(name, 100)}" for memory, name in found.items())
    if not _agreed(names, len(found), yes):
        return 0
    for one in found:
        hive.forget(one)
    return len(found)


def _forget_path(client: Client, path: Path, project: str | None, yes: bool) -> int:
    if not _agreed(f"What was indexed from {path}", 1, yes):
        return 0
    query = {"sourcePath": str(path.resolve())} | ({} if project is None else {"project": project})
    return client.call("DELETE", "/api/memory", query=query)["forgotten"]


def _agreed(what: str, count: int, yes: bool) -> bool:
    """Ask whoever sits at the terminal. Where nobody does, one memory goes at once and several need --yes."""
    if yes:
        return True
    if not sys.stdin.isatty():
        if count > 1:
            raise Invalid(f"{count} memories are forgotten without asking only with --yes.")
        return True
    output.note(f"{what}\nForget for good? y or n:")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
