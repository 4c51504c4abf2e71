"""remember, edit and forget."""

from pathlib import Path

import pytest

from hivelore.core.sanitizer import sanitize
from support.command_line import CommandLine, Result, short

NOWHERE = "01a20000-0000-7000-8000-000000000000"


def kept(cli: CommandLine, me: str, text: str, *options: str) -> str:
    """Stores a memory and returns its id."""
    return cli.json("remember", text, "--agent", me, *options)["memory"]["id"]


def test_remember_prints_the_id(cli: CommandLine, me: str) -> None:
    result = cli("remember", "The proxy wants a Bearer prefix.", "--agent", me)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Remembered ")
    assert result.out.endswith(": The proxy wants a Bearer prefix.\n")


def test_remember_stores_all_fields(cli: CommandLine, me: str) -> None:
    done = cli.json("remember", "Port 5433 is the replica.", "--name", "Ports", "--tag", "db", "--agent", me)
    assert (done["created"], done["changed"]) == (True, True)
    assert cli.json("get", done["memory"]["id"], "--agent", me) == done["memory"]
    assert (done["memory"]["name"], done["memory"]["tags"]) == ("Ports", ["db"])


def test_every_option_is_stored(cli: CommandLine, me: str) -> None:
    options = "--scope swarm --tag a --tag b --category fix --source task_completion --session s1 --author ann"
    words = (*options.split(), "--project", "acme/shop", "--expires", "2031-05-01T12:00Z", "--agent", me)
    memory = cli.json("remember", f"Everything said by {me}", *words)["memory"]
    assert (memory["scope"], memory["tags"], memory["category"]) == ("swarm", ["a", "b"], "fix")
    assert (memory["source"], memory["session"], memory["author"]) == ("task_completion", "s1", "ann")
    assert (memory["project"], memory["expiresAt"]) == ("acme/shop", "2031-05-01T12:00:00Z")
    assert memory["provenance"]["interface"] == "cli"
    assert f"provenance    actor {memory['agentId']}, interface cli, trust agent\n" in cli("get", memory["id"]).out


def test_words_need_no_quotes(cli: CommandLine, me: str) -> None:
    assert cli.json("remember", "two", "words", "--agent", me)["memory"]["content"] == "two words"


def test_a_text_may_begin_with_a_dash_after_a_double_dash(cli: CommandLine, me: str) -> None:
    assert cli("remember", "--agent", me, "--json", "--", "-", "-x").json["memory"]["content"] == "- -x"


def test_a_dash_reads_from_stdin(cli: CommandLine, me: str) -> None:
    done = cli.json("remember", "-", "--agent", me, stdin=b"two\nlines\n")
    assert done["memory"]["content"] == "two\nlines"


def test_reading_from_a_terminal_explains_ctrl_d(cli: CommandLine, me: str) -> None:
    assert cli("remember", "-", "--agent", me, typed="typed\n").err == "Reading from the terminal; Ctrl-D ends it.\n"


def test_the_same_text_again_is_the_same_memory(cli: CommandLine, me: str) -> None:
    first = kept(cli, me, "Said twice.")
    again = cli("remember", "Said twice.", "--agent", me)
    assert again.out == f"Known already: {short(first)}: Said twice.\n"


def test_a_masked_secret_is_mentioned(cli: CommandLine, me: str) -> None:
    result = cli("remember", f"the token is ghp_{'a1B2' * 9}", "--agent", me)
    assert result.err == "Private text was removed, or a secret was masked, before it was stored.\n"
    assert "ghp_" not in result.out


@pytest.mark.parametrize("text", ["дождь в Москве 🐝", "東京の秘密", "שלום עולם", "e\u0301 \u200d ＡＢＣ"])
def test_text_in_every_language_is_stored_unchanged(cli: CommandLine, me: str, text: str) -> None:
    memory = kept(cli, me, text)
    assert cli.json("get", memory, "--agent", me)["content"] == text
    assert sanitize(text.splitlines()[-1]) in cli("get", memory, "--agent", me).out


