"""The verb ``config``."""

import pytest

from support.command_line import CommandLine


def test_a_value_is_set_listed_and_deleted(cli: CommandLine, me: str) -> None:
    key = f"K{me[:8].upper().replace('-', '_')}"
    assert cli("config", "set", key, "one", "--description", "where").out == f"Set: {key} in global\n"
    (entry,) = [one for one in cli.json("config", "list", "--scope", "global")["entries"] if one["key"] == key]
    assert (entry["value"], entry["description"]) == ("one", "where")
    assert key in cli("config", "list").out
    cli("config", "set", key, "-", stdin=b"two\n")
    assert cli("config", "reveal", entry["id"]).out == "two\n"
    assert "2 (current)" in cli("config", "history", entry["id"]).out
    undone = cli("undo", cli.json("batches", "-n", "1")["batches"][0]["id"])
    assert undone.out.startswith("Restored: ")
    assert cli("config", "reveal", entry["id"]).out == "one\n"
    assert cli("config", "delete", entry["id"]).code == 0
    assert cli("config", "reveal", entry["id"]).code != 0


def test_secrets_are_masked_and_printed_for_a_shell(cli: CommandLine, me: str) -> None:
    cli("agent", "add", me)
    place = ("--scope", "agent", "--scope-id", me)
    cli("config", "set", "TOKEN", "-", "--secret", *place, stdin=b"it's $x\n")
    cli("config", "set", "URL", "https://example.com", *place)
    shown = cli("config", "resolved", "--agent", me).out
    assert "********" in shown
    assert "it's" not in shown
    assert cli("config", "env", "--agent", me).out.splitlines()[-2:] == [
        "export TOKEN='it'\"'\"'s $x'",
        "export URL=https://example.com",
    ]
    assert cli.json("config", "env", "--agent", me)["variables"]["TOKEN"] == "it's $x"


def test_a_value_that_looks_like_a_secret_is_warned_of(cli: CommandLine, me: str) -> None:
    cli("agent", "add", me)
    result = cli("config", "set", "DB_PASSWORD", "Tr0ub4dor&3x", "--scope", "agent", "--scope-id", me)
    assert "looks like a secret" in result.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("set", "PATH", "x"), "PATH is reserved"),
        (("set", "KEY"), "Say the value of KEY"),
        (("set", "KEY", "x", "--scope", "repo"), "Say which repository"),
        (("set", "KEY", "x", "--env-path", "../.env"), "envPath is not allowed"),
        (("reveal", "nothing"), "No configuration entry"),
    ],
)
def test_errors_say_what_to_do(cli: CommandLine, words: tuple[str, ...], error: str) -> None:
    result = cli("config", *words)
    assert result.code != 0
    assert error in result.err
