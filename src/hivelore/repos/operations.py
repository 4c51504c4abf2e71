"""The operations of repositories (D30)."""

from typing import Annotated

from msgspec import Meta

from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, delete, get, post, put
from hivelore.core.tool import OBJECTS, TEXT, Reply, Tool
from hivelore.core.values import Instant, Request, json_names
from hivelore.repos.model import RepoItem, RepoPage, RepoSection

Id = Annotated[str, Meta(description="Name or id, or at least eight characters of the beginning of the id.")]
Guidelines = Annotated[str | None, Meta(description="Instructions for agents, at most 65,536 bytes. Empty: none.")]
Branch = Annotated[str | None, Meta(description="Empty: the one that the remote repository names.")]


class ListRepos(Request, frozen=True, kw_only=True):
    auto_clone: Annotated[bool, Meta(description="Only those that every machine clones.")] = False
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    after: str | None = None


class NamedRepo(Request, frozen=True, rename=json_names(repo="id")):
    repo: Id


class AddRepo(Request, frozen=True):
    url: str
    name: Annotated[str | None, Meta(description="Default: the last part of the URL.")] = None
    default_branch: Branch = None
    guidelines: Guidelines = None
    auto_clone: bool = True


class UpdateRepo(NamedRepo, frozen=True, rename=json_names(repo="id")):
    name: str | None = None
    url: str | None = None
    default_branch: Branch = None
    guidelines: Guidelines = None
    auto_clone: bool | None = None


class ReportClone(NamedRepo, frozen=True, kw_only=True, rename=json_names(repo="id")):
    url: Annotated[str, Meta(description="The registered URL that was asked.")]
    clone_path: str
    branch: str
    commit: Annotated[str, Meta(description="The newest known commit of the branch.")]
    committed_at: Instant
    clone_commit: Annotated[str, Meta(description="The commit that is checked out.")]
    file: Annotated[str | None, Meta(description="CLAUDE.md or AGENTS.md; none if the repository has neither.")] = None
    content: Annotated[str | None, Meta(description="The file at this commit, at most its first 65,536 bytes.")] = None
    size: Annotated[int, Meta(description="Bytes of the whole file.")] = 0
    replaces: Annotated[
        str | None,
        Meta(description="The commit that was known before the remote repository was asked: it may be a later one."),
    ] = None


def _list_reply(found: RepoPage) -> Reply:
    more = " There are more: give after." if found.next is not None else ""
    return Reply(f"{len(found.repos)} repositories.{more}", {"repos": found.repos, "next": found.next})


LIST_REPOS = Operation(
    name="repos",
    verb="repo list",
    summary="Lists repositories by name, without their texts. ``after`` is the ``next`` of the previous page.",
    request=ListRepos,
    response=RepoPage,
    handler="hivelore.repos.handlers:list_repos",
    lane=Lane.READ,
    http=get("/api/repos"),
    tool=Tool(
        name="list-repos",
        description="List the repositories of the swarm: names, URLs, and where they are cloned.",
        arguments={"after": "next of the previous page"},
        reply=_list_reply,
        output={"repos": OBJECTS, "next": TEXT},
        capability=Capability.SWARM,
        read_only=True,
    ),
    tag="repos",
)
GET_REPO = Operation(
    name="repo",
    verb="repo show",
    summary="Returns a repository with its guidelines, and the CLAUDE.md or AGENTS.md that was last read from a clone.",
    request=NamedRepo,
    response=RepoItem,
    handler="hivelore.repos.handlers:get_repo",
    lane=Lane.READ,
    http=get("/api/repos/{id}"),
    tag="repos",
)
GET_REPO_SECTION = Operation(
    name="repo_section",
    verb="repo show",
    summary="Returns the section of a prompt about a repository, between markers, and its number of tokens.",
    request=NamedRepo,
    response=RepoSection,
    handler="hivelore.repos.handlers:get_repo_section",
    lane=Lane.READ,
    http=get("/api/repos/{id}/section"),
    tag="repos",
)
ADD_REPO = Operation(
    name="add_repo",
    verb="repo add",
    summary="Registers a repository for all agents. For leads and operators.",
    request=AddRepo,
    response=RepoItem,
    handler="hivelore.repos.handlers:add_repo",
    lane=Lane.WRITE,
    http=post("/api/repos", status=201),
    tag="repos",
)
UPDATE_REPO = Operation(
    name="update_repo",
    verb="repo update",
    summary="Changes the given fields of a repository. For leads and operators. Another URL or branch drops what was "
    "read from clones.",
    request=UpdateRepo,
    response=RepoItem,
    handler="hivelore.repos.handlers:update_repo",
    lane=Lane.WRITE,
    http=put("/api/repos/{id}"),
    tag="repos",
)
REMOVE_REPO = Operation(
    name="remove_repo",
    verb="repo remove",
    summary="Removes a repository. For leads and operators. Clones stay as they are.",
    request=NamedRepo,
    response=type(None),
    handler="hivelore.repos.handlers:remove_repo",
    lane=Lane.WRITE,
    http=delete("/api/repos/{id}"),
    tag="repos",
)
REPORT_CLONE = Operation(
    name="report_clone",
    verb="repo sync",
    summary="Stores what was found in a clone. A worker alone sees its report; those of leads and operators are for "
    "all. Raises Conflict if a later commit is known, unless the caller knew that one, and if the repository has "
    "another URL or branch now.",
    request=ReportClone,
    response=RepoItem,
    handler="hivelore.repos.handlers:report_clone",
    lane=Lane.WRITE,
    http=put("/api/repos/{id}/synced"),
    tag="repos",
)
OPERATIONS = (LIST_REPOS, GET_REPO, GET_REPO_SECTION, ADD_REPO, UPDATE_REPO, REMOVE_REPO, REPORT_CLONE)
