"""The verb ``repo``: repositories of the swarm, and their clones in the workspace of this machine."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter

from hivelore.cli import exits, output
from hivelore.cli.connection import call, client, path
from hivelore.cli.options import STDIN, ActingAgent, After, AsJson, Limit100, Number, Reviewer, given, read_stdin
from hivelore.cli.output import Column, Json
from hivelore.errors import Conflict, HiveloreError, Invalid
from hivelore.local.signals import exit_on_signals
from hivelore.python.client import Client
from hivelore.repos.clones import IN_ORDER, MIRRORS, Clones, CloneTarget, SyncResult

_REPOS = "/api/repos"
_PAGE = 100
SECONDS = 600
"""Seconds for each repository."""
_LONGEST = 86_400


def _branch(repo: Json) -> str:
    return f"{repo['defaultBranch']}{' (detected)' if repo['detectsBranch'] else ''}"


def _auto(repo: Json) -> str:
    return "yes" if repo["autoClone"] else "no"


def _instructions(repo: Json) -> str:
    if repo["claudeMdFile"] is None:
        return ""
    stale = "" if repo["claudeMdStale"] is None else f", {repo['claudeMdStale']}"
    return f"{repo['claudeMdFile']} at {repo['claudeMdCommit'][:10]}{stale}"


_COLUMNS = (
    Column("name"),
    Column("branch", _branch),
    Column("auto", _auto),
    Column("synced", "lastSynced", "age"),
    Column("instructions", _instructions),
    Column("url"),
)
_RESULTS = (Column("name"), Column("outcome"), Column("detail"))
_AUTO = Parameter(name="--auto", negative="--no-auto", help="'hivelore repo sync' clones it on every machine.")
Name = Annotated[str, Parameter(name="name", help="Name or id of the repository.")]
Branch = Annotated[
    str | None, Parameter(help="Default branch; '' for the one that the remote repository names.", metavar="NAME")
]
Guidelines = Annotated[
    str | None,
    Parameter(help="Instructions for agents, at most 64 KB; - reads them from stdin, '' for none.", metavar="TEXT"),
]

app = App(name="repo", help="Repositories of the swarm: list, show, add, update, remove, sync.")


@app.command(name="list")
def list_repos(
    *,
    auto_clone: Annotated[bool, Parameter(name="--auto", help="Only those that every machine clones.")] = False,
    limit: Limit100 = 50,
    after: After = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List repositories by name.

    Example: hivelore repo list
    """
    query = {"autoClone": "true" if auto_clone else None, "limit": limit, "after": after}
    found = call("GET", _REPOS, agent=agent, query=query)
    more = "--limit shows up to 100, --after continues"
    output.page(found, "repos", json, _COLUMNS, empty="No repositories. 'hivelore repo add URL' adds one.", more=more)


