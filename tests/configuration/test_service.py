"""Entries: who may set, see and reveal them, their history, their keys and their undo."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.configuration.entry_changes import NEWEST_KEY
from hivelore.configuration.keyring import Keys
from hivelore.configuration.model import (
    MASK,
    MAX_ENTRIES,
    MAX_VERSIONS,
    VALUE_BYTES,
    ConfigId,
    ConfigScope,
    ConfigVersion,
)
from hivelore.configuration.service import READS, Setting
from hivelore.core.agents import Viewer
from hivelore.core.values import replace
from hivelore.errors import Busy, Conflict, Forbidden, Invalid, NotFound, Stale, TooLarge
from hivelore.local.endpoint import CONFIG_KEYS
from hivelore.local.file_lock import locked
from hivelore.memories.model import Action
from hivelore.repos.service import RepoSettings
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import Transaction
from support.batches import batches_of
from support.configuration import ConfigDesk
from support.on_disk import written
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR

RUNNER_OF_ADA = replace(AS_ADA, acting=True)
SECRET = "hunter2-of-ada"
TOKEN = "gh" + "p_" + "a1B2" * 9


def last_batch(desk: ConfigDesk) -> str:
    return batches_of(desk.world.store)[0].id


def undo(desk: ConfigDesk, viewer: Viewer = AS_OPERATOR, batch: str | None = None) -> None:
    desk.world.clock.advance(timedelta(seconds=1))
    desk.world.undo_service.undo(batch or last_batch(desk), viewer)


def alter(desk: ConfigDesk, entry: ConfigId) -> None:
    """Alters the first version of a secret, as a damaged disk does."""
    with desk.world.store.read() as view:
        version = view.config_version(entry, 1)
    assert version is not None
    assert version.sealed is not None
    wrong = replace(
        version, sealed=replace(version.sealed, data=version.sealed.data[:-1] + bytes([version.sealed.data[-1] ^ 1]))
    )
    desk.world.store.write(lambda tx: tx.put_config_version(wrong))


def change(desk: ConfigDesk, key: str, value: str, viewer: Viewer = AS_OPERATOR, **more: Any) -> ConfigId:
    desk.world.clock.advance(timedelta(seconds=1))
    return desk.set(key, value, viewer, **{"scope": "global", **more}).id


def test_the_narrowest_scope_applies_and_says_what_it_replaces(desk: ConfigDesk) -> None:
    for value, scope, to in (("g", "global", None), ("a", "agent", "ada"), ("r", "repo", "shop")):
        desk.set("URL", value, AS_OPERATOR, scope, to)
    desk.set("ONLY", "x", AS_LEA, "global")
    found = desk.world.configuration.resolved(None, "shop", AS_ADA)
    assert [(one.key, one.value, one.scope, [*one.overrides]) for one in found] == [
        ("ONLY", "x", ConfigScope.GLOBAL, []),
        ("URL", "r", ConfigScope.REPO, [ConfigScope.GLOBAL, ConfigScope.AGENT]),
    ]
    assert desk.env(AS_ADA)["URL"] == "a"
    assert desk.env(AS_BOB, "shop")["URL"] == "r"
    assert desk.env(AS_BOB)["URL"] == "g"


def test_entries_stay_with_a_repository_that_is_renamed(desk: ConfigDesk) -> None:
    desk.set("TOKEN", SECRET, AS_OPERATOR, "repo", "shop", is_secret=True)
    desk.world.repos.update("shop", RepoSettings(name="store"), AS_LEA)
    for name in ("store", "shop"):  # The second one is the id.
        (found,) = desk.world.configuration.resolved(None, name, AS_LEA)
        assert (found.key, found.scope_id, found.scope_name) == ("TOKEN", "shop", "store")
    undo(desk)
    assert desk.env(RUNNER_OF_ADA, "Shop") == {"TOKEN": SECRET}


def test_a_new_repository_does_not_inherit_the_entries_of_a_removed_one(desk: ConfigDesk) -> None:
    repos = desk.world.repos
    shop = repos.add(RepoSettings(name="mall", url="https://example.com/acme/mall"), AS_LEA)
    desk.set("TOKEN", SECRET, AS_OPERATOR, "repo", "mall", is_secret=True)
    repos.remove("mall", AS_LEA)
    removal = last_batch(desk)
    with pytest.raises(NotFound, match="hivelore repo list"):
        desk.env(AS_ADA, "mall")
    other = repos.add(RepoSettings(name="mall", url="https://example.com/other/mall"), AS_LEA)
    assert desk.env(RUNNER_OF_ADA, "mall") == {}
    (left,) = desk.world.configuration.list_entries(AS_LEA, ConfigScope.REPO, None).entries
    assert (left.scope_id, left.scope_name) == (shop.id, None)
    report = desk.world.configuration_check.check()
    assert (report.unknown_repo_count, report.unknown_repos) == (1, (shop.id,))
    repos.remove(other.id, AS_LEA)
    undo(desk, AS_LEA, removal)
    assert desk.env(RUNNER_OF_ADA, "mall") == {"TOKEN": SECRET}
    assert desk.world.configuration_check.check().unknown_repo_count == 0


def test_each_unknown_repository_is_counted_once(desk: ConfigDesk) -> None:
    for name in ("bank", "shop"):
        for number in range(60):
            desk.set(f"KEY_{number}", "x", AS_LEA, "repo", name)
    desk.world.repos.remove("bank", AS_LEA)
    assert desk.world.configuration_check.check().unknown_repos == ("bank",)
    desk.world.repos.remove("shop", AS_LEA)
    assert desk.world.configuration_check.check().unknown_repos == ("bank", "shop")


def test_workers_set_only_entries_of_their_own_agent(desk: ConfigDesk) -> None:
    assert desk.set("MINE", "x", AS_ADA).scope_id == ADA
    for scope, to in (("global", None), ("repo", "shop"), ("agent", "bob")):
        with pytest.raises(Forbidden, match="Ask one"):
            desk.set("KEY", "x", AS_ADA, scope, to)
    with pytest.raises(Forbidden):
        desk.set("KEY", "x", AS_LEA, "agent", "ada")
    assert [key for key, _ in desk.listed(AS_OPERATOR)] == ["MINE"]


def test_only_operators_change_what_redirects_traffic(desk: ConfigDesk) -> None:
    entry = change(desk, "ANTHROPIC_BASE_URL", "https://example.com")
    change(desk, "HTTPS_PROXY", "https://example.com", scope="agent", to="ada")
    for attempt in (
        lambda: change(desk, "ANTHROPIC_BASE_URL", "https://other.example.com", AS_LEA),
        lambda: desk.set("HTTPS_PROXY", "https://other.example.com", AS_ADA),
        lambda: desk.world.configuration.delete(entry, AS_LEA),
        lambda: undo(desk, AS_LEA, batches_of(desk.world.store)[1].id),
    ):
        with pytest.raises(Forbidden, match="Only an operator may change"):
            attempt()
    assert change(desk, "ANTHROPIC_API_KEY", "x", AS_LEA)


def test_entries_of_other_agents_are_hidden_from_workers(desk: ConfigDesk) -> None:
    mine = desk.set("MINE", "x", AS_ADA).id
    assert desk.listed(AS_BOB) == []
    assert desk.listed(AS_LEA) == [("MINE", "x")]
    for attempt in (desk.world.configuration.delete, desk.world.configuration.reveal, desk.world.configuration.history):
        with pytest.raises(NotFound):
            attempt(mine, AS_BOB)
    with pytest.raises(Forbidden, match="your own agent"):
        desk.world.configuration.resolved("ada", None, AS_BOB)
    with pytest.raises(Forbidden):
        desk.world.configuration.delete(mine, AS_LEA)


def test_secrets_are_masked_and_revealed_by_right(desk: ConfigDesk) -> None:
    own = desk.set("TOKEN", SECRET, AS_ADA, is_secret=True)
    shared = desk.set("SHARED", SECRET, AS_OPERATOR, "global", is_secret=True)
    assert own.value == shared.value == MASK
    assert desk.listed(AS_OPERATOR) == [("SHARED", MASK), ("TOKEN", MASK)]
    reveal = desk.world.configuration.reveal
    for viewer in (AS_OPERATOR, AS_ADA, RUNNER_OF_ADA):
        assert reveal(own.id, viewer)[1] == SECRET
    with pytest.raises(Forbidden, match="Only an operator"):
        reveal(own.id, AS_LEA)
    assert reveal(shared.id, RUNNER_OF_ADA)[1] == SECRET
    for viewer in (AS_ADA, AS_LEA):
        with pytest.raises(Forbidden):
            reveal(shared.id, viewer)
    with desk.world.store.read() as view:
        reads = [one for one in view.audit(50) if one.action is Action.READ]
    assert [(one.memory, one.actor) for one in reads] == [
        (shared.id, ADA),
        (own.id, ADA),
        (own.id, ADA),
        (own.id, None),
    ]
    assert [one.actor for one in desk.world.configuration.history(own.id, AS_ADA)[1]] == [ADA, ADA, None]


def test_an_environment_leaves_out_secrets_that_the_caller_may_not_read(desk: ConfigDesk) -> None:
    desk.set("SHARED", SECRET, AS_OPERATOR, "global", is_secret=True)
    desk.set("TOKEN", "mine", AS_ADA, is_secret=True)
    found = desk.world.configuration.environment(None, None, AS_ADA)
    assert found.variables == {"TOKEN": "mine"}
    assert [(one.key, one.is_forbidden) for one in found.withheld] == [("SHARED", True)]
    found = desk.world.configuration.environment(None, None, RUNNER_OF_ADA)
    assert (found.variables, found.withheld) == ({"SHARED": SECRET, "TOKEN": "mine"}, [])


def test_an_environment_leaves_out_keys_that_were_reserved_since(desk: ConfigDesk) -> None:
    known = desk.set("KEY", "x", AS_ADA)
    with desk.world.store.read() as view:
        entry = view.config_entry(known.id)
    assert entry is not None
    desk.world.store.write(lambda tx: tx.put_config_entry(replace(entry, key="LD_PRELOAD")))
    found = desk.world.configuration.environment(None, None, AS_ADA)
    assert found.variables == {}
    assert [(one.key, "reserved" in one.reason) for one in found.withheld] == [("LD_PRELOAD", True)]


def test_a_secret_stays_one_until_it_is_set_otherwise(desk: ConfigDesk) -> None:
    entry = desk.set("TOKEN", SECRET, AS_ADA, is_secret=True, description="a token")
    again = desk.set("TOKEN", "another", AS_ADA)
    assert (again.id, again.is_secret, again.version, again.description) == (entry.id, True, 2, "a token")
    clear = desk.set("TOKEN", "shown", AS_ADA, is_secret=False, description="")
    assert (clear.value, clear.description) == ("shown", None)


def test_the_same_again_changes_nothing(desk: ConfigDesk) -> None:
    for is_secret in (False, True):
        first = desk.set("KEY", "same", AS_ADA, is_secret=is_secret)
        batches = len(batches_of(desk.world.store))
        assert desk.set("KEY", "same", AS_ADA) == first
        assert len(batches_of(desk.world.store)) == batches


def test_a_value_in_clear_that_looks_like_a_secret_is_warned_of(desk: ConfigDesk) -> None:
    token = "gh" + "p_" + "a1B2" * 9
    for key, value in (("X", token), ("DB_PASSWORD", "Tr0ub4dor&3x")):
        assert "looks like a secret" in desk.set(key, value, AS_ADA).warning
        assert desk.set(key, value, AS_ADA, is_secret=True).warning is None
    assert desk.set("URL", "https://example.com", AS_ADA).warning is None


@pytest.mark.parametrize(
    ("value", "error"),
    [(MASK, "mask"), ("a\0b", "NUL"), ("x" * (VALUE_BYTES + 1), "at most")],
    ids=["mask", "nul", "long"],
)
def test_values_that_cannot_be_meant_are_refused(desk: ConfigDesk, value: str, error: str) -> None:
    with pytest.raises(Invalid, match=error):
        desk.set("KEY", value, AS_ADA)


def test_places_are_checked(desk: ConfigDesk) -> None:
    cases = {
        ("global", "x"): "Global scope has no scopeId",
        ("repo", None): "Say which repository",
        ("repo", TOKEN): "looks like a secret",
        ("agent", TOKEN): "looks like a secret",
        ("agent", None): "belongs to no agent",
    }
    for (scope, to), error in cases.items():
        with pytest.raises(Invalid, match=error) as told:
            desk.set("KEY", "x", AS_OPERATOR, scope, to)
        assert TOKEN not in str(told.value)
    for path in (f"/{TOKEN}/.env", f"{TOKEN}.env"):
        with pytest.raises(Invalid, match="looks like a secret") as told:
            desk.set("KEY", "x", AS_OPERATOR, "global", env_path=path)
        assert TOKEN not in str(told.value)
    with pytest.raises(NotFound, match="No agent"):
        desk.set("KEY", "x", AS_OPERATOR, "agent", "nobody")
    for unknown in ("a\nb", "nothing", "é" * 101):
        with pytest.raises(NotFound, match="hivelore repo list"):
            desk.set("KEY", "x", AS_OPERATOR, "repo", unknown)
        with pytest.raises(NotFound, match="hivelore repo list"):
            desk.env(AS_ADA, unknown)
    with pytest.raises(Invalid, match="reserved"):
        desk.set("LD_PRELOAD", "x", AS_ADA)
    with pytest.raises(TooLarge):
        desk.set("KEY", "x", AS_ADA, description="x" * 1_001)


def test_a_place_has_a_limit(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.configuration.decisions.MAX_ENTRIES", 2)
    assert MAX_ENTRIES > 2
    for key in ("A", "B", "A"):
        desk.set(key, "x", AS_ADA)
    with pytest.raises(Conflict, match="entries already"):
        desk.set("C", "x", AS_ADA)
    desk.set("C", "x", AS_BOB)


def test_a_history_shows_who_changed_what(desk: ConfigDesk) -> None:
    entry = change(desk, "URL", "one")
    change(desk, "URL", "two", AS_LEA, description="where")
    versions, reads = desk.world.configuration.history(entry, AS_ADA)
    assert [(one.value, one.actor, one.changed, one.is_current) for one in versions] == [
        ("one", None, ("value",), False),
        ("two", "lea", ("value", "description"), True),
    ]
    assert reads == []


def test_what_became_a_secret_is_masked_and_encrypted_in_the_history_too(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", SECRET)
    change(desk, "TOKEN", SECRET, is_secret=True)
    versions, _ = desk.world.configuration.history(entry, AS_ADA)
    assert [(one.value, one.is_secret) for one in versions] == [(MASK, True), (MASK, True)]
    with desk.world.store.read() as view:
        assert [one.value for one in view.config_versions(entry)] == [None, None]
    undo(desk)
    assert desk.env(RUNNER_OF_ADA) == {"TOKEN": SECRET}
    assert desk.listed(AS_ADA) == [("TOKEN", MASK)]


def in_clear(desk: ConfigDesk, entry: ConfigId) -> list[str]:
    with desk.world.store.read() as view:
        return [one.value for one in view.config_versions(entry) if one.value is not None]


def test_no_version_stays_in_clear_after_an_entry_became_a_secret_again(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", SECRET, is_secret=True)
    change(desk, "TOKEN", SECRET, is_secret=False)
    change(desk, "TOKEN", "another in clear")
    assert in_clear(desk, entry) == [SECRET, "another in clear"]
    undo(desk)
    batches = batches_of(desk.world.store)
    undo(desk, batch=next(one.id for one in batches if one.kind == "configured" and one.undone_at is None))
    assert desk.listed(AS_OPERATOR) == [("TOKEN", MASK)]
    assert in_clear(desk, entry) == []
    undo(desk)
    assert desk.listed(AS_OPERATOR) == [("TOKEN", MASK)]
    assert desk.env(RUNNER_OF_ADA) == {"TOKEN": SECRET}
    assert in_clear(desk, entry) == []


def test_an_entry_that_was_deleted_as_a_secret_is_one_when_it_is_set_again(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", SECRET, is_secret=True)
    desk.world.configuration.delete(entry, AS_OPERATOR)
    assert change(desk, "TOKEN", "new") == entry
    assert desk.listed(AS_OPERATOR) == [("TOKEN", MASK)]


@pytest.mark.parametrize("length", [20, 30_000])
def test_the_files_of_the_store_have_no_value_of_what_became_a_secret(desk: ConfigDesk, length: int) -> None:
    folder = desk.workspace.parent
    words = [f"{word}{'x' * length}" for word in ("clearone", "cleartwo", "clearthree")]

    def found() -> list[str]:
        data = written(folder)
        return [word[:10] for word in words if word[:10].encode() in data]

    entry = change(desk, "TOKEN", words[0])
    desk.world.configuration.delete(entry, AS_OPERATOR)
    change(desk, "TOKEN", words[1], is_secret=True)
    assert found() == []
    change(desk, "TOKEN", words[2], is_secret=False)
    undo(desk)
    assert found() == []
    assert in_clear(desk, entry) == []


def test_a_log_that_a_reader_needs_is_purged_later(desk: ConfigDesk) -> None:
    change(desk, "TOKEN", "clearvalue")
    with desk.world.store.read() as view:
        view.config_entries(EVERYTHING.visibility, 1)
        change(desk, "TOKEN", SECRET, is_secret=True)
    desk.world.housekeeping.run_step()
    desk.world.housekeeping.run_step()
    assert b"clearvalue" not in written(desk.workspace.parent)


def test_one_unreadable_secret_leaves_the_rest_of_an_environment(desk: ConfigDesk) -> None:
    change(desk, "URL", "x")
    lost = change(desk, "LOST", SECRET, is_secret=True)
    saved = desk.key_file.read_bytes()
    desk.key_file.unlink()
    desk.world.keyring.add()
    desk.key_file.write_bytes(desk.key_file.read_bytes() + saved)
    change(desk, "TOKEN", "fine", is_secret=True)
    desk.key_file.write_bytes(saved)
    alter(desk, lost)
    found = desk.world.configuration.environment(None, None, RUNNER_OF_ADA)
    assert found.variables == {"TOKEN": "fine", "URL": "x"}
    assert [(one.key, one.is_forbidden) for one in found.withheld] == [("LOST", False)]
    assert "altered" in found.withheld[0].reason
    assert [one.action for one in desk.world.audit() if one.memory == lost and one.action is Action.READ] == []


def test_a_damaged_key_file_withholds_secrets_and_nothing_else(desk: ConfigDesk) -> None:
    change(desk, "URL", "x")
    entry = change(desk, "TOKEN", SECRET, is_secret=True)
    desk.key_file.write_text("damaged\n")
    found = desk.world.configuration.environment(None, None, RUNNER_OF_ADA)
    assert found.variables == {"URL": "x"}
    assert [one.key for one in found.withheld] == ["TOKEN"]
    assert "Restore the file" in found.withheld[0].reason
    change(desk, "URL", "y")
    assert len(desk.world.configuration.history(entry, AS_OPERATOR)[0]) == 1
    report = desk.world.configuration_check.check()
    assert report.key_problem is not None
    assert report.unreadable_count == 1


def test_the_latest_readings_stay_in_the_history_whatever_else_happens(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", SECRET, is_secret=True)
    for _ in range(READS + 3):
        desk.world.configuration.reveal(entry, AS_OPERATOR)
    for number in range(READS + 3):
        change(desk, "TOKEN", f"value {number}", AS_LEA)
    reads = desk.world.configuration.history(entry, AS_OPERATOR)[1]
    assert len(reads) == READS


def test_deleted_entries_that_can_be_restored_are_limited(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.configuration.decisions.MAX_KEPT", 2)
    for key in "AB":
        desk.world.configuration.delete(desk.set(key, "x", AS_ADA).id, AS_ADA)
    with pytest.raises(Conflict, match="2 entries with the deleted ones"):
        desk.set("C", "x", AS_ADA)
    assert desk.set("A", "y", AS_ADA)
    assert desk.set("C", "x", AS_BOB)


def test_limits_are_in_bytes(desk: ConfigDesk) -> None:
    desk.set("KEY", "é" * (VALUE_BYTES // 2), AS_ADA)
    for more in ({"value": "é" * (VALUE_BYTES // 2 + 1)}, {"value": "x", "description": "é" * 501}):
        with pytest.raises(TooLarge, match="bytes"):
            desk.set("KEY", viewer=AS_ADA, **more)
    with pytest.raises(Invalid, match="surrogate"):
        desk.set("KEY", "\ud800", AS_ADA)


def test_the_values_of_a_place_have_a_limit_together(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.configuration.decisions.MAX_BYTES", 100)
    entry = desk.set("A", "x" * 60, AS_ADA).id
    with pytest.raises(Conflict, match="bytes"):
        desk.set("B", "x" * 41, AS_ADA)
    desk.set("A", "y" * 100, AS_ADA)
    desk.world.configuration.delete(entry, AS_ADA)
    gone = last_batch(desk)
    desk.set("B", "x", AS_ADA)
    with pytest.raises(Conflict, match="bytes"):
        undo(desk, batch=gone)
    assert desk.listed(AS_ADA) == [("B", "x")]


def test_entries_are_listed_in_pages(desk: ConfigDesk) -> None:
    for number in range(5):
        desk.set(f"K{number}", "x", AS_ADA if number % 2 else AS_LEA, "agent")
    desk.set("G", "x" * 30_000, AS_LEA, "global")
    listed = desk.world.configuration.list_entries
    found, after = list[str](), None
    while True:
        page = listed(AS_OPERATOR, None, None, limit=2, after=after)
        found += [one.key for one in page.entries]
        assert len(page.entries) <= 2
        if (after := page.next) is None:
            break
    assert sorted(found) == ["G", "K0", "K1", "K2", "K3", "K4"]
    mine = listed(AS_ADA, ConfigScope.AGENT, None).entries
    with pytest.raises(Invalid, match="after is not"):
        listed(AS_BOB, None, None, after=mine[0].id)
    with pytest.raises(Invalid, match="after is not"):
        listed(AS_ADA, None, None, after="nothing")


def test_a_page_ends_after_many_bytes(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.configuration.service.MAX_BYTES", 100)
    for key in "ABC":
        desk.set(key, "x" * 60, AS_ADA)
    page = desk.world.configuration.list_entries(AS_ADA, None, None)
    assert [one.key for one in page.entries] == ["A"]
    assert page.next == page.entries[0].id


def test_a_history_is_limited(desk: ConfigDesk) -> None:
    entry = change(desk, "URL", "a")
    for value in "bcd":
        change(desk, "URL", value)
    versions, _ = desk.world.configuration.history(entry, AS_OPERATOR, limit=2)
    assert [(one.value, one.changed) for one in versions] == [("c", ("value",)), ("d", ("value",))]


def test_a_token_as_the_key_is_in_no_error_and_not_in_the_audit_trail(desk: ConfigDesk) -> None:
    token = "s3f9c2d41ab07e5588cc10f4a"
    with pytest.raises(Invalid) as error:
        desk.set(token, "x", AS_ADA)
    assert token not in str(error.value)
    assert desk.world.audit() == []
    with pytest.raises(NotFound) as missing:
        desk.world.configuration.reveal(ConfigId(token), AS_ADA)
    assert token not in str(missing.value)


def test_the_check_finds_what_is_wrong(desk: ConfigDesk) -> None:
    report = desk.world.configuration_check.check()
    assert (report.secrets, report.key_problem, report.unreadable, report.lines) == (0, None, (), 0)
    entry = change(desk, "TOKEN", SECRET, is_secret=True, env_path=".env")
    change(desk, "FINE", SECRET, is_secret=True)
    report = desk.world.configuration_check.check()
    assert (report.secrets, report.unreadable_count, report.lines, report.problem_count) == (2, 0, 1, 0)
    alter(desk, entry)
    (desk.workspace / ".env").unlink()
    report = desk.world.configuration_check.check()
    assert [(one.key, one.scope, one.version) for one in report.unreadable] == [("TOKEN", ConfigScope.GLOBAL, 1)]
    assert [(one.key, one.path) for one in report.problems] == [("TOKEN", ".env")]
    desk.key_file.unlink()
    report = desk.world.configuration_check.check()
    assert report.key_problem is not None
    assert report.unreadable_count == 2


def test_old_versions_are_dropped(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_VERSIONS > 2
    monkeypatch.setattr("hivelore.configuration.entry_changes.MAX_VERSIONS", 2)
    entry = change(desk, "URL", "a")
    for value in "bcd":
        change(desk, "URL", value)
    assert [one.value for one in desk.world.configuration.history(entry, AS_ADA)[0]] == ["c", "d"]


@pytest.mark.parametrize("is_secret", [False, True])
def test_every_change_can_be_undone_and_redone(desk: ConfigDesk, is_secret: bool) -> None:
    more: dict[str, Any] = {"is_secret": is_secret}
    entry = change(desk, "URL", "one", **more)
    change(desk, "URL", "two", **more)
    desk.world.configuration.delete(entry, AS_OPERATOR)
    deleted = last_batch(desk)
    assert desk.env(RUNNER_OF_ADA) == {}
    undo(desk)
    assert desk.env(RUNNER_OF_ADA) == {"URL": "two"}
    undo(desk)
    assert desk.env(RUNNER_OF_ADA) == {}
    with pytest.raises(Conflict, match=r"already undone|changed since"):
        undo(desk, batch=batches_of(desk.world.store)[1].id)
    undo(desk)
    edited = next(one for one in batches_of(desk.world.store) if one.id < deleted and one.kind == "configured")
    undo(desk, batch=edited.id)
    assert desk.env(RUNNER_OF_ADA) == {"URL": "one"}
    assert change(desk, "URL", "three", **more) == entry
    assert [one.number for one in desk.world.configuration.history(entry, AS_OPERATOR)[0]] == [1, 2, 3]


def test_an_undo_never_overwrites_later_changes(desk: ConfigDesk) -> None:
    change(desk, "URL", "one")
    first = last_batch(desk)
    change(desk, "URL", "two")
    with pytest.raises(Conflict, match="changed since"):
        undo(desk, batch=first)
    assert desk.env(AS_ADA) == {"URL": "two"}


def test_an_undo_needs_the_right_to_change_the_entry(desk: ConfigDesk) -> None:
    desk.set("MINE", "x", AS_ADA)
    batch = last_batch(desk)
    for viewer in (AS_LEA, AS_ADA):
        with pytest.raises(Forbidden):
            undo(desk, viewer, batch)
    detail = desk.world.undo_service.detail(batches_of(desk.world.store)[0].id, AS_OPERATOR)
    assert [(one.key, one.scope) for one in detail.entries] == [("MINE", ConfigScope.AGENT)]
    undo(desk, AS_OPERATOR, batch)
    assert desk.listed(AS_ADA) == []


def test_replaced_secrets_and_deleted_entries_go_when_undo_does(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", "one", is_secret=True)
    change(desk, "TOKEN", "two", is_secret=True)
    gone = change(desk, "GONE", "x")
    desk.world.configuration.delete(gone, AS_OPERATOR)
    batch = last_batch(desk)
    desk.world.clock.advance(timedelta(days=8))
    desk.world.housekeeping.run_step()
    with desk.world.store.read() as view:
        assert [one.sealed is None for one in view.config_versions(entry)] == [True, False]
        assert view.config_entry(gone) is None
    assert desk.env(RUNNER_OF_ADA) == {"TOKEN": "two"}
    with pytest.raises(NotFound):
        undo(desk, batch=batch)


def test_without_a_journal_a_deleted_entry_is_gone_at_once(desk: ConfigDesk) -> None:
    desk.world.settings = desk.world.settings.model_copy(update={"undo_days": 0})
    entry = change(desk, "URL", "one")
    desk.world.configuration.delete(entry, AS_OPERATOR)
    with desk.world.store.read() as view:
        assert view.config_entry(entry) is None
        assert list(view.config_versions(entry)) == []


# Files.


def test_an_entry_is_kept_in_its_file(desk: ConfigDesk) -> None:
    (desk.workspace / "app").mkdir()
    file, other = desk.workspace / "app/.env", desk.workspace / ".env"
    entry = change(desk, "TOKEN", SECRET, AS_LEA, is_secret=True, env_path="app/.env")
    assert file.read_text() == f"TOKEN={SECRET}\n"
    change(desk, "TOKEN", "two", AS_LEA)
    assert file.read_text() == "TOKEN=two\n"
    change(desk, "TOKEN", "two", AS_LEA, env_path=".env")
    assert (file.exists(), other.read_text()) == (False, "TOKEN=two\n")
    undo(desk, AS_LEA)
    assert (file.read_text(), other.exists()) == ("TOKEN=two\n", False)
    change(desk, "TOKEN", "two", AS_LEA, env_path="")
    assert not file.exists()
    undo(desk)
    desk.world.configuration.delete(entry, AS_LEA)
    assert not file.exists()


def test_workers_keep_no_entry_in_a_file(desk: ConfigDesk) -> None:
    with pytest.raises(Forbidden, match="envPath"):
        desk.set("KEY", "x", AS_ADA, env_path=".env")
    assert not (desk.workspace / ".env").exists()


def test_nothing_is_stored_if_the_file_cannot_be_written(desk: ConfigDesk) -> None:
    (desk.workspace / ".env").mkdir()
    with pytest.raises(Conflict, match="regular file"):
        desk.set("KEY", "x", AS_LEA, "global", env_path=".env")
    assert desk.listed(AS_LEA) == []


# Keys.


def test_the_key_is_created_with_the_first_secret(desk: ConfigDesk) -> None:
    desk.set("PLAIN", "x", AS_ADA)
    assert not desk.key_file.exists()
    desk.set("TOKEN", SECRET, AS_ADA, is_secret=True)
    assert desk.key_file.stat().st_mode & 0o777 == 0o600


def test_a_rotation_encrypts_everything_anew_and_drops_nothing(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", "one", is_secret=True)
    change(desk, "TOKEN", "two", is_secret=True)
    old = desk.world.keyring.load().newest
    done = desk.world.key_rotator.rotate()
    assert (done.reencrypted, done.lost, done.erased) == (2, 0, 0)
    assert done.key != old
    with desk.world.store.read() as view:
        sealed = [one.sealed for one in view.config_versions(entry)]
        assert [one is not None and one.key for one in sealed] == [done.key, done.key]
        assert view.setting(NEWEST_KEY) == done.key
    assert desk.env(RUNNER_OF_ADA) == {"TOKEN": "two"}
    undo(desk)
    assert desk.env(RUNNER_OF_ADA) == {"TOKEN": "one"}


def test_an_interrupted_rotation_is_continued_with_the_same_key(
    desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        change(desk, f"TOKEN_{number}", f"value {number}", is_secret=True)
    rotator = desk.world.key_rotator
    reencrypt, left = rotator.reencrypt, [1, 2]

    def killed_after_two(tx: Transaction, keys: Keys, seen: ConfigVersion) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        reencrypt(tx, keys, seen)

    monkeypatch.setattr(rotator, "reencrypt", killed_after_two)
    with pytest.raises(KeyboardInterrupt):
        rotator.rotate()
    key = desk.world.keyring.load().newest
    assert len(desk.env(RUNNER_OF_ADA)) == 5
    monkeypatch.undo()
    done = rotator.rotate()
    assert (done.key, done.reencrypted) == (key, 3)
    assert desk.env(RUNNER_OF_ADA) == {f"TOKEN_{number}": f"value {number}" for number in range(5)}


def test_a_lost_key_overwrites_nothing_and_says_what_to_do(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", SECRET, is_secret=True)
    plain = change(desk, "URL", "x")
    saved = desk.key_file.read_bytes()
    desk.key_file.unlink()
    attempts = (
        lambda: desk.world.configuration.reveal(entry, AS_OPERATOR),
        lambda: desk.set("TOKEN", "new", AS_OPERATOR, "global"),
        lambda: desk.set("OTHER", "new", AS_OPERATOR, "global", is_secret=True),
        desk.world.key_rotator.rotate,
    )
    for attempt in attempts:
        with pytest.raises(Conflict, match=rf"{CONFIG_KEYS} again.*rotate-key --erase-lost"):
            attempt()
    assert not desk.key_file.exists()
    assert change(desk, "URL", "y") == plain
    desk.key_file.write_bytes(saved)
    assert desk.world.configuration.reveal(entry, AS_OPERATOR)[1] == SECRET


def test_secrets_of_a_lost_key_are_erased_only_on_request(desk: ConfigDesk) -> None:
    lost = change(desk, "LOST", SECRET, is_secret=True)
    desk.key_file.unlink()
    done = desk.world.key_rotator.rotate(erase_lost=True)
    assert (done.erased, done.reencrypted) == (1, 0)
    with pytest.raises(Conflict, match=r"erased\. Set it again"):
        desk.world.configuration.reveal(lost, AS_OPERATOR)
    assert change(desk, "LOST", "again", is_secret=True) == lost
    assert desk.env(RUNNER_OF_ADA) == {"LOST": "again"}


def test_a_wrong_key_is_not_used(desk: ConfigDesk) -> None:
    entry = change(desk, "TOKEN", SECRET, is_secret=True)
    desk.key_file.unlink()
    desk.world.keyring.add()
    with pytest.raises(Conflict, match="missing"):
        change(desk, "TOKEN", "new")
    with pytest.raises(Conflict, match="missing"):
        desk.world.key_rotator.rotate()
    with pytest.raises(Conflict):
        desk.world.configuration.reveal(entry, AS_OPERATOR)


def test_a_secret_that_cannot_be_read_does_not_stop_a_rotation(desk: ConfigDesk) -> None:
    altered = change(desk, "ALTERED", SECRET, is_secret=True)
    change(desk, "TOKEN", SECRET, is_secret=True)
    alter(desk, altered)
    done = desk.world.key_rotator.rotate()
    assert (done.reencrypted, done.lost, done.erased) == (1, 1, 0)
    assert [(one.key, one.version) for one in done.unreadable] == [("ALTERED", 1)]
    again = desk.world.key_rotator.rotate()
    assert again.key != done.key
    assert (again.reencrypted, again.lost) == (1, 1)
    erased = desk.world.key_rotator.rotate(erase_lost=True)
    assert (erased.reencrypted, erased.lost, erased.erased) == (0, 0, 1)


def test_a_secret_of_the_newest_key_that_was_altered_is_erased_and_removed_from_its_file(desk: ConfigDesk) -> None:
    altered = change(desk, "ALTERED", SECRET, is_secret=True, env_path=".env")
    change(desk, "TOKEN", "two", is_secret=True, env_path=".env")
    alter(desk, altered)
    done = desk.world.key_rotator.rotate(erase_lost=True)
    assert (done.erased, done.reencrypted) == (1, 0)
    desk.world.env_reconciler.run_step()
    assert (desk.workspace / ".env").read_text() == "TOKEN=two\n"
    assert desk.world.configuration_check.check().problem_count == 0
    change(desk, "ALTERED", "again")
    assert (desk.workspace / ".env").read_text() == "TOKEN=two\nALTERED=again\n"


def test_two_rotations_do_not_run_at_the_same_time(desk: ConfigDesk) -> None:
    change(desk, "TOKEN", SECRET, is_secret=True)
    with locked(desk.world.settings.home / "locks/config.rotation"), pytest.raises(Busy):
        desk.world.key_rotator.rotate()
    assert desk.world.key_rotator.rotate().reencrypted == 1


def test_an_entry_is_set_only_if_it_has_the_expected_version(desk: ConfigDesk) -> None:
    service = desk.world.configuration
    place = service.place(ConfigScope.GLOBAL, None, AS_OPERATOR)

    def put(value: str, version: int) -> int:
        return service.set(
            place, Setting(key="TOKEN", value=value, is_secret=True), AS_OPERATOR, version=version
        ).version

    with pytest.raises(Stale, match="version 0, not 1"):
        put(SECRET, 1)
    assert put(SECRET, 0) == 1
    assert put(SECRET, 0) == 1  # The same content changes nothing.
    with pytest.raises(Stale, match="version 1, not 0") as refused:
        put("another", 0)
    assert refused.value.current == 1
    assert put("another", 1) == 2
    service.delete(service.list_entries(AS_OPERATOR, None, None).entries[0].id, AS_OPERATOR)
    assert put("a third", 0) == 3