@pytest.mark.parametrize(
    ("words", "stdin", "reason"),
    [
        ((), b"", "Say what to remember"),
        (("",), b"", "The content is empty"),
        ((" \n",), b"", "The content is empty"),
        (("-",), b"", "The content is empty"),
        (("-",), b"a\0b", "NUL"),
        (("-",), b"\xff\xfe", "Stdin is not UTF-8 (byte 0)"),
        (("-",), b"x" * 5_000_000, "5,000,000 characters"),
        (("-",), b"x" * 20_000_000, "more than 8,000,000 bytes"),
        (("lone \udc80",), b"", "Argument 2 is not valid Unicode"),
        (("text", "--scope", "everyone"), b"", 'Choose from: "agent", "swarm"'),
        (("text", "--source", "dream"), b"", '"file_index"'),
        (("text", "--name", "n" * 501), b"", "1 to 500 characters"),
        (("text", "--name", " "), b"", "1 to 500 characters"),
        (("text", "--category", "c" * 101), b"", "at most 100"),
        (("text", "--expires", "soon"), b"", "Invalid time 'soon'"),
        (("text", "--expires", "9999999d"), b"", "Invalid time"),
        (("text", "--agent", " "), b"", "agent's name"),
        (("text", "--agent", "a" * 501), b"", "agent's name"),
        (("text", "--scop", "swarm"), b"", "--scope"),
    ],
)
def test_an_invalid_memory_is_refused_with_one_sentence(
    cli: CommandLine, me: str, words: tuple[str, ...], stdin: bytes, reason: str
) -> None:
    speaker = () if "--agent" in words else ("--agent", me)
    result = cli("remember", *words, *speaker, stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err
    assert result.err.startswith("hivelore: ")
    assert result.err.count("\n") == 1
    assert cli.json("stats", "--agent", me)["byScope"]["agent"] == 0


def test_the_repository_of_the_folder_is_the_project(cli: CommandLine, me: str) -> None:
    git = Path.cwd() / ".git"
    git.mkdir()
    (git / "config").write_text('[remote "origin"]\n\turl = git@example.org:acme/shop.git\n')
    assert cli.json("remember", "here", "--agent", me)["memory"]["project"] == "example.org/acme/shop"
    assert cli.json("remember", "there", "--project", "other", "--agent", me)["memory"]["project"] == "other"
    assert cli.json("remember", "anywhere", "--project", "", "--agent", me)["memory"]["project"] is None


def test_a_star_is_refused_as_project(cli: CommandLine, me: str) -> None:
    memory = cli.json("remember", "somewhere", "--project", "shop", "--agent", me)["memory"]
    for words in (("remember", "everywhere"), ("edit", memory["id"])):
        refused = cli(*words, "--project", "*", "--agent", me)
        assert (refused.code, "stands for all projects" in refused.err) == (2, True)
    assert cli.json("list", "--scope", "agent", "--project", "*", "--agent", me)["memories"] == [memory]


def test_a_duration_counts_from_now(cli: CommandLine, me: str) -> None:
    memory = cli.json("remember", "for a week", "--expires", "7d", "--agent", me)["memory"]
    assert memory["expiresAt"] > memory["createdAt"]
    assert cli("remember", "until then", "--expires", "2031-01-31", "--agent", me).err == (
        "2031-01-31 has no time zone: taken as UTC.\n"
    )


def test_editing_changes_only_the_given_fields(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "The limit is 10.", "--tag", "api", "--project", "shop")
    words = ("--content", "The limit is 20.", "--name", "Limit", "--reason", "measured", "--agent", me)
    edited = cli.json("edit", memory, *words)
    assert (edited["content"], edited["name"], edited["version"]) == ("The limit is 20.", "Limit", 2)
    assert (edited["tags"], edited["project"]) == (["api"], "shop")
    history = cli("history", memory, "--agent", me).out
    assert "measured" in history
    assert "The limit is 10." in history
    assert "-The limit is 10.\n+The limit is 20." in cli("diff", memory, "--agent", me).out
    same = cli("diff", memory, "2", "2", "--agent", me)
    assert (same.out, same.err) == ("", "Versions 2 and 2 are the same.\n")


def test_editing_prints_the_new_version(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "Shared soon.")
    result = cli("edit", memory, "--scope", "swarm", "--agent", me)
    assert result.out == f"Version 2 of {short(memory)}: Shared soon.\n"


def test_an_empty_text_clears_an_optional_field(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "To be bared.", "--tag", "x", "--category", "fix", "--project", "p", "--expires", "7d")
    bare = ("--tag", "", "--category", "", "--project", "", "--expires", "never")
    edited = cli.json("edit", memory, *bare, "--agent", me)
    assert (edited["tags"], edited["category"], edited["project"], edited["expiresAt"]) == ([], "note", None, None)


def test_editing_can_read_the_new_text_from_stdin(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "Old.")
    assert cli.json("edit", memory, "--content", "-", "--agent", me, stdin=b"New.\n")["content"] == "New."


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        ((), 2, "Say what to change"),
        (("--reason", "just so"), 2, "Say what to change"),
        (("--content", ""), 2, "The content is empty"),
        (("--content", "x" * 2_000_001), 2, "2,000,001 characters"),
        (("--name", ""), 2, "1 to 500 characters"),
        (("--scope", "all"), 2, "Choose from"),
        (("--content", "new", "--if-version", "7"), 5, "is at version 1, not"),
    ],
)
def test_an_invalid_edit_is_refused(cli: CommandLine, me: str, words: tuple[str, ...], code: int, reason: str) -> None:
    memory = kept(cli, me, "Stays as it is.")
    result = cli("edit", memory, *words, "--agent", me)
    assert (result.code, result.out) == (code, "")
    assert reason in result.err
    assert cli.json("get", memory, "--agent", me)["version"] == 1


