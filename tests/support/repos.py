"""Repositories for tests."""

from typing import Any

from hypothesis import strategies as st

from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.repos.model import Repo, RepoId, RepoItem, RepoReport
from hivelore.repos.service import CloneState, RepoSettings
from hivelore.storage.ports import MemoryStore
from support.memories import ADA, BOB, instant, instants, texts
from support.world import AS_LEA, World


def repo_id(number: int) -> RepoId:
    return RepoId(f"00000000-0000-7000-8000-{number:012d}")


def commit(number: int) -> str:
    return f"{number:040x}"


def a_repo(number: int = 1, **more: Any) -> Repo:
    default: dict[str, Any] = {
        "name": Clean(f"repo-{number}"),
        "url": Clean(f"https://example.com/acme/repo-{number}.git"),
        "created_at": instant(0),
        "updated_at": instant(0),
    }
    return Repo(id=repo_id(number), **(default | more))


def a_report(number: int = 1, **more: Any) -> RepoReport:
    default: dict[str, Any] = {
        "owner": None,
        "actor": BOB,
        "at": instant(1),
        "clone_path": Clean(f"/workspace/repos/repo-{number}"),
        "branch": Clean("main"),
        "commit": commit(1),
        "committed_at": instant(0),
        "clone_commit": commit(1),
        "file": Clean("CLAUDE.md"),
        "content": Clean("Use tabs."),
        "size": 9,
    }
    return RepoReport(repo=repo_id(number), **(default | more))


def a_clone(**more: Any) -> dict[str, Any]:
    """A report about a clone, as it is sent."""
    default = {
        "url": "https://github.com/acme/shop.git",
        "clonePath": "/workspace/repos/shop",
        "branch": "main",
        "commit": commit(1),
        "committedAt": instant(1).isoformat(),
        "cloneCommit": commit(1),
        "file": "CLAUDE.md",
        "content": "Use tabs.",
        "size": 9,
    }
    return default | more


def repos() -> st.SearchStrategy[Repo]:
    """All kinds of repositories, with names of their own."""
    return st.builds(
        a_repo,
        st.integers(1, 9),
        default_branch=st.none() | texts,
        guidelines=st.none() | texts,
        auto_clone=st.booleans(),
        created_at=instants,
        updated_at=instants,
    )


def reports() -> st.SearchStrategy[RepoReport]:
    return st.builds(
        a_report,
        owner=st.sampled_from([None, ADA, BOB]),
        actor=st.sampled_from([None, ADA]),
        at=instants,
        committed_at=instants,
        branch=texts,
        file=st.none() | texts,
        content=st.none() | texts,
        size=st.integers(0, 2**40),
        shared_commit=st.none() | st.just(commit(2)),
    )


def put(store: MemoryStore, *things: Repo | RepoReport) -> None:
    def write(tx: Any) -> None:
        for one in things:
            if isinstance(one, Repo):
                tx.put_repo(one)
            else:
                tx.put_repo_report(one)

    store.write(write)


def register(
    world: World, url: str = "https://example.com/acme/shop", viewer: Viewer = AS_LEA, **more: Any
) -> RepoItem:
    return world.repos.add(RepoSettings(url=url, **more), viewer)


def report(world: World, which: str = "shop", viewer: Viewer = AS_LEA, **more: Any) -> RepoItem:
    """Reports the first commit, of the first minute, unless other values are given."""
    default: dict[str, Any] = {
        "url": world.repos.get(which, viewer).url,
        "clone_path": f"/workspace/repos/{which}",
        "branch": "main",
        "commit": commit(1),
        "committed_at": instant(1),
        "clone_commit": more.get("commit", commit(1)),
        "file": "CLAUDE.md",
        "content": "Use tabs.",
        "size": 9,
        "replaces": None,
    }
    return world.repos.report(which, CloneState(**(default | more)), viewer)
