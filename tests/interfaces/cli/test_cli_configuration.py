"""The verb ``config``."""

import pytest

from hivelore.cli.exits import LEFT_OUT
from hivelore.configuration import workspace_id
from hivelore.local.endpoint import CONFIG_KEYS
from support.command_line import CommandLine
from support.service import Service


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


def test_a_secret_that_cannot_be_read_is_left_out_with_a_warning(cli: CommandLine, service: Service, me: str) -> None:
    cli("agent", "add", me)
    place = ("--scope", "agent", "--scope-id", me)
    cli("config", "set", "URL", "x", *place)
    cli("config", "set", "TOKEN", "-", "--secret", *place, stdin=b"hunter2\n")
    keys = service.home / CONFIG_KEYS
    saved = keys.rename(keys.with_suffix(".saved"))
    try:
        result = cli("config", "env", "--agent", me)
    finally:
        saved.rename(keys)
    assert result.code == LEFT_OUT
    assert result.out.splitlines()[-1] == "export URL=x"
    assert "hunter2" not in result.out
    assert "TOKEN is left out." in result.err
    assert "is missing" in result.err


def test_a_file_that_cannot_be_written_is_named(cli: CommandLine, service: Service, me: str) -> None:
    folder = service.home / "workspace" / me
    folder.mkdir(parents=True)
    cli("config", "set", "KEY_IN_FILE", "x", "--env-path", f"{me}/.env")
    (folder / ".env").unlink()
    (folder / ".env").symlink_to("/etc/hostname")
    assert "link" in cli("config", "set", "KEY_IN_FILE", "y").err
    assert "link" in cli("config", "list").err
    (entry,) = [one["id"] for one in cli.json("config", "list")["entries"] if one["key"] == "KEY_IN_FILE"]
    result = cli("config", "delete", entry)
    assert (result.code, result.out) == (0, "Deleted: KEY_IN_FILE\n")
    assert "link" in result.err
    (folder / ".env").unlink()
    (service.home / "workspace" / workspace_id.FILE).unlink()  # Other tests choose another workspace.


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("set", "PATH", "x"), "PATH is reserved"),
        (("set", "KEY"), "Say the value of the entry"),
        (("set", "KEY", "x", "--scope", "repo"), "Say which repository"),
        (("set", "KEY", "x", "--env-path", "../.env"), "envPath is not allowed"),
        (("reveal", "nothing"), "No configuration entry"),
    ],
)
def test_errors_say_what_to_do(cli: CommandLine, words: tuple[str, ...], error: str) -> None:
    result = cli("config", *words)
    assert result.code != 0
    assert error in result.err
