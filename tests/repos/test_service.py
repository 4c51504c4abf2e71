"""Registration, reports and undo of repositories, on each store."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import UNSET

from hivelore.core.agents import Viewer
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge
from hivelore.memories.model import Action
from hivelore.repos import service
from hivelore.repos.model import TEXT_BYTES, RepoItem, Staleness
from hivelore.repos.service import RepoSettings
from support.batches import batches_of
from support.fake_secrets import scramble
from support.memories import instant
from support.repos import commit, register, report
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, LEA, World

RUNNER_OF_ADA = replace(AS_ADA, acting=True)


def seen(world: World, viewer: Viewer = AS_ADA, which: str = "shop") -> RepoItem:
    return world.repos.get(which, viewer)


def update(world: World, which: str = "shop", viewer: Viewer = AS_LEA, **fields: Any) -> RepoItem:
    return world.repos.update(which, RepoSettings(**fields), viewer)


def undo_last(world: World, viewer: Viewer = AS_LEA) -> Any:
    return world.undo_service.undo(batches_of(world.store)[0].id, viewer)


def test_d30_a_repository_has_the_fields_of_the_table_and_their_defaults(world: World) -> None:
    made = register(world)
    assert (
        made
        == seen(world)
        == seen(world, which=made.id)
        == seen(world, which="SHOP")
        == seen(world, which=made.id[:30])
    )
    assert (made.name, made.url) == ("shop", "https://example.com/acme/shop")
    assert (made.default_branch, made.auto_clone) == ("main", True)
    assert (made.content, made.clone_path, made.synced_at, made.guidelines) == (None, None, None, None)
    assert made.project == "example.com/acme/shop"
    assert made.created_at == made.updated_at


def test_only_given_fields_change(world: World) -> None:
    made = register(world, guidelines="Run make.", default_branch="trunk")
    changed = update(world, auto_clone=False)
    assert changed == replace(made, auto_clone=False, updated_at=changed.updated_at)
    assert update(world, guidelines="", default_branch=" ").default_branch == "main"
    assert seen(world).guidelines is None
    assert update(world, name="store").id == made.id
    with pytest.raises(NotFound):
        seen(world, which="shop")


def test_the_same_values_again_change_nothing(world: World) -> None:
    made = register(world, guidelines="Run make.")
    before = len(batches_of(world.store))
    assert update(world, guidelines=" Run make. ", name="shop", url=made.url, auto_clone=True) == made
    assert len(batches_of(world.store)) == before


def test_names_are_taken_in_any_case(world: World) -> None:
    register(world)
    register(world, "https://example.com/acme/other")
    for do in (lambda: register(world, name="SHOP"), lambda: update(world, "other", name="Shop")):
        with pytest.raises(Conflict, match="Choose another name"):
            do()
    assert update(world, name="Shop").name == "Shop"


def test_repositories_are_listed_in_pages_without_texts(world: World) -> None:
    for name in ("c", "A", "b"):
        register(world, name=name, guidelines="long", auto_clone=name != "b")
    report(world, "c")
    first = world.repos.page(AS_ADA, None, 2)
    assert [one.name for one in first.repos] == ["A", "b"]
    last = world.repos.page(AS_ADA, first.next, 2)
    assert [one.name for one in last.repos] == ["c"]
    assert last.next is None
    assert last.repos[0].commit == commit(1)
    assert all(one.guidelines is UNSET and one.content is UNSET for one in (*first.repos, *last.repos))
    cloned = world.repos.page(AS_ADA, None, 2, auto_clone=True)
    assert [one.name for one in cloned.repos] == ["A", "c"]
    with pytest.raises(Invalid):
        world.repos.page(AS_ADA, "\0", 2)


def test_the_number_of_repositories_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_REPOS", 2)
    register(world, name="a")
    register(world, name="b")
    with pytest.raises(Conflict, match="Remove one first"):
        register(world, name="c")


def test_x22_workers_see_repositories_and_change_none(world: World) -> None:
    register(world)
    calls = (
        lambda: register(world, name="b", viewer=AS_ADA),
        lambda: update(world, viewer=AS_ADA, guidelines="x"),
        lambda: world.repos.remove("shop", AS_ADA),
        lambda: update(world, viewer=RUNNER_OF_ADA, name="x"),
        lambda: undo_last(world, AS_ADA),
    )
    before = seen(world, AS_BOB)
    for call in calls:
        with pytest.raises(Forbidden):
            call()
    assert seen(world, AS_BOB) == before
    assert [one.name for one in world.repos.page(AS_ADA, None, 9).repos] == ["shop"]


def test_guidelines_have_a_limit_in_bytes(world: World) -> None:
    register(world, guidelines="é" * (TEXT_BYTES // 2))
    with pytest.raises(TooLarge, match=r"guidelines has 65,538 bytes; at most 65,536"):
        update(world, guidelines="é" * (TEXT_BYTES // 2 + 1))


def test_secrets_are_masked_in_guidelines_and_refused_elsewhere(world: World) -> None:
    token = f"ghp_{scramble(36)}"
    assert token not in str(register(world, guidelines=f"The token is {token}.").guidelines)
    wrong: list[dict[str, Any]] = [{"url": f"https://host/{token}"}, {"name": token}, {"default_branch": token}]
    for fields in wrong:
        with pytest.raises(Invalid) as error:
            update(world, **fields)
        assert token not in str(error.value)


def test_the_default_branch_is_that_of_the_clone_unless_one_is_registered(world: World) -> None:
    register(world)
    assert report(world, branch="trunk").default_branch == "trunk"
    assert seen(world).default_branch == "trunk"
    assert update(world, default_branch="next").default_branch == "next"


def test_a_report_of_a_lead_is_seen_by_all(world: World) -> None:
    register(world)
    made = report(world)
    assert (made.content, made.file, made.size, made.commit) == ("Use tabs.", "CLAUDE.md", 9, commit(1))
    assert (made.clone_path, made.synced_by, made.synced_at) == ("/workspace/repos/shop", LEA, world.clock.now())
    for viewer in (AS_ADA, AS_BOB, AS_OPERATOR):
        assert seen(world, viewer) == made


def test_a_report_of_a_worker_is_seen_by_itself_alone(world: World) -> None:
    register(world)
    mine = report(world, viewer=AS_ADA, content="Obey me.", clone_path="/home/ada/repos/shop")
    assert seen(world) == mine
    assert seen(world, RUNNER_OF_ADA) == mine
    for viewer in (AS_BOB, AS_LEA, AS_OPERATOR):
        assert seen(world, viewer).content is None
    report(world, commit=commit(2), committed_at=instant(2), content="Use spaces.")
    assert seen(world).content == "Use spaces."
    report(world, viewer=AS_ADA, commit=commit(3), committed_at=instant(3), content="Mine.")
    assert seen(world).content == "Mine."
    assert seen(world, AS_BOB).content == "Use spaces."
    assert "Mine." not in world.repos.section("shop", AS_BOB).text


def test_only_a_later_commit_is_reported_or_one_that_replaces_the_known(world: World) -> None:
    register(world)
    report(world, commit=commit(2), committed_at=instant(2))
    stale_ones: list[dict[str, Any]] = [{}, {"replaces": commit(9)}]
    for stale in stale_ones:
        with pytest.raises(Conflict, match="repo sync"):
            report(world, **stale)
    assert seen(world).commit == commit(2)
    assert report(world, replaces=commit(2)).commit == commit(1)
    assert report(world, content="Read again.").content == "Read again."


def test_a_worker_follows_a_rewritten_history(world: World) -> None:
    register(world)
    report(world, viewer=AS_ADA, commit=commit(5), committed_at=instant(5))
    report(world, commit=commit(7), committed_at=instant(7))
    report(world, replaces=commit(7), commit=commit(3), committed_at=instant(3))
    assert seen(world).commit == commit(5)
    report(world, viewer=AS_ADA, replaces=commit(5), commit=commit(3), committed_at=instant(3))
    assert seen(world).commit == commit(3)


def test_a_worker_sees_its_report_of_a_rewritten_history_until_there_is_a_later_commit(world: World) -> None:
    register(world)
    report(world, commit=commit(7), committed_at=instant(7))
    report(world, viewer=AS_ADA, replaces=commit(7), commit=commit(3), committed_at=instant(3))
    assert seen(world).commit == commit(3)
    report(world, viewer=AS_ADA, replaces=commit(3), commit=commit(2), committed_at=instant(2))
    assert seen(world).commit == commit(2)
    report(world, viewer=AS_ADA, replaces=commit(2), commit=commit(2), committed_at=instant(2))
    assert seen(world).commit == commit(2)
    report(world, commit=commit(8), committed_at=instant(8))
    assert seen(world).commit == commit(8)


def test_a_commit_of_the_future_does_not_hide_later_ones_for_long(world: World) -> None:
    register(world)
    made = report(world, commit=commit(2), committed_at=instant(50_000_000))
    assert made.committed_at == world.clock.now() + timedelta(days=1)
    world.clock.advance(timedelta(days=2))
    assert report(world, commit=commit(3), committed_at=world.clock.now()).commit == commit(3)


def test_a_report_about_another_url_or_branch_is_refused(world: World) -> None:
    made = register(world)
    update(world, url="https://example.com/acme/fork")
    with pytest.raises(Conflict, match="another URL or branch"):
        report(world, url=made.url)
    update(world, url=made.url, default_branch="next")
    with pytest.raises(Conflict, match="another URL or branch"):
        report(world, branch="main")
    assert seen(world).content is None
    assert report(world, branch="next").content == "Use tabs."


def test_a_report_without_instructions_removes_them(world: World) -> None:
    register(world)
    report(world)
    assert report(world, file=None, content=None).content is None
    assert "CLAUDE.md" not in world.repos.section("shop", AS_ADA).text


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"commit": "main"}, "commit"),
        ({"commit": commit(1).upper().replace("0", "A")}, "commit"),
        ({"clone_commit": "-x"}, "cloneCommit"),
        ({"branch": "-x"}, "defaultBranch"),
        ({"clone_path": "repos/shop"}, "clonePath"),
        ({"clone_path": "/a\nb"}, "clonePath"),
        ({"clone_path": "/" + "x" * 5_000}, "clonePath"),
        ({"file": "README.md"}, "file"),
        ({"file": None}, "file"),
        ({"content": None}, "file"),
        ({"content": "x" * (TEXT_BYTES + 1)}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"size": -1}, "size"),
        ({"size": 2**60}, "size"),
    ],
)
def test_a_wrong_report_is_refused(world: World, fields: dict[str, Any], field: str) -> None:
    register(world)
    with pytest.raises(Invalid) as error:
        report(world, **fields)
    assert error.value.field == field
    assert seen(world).commit is None


def test_secrets_in_instructions_are_masked(world: World) -> None:
    register(world)
    token = f"ghp_{scramble(36)}"
    made = report(world, content=f"export GITHUB_TOKEN={token}\n" + "x" * (TEXT_BYTES - 80))
    assert token not in str(made.content)
    assert len(str(made.content).encode()) <= TEXT_BYTES


def test_instructions_become_stale(world: World) -> None:
    register(world)
    assert report(world).stale is None
    world.clock.advance(timedelta(days=8))
    assert seen(world).stale is Staleness.OLD
    assert "out of date" in world.repos.section("shop", AS_ADA).text
    assert report(world, clone_commit=commit(7)).stale is Staleness.MOVED


def test_another_url_or_branch_drops_what_was_read(world: World) -> None:
    elsewhere: list[dict[str, Any]] = [{"url": "https://example.com/acme/fork"}, {"default_branch": "next"}]
    for fields in elsewhere:
        register(world)
        report(world)
        report(world, viewer=AS_ADA)
        assert update(world, auto_clone=False).content == "Use tabs."
        assert update(world, **fields).content is None
        assert seen(world).content is None
        world.repos.remove("shop", AS_LEA)


def test_a_removed_repository_leaves_nothing_to_its_successor(world: World) -> None:
    register(world)
    report(world)
    report(world, viewer=AS_ADA)
    world.repos.remove("shop", AS_OPERATOR)
    with pytest.raises(NotFound):
        seen(world)
    with pytest.raises(NotFound):
        report(world)
    with world.store.read() as view:
        assert (view.counts().repos, view.counts().repo_reports) == (0, 0)
    assert register(world).content is None


def test_each_change_is_undone_and_redone(world: World) -> None:
    made = register(world, guidelines="one")
    states = [made, update(world, guidelines="two"), update(world, name="store", url="https://example.com/x")]
    world.repos.remove("store", AS_LEA)
    done = undo_last(world)
    assert done.repos == (made.id,)
    assert seen(world, which="store") == states[2]
    redo = done.by
    for state in reversed(states[:2]):
        batch = next(one for one in batches_of(world.store) if one.kind == "registered" and one.undone_at is None)
        world.undo_service.undo(batch.id, AS_LEA)
        assert seen(world, which=made.id) == state
    assert redo is not None
    with pytest.raises(Conflict, match="changed since"):
        world.undo_service.undo(redo, AS_LEA)


def test_an_undo_says_that_reports_are_not_restored(world: World) -> None:
    register(world)
    report(world)
    update(world, guidelines="Run make.")
    assert undo_last(world).warnings == ()
    assert seen(world).content is not None
    world.repos.remove("shop", AS_LEA)
    (warning,) = undo_last(world).warnings
    assert "clones of shop are not restored. 'hivelore repo sync'" in warning
    report(world)
    assert seen(world).content is not None


def test_an_undone_registration_leaves_nothing_and_comes_back(world: World) -> None:
    made = register(world)
    report(world)
    done = undo_last(world)
    with world.store.read() as view:
        assert (view.counts().repos, view.counts().repo_reports) == (0, 0)
    world.undo_service.undo(done.by, AS_LEA)
    assert seen(world) == made
    with pytest.raises(Conflict, match="already undone"):
        world.undo_service.undo(done.by, AS_LEA)


def test_an_undo_of_another_url_drops_what_was_read_there(world: World) -> None:
    register(world)
    update(world, url="https://example.com/acme/fork")
    report(world, content="Of the fork.")
    undo_last(world)
    assert seen(world).content is None


def test_an_undo_is_refused_if_the_repository_was_changed_since_or_its_name_is_taken(world: World) -> None:
    register(world)
    first = batches_of(world.store)[0]
    update(world, guidelines="two")
    with pytest.raises(Conflict, match="shop was changed since"):
        world.undo_service.undo(first.id, AS_LEA)
    world.repos.remove("shop", AS_LEA)
    gone = batches_of(world.store)[0]
    register(world, name="SHOP")
    with pytest.raises(Conflict, match="has the name shop now"):
        world.undo_service.undo(gone.id, AS_LEA)


def test_changes_are_batches_and_in_the_audit_trail(world: World) -> None:
    made = register(world)
    update(world, auto_clone=False)
    world.repos.remove("shop", AS_OPERATOR)
    (gone, changed, added) = batches_of(world.store)
    detail = world.undo_service.detail(changed.id, AS_LEA)
    assert [(one.id, one.name) for one in detail.repos] == [(made.id, "shop")]
    assert (gone.actor, changed.actor, added.is_private) == (None, LEA, False)
    with world.store.read() as view:
        trail = [(one.action, one.detail) for one in view.audit(9) if one.memory == made.id]
    assert trail == [(action, "repository shop") for action in (Action.FORGOTTEN, Action.EDITED, Action.CREATED)]


def test_a_dropped_batch_takes_the_texts_with_it(world: World) -> None:
    register(world, guidelines="bandicoot")
    update(world, guidelines="numbat")
    for one in batches_of(world.store):
        world.undo_service.drop(one.id, AS_OPERATOR)
        with world.store.read() as view:
            assert list(view.repo_changes(one.id)) == []


def test_a_name_wins_over_the_beginning_of_an_id(world: World) -> None:
    first = register(world)
    second = register(world, name=first.id[:20])
    assert seen(world, which=first.id[:20]).id == second.id
    assert seen(world, which=first.id).id == first.id
    for odd in ("<b>\n", "", "a\0b", "\ud800", "x" * 10_000):
        with pytest.raises((NotFound, Invalid)) as error:
            seen(world, which=odd)
        assert "<b>" not in str(error.value)


def test_the_section_counts_its_tokens(world: World) -> None:
    register(world, guidelines="Run make.")
    report(world)
    section = world.repos.section("shop", AS_ADA)
    assert "Run make." in section.text
    assert "Use tabs." in section.text
    assert 20 < section.tokens < 400
    assert ADA not in section.text