def test_a_stale_edit_reports_the_current_version(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "First.")
    cli("edit", memory, "--content", "Second.", "--agent", me)
    result = cli("edit", memory, "--content", "Third.", "--if-version", "1", "--agent", me, "--json")
    assert (result.code, result.error["code"], result.error["current"]) == (5, "stale", 2)


def test_a_forgotten_memory_is_deleted(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "Never mind.")
    assert cli("forget", memory, "--agent", me).out == "Forgotten: 1 memory.\n"
    assert cli("get", memory, "--agent", me).code == 3


def test_without_a_terminal_forgetting_several_needs_yes(cli: CommandLine, me: str) -> None:
    memories = [kept(cli, me, text) for text in ("one", "two")]
    refused = cli("forget", *memories, "--agent", me)
    assert (refused.code, refused.out) == (2, "")
    assert "--yes" in refused.err
    assert cli.json("forget", *memories, "--yes", "--agent", me) == {"forgotten": 2}


@pytest.mark.parametrize(("answer", "count"), [("y", 2), ("YES", 2), ("n", 0), ("", 0)])
def test_on_a_terminal_forgetting_asks_first(cli: CommandLine, me: str, answer: str, count: int) -> None:
    memories = [kept(cli, me, text) for text in ("one", "two")]
    result = cli("forget", *memories, "--agent", me, "--json", typed=f"{answer}\n")
    assert (result.code, result.json) == (0, {"forgotten": count})
    assert "one" in result.err
    assert "Forget for good?" in result.err


def test_one_unknown_id_prevents_all_deletions(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "Stays.")
    assert cli("forget", memory, NOWHERE, "--yes", "--agent", me).code == 3
    assert cli("get", memory, "--agent", me).code == 0


