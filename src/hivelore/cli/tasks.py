"""The verbs ``task`` and ``tasks``: tasks of agents, and what they cost."""

from collections.abc import Callable
from typing import Annotated, Literal, get_args

from cyclopts import App, Parameter

from hivelore.cli import output
from hivelore.cli.connection import call, path
from hivelore.cli.options import After, AsJson, Reviewer, given, read_text
from hivelore.cli.output import Column, Json
from hivelore.errors import Invalid

_TASKS = "/api/tasks"
_MICROS = 1_000_000
States = Literal["open", "waiting", "running", "paused", "completed", "failed", "cancelled"]
Task = Annotated[str, Parameter(name="id", help="Id of the task, or its beginning.")]
Limit = Annotated[int, Parameter(help="How many at most, up to 200.", metavar="N")]

app = App(
    name="task",
    help="Tasks of agents: send, list, show, progress, complete, fail, pause, resume, cancel, edit, delete.",
)


def _tokens(usage: Json) -> int:
    return sum(usage[name] for name in ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"))


def _money(usage: Json) -> str:
    return f"${usage['costMicros'] / _MICROS:,.2f}"


def _who(one: Json) -> str:
    if one["assignee"] is None and one["lease"] is not None:
        return one["lease"]["agent"]
    return one["assignee"] or "any"


def _usage_columns(usage_of: Callable[[Json], Json | None]) -> tuple[Column, Column]:
    """Returns the columns of tokens and money, which are empty for a row without usage."""

    def tokens(one: Json) -> str:
        usage = usage_of(one)
        return "" if usage is None else f"{_tokens(usage):,}"

    def money(one: Json) -> str:
        usage = usage_of(one)
        return "" if usage is None else _money(usage)

    return Column("tokens", tokens), Column("money", money)


def _first_line(one: Json) -> str:
    return one["text"].splitlines()[0]


_COLUMNS = (
    Column("task", "id", "id"),
    Column("state"),
    Column("priority"),
    Column("agent", _who, "id"),
    Column("sent", "createdAt", "age"),
    Column("text", _first_line),
)


@app.command
def send(
    *text: Annotated[str, Parameter(help="What is to be done; - reads it from stdin.")],
    to: Annotated[str | None, Parameter(help="Agent, by name or id (default: any).", metavar="AGENT")] = None,
    parent: Annotated[str | None, Parameter(help="Task that it continues.", metavar="ID")] = None,
    repo: Annotated[str | None, Parameter(help="Repository to work in.", metavar="NAME")] = None,
    after: Annotated[list[str] | None, Parameter(help="Task to be completed before; repeatable.", metavar="ID")] = None,
    priority: Annotated[int, Parameter(help="-100 to 100; higher ones first.")] = 0,
    tag: Annotated[list[str] | None, Parameter(help="Tag; repeatable.", metavar="TAG")] = None,
    client_id: Annotated[str | None, Parameter(help="Sending again with this id changes nothing.")] = None,
    attempts: Annotated[int | None, Parameter(help="Attempts before it is failed.", metavar="N")] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Send a task to an agent, or to whichever is free.

    Example: hivelore task send Renew the certificate of the proxy --repo shop
    """
    body = {
        "text": read_text(text, "what is to be done"),
        "priority": priority,
        **given(
            assignee=to,
            parentTaskId=parent,
            repo=repo,
            dependsOn=after,
            tags=tag,
            clientId=client_id,
            maxAttempts=attempts,
        ),
    }
    done = call("POST", _TASKS, agent=agent, operator=True, body=body)
    output.result(done, json, "Sent: ", (done["id"], "bold"), f" ({done['state']})")


@app.command(name="list")
def list_tasks(
    *,
    state: Annotated[list[States] | None, Parameter(help="State; repeatable (default: unfinished ones).")] = None,
    finished: Annotated[bool, Parameter(name="--all", negative=(), help="Also finished ones.")] = False,
    to: Annotated[str | None, Parameter(help="Only tasks of this agent.", metavar="AGENT")] = None,
    sender: Annotated[str | None, Parameter(help="Only tasks that this agent sent.", metavar="AGENT")] = None,
    parent: Annotated[str | None, Parameter(help="Only tasks that continue this one.", metavar="ID")] = None,
    repo: Annotated[str | None, Parameter(help="Only tasks of this repository.", metavar="NAME")] = None,
    tag: Annotated[str | None, Parameter(help="Only tasks with this tag.", metavar="TAG")] = None,
    limit: Limit = 50,
    after: After = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List tasks, newest first.

    Example: hivelore task list --state failed
    """
    states = [*get_args(States)] if finished else state
    query = {
        "agent": to,
        "creator": sender,
        "parentTaskId": parent,
        "repo": repo,
        "tag": tag,
        "limit": limit,
        "after": after,
        **given(state=states),
    }
    found = call("GET", _TASKS, agent=agent, operator=True, query=query)
    output.page(found, "tasks", json, _COLUMNS, empty="No tasks.", more=f"--after {found['next']}")


@app.command
def show(task: Task, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Show a task with its progress, result and costs.

    Example: hivelore task show ID
    """
    found = call("GET", path(_TASKS, task), agent=agent, operator=True)
    if json:
        output.print_json(found)
        return
    one = found["task"]
    output.say(f"{one['id']}  {one['state']}  priority {one['priority']}  {_who(one)}")
    output.say(one["text"])
    for name, title in (("output", "Output"), ("failure", "What went wrong")):
        if one[name]:
            output.say(f"\n{title}:\n{one[name]}")
    if found["unmet"]:
        output.say(f"\nWaits for: {', '.join(found['unmet'])}")
    if found["progress"]:
        output.say()
        columns = (Column("progress", "text"), Column("kind"), Column("at", "at", "age"), Column("by", "actor", "id"))
        output.show_table(columns, found["progress"])
    if found["sessions"]:
        output.say()
        output.show_table((Column("session"), Column("at", "at", "age")), found["sessions"])
    output.say(f"\n{_tokens(found['usage']):,} tokens, {_money(found['usage'])}")


@app.command
def progress(
    task: Task,
    *text: Annotated[str, Parameter(help="What is done; - reads it from stdin.")],
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Store the progress of a task.

    Example: hivelore task progress ID The tests pass, the docs are left
    """
    body = {"text": read_text(text, "what is done")}
    _act(task, "progress", agent, json, body)


@app.command
def complete(
    task: Task,
    *text: Annotated[str, Parameter(help="The result; - reads it from stdin.")],
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Complete a task; the result becomes a memory.

    Example: hivelore task complete ID Renewed until June
    """
    _act(task, "complete", agent, json, {"output": read_text(text, "the result")})


@app.command
def fail(
    task: Task,
    *text: Annotated[str, Parameter(help="What went wrong; - reads it from stdin.")],
    retry: Annotated[bool, Parameter(negative=(), help="Another agent may try it.")] = False,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Fail a task; what went wrong becomes a memory.

    Example: hivelore task fail ID The account has no access
    """
    _act(task, "fail", agent, json, {"reason": read_text(text, "what went wrong"), "retry": retry})


@app.command
def cancel(task: Task, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Cancel a task; 'hivelore undo' takes it back.

    Example: hivelore task cancel ID
    """
    _act(task, "cancel", agent, json)


@app.command
def pause(task: Task, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Pause a task; the agent that works on it stops.

    Example: hivelore task pause ID
    """
    _act(task, "pause", agent, json)


@app.command
def resume(task: Task, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Resume a paused task, or try a failed one again.

    Example: hivelore task resume ID
    """
    _act(task, "resume", agent, json)


@app.command
def edit(
    task: Task,
    /,
    *,
    priority: Annotated[int | None, Parameter(help="-100 to 100; higher ones first.")] = None,
    tag: Annotated[list[str] | None, Parameter(help="Its tags from now on; repeatable.", metavar="TAG")] = None,
    no_tag: Annotated[bool, Parameter(negative=(), help="Remove all its tags.")] = False,
    after: Annotated[
        list[str] | None, Parameter(help="What it depends on from now on; repeatable.", metavar="ID")
    ] = None,
    no_after: Annotated[bool, Parameter(negative=(), help="Let it depend on nothing.")] = False,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Change priority, tags or dependencies of a task that is not running or finished.

    Example: hivelore task edit ID --priority 10
    """
    tags = _replacement(tag, no_tag, "--tag")
    body = given(priority=priority, tags=tags, dependsOn=_replacement(after, no_after, "--after"))
    done = call("PATCH", path(_TASKS, task), agent=agent, operator=True, body=body)
    output.result(done, json, "Changed: ", (done["id"], "bold"))


@app.command
def delete(task: Task, /, *, json: AsJson = False) -> None:
    """Delete a task with its progress and costs. Its memory stays until it is forgotten.

    Example: hivelore task delete ID
    """
    call("DELETE", path(_TASKS, task), operator=True)
    output.result({"id": task}, json, "Deleted: ", (task, "bold"))


@app.command
def drop_costs(task: Task, /, *, json: AsJson = False) -> None:
    """Delete the costs of a task that were reported wrongly.

    Example: hivelore task drop-costs ID
    """
    call("DELETE", path(_TASKS, task, "costs"), operator=True)
    output.result({"id": task}, json, "Deleted the costs of: ", (task, "bold"))


def tasks(
    *,
    costs: Annotated[
        Literal["day", "agent", "task"] | None, Parameter(help="Costs by day, agent or task instead.")
    ] = None,
    first: Annotated[str | None, Parameter(help="First day of --costs (UTC).", metavar="DATE")] = None,
    last: Annotated[str | None, Parameter(help="Last day of --costs (UTC).", metavar="DATE")] = None,
    limit: Limit = 50,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Show the latest tasks with their tokens and money, or the costs of all.

    Example: hivelore tasks --costs agent
    """
    if costs is not None:
        query = {"by": costs, "first": first, "last": last}
        spent = call("GET", "/api/costs", agent=agent, operator=True, query=query)
        if json:
            output.print_json(spent)
            return
        rows = [*spent["rows"], {"key": "total", "name": None, "usage": spent["total"]}]
        names = (Column("name", "name"),) if costs == "agent" else ()
        output.show_table((*names, Column(costs, "key"), *_usage_columns(lambda one: one["usage"])), rows)
        return
    query = {"limit": limit, "state": [*get_args(States)]}
    found = call("GET", _TASKS, agent=agent, operator=True, query=query)
    usage = {one["key"]: one["usage"] for one in found["usage"]}
    columns = (*_COLUMNS, *_usage_columns(lambda one: usage.get(one["id"])))
    output.page(found, "tasks", json, columns, empty="No tasks.", more="'hivelore task list --all' shows all pages")
    if not json:
        tokens, micros = sum(map(_tokens, usage.values())), sum(one["costMicros"] for one in usage.values())
        output.note(f"Together: {tokens:,} tokens, {_money({'costMicros': micros})}")


def _replacement(values: list[str] | None, none: bool, option: str) -> list[str] | None:
    """Returns the new values of a list; None if it stays as it is."""
    if none and values:
        raise Invalid(f"Use either {option} or --no-{option.removeprefix('--')}.")
    return [] if none else values


def _act(task: str, action: str, agent: str | None, json: bool, body: Json | None = None) -> None:
    done = call("POST", f"{path(_TASKS, task)}/{action}", agent=agent, operator=True, body=body or {})
    output.result(done, json, "Task ", (done["id"], "bold"), f" is {done['state']}.")
