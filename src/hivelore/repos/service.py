"""Registers repositories, and keeps what agents report about their clones."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import canonical_id, match_prefix
from hivelore.core.paging import invalid_cursor
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge
from hivelore.memories.model import Action
from hivelore.repos import rules
from hivelore.repos.authority import may_change, report_owner
from hivelore.repos.model import (
    DEFAULT_BRANCH,
    FILES,
    MAX_REPOS,
    TEXT_BYTES,
    Repo,
    RepoChange,
    RepoId,
    RepoItem,
    RepoPage,
    RepoReport,
    RepoSection,
    Staleness,
)
from hivelore.repos.repo_changes import CLAIM, is_elsewhere, record_audit
from hivelore.repos.reports import is_newer, report_for, staleness
from hivelore.repos.section import cut_text, repo_section
from hivelore.storage.ports import MemoryStore, Transaction, View

PATH_BYTES = 4_096
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST_SIZE = 2**53
_MOST_AHEAD = timedelta(days=1)
"""How far in the future the time of a commit may be. Otherwise a wrong clock would hide all later commits."""
_LIST = "'hivelore repo list' (GET /api/repos) shows them."


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoSettings:
    """What a caller sets of a repository. A field that is None keeps its value; an empty text removes it."""

    name: str | None = None
    url: str | None = None
    default_branch: str | None = None
    guidelines: str | None = None
    auto_clone: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneState:
    """What an agent found in its clone, as it was sent. See ``RepoReport``."""

    url: str
    """The registered URL that the agent asked."""
    clone_path: str
    branch: str
    commit: str
    committed_at: datetime
    clone_commit: str
    file: str | None
    content: str | None
    size: int
    replaces: str | None
    """The commit that the sender knew before it asked the remote repository."""


class RepoService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        journal: ChangeJournal,
        redactor: Redactor,
        lead_sees: LeadSees,
        clock: Clock,
        new_id: Callable[[datetime], RepoId],
        nonce: Callable[[], str],
        allows_local: bool,
        stale_after: timedelta,
    ) -> None:
        """``allows_local``: local paths may be URLs. ``stale_after``: how long reported instructions count as current;
        zero for ever."""
        self._store = store
        self._journal = journal
        self._redactor = redactor
        self._lead_sees = lead_sees
        self._clock = clock
        self._new_id = new_id
        self._nonce = nonce
        self._allows_local = allows_local
        self._stale_after = stale_after

    def page(
        self, viewer: Viewer, after: str | None, limit: int, *, auto_clone: bool = False, deadline: float | None = None
    ) -> RepoPage:
        """Returns a page of repositories by name, without their texts. ``after``: the ``next`` of the previous page;
        ``auto_clone``: only those that every machine clones."""
        if after is not None and not rules.is_name(after):
            raise invalid_cursor()
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            found = view.repos(rules.name_key(after or ""), limit + 1, auto_clone=auto_clone, has_texts=False)
            reports = self._reports(view, [one.id for one in found[:limit]], viewer, has_texts=False)
        page = tuple(self._item(one, reports.get(one.id), has_texts=False) for one in found[:limit])
        return RepoPage(repos=page, next=rules.name_key(page[-1].name) if len(found) > limit else None)

    def get(self, which: str, viewer: Viewer, deadline: float | None = None) -> RepoItem:
        """Returns a repository by its name or id, or at least eight characters of the beginning of its id. Raises
        NotFound, and Invalid if several ids begin with them."""
        return self._item(*self._read(which, viewer, deadline))

    def section(self, which: str, viewer: Viewer, deadline: float | None = None) -> RepoSection:
        """Returns the part of a prompt about a repository. Raises as ``get``."""
        repo, report = self._read(which, viewer, deadline)
        stale = self._staleness(report)
        text = repo_section(repo, _branch(repo, report), report, stale, self._nonce())
        return RepoSection(name=repo.name, text=text, tokens=estimate(text), stale=stale)

    def add(self, given: RepoSettings, viewer: Viewer, deadline: float | None = None) -> RepoItem:
        """Registers a repository. Without a name, it has that of its URL. Raises Forbidden, Invalid, and Conflict for a
        name that is taken."""
        _permit(viewer)
        if given.url is None:
            raise Invalid("url is required.", field="url")
        url = self._url(given.url)
        name = self._name(given.name if given.name and given.name.strip() else rules.name_of_url(url))
        now = self._clock.now()
        fresh = Repo(
            id=self._new_id(now),
            name=name,
            url=url,
            default_branch=self._default_branch(given.default_branch),
            guidelines=self._guidelines(given.guidelines),
            auto_clone=given.auto_clone is not False,
            created_at=now,
            updated_at=now,
        )

        def put(tx: Transaction) -> None:
            tx.claim(CLAIM)
            if tx.repo_count() >= MAX_REPOS:
                raise Conflict(f"There are {MAX_REPOS:,} repositories already. Remove one first.")
            self._change(tx, None, fresh, viewer)

        self._store.write(put, deadline)
        return self._item(fresh, None)

    def update(self, which: str, given: RepoSettings, viewer: Viewer, deadline: float | None = None) -> RepoItem:
        """Changes the given fields of a repository. The same values again change nothing. With another URL or branch,
        what was reported about clones is dropped. Raises as ``add``, and NotFound."""
        _permit(viewer)
        changes: dict[str, object] = {}
        if given.name is not None:
            changes["name"] = self._name(given.name)
        if given.url is not None:
            changes["url"] = self._url(given.url)
        if given.default_branch is not None:
            changes["default_branch"] = self._default_branch(given.default_branch)
        if given.guidelines is not None:
            changes["guidelines"] = self._guidelines(given.guidelines)
        if given.auto_clone is not None:
            changes["auto_clone"] = given.auto_clone

        def put(tx: Transaction) -> tuple[Repo, RepoReport | None]:
            known = find_repo(tx, which)
            fresh = replace(known, **changes)
            if fresh != known:
                tx.claim(CLAIM)
                fresh = replace(fresh, updated_at=self._clock.now())
                self._change(tx, known, fresh, viewer)
            return fresh, self._reports(tx, [fresh.id], viewer).get(fresh.id)

        return self._item(*self._store.write(put, deadline))

    def remove(self, which: str, viewer: Viewer, deadline: float | None = None) -> None:
        """Removes a repository and what was reported about its clones, which stay. Raises Forbidden and NotFound."""
        _permit(viewer)

        def drop(tx: Transaction) -> None:
            tx.claim(CLAIM)
            self._change(tx, find_repo(tx, which), None, viewer)

        self._store.write(drop, deadline)

    def report(self, which: str, state: CloneState, viewer: Viewer, deadline: float | None = None) -> RepoItem:
        """Stores what an agent found in its clone. A worker's report is for itself alone. Raises Conflict if a
        later commit is known or the repository has another URL or branch now, Invalid and NotFound."""
        owner = report_owner(viewer)
        values = self._clone_values(state)

        def put(tx: Transaction) -> tuple[Repo, RepoReport]:
            tx.claim(CLAIM)
            repo = find_repo(tx, which)
            if repo.url != state.url.strip() or repo.default_branch not in (None, values["branch"]):
                raise Conflict(f"{repo.name} has another URL or branch now. Run 'hivelore repo sync' again.")
            now = self._clock.now()
            values["committed_at"] = min(state.committed_at, now + _MOST_AHEAD)
            shared = None if owner is None else next(iter(tx.repo_reports([repo.id], None, has_texts=False)), None)
            fresh = RepoReport(
                repo=repo.id,
                owner=owner,
                actor=viewer.agent,
                at=now,
                shared_commit=None if shared is None else shared.commit,
                **values,
            )
            if not is_newer(self._reports(tx, [repo.id], viewer, has_texts=False).get(repo.id), fresh, state.replaces):
                raise Conflict(f"A later commit of {repo.name} is known already. Run 'hivelore repo sync' again.")
            tx.put_repo_report(fresh)
            return repo, fresh

        return self._item(*self._store.write(put, deadline))

    # steps

    def _read(self, which: str, viewer: Viewer, deadline: float | None) -> tuple[Repo, RepoReport | None]:
        with self._store.read(deadline, sees=visible_to(viewer, self._lead_sees)) as view:
            repo = find_repo(view, which)
            return repo, self._reports(view, [repo.id], viewer).get(repo.id)

    def _reports(
        self, view: View, repos: Sequence[RepoId], viewer: Viewer, *, has_texts: bool = True
    ) -> dict[RepoId, RepoReport]:
        """Returns the report of each repository that the viewer sees."""
        owner = report_owner(viewer)
        found: dict[tuple[RepoId, AgentId | None], RepoReport] = {
            (one.repo, one.owner): one for one in view.repo_reports(repos, owner, has_texts=has_texts)
        }
        own = {repo: None if owner is None else found.get((repo, owner)) for repo in repos}
        seen = {repo: report_for(found.get((repo, None)), own[repo]) for repo in repos}
        return {repo: one for repo, one in seen.items() if one is not None}

    def _change(self, tx: Transaction, before: Repo | None, after: Repo | None, viewer: Viewer) -> None:
        """Stores a repository (None: removes it), with its batch and audit entry."""
        kept = after or before
        assert kept is not None
        if after is None:
            tx.drop_repo(kept.id)
        else:
            other = tx.repo_named(after.name)
            if other is not None and other.id != after.id:
                raise Conflict(f"There is a repository {other.name} already. Choose another name, or update that one.")
            if before is not None and is_elsewhere(before, after):
                tx.drop_repo_reports(after.id)
            tx.put_repo(after)
        batch = self._journal.new_batch(BatchKind.REGISTERED, viewer, changes=1, is_private=False)
        if batch is not None:
            tx.put_batch(batch)
            tx.put_repo_changes(batch.id, [RepoChange(kept.id, before, after)])
        action = Action.FORGOTTEN if after is None else Action.CREATED if before is None else Action.EDITED
        record_audit(tx, viewer, action, kept, self._clock.now())

    def _item(self, repo: Repo, report: RepoReport | None, *, has_texts: bool = True) -> RepoItem:
        return RepoItem(
            id=repo.id,
            name=repo.name,
            url=repo.url,
            default_branch=_branch(repo, report),
            detects_branch=repo.default_branch is None,
            auto_clone=repo.auto_clone,
            project=rules.project_of_url(repo.url),
            clone_path=None if report is None else report.clone_path,
            synced_at=None if report is None else report.at,
            synced_by=None if report is None else report.actor,
            file=None if report is None else report.file,
            commit=None if report is None else report.commit,
            committed_at=None if report is None else report.committed_at,
            size=0 if report is None else report.size,
            stale=self._staleness(report),
            created_at=repo.created_at,
            updated_at=repo.updated_at,
            guidelines=repo.guidelines if has_texts else UNSET,
            content=(None if report is None else report.content) if has_texts else UNSET,
        )

    def _staleness(self, report: RepoReport | None) -> Staleness | None:
        return None if report is None else staleness(report, self._clock.now(), self._stale_after)

    def _name(self, name: str) -> Clean:
        return self._plain(rules.check_name(name), "name")

    def _url(self, url: str) -> Clean:
        return self._plain(rules.check_url(url, allows_local=self._allows_local), "url")

    def _default_branch(self, branch: str | None) -> Clean | None:
        return None if branch is None or not branch.strip() else self._branch(branch)

    def _branch(self, branch: str) -> Clean:
        return self._plain(rules.check_branch(branch), "defaultBranch")

    def _plain(self, text: str, field: str) -> Clean:
        """Returns a text that is stored as it is. Raises Invalid if it contains a secret, without repeating it."""
        clean = self._redactor.clean(text, field=field)
        if clean != text:
            raise Invalid(f"{field} seems to contain a secret, which is never stored. Leave that out.", field=field)
        return clean

    def _guidelines(self, text: str | None) -> Clean | None:
        if text is None:
            return None
        _check_size(text, "guidelines")
        clean = Clean(self._redactor.clean(text, field="guidelines").strip())
        _check_size(clean, "guidelines")  # A mask may be longer than the secret.
        return clean or None

    def _clone_values(self, state: CloneState) -> dict[str, Any]:
        """Returns the fields of a report, checked. Raises Invalid."""
        for commit, field in ((state.commit, "commit"), (state.clone_commit, "cloneCommit")):
            if not _COMMIT.fullmatch(commit):
                raise Invalid(f"{field} is the id of a commit: 40 or 64 hexadecimal digits.", field=field)
        path = state.clone_path
        if not path.startswith("/") or not path.isprintable() or len(path.encode()) > PATH_BYTES:
            raise Invalid(f"clonePath is an absolute path of at most {PATH_BYTES:,} bytes.", field="clonePath")
        if (state.file is None) is not (state.content is None) or state.file not in (None, *FILES):
            raise Invalid(f"file is {' or '.join(FILES)}, together with content; or neither.", field="file")
        content = None
        if state.content is not None:
            _check_size(state.content, "content")
            content = Clean(cut_text(self._redactor.clean(state.content, field="content")))
            if not 0 <= state.size <= _LARGEST_SIZE:
                raise Invalid("size is the number of bytes of the file.", field="size")
        return {
            "clone_path": self._redactor.clean(path, field="clonePath"),
            "branch": self._branch(state.branch),
            "commit": state.commit,
            "clone_commit": state.clone_commit,
            "file": None if state.file is None else Clean(state.file),
            "content": content,
            "size": 0 if state.content is None else max(state.size, len(state.content.encode())),
        }


def _permit(viewer: Viewer) -> None:
    if not may_change(viewer):
        raise Forbidden("Only a lead or an operator may change the repositories of all agents. Ask one.")


def find_repo(view: View, which: str) -> Repo:
    """Returns the repository with an id or a name, or the only one whose id begins with the text. Raises NotFound, and
    Invalid if several ids begin with it."""
    if not rules.is_name(which.strip()):  # An id has the characters of a name, too.
        raise NotFound(f"No such repository. {_LIST}")
    known = view.repo(RepoId(canonical_id(which))) or view.repo_named(which)
    if known is None and (whole := match_prefix(which, view.repo_ids_from, "repo")) is not None:
        known = view.repo(RepoId(whole))
    if known is None:
        raise NotFound(f"No repository {which.strip()!r}. {_LIST}")
    return known


def _branch(repo: Repo, report: RepoReport | None) -> Clean:
    """Returns the default branch: the registered one, else the one that was found in a clone."""
    return repo.default_branch or (Clean(DEFAULT_BRANCH) if report is None else report.branch)


def _check_size(text: str, field: str) -> None:
    size = len(text.encode(errors="replace"))
    if size > TEXT_BYTES:
        raise TooLarge(f"{field} has {size:,} bytes; at most {TEXT_BYTES:,}.", field=field)