def test_memories_of_a_file_are_forgotten_by_its_path(cli: CommandLine, me: str) -> None:
    Path("notes.md").write_text("Written down.")
    assert cli("index", "notes.md", "--agent", me).code == 0
    assert cli.json("forget", "--path", "notes.md", "--agent", me) == {"forgotten": 1}
    assert cli.json("forget", "--path", "notes.md", "--agent", me) == {"forgotten": 0}


def test_forget_needs_ids_or_a_path(cli: CommandLine, me: str) -> None:
    for words in ((), (NOWHERE, "--path", "x")):
        result = cli("forget", *words, "--agent", me)
        assert (result.code, "ids, or --path" in result.err) == (2, True)


@pytest.mark.parametrize("verb", [("get",), ("edit",), ("forget",)])
@pytest.mark.parametrize(
    ("memory", "code"),
    [
        (NOWHERE, 3),
        ("", 3),
        ("nonsense", 3),
        ("a\0b", 2),
        ("дождь", 3),
        (" ", 3),
        ("../agents", 3),
        ("x" * 5_000_000, 2),
    ],
)
def test_an_unknown_id_is_not_found(cli: CommandLine, me: str, verb: tuple[str], memory: str, code: int) -> None:
    change = ("--name", "n") if verb == ("edit",) else ()
    result: Result = cli(*verb, memory, *change, "--agent", me, "--json")
    assert (result.code, result.out) == (code, "")
    assert result.error["code"] in ({"too-large", "invalid"} if code == 2 else {"not-found"})


def test_the_memory_of_another_agent_is_reported_as_unknown(cli: CommandLine, me: str) -> None:
    memory = kept(cli, me, "Private.")
    stranger = "01a20000-0000-7000-8000-00000000beef"
    unknown = cli("get", NOWHERE, "--agent", stranger)
    assert cli("get", memory, "--agent", stranger).err == unknown.err.replace(NOWHERE, memory)


def test_a_task_that_is_done_is_stored_and_updated(cli: CommandLine, me: str) -> None:
    words = ("task-done", "T-7", "Fix", "the", "login", "--agent", me)
    first = cli(*words, "--output", "The token had expired.")
    done = cli.json(*words, "--output", "The token had expired.")
    memory = done["memory"]
    assert first.out == f"Stored: {short(memory['id'])} Fix the login\n"
    assert (memory["sourceTaskId"], memory["source"], done["changed"]) == ("T-7", "task_completion", False)
    assert cli(*words, "--output", "The token had expired.").out.startswith("Known already: ")
    again = cli(*words, "--failed", "--output", "-", stdin=b"It expires too early.\n")
    assert again.out == f"Updated: {short(memory['id'])} Fix the login\n"
    content = cli.json("get", memory["id"], "--agent", me)["content"]
    assert content == "Failed task: Fix the login\n\nWhat went wrong:\n\nIt expires too early."


def test_a_trivial_task_is_not_stored(cli: CommandLine, me: str) -> None:
    result = cli("task-done", "T-7", "Run", "it", "--agent", me)
    assert (result.code, result.out.startswith("Not stored: ")) == (0, True)
    assert cli.json("stats", "--agent", me)["byScope"]["agent"] == 0


def test_a_task_needs_its_text(cli: CommandLine, me: str) -> None:
    assert "Say what the task was" in cli("task-done", "T-7", "--agent", me).err


def test_private_text_is_not_stored_and_not_searched_for(cli: CommandLine, me: str) -> None:
    kept = cli.json("remember", "--agent", me, "The key of the gate is <private>zebrafinch</private> below the mat.")
    assert kept["memory"]["content"] == "The key of the gate is  below the mat."
    assert "zebrafinch" not in str(cli.json("recall", "--agent", me, "key of the gate <private>zebrafinch"))
    for verb in ("remember", "recall"):
        refused = cli(verb, "--agent", me, "<private>zebrafinch</private>")
        assert "only private text" in refused.err
        assert refused.code == 2
