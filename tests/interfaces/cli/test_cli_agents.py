"""agent add, list and revoke, and authentication with a key."""

from pathlib import Path

import pytest

from support.command_line import CommandLine


def test_a_new_agent_authenticates_with_the_printed_key(
    cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = cli("agent", "add", me, "--role", "lead")
    assert added.err.startswith(f"This is the key of {me}; it is shown only once.")
    monkeypatch.setenv("HIVELORE_KEY", added.out.strip())
    memory = cli.json("remember", "Mine.")["memory"]
    assert memory["agentId"] == memory["provenance"]["actor"]


def test_an_agent_is_added_with_a_role_and_an_expiry(cli: CommandLine, me: str) -> None:
    added = cli.json("agent", "add", me, "--expires", "2031-01-01T00:00Z")
    assert (added["agent"]["name"], added["agent"]["role"]) == (me, "worker")
    assert added["expiresAt"] == "2031-01-01T00:00:00Z"
    assert added["key"].startswith("hl_1_")


def test_the_list_shows_keys_without_secrets(cli: CommandLine, me: str) -> None:
    key = cli.json("agent", "add", me, "--expires", "2031-01-01T00:00Z")["key"]
    _, _, number, secret = key.split("_")
    listed = cli("agent", "list")
    row = next(line for line in listed.out.splitlines() if line.endswith(me))
    assert row.startswith("worker")
    assert f"{number} until 2031-01-01" in row
    assert secret not in listed.out
    assert secret not in cli("agent", "list", "--json").out


def test_a_revoked_key_is_refused(cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = cli.json("agent", "add", me)["key"]
    assert cli("agent", "revoke", me).out == "Revoked 1 key.\n"
    assert "revoked" in next(line for line in cli("agent", "list").out.splitlines() if line.endswith(me))
    monkeypatch.setenv("HIVELORE_KEY", key)
    result = cli("stats", "--json")
    assert (result.code, result.error["code"]) == (4, "unauthenticated")


def test_an_agent_whose_key_was_revoked_gets_a_new_one_and_keeps_its_memories(
    cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cli.json("agent", "add", me)
    with monkeypatch.context() as as_agent:
        as_agent.setenv("HIVELORE_KEY", first["key"])
        memory = cli.json("remember", "Mine alone.")["memory"]
    taken = cli("agent", "add", me, "--json")
    assert taken.error["code"] == "conflict"
    assert "agent revoke" in str(taken.error)
    cli("agent", "revoke", me)
    second = cli.json("agent", "add", me)
    assert second["agent"]["id"] == first["agent"]["id"]
    monkeypatch.setenv("HIVELORE_KEY", second["key"])
    assert cli.json("get", memory["id"])["content"] == "Mine alone."


def test_one_key_can_be_revoked_by_its_id(cli: CommandLine, me: str) -> None:
    number = cli.json("agent", "add", me)["key"].split("_")[2]
    assert cli.json("agent", "revoke", number) == {"revoked": 1}


def test_a_worker_cannot_manage_agents(cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_KEY", cli.json("agent", "add", me)["key"])
    for words in (("agent", "add", "other"), ("agent", "revoke", "local"), ("reembed",)):
        result = cli(*words, "--json")
        assert (result.code, result.error["code"]) == (4, "forbidden")


def test_a_worker_sees_agents_without_keys(cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = cli.json("agent", "add", me)["key"]
    monkeypatch.setenv("HIVELORE_KEY", key)
    result = cli("agent", "list")
    row = next(line for line in result.out.splitlines() if line.endswith(me))
    assert row.split()[0::2] == ["worker", "-", me]
    assert key.split("_")[2] not in result.out


def test_a_worker_cannot_act_for_another_agent(cli: CommandLine, me: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_KEY", cli.json("agent", "add", me)["key"])
    assert cli("stats", "--agent", "local").code == 4


@pytest.mark.parametrize("key", ["nonsense", "hl_1_0000000000_" + "0" * 64, "two words"])
def test_a_wrong_key_is_an_error_without_fallback(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("HIVELORE_KEY", key)
    result = cli("stats")
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("hivelore: This key is not known here.")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add",), 2),
        (("add", ""), 2),
        (("add", " "), 2),
        (("add", "a\0b"), 2),
        (("add", "n" * 501), 2),
        (("add", "n" * 5_000_000), 2),
        (("add", "late", "--expires", "2020-01-01T00:00Z"), 2),
        (("add", "king", "--role", "operator"), 2),
        (("add", "local"), 5),
        (("revoke", "nobody-of-this-name"), 3),
        (("revoke", "a/b"), 3),
        (("revoke", ""), 2),
        (("revoke", "n" * 5_000_000), 2),
        (("promote",), 2),
    ],
)
def test_invalid_calls_about_agents_are_refused(cli: CommandLine, words: tuple[str, ...], code: int) -> None:
    result = cli("agent", *words)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("hivelore: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("name", ["Ревьюер", "審査員", "o'brien & co"])
def test_an_agent_may_have_any_name(cli: CommandLine, name: str) -> None:
    agent = cli.json("agent", "add", name)["agent"]
    assert cli.json("remember", "By name.", "--agent", name)["memory"]["agentId"] == agent["id"]
    assert cli.json("agent", "revoke", name) == {"revoked": 1}


def test_the_change_of_a_profile_is_shown_and_undone(cli: CommandLine, me: str) -> None:
    cli("agent", "add", me)
    cli("agent", "edit", me, "--role", "reviewer")
    assert cli("agent", "edit", me, "--role", "writer").out == f"{me} is now at version 3.\n"
    assert "reviewer" in cli("agent", "diff", me).out
    batch = next(one for one in cli.json("batches")["batches"] if one["kind"] == "profiled")
    shown = cli("batches", batch["id"]).out
    agent = cli.json("agent", "show", me)["agentId"]
    assert [line.split()[1:] for line in shown.splitlines()[-1:]] == [["2", "3"]]
    undone = cli("undo", batch["id"]).out.removeprefix("Restored: ").strip()
    assert len(undone) >= 8
    assert agent.startswith(undone)
    assert cli.json("agent", "show", me)["role"] == "reviewer"
    assert cli("agent", "restore", me, "3").out == f"{me} is now at version 5.\n"
    assert "4" in cli("agent", "history", me).out


def test_a_text_comes_from_a_file(cli: CommandLine, me: str, tmp_path: Path) -> None:
    soul = tmp_path / "soul.md"
    soul.write_text("I am new.\n")
    cli("agent", "add", me)
    cli("agent", "edit", me, "--soul", str(soul))
    assert cli.json("agent", "show", me)["soul"] == "I am new.\n"
    assert "cannot be read" in cli("agent", "edit", me, "--soul", str(tmp_path)).err
    soul.write_bytes(b"\xff")
    assert "not UTF-8" in cli("agent", "edit", me, "--soul", str(soul)).err
    assert "Say what to change" in cli("agent", "edit", me).err
