"""Row-level security: what PostgreSQL refuses a viewer where no other filter applies."""

from collections.abc import Generator, Mapping
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from hivelore.configuration.model import ConfigChange
from hivelore.core.agents import AgentId, Interface, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import NotFound
from hivelore.identity.profile import ProfileChange
from hivelore.indexes.arrays import CodeBook, Labels, Mask
from hivelore.memories.model import Scope
from hivelore.python.hive import EmbeddedHive
from hivelore.repos.model import RepoChange, RepoId
from hivelore.review.model import ProposalFilter
from hivelore.runtime.app import Application
from hivelore.runtime.settings import load
from hivelore.search.model import EVERYTHING, Filter, Visibility
from hivelore.storage.postgres.row_level_security import ROLE
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.postgres.view import PostgresView
from hivelore.storage.sql import configuration, events, memories, review
from support import postgres
from support.batches import a_batch
from support.clocks import START, SteppingClock
from support.configuration import ADAS, GLOBAL, a_line, a_secret, an_entry, config_id
from support.configuration import put as put_entries
from support.events import ALL_EVENTS, an_event, log_events
from support.links import a_link, put_links
from support.memories import ADA, BOB, a_memory, an_observation, evidence, operational
from support.profiles import a_head, a_version
from support.profiles import put as put_profiles
from support.proposals import a_proposal, inbox_of
from support.repos import a_repo, a_report, repo_id
from support.repos import put as put_repos
from support.setup_scripts import a_script, a_script_proposal, put_drafts, put_scripts


@pytest.fixture
def app(tmp_path: Path) -> Generator[Application]:
    app = Application(load(home=tmp_path, database=postgres.schema()))
    try:
        yield app
    finally:
        app.close()


def added(app: Application, name: str) -> Viewer:
    return app.agents.viewer(app.agents.add(name, Role.WORKER).text, Interface.PYTHON)


def embed(app: Application) -> None:
    app.active_model.update_indexes(app.store)
    while app.embedding.step():
        pass


