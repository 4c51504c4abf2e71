"""events and cooldowns."""

import re

import pytest

from support.command_line import CommandLine, short


def test_events_are_listed_newest_first(cli: CommandLine, me: str) -> None:
    about = ("--service", f"s{me[:8]}", "--agent", me)
    cli("events", "add", "It", "is", "late", "--at", "2d", *about)
    report = cli("events", "add", "-", "--level", "error", "--session", me, *about, stdin=b"The disk is full\n")
    assert report.out == f"{short(report.out)}\n"
    head, *rows = cli("events", "list", *about).out.splitlines()
    assert head.split() == ["id", "at", "level", "service", "actor", "text"]
    assert [row.split()[0] == short(report.out) for row in rows] == [True, False]
    assert [row.split("  ")[-1] for row in rows] == ["The disk is full", "It is late"]
    for narrowed in (("--level", "warning"), ("--session", me), ("--since", "1d"), ("-n", "1")):
        assert [one["text"] for one in cli.json("events", "list", *narrowed, *about)["events"]] == ["The disk is full"]
    assert [one["text"] for one in cli.json("events", "list", "--until", "1d", *about)["events"]] == ["It is late"]


def test_the_list_says_if_it_is_empty_or_continues(cli: CommandLine, me: str) -> None:
    about = ("--service", f"s{me[:8]}")
    nothing = cli("events", "list", *about)
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "No events match.\n")
    for text in ("first", "second"):
        cli("events", "add", text, *about)
    first = cli.json("events", "list", "-n", "1", *about)
    assert "There are more" in cli("events", "list", "-n", "1", *about).err
    (rest,) = cli.json("events", "list", "--after", first["next"], *about)["events"]
    assert rest["text"] == "first"


def test_a_masked_secret_is_reported(cli: CommandLine) -> None:
    report = cli("events", "add", "The password:", "hx7!" + "kq")
    assert report.err == "Private text was removed, or a secret was masked.\n"
    assert cli("events", "add", "It is late").err == ""


def test_operators_can_forget_an_event(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    event = cli("events", "add", "It is late").out.strip()
    cli("cooldowns", "set", "forgotten", "restart", "--until", "5m")
    assert cli("events", "forget", event).out == f"Forgotten: {event}.\n"
    assert cli("events", "forget", event).code == 3
    agent = cli("agent", "add", "clerk").out.strip()
    monkeypatch.setenv("HIVELORE_KEY", agent)
    assert cli("events", "forget", event).code == 4
    assert cli("cooldowns", "clear", "forgotten").code == 4


def test_a_cooldown_is_set_listed_and_cleared(cli: CommandLine, me: str) -> None:
    service = f"s{me[:8]}"
    assert cli("cooldowns", "list", "--service", service).err == "No cooldown is active.\n"
    known = cli("cooldowns", "set", service, "restart", "--until", "30m", "--reason", "no use", "--agent", me)
    head, row = known.out.splitlines()
    assert head.split() == ["service", "action", "until", "set", "reason"]
    assert re.fullmatch(rf"{service} +restart +\S+ \S+ UTC \(in (29|30) min\) +1 time +no use", row)
    assert cli.json("cooldowns", "set", service, "restart", "--until", "5m")["count"] == 2
    cli("cooldowns", "set", service, "stop", "--until", "1d")
    assert "2 times" in cli("cooldowns", "list", "--service", service).out
    found = cli.json("cooldowns", "list", "--service", service)["cooldowns"]
    assert [one["action"] for one in found] == ["restart", "stop"]
    assert cli("cooldowns", "clear", service, "restart").out == "Cleared 1 cooldown.\n"
    assert cli.json("cooldowns", "clear", service) == {"cleared": 1}
    assert cli("cooldowns", "clear", service).out == "Cleared 0 cooldowns.\n"


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("events", "add"), 2, "Say what happened"),
        (("events", "add", " "), 2, "empty"),
        (("events", "add", "x", "--level", "panic"), 2, "panic"),
        (("events", "add", "x", "--at", "2999-01-01"), 2, "future"),
        (("events", "add", "x" * 4_001), 2, "4,001"),
        (("events", "list", "-n", "0"), 2, "1 to 500"),
        (("events", "list", "--since", "yesterday"), 2, "Invalid time"),
        (("events", "forget", "nothing"), 3, "nothing"),
        (("cooldowns", "set", "a", "b"), 2, "--until"),
        (("cooldowns", "set", "a", "b", "--until", "2020-01-01"), 2, "has passed"),
        (("cooldowns", "set", "a", "b", "--until", "53w"), 2, "366 days"),
        (("cooldowns", "set", " ", "b", "--until", "5m"), 2, "service is empty"),
        (("cooldowns", "clear", ""), 2, "service is empty"),
    ],
)
def test_bad_input_is_explained(cli: CommandLine, words: tuple[str, ...], code: int, hint: str) -> None:
    result = cli(*words)
    assert (result.code, result.out) == (code, "")
    assert hint in result.err


def test_the_end_of_a_cooldown_is_an_argument_or_an_option(cli: CommandLine, me: str) -> None:
    first = cli.json("cooldowns", "set", me, "restart", "5m")
    assert cli.json("cooldowns", "set", me, "restart", "--until", "5m")["count"] == first["count"] + 1
    too_many = cli("cooldowns", "set", me, "restart", "5m", "6m")
    assert (too_many.code, too_many.err) == (
        2,
        "hivelore: Unexpected argument '6m'. See 'hivelore cooldowns set --help'.\n",
    )
