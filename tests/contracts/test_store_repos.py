"""Every store: repositories, the reports about their clones, and their changes in batches."""

from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport
from hivelore.storage.ports import MemoryStore, Transaction
from support.batches import a_batch
from support.memories import ADA, BOB, instant
from support.repos import a_repo, a_report, put, repo_id, reports, repos
from support.stores import Fresh, law


def listed(store: MemoryStore, *, auto_clone: bool = False) -> list[Repo]:
    with store.read() as view:
        return list(view.repos("", 100, auto_clone=auto_clone))


def reports_of(store: MemoryStore, owner: AgentId | None, *numbers: int) -> list[RepoReport]:
    with store.read() as view:
        return list(view.repo_reports([repo_id(one) for one in numbers], owner))


@law
@given(written=repos())
def test_a_repository_is_read_as_it_was_written(fresh: Fresh, written: Repo) -> None:
    with fresh() as store:
        put(store, written)
        assert listed(store) == [written]
        with store.read() as view:
            assert view.repo(written.id) == view.repo_named(written.name) == written


@law
@given(written=reports())
def test_a_report_is_read_as_it_was_written(fresh: Fresh, written: RepoReport) -> None:
    with fresh() as store:
        put(store, written)
        assert reports_of(store, written.owner, 1) == [written]


def test_a_repository_is_found_by_its_name_in_any_case(store: MemoryStore) -> None:
    shop = a_repo(name=Clean("Shop.API"))
    put(store, shop)
    with store.read() as view:
        assert view.repo_named("shop.api") == view.repo_named("SHOP.API ") == shop
        assert view.repo_named("shop") is None
        assert view.repo(repo_id(2)) is None


def test_names_that_differ_in_case_only_are_equal(store: MemoryStore) -> None:
    put(store, a_repo(1, name=Clean("Shop")))
    with pytest.raises(Conflict):
        put(store, a_repo(2, name=Clean("sHOP")))
    assert [one.name for one in listed(store)] == ["Shop"]
    put(store, a_repo(1, name=Clean("shop")))
    assert [one.name for one in listed(store)] == ["shop"]


def test_a_refused_name_does_not_end_the_transaction(store: MemoryStore) -> None:
    put(store, a_repo(1, name=Clean("shop")))

    def work(tx: Transaction) -> None:
        with pytest.raises(Conflict):
            tx.put_repo(a_repo(2, name=Clean("shop")))
        tx.put_repo(a_repo(2))

    store.write(work)
    assert len(listed(store)) == 2


@law
@given(names=st.lists(st.sampled_from(["a", "B", "c", "D", "e-1", "e.1", "E_1"]), unique=True), limit=st.integers(1, 3))
def test_repositories_are_listed_in_pages_by_name(fresh: Fresh, names: list[str], limit: int) -> None:
    with fresh() as store:
        put(store, *(a_repo(number, name=Clean(name)) for number, name in enumerate(names, start=1)))
        found: list[str] = []
        with store.read() as view:
            while page := view.repos(found[-1].lower() if found else "", limit):
                found += [one.name for one in page]
            assert view.repo_count() == view.counts().repos == len(names)
        assert found == sorted(names, key=str.lower)


def test_those_of_every_machine_are_listed_alone(store: MemoryStore) -> None:
    put(store, a_repo(1), a_repo(2, auto_clone=False), a_repo(3))
    assert [one.id for one in listed(store, auto_clone=True)] == [repo_id(1), repo_id(3)]
    assert len(listed(store)) == 3


@law
@given(repo=repos(), report=reports())
def test_lists_read_all_but_the_texts(fresh: Fresh, repo: Repo, report: RepoReport) -> None:
    report = replace(report, repo=repo.id)
    with fresh() as store:
        put(store, repo, report)
        with store.read() as view:
            assert list(view.repos("", 9, has_texts=False)) == [replace(repo, guidelines=None)]
            found = list(view.repo_reports([repo.id], report.owner, has_texts=False))
            assert found == [replace(report, content=None)]


def test_ids_are_found_by_their_beginning(store: MemoryStore) -> None:
    put(store, a_repo(1), a_repo(2))
    with store.read() as view:
        assert list(view.repo_ids_from(repo_id(1)[:20], 9)) == [repo_id(1), repo_id(2)]
        assert list(view.repo_ids_from(repo_id(1)[:20], 1)) == [repo_id(1)]
        assert list(view.repo_ids_from(repo_id(2), 9)) == [repo_id(2)]
        assert list(view.repo_ids_from("f", 9)) == []