@app.command
def show(
    name: Name,
    /,
    *,
    section: Annotated[bool, Parameter(help="Print the section of a prompt about it.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Show a repository with its guidelines and the instructions in it.

    Example: hivelore repo show shop
    """
    if section:
        found = call("GET", f"{path(_REPOS, name)}/section", agent=agent)
        if json:
            output.print_json(found)
        else:
            output.say_fenced(found["text"])
        return
    repo = call("GET", path(_REPOS, name), agent=agent)
    if json:
        output.print_json(repo)
        return
    output.show_fields(
        {
            "name": repo["name"],
            "id": repo["id"],
            "url": repo["url"],
            "branch": _branch(repo),
            "auto": _auto(repo),
            "project": repo["project"],
            "clone": repo["clonePath"],
            "synced": repo["lastSynced"],
            "instructions": _instructions(repo),
        }
    )
    for title, text in (("Guidelines", repo["guidelines"]), (repo["claudeMdFile"], repo["claudeMdContent"])):
        if text:
            output.say()
            output.say((title, "bold"))
            for line in text.splitlines():
                output.say(line)


@app.command
def add(
    url: Annotated[str, Parameter(help="https://host/path, ssh://user@host/path or user@host:path.")],
    /,
    *,
    name: Annotated[str | None, Parameter(help="Name of the clone (default: the end of the URL).")] = None,
    branch: Branch = None,
    guidelines: Guidelines = None,
    auto_clone: Annotated[bool, _AUTO] = True,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Register a repository for all agents.

    Example: hivelore repo add https://example.com/acme/shop.git --name example-shop
    """
    fields = given(name=name, defaultBranch=branch, guidelines=_text(guidelines))
    body = {"url": url, "autoClone": auto_clone, **fields}
    made = call("POST", _REPOS, agent=agent, operator=True, body=body)
    output.result(made, json, "Added: ", (made["name"], "bold"), f" with the project {made['project']}")


@app.command
def update(
    which: Name,
    /,
    *,
    name: Annotated[str | None, Parameter(help="New name. Clones under the earlier name stay.")] = None,
    url: Annotated[str | None, Parameter(help="New URL.")] = None,
    branch: Branch = None,
    guidelines: Guidelines = None,
    auto_clone: Annotated[bool | None, _AUTO] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Change a repository; what is not given stays.

    Example: hivelore repo update shop --branch main
    """
    body = given(name=name, url=url, defaultBranch=branch, guidelines=_text(guidelines), autoClone=auto_clone)
    if not body:
        raise Invalid("Say what to change: --name, --url, --branch, --guidelines or --auto.")
    made = call("PUT", path(_REPOS, which), agent=agent, operator=True, body=body)
    output.result(made, json, "Updated: ", (made["name"], "bold"))


@app.command
def remove(name: Name, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Remove a repository. Clones stay; 'hivelore undo' restores it.

    Example: hivelore repo remove shop
    """
    call("DELETE", path(_REPOS, name), agent=agent, operator=True)
    output.result({"removed": 1}, json, "Removed: ", (name, "bold"))


@app.command
def sync(
    *names: Annotated[str, Parameter(help="Names of repositories (default: all with --auto).")],
    timeout: Annotated[
        Number, Parameter(help="Seconds for each repository; an update goes on.", metavar="SECONDS")
    ] = SECONDS,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> int:
    """Clone repositories into the workspace, and move clean clones forward.

    Git uses the credentials of this user and asks nothing. A clone with changes, with other commits, or with settings
    that a sync does not follow stays as it is. The exit code is 7 if a clone needs somebody.

    Example: hivelore repo sync shop
    """
    if timeout is None or not 1 <= timeout <= _LONGEST:
        raise Invalid(f"--timeout has 1 to {_LONGEST:,} seconds.", field="timeout")
    with client(agent) as connected, exit_on_signals():
        results = list(sync_repos(connected, names, timeout))
    output.page({"repos": results}, "repos", json, _RESULTS, empty="No repositories to sync.")
    return 0 if all(one["isInOrder"] for one in results) else exits.LEFT_OUT


def sync_repos(connected: Client, names: Sequence[str], seconds: float) -> Iterator[Json]:
    """Syncs repositories with the workspace of this machine, reports what was found, and yields the results as JSON.
    ``names``: empty for all that every machine clones. ``seconds``: time limit of each."""
    from hivelore.runtime.settings import load

    settings = load()
    clones = Clones(settings.workspace_folder, settings.home / MIRRORS, allows_local=settings.repo_local_paths)
    repos = [connected.call("GET", path(_REPOS, name)) for name in names] or list(auto_cloned(connected))
    for repo in repos:
        target = CloneTarget(name=repo["name"], url=repo["url"], branch=_registered_branch(repo))
        result = clones.sync(target, seconds)
        unreported = _report(connected, repo, result, str(clones.path(repo["name"])))
        yield {
            "name": repo["name"],
            "outcome": result.outcome,
            "detail": " ".join(filter(None, (result.detail, unreported))),
            "isInOrder": result.outcome in IN_ORDER and not unreported,
            "path": str(clones.path(repo["name"])),
            "branch": None if result.found is None else result.found.branch,
            "commit": None if result.found is None else result.found.commit,
        }


def _registered_branch(repo: Json) -> str | None:
    return None if repo["detectsBranch"] else repo["defaultBranch"]


def auto_cloned(connected: Client) -> Iterator[Json]:
    """Yields the repositories that every machine clones."""
    query: dict[str, Any] = {"autoClone": "true", "limit": _PAGE}
    while True:
        page = connected.call("GET", _REPOS, query=query)
        yield from page["repos"]
        if page["next"] is None:
            return
        query["after"] = page["next"]


def _report(connected: Client, repo: Json, result: SyncResult, folder: str) -> str:
    """Reports what was found in a clone; returns why it was not reported, empty if it was."""
    found = result.found
    if found is None:
        return ""
    where = path(_REPOS, repo["id"])
    body = {
        "url": repo["url"],
        "clonePath": folder,
        "branch": found.branch,
        "commit": found.commit,
        "committedAt": found.committed_at.isoformat(),
        "cloneCommit": found.clone_commit,
        "file": found.file,
        "content": found.content,
        "size": found.size,
        "replaces": repo["claudeMdCommit"],
    }
    try:
        try:
            connected.call("PUT", f"{where}/synced", body=body)
        except Conflict:
            now = connected.call("GET", where)
            if (now["url"], _registered_branch(now)) != (repo["url"], _registered_branch(repo)):
                raise
            # Otherwise another machine has reported a later commit meanwhile.
    except HiveloreError as error:
        return f"It was not reported: {error}"
    return ""


def _text(given: str | None) -> str | None:
    return read_stdin() if given == STDIN else given
