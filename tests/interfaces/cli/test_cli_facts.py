"""Facts on the command line: current values, past values and successors."""

import json

import pytest

from support.command_line import CommandLine, short


def store_fact(cli: CommandLine, me: str, text: str, *words: str) -> str:
    return cli.json("remember", text, "--subject", "db.port", *words, "--agent", me)["memory"]["id"]


def test_the_newest_fact_is_shown_and_others_on_request(cli: CommandLine, me: str) -> None:
    old = store_fact(cli, me, "The port is 5432.", "--valid-from", "9d")
    new = store_fact(cli, me, "The port is 6543.", "--valid-from", "5d")
    asked = ("recall", "which", "port", "--agent", me, "--scope", "agent")
    assert [hit["memory"]["id"] for hit in cli.json(*asked)["results"]] == [new]
    assert {hit["memory"]["id"] for hit in cli.json(*asked, "--superseded")["results"]} == {old, new}
    assert [hit["memory"]["id"] for hit in cli.json(*asked, "--as-of", "7d")["results"]] == [old]
    listed = ("list", "--subject", "DB.port", "--agent", me)
    assert [one["id"] for one in cli.json(*listed)["memories"]] == [new]
    assert [one["id"] for one in cli.json(*listed, "--as-of", "7d")["memories"]] == [old]
    assert "superseded" in cli(*listed, "--superseded").out
    assert "until" in cli(*asked, "--superseded").out


def test_a_memory_is_shown_as_of_a_time_or_with_its_valid_time(cli: CommandLine, me: str) -> None:
    memory = store_fact(cli, me, "The port is 5432.", "--valid-from", "9d")
    cli("edit", memory, "--content", "The port is 5433.", "--agent", me)
    assert cli.json("get", memory, "--as-of", "1d", "--agent", me)["content"] == "The port is 5432."
    early = cli("get", memory, "--as-of", "10d", "--agent", me)
    assert (early.code, "was not valid" in early.err) == (3, True)


def test_the_history_names_predecessor_and_successor(cli: CommandLine, me: str) -> None:
    old = cli.json("remember", "We use npm.", "--agent", me)["memory"]["id"]
    new = cli.json("remember", "We use pnpm.", "--supersedes", old, "--agent", me)["memory"]["id"]
    assert f"was replaced by {short(new)}" in cli("history", old, "--agent", me).out
    assert cli.json("history", new, "--agent", me)["supersedes"] == old
    cli("edit", new, "--supersedes", "", "--agent", me)
    assert cli.json("get", old, "--agent", me)["validUntil"] is None


@pytest.mark.parametrize("words", [("diff", "1", "9"), ("diff", "0"), ("history", "--as-of", "7d"), ("diff", "one")])
def test_unknown_versions_are_refused(cli: CommandLine, me: str, words: tuple[str, ...]) -> None:
    verb, *rest = words
    assert cli(verb, store_fact(cli, me, "The port is 1."), *rest, "--agent", me).code == 2


def test_facts_survive_export_and_import(cli: CommandLine, me: str) -> None:
    for days, port in ((9, 5432), (3, 6543), (5, 5433)):
        store_fact(cli, me, f"The port is {port}.", "--valid-from", f"{days}d")
    npm = cli.json("remember", "We use npm.", "--agent", me)["memory"]["id"]
    cli("remember", "We use pnpm.", "--supersedes", npm, "--agent", me)
    mine = [line for line in cli("export", "--agent", me).out.splitlines() if json.loads(line).get("agentId") == me]
    assert len(mine) == 5
    other = cli.json("agent", "add", f"other {me}")["agent"]["id"]
    cli("import", "-", "--agent", other, stdin="\n".join(mine).encode())
    listed = ("list", "--superseded", "--scope", "agent", "--all")
    result = [
        {
            one["content"]: (one["subject"], one["validFrom"], one["validUntil"], texts.get(one["supersedes"]))
            for one in memories
        }
        for who in (me, other)
        for memories in [cli.json(*listed, "--agent", who)["memories"]]
        for texts in [{one["id"]: one["content"] for one in memories}]
    ]
    assert result[0] == result[1]
    assert [one[3] for one in result[0].values()].count(None) == 2
    again = cli.json("import", "-", "--agent", other, stdin="\n".join(mine).encode())
    assert (again["created"], again["changed"]) == (0, 0)


def test_an_ordinary_subject_is_not_a_fact_key(cli: CommandLine, me: str) -> None:
    mails = b'{"content": "Yes.", "subject": "Re: lunch"}\n{"content": "No.", "subject": "Re: lunch"}'
    cli("import", "-", "--agent", me, stdin=mails)
    memories = cli.json("list", "--scope", "agent", "--agent", me)["memories"]
    assert [(one["subject"], one["metadata"]) for one in memories] == [(None, {"subject": "Re: lunch"})] * 2