def test_reports_are_read_for_one_owner(store: MemoryStore) -> None:
    shared, adas, bobs = a_report(), a_report(owner=ADA), a_report(owner=BOB)
    other = a_report(2, owner=ADA)
    put(store, other, bobs, adas, shared)
    assert reports_of(store, None, 1, 2) == [shared]
    assert reports_of(store, ADA, 1, 2) == [shared, adas, other]
    assert reports_of(store, BOB, 2) == []
    assert reports_of(store, BOB) == []


def test_a_report_replaces_the_last_one_of_its_owner(store: MemoryStore) -> None:
    put(store, a_report(owner=ADA), a_report())
    put(store, a_report(owner=ADA, content=None, file=None, size=0))
    assert [one.content for one in reports_of(store, ADA, 1)] == ["Use tabs.", None]


def test_all_reports_are_read_in_pages(store: MemoryStore) -> None:
    written = [a_report(number, owner=owner) for number in (1, 2) for owner in (None, ADA, BOB)]
    put(store, *reversed(written))
    found: list[RepoReport] = []
    with store.read() as view:
        while page := view.repo_reports_after((found[-1].repo, found[-1].owner) if found else (RepoId(""), None), 2):
            found += page
        assert view.counts().repo_reports == 6
    assert found == written


def test_reports_are_dropped_one_by_one_and_together(store: MemoryStore) -> None:
    put(store, *(a_report(number, owner=owner) for number in (1, 2) for owner in (None, ADA, BOB)))
    for _ in range(2):
        store.write(lambda tx: tx.drop_repo_report(repo_id(1), None))
    assert [one.owner for one in reports_of(store, ADA, 1)] == [ADA]
    store.write(lambda tx: tx.drop_repo_reports(repo_id(1)))
    assert reports_of(store, ADA, 1) == []
    assert len(reports_of(store, ADA, 2)) == 2


def test_a_dropped_repository_leaves_its_changes_only(store: MemoryStore) -> None:
    repo = a_repo()
    batch = a_batch()
    put(store, repo, a_repo(2), a_report(), a_report(owner=ADA), a_report(2))
    change = RepoChange(repo.id, repo, None)
    store.write(lambda tx: (tx.put_batch(batch), tx.put_repo_changes(batch.id, [change])))
    for _ in range(2):
        store.write(lambda tx: tx.drop_repo(repo.id))
    assert [one.id for one in listed(store)] == [repo_id(2)]
    assert reports_of(store, ADA, 1, 2) == [a_report(2)]
    with store.read() as view:
        assert list(view.repo_changes(batch.id)) == [change]


@law
@given(before=st.none() | repos(), after=st.none() | repos())
def test_a_change_is_read_as_it_was_written(fresh: Fresh, before: Repo | None, after: Repo | None) -> None:
    batch = a_batch()
    change = RepoChange(repo_id(1), before, after)
    with fresh() as store:
        store.write(lambda tx: (tx.put_batch(batch), tx.put_repo_changes(batch.id, [change])))
        with store.read() as view:
            assert list(view.repo_changes(batch.id)) == [change]


def test_the_changes_of_a_batch_are_deleted_with_it(store: MemoryStore) -> None:
    first, second = a_batch(), a_batch()
    changes = [RepoChange(repo_id(2), None, a_repo(2)), RepoChange(repo_id(1), a_repo(1), None)]
    store.write(lambda tx: [(tx.put_batch(one), tx.put_repo_changes(one.id, changes)) for one in (first, second)])
    with store.read() as view:
        assert list(view.repo_changes(first.id)) == changes[::-1]
    store.write(lambda tx: (tx.put_batch(first), tx.drop_batch(second.id)))
    with store.read() as view:
        assert len(view.repo_changes(first.id)) == 2
        assert list(view.repo_changes(second.id)) == []
    store.write(lambda tx: tx.prune_batches(instant(10_000_000), 9))
    with store.read() as view:
        assert list(view.repo_changes(first.id)) == []


def test_repositories_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        put(store, a_repo(), a_report())
    with closing(open_durable()) as store:
        assert listed(store) == [a_repo()]
        assert reports_of(store, None, 1) == [replace(a_report())]