def without_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every filter lets everything through: in SQL, in the keyword index and in the vector index."""

    def all_of_them(where: Filter) -> tuple[str, Mapping[str, object]]:
        return "", {}

    def in_one_part(where: Filter, **how: object) -> list[tuple[str, Mapping[str, object]]]:
        return [("", {})]

    def everybody(self: CodeBook, where: Filter, labels: Labels) -> Mask:
        return labels.codes[0] == labels.codes[0]

    def anyone(self: Visibility, owner: AgentId | None, scope: Scope) -> bool:
        return True

    for module in (events, memories, review):
        monkeypatch.setattr(module, "condition", all_of_them)
    monkeypatch.setattr(memories, "parts", in_one_part)
    monkeypatch.setattr(CodeBook, "admitted", everybody)
    monkeypatch.setattr(Visibility, "admits", anyone)


def test_without_any_filter_a_viewer_still_sees_only_what_is_theirs(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewers = [added(app, name) for name in ("ada", "bob")]
    ada, bob = (EmbeddedHive(app, viewer) for viewer in viewers)
    secret = ada.remember("The vault opens with the blue card.")
    shared = ada.remember("The canteen opens at noon.", scope=Scope.SWARM)
    embed(app)
    without_filters(monkeypatch)
    assert {hit.memory.id for hit in ada.recall("What opens, and when?")} == {secret.id, shared.id}
    assert {hit.memory.id for hit in bob.recall("What opens, and when?")} == {shared.id}
    assert [memory.id for memory in bob.list().memories] == [shared.id]
    with pytest.raises(NotFound):
        bob.get(secret.id)
    with pytest.raises(NotFound):
        app.reading.history(secret.id, viewers[1])
    with app.store.read(sees=None) as view:
        assert view.get(secret.id) is not None


def test_observations_are_hidden_with_their_memory(app: Application) -> None:
    stored = app.store.write(lambda tx: tx.add(a_memory(operational=operational("jellyfin")), ()))
    app.store.write(lambda tx: tx.add_observation(stored.key, operational().held, an_observation()))
    for own, seen in ((ADA, 1), (BOB, 0)):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert len(view.observations(stored.key)) == seen
            assert len(view.rows("SELECT service FROM operational")) == seen


def test_events_are_hidden_with_their_memory(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = a_memory(owner=ADA, scope=Scope.AGENT)
    app.store.write(lambda tx: tx.add(memory, ()))
    about, plain = an_event(memory=memory.id), an_event()
    log_events(app.store, about, plain)
    without_filters(monkeypatch)
    for own, seen in ((ADA, {about, plain}), (BOB, {plain})):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert set(view.events(ALL_EVENTS, None, 9)) == seen
            assert len(view.rows("SELECT text FROM event")) == len(seen)


def test_proposals_are_hidden_with_their_memories(app: Application) -> None:
    secret = app.store.write(lambda tx: tx.add(a_memory(owner=ADA), ()))
    shared = app.store.write(lambda tx: tx.add(a_memory(scope=Scope.SWARM), ()))
    for subjects in ([shared.memory], [shared.memory, secret.memory]):
        app.store.write(lambda tx, subjects=subjects: tx.put_proposal(a_proposal(*subjects)))
    for own, seen in ((ADA, 2), (BOB, 1)):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert len(view.rows("SELECT why FROM proposal")) == seen


def test_links_are_hidden_unless_both_memories_are_visible(app: Application) -> None:
    old, secret, new = (
        app.store.write(lambda tx, scope=scope: tx.add(a_memory(owner=ADA, scope=scope), ()))
        for scope in (Scope.SWARM, Scope.AGENT, Scope.SWARM)
    )
    written = [a_link(new, old), a_link(secret, old), a_link(new, secret)]
    put_links(app.store, *written)
    for own, seen, newer in ((ADA, written, [new.key, secret.key]), (BOB, written[:1], [new.key])):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert set(view.links_of([old.key, secret.key])) == set(seen)
            assert [one.key for one in view.updates_of([old.key], START)[old.key]] == newer
            assert len(view.rows("SELECT why FROM link")) == len(seen)


def test_configuration_of_agents_is_hidden_from_others(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_them(seen: Visibility, *others: object) -> tuple[str, Mapping[str, object]]:
        return "", {}

    monkeypatch.setattr(configuration, "entry_condition", all_of_them)
    for number, place in enumerate((GLOBAL, ADAS), start=1):
        put_entries(app.store, an_entry(number, place), a_secret(entry=number))
    batch = replace(a_batch(), is_private=True)
    app.store.write(
        lambda tx: (tx.put_batch(batch), tx.put_config_changes(batch.id, [ConfigChange(config_id(2), 1, 2)]))
    )
    app.store.write(lambda tx: tx.put_env_line(a_line(problem=Clean("a link"), owner=ADA)))
    for own, seen in ((ADA, [GLOBAL, ADAS]), (BOB, [GLOBAL])):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert [one.entry.place for one in view.config_entries(Visibility(own=own, swarm=True), 9)] == seen
            assert len(view.rows("SELECT sealed FROM config_version")) == len(seen)
            assert view.rows("SELECT entry FROM config_change") == []
            assert len(view.late_env_lines(EVERYTHING.visibility, START, 9)) == len(seen) - 1
    with app.store.read() as view:
        assert len(view.late_env_lines(EVERYTHING.visibility, START, 9)) == 1


def test_reports_of_workers_are_hidden_from_others(app: Application) -> None:
    batch = a_batch(is_private=True)
    put_repos(app.store, a_repo(), *(a_report(owner=owner) for owner in (None, ADA, BOB)))
    app.store.write(
        lambda tx: (tx.put_batch(batch), tx.put_repo_changes(batch.id, [RepoChange(repo_id(1), None, None)]))
    )
    for own, seen in ((ADA, {None, ADA}), (BOB, {None, BOB}), (None, {None})):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert {one.owner for one in view.repo_reports_after((RepoId(""), None), 9)} == seen
            assert len(view.rows("SELECT name FROM repo")) == 1
            assert view.rows("SELECT repo FROM repo_change") == []
    with app.store.read(sees=Visibility(own=ADA, swarm=False)) as view:
        assert isinstance(view, PostgresView)
        assert view.rows("SELECT name FROM repo") == []


def test_setup_scripts_of_agents_are_hidden_from_others(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_them(seen: Visibility) -> tuple[str, Mapping[str, object]]:
        return "", {}

    monkeypatch.setattr(review, "script_condition", all_of_them)
    put_scripts(app.store, a_script(agent=None), a_script(agent=ADA))
    shared, adas = a_script_proposal(None), a_script_proposal(ADA)
    put_drafts(app.store, shared, adas)
    for own, scripts in ((ADA, 2), (BOB, 1)):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert view.setup_script(None) == a_script(agent=None)
            assert (view.setup_script(ADA) is None) == (own == BOB)
            assert len(view.rows("SELECT text FROM script_draft")) == scripts
            found = inbox_of(view, ProposalFilter(seen=Visibility(own=own, swarm=True)))
            assert {one.id for one in found} == ({shared.id, adas.id} if own == ADA else {shared.id})


def test_texts_of_profiles_are_hidden_from_others(app: Application) -> None:
    put_profiles(app.store, a_head(), a_version(), a_head(BOB), a_version(agent=BOB))
    batch = replace(a_batch(), is_private=True)
    app.store.write(lambda tx: (tx.put_batch(batch), tx.put_profile_changes(batch.id, [ProfileChange(ADA, 1, 2)])))
    for own in (ADA, BOB):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert [one.agent for one in view.profiles()] == [ADA, BOB]
            assert [agent for agent in (ADA, BOB) if view.profile_version(agent, 1)] == [own]
            assert list(view.profile_changes(batch.id)) == []
    with app.store.read(sees=Visibility(own=None, swarm=True, others=True)) as view:
        assert all(view.profile_version(agent, 1) for agent in (ADA, BOB))
        assert len(view.profile_changes(batch.id)) == 1


def test_evidence_is_hidden_with_its_memory(app: Application) -> None:
    stored = app.store.write(lambda tx: tx.add(a_memory(), ()))
    app.store.write(lambda tx: tx.add_evidence({stored.key: [evidence()]}))
    for own, seen in ((ADA, 1), (BOB, 0)):
        with app.store.read(sees=Visibility(own=own, swarm=True)) as view:
            assert isinstance(view, PostgresView)
            assert len(view.evidence(stored.key)) == seen
            assert len(view.rows("SELECT applied FROM usefulness")) == seen


def test_an_index_that_follows_a_restricted_view_sees_all_changes(app: Application) -> None:
    viewers = [added(app, name) for name in ("ada", "bob")]
    ada, bob = (EmbeddedHive(app, viewer) for viewer in viewers)
    bob.remember("The harbour crane squeaks.")
    embed(app)
    bob.recall("harbour")
    secret = ada.remember("The lighthouse keeper is called Ines.")
    embed(app)
    assert not [hit for hit in bob.recall("Who keeps the lighthouse?") if hit.memory.id == secret.id]
    assert secret.id in [hit.memory.id for hit in ada.recall("Who keeps the lighthouse?")]


def test_a_role_that_may_not_make_roles_goes_without(tmp_path: Path) -> None:
    url = postgres.database()
    name = f"plain_{Path(url).name[-8:].strip('_')}"
    with psycopg.connect(url, autocommit=True) as admin:
        assert admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone()
        admin.execute(f'CREATE ROLE "{name}" NOLOGIN'.encode())
        admin.execute(f'CREATE SCHEMA "{name}" AUTHORIZATION "{name}"'.encode())
    try:
        options = f"-c role={name} -c search_path={name},public"
        store = PostgresStore(make_conninfo(url, options=options), clock=SteppingClock())
        try:
            assert not store.row_level_security
            memory = a_memory(owner=ADA, scope=Scope.AGENT)
            store.write(lambda tx: tx.add(memory, ()))
            with store.read(sees=Visibility(own=BOB, swarm=True)) as view:
                assert view.get(memory.id) is not None
        finally:
            store.close()
    finally:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(f'DROP SCHEMA "{name}" CASCADE'.encode())
            admin.execute(f'DROP ROLE "{name}"'.encode())
