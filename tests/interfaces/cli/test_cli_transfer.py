"""index, import and export."""

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from support.command_line import CommandLine


def write(files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


def lines(*objects: Any) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def own(cli: CommandLine, me: str) -> list[dict[str, Any]]:
    """Returns the private memories of the agent, oldest first."""
    page = cli.json("list", "--all", "--scope", "agent", "--project", "*", "--agent", me)
    return list(reversed(page["memories"]))


def indexed(cli: CommandLine, me: str) -> set[str]:
    """Returns the names of indexed files, relative to the folder of the test."""
    return {os.path.relpath(one["sourcePath"]) for one in own(cli, me)}


# index


def test_a_folder_is_indexed_without_ignored_files(cli: CommandLine, me: str) -> None:
    write({".git/config": "", ".gitignore": "build/\n*.log\n!kept.log\n", "a.md": "a", "build/b.md": "b"})
    write({"c.log": "c", "kept.log": "k", "sub/.gitignore": "/d.md\n", "sub/d.md": "d", "sub/deep/d.md": "d"})
    write({"node_modules/x.js": "x", "sub/e.md": "e"})
    assert cli("index", ".", "--agent", me).code == 0
    expected = {".gitignore", "a.md", "kept.log", "sub/.gitignore", "sub/deep/d.md", "sub/e.md"}
    assert indexed(cli, me) == expected


def test_ignore_rules_of_parent_folders_apply(cli: CommandLine, me: str) -> None:
    write({".git/config": "", ".gitignore": "*.log\n", "docs/a.md": "a", "docs/b.log": "b"})
    assert cli("index", "docs", "--agent", me).code == 0
    assert indexed(cli, me) == {"docs/a.md"}


def test_a_named_file_is_indexed_although_git_ignores_it(cli: CommandLine, me: str) -> None:
    write({".git/config": "", ".gitignore": "build/\n", "build/a.md": "a", "build/b.md": "b"})
    assert cli("index", "build", "--agent", me).code == 0
    assert indexed(cli, me) == {"build/a.md", "build/b.md"}


def test_invalid_ignore_rules_are_skipped(cli: CommandLine, me: str) -> None:
    write({".gitignore": "!\n\\\n*.log\n", "a.md": "a", "b.log": "b"})
    assert cli("index", ".", "--agent", me).code == 0
    assert indexed(cli, me) == {".gitignore", "a.md"}


def test_files_keep_their_ids_when_they_are_indexed_again(cli: CommandLine, me: str) -> None:
    write({"a.md": "first", "b.md": "stays"})
    assert cli.json("index", "a.md", "b.md", "--agent", me)["created"] == 2
    before = {one["name"]: one for one in own(cli, me)}
    write({"a.md": "second"})
    again = cli.json("index", "a.md", "b.md", "--agent", me)
    assert again["created"] == 0
    after = {one["name"]: one for one in own(cli, me)}
    assert {name: one["id"] for name, one in after.items()} == {name: one["id"] for name, one in before.items()}
    assert (after["a"]["content"], after["a"]["version"], after["b"]["version"]) == ("second", 2, 1)


def test_files_without_text_are_skipped_in_a_folder(cli: CommandLine, me: str) -> None:
    write({"a.md": "a", "picture.png": b"\x89PNG\0\0", "empty.txt": "", "blank.txt": " \n"})
    Path("link.md").symlink_to("a.md")
    result = cli("index", ".", "--agent", me)
    assert (result.code, result.err) == (0, "")
    assert result.out == ("Files indexed: 1 new, 0 changed, 0 unchanged; 3 skipped (3 without text).\n")


def test_an_unreadable_text_file_is_reported_and_the_others_are_indexed(cli: CommandLine, me: str) -> None:
    write({"a.md": "a", "latin.txt": "caf\xe9".encode("latin-1"), "large.txt": "x" * 2_000_001, "nul.txt": "a\0b"})
    result = cli("index", ".", "--agent", me, "--json")
    assert result.code == 7
    assert result.err.count("Skipped ") == 2
    assert {Path(one["path"]).name: one["reason"] for one in result.json["skipped"]} == {
        "large.txt": "larger than 2,000,000 bytes: split it",
        "latin.txt": "not UTF-8 (byte 3)",
        "nul.txt": "binary",
    }
    assert indexed(cli, me) == {"a.md"}


def test_a_named_file_that_cannot_be_indexed_is_reported(cli: CommandLine, me: str) -> None:
    write({"picture.png": b"\x89PNG\0\0"})
    result = cli("index", "picture.png", "--agent", me)
    assert (result.code, result.err) == (7, f"Skipped {Path('picture.png').absolute()}: binary\n")


def test_a_file_has_one_path_however_it_is_named(cli: CommandLine, me: str) -> None:
    write({"sub/a.md": "a"})
    Path("link").symlink_to("sub")
    for name in ("sub/a.md", "sub/../sub/a.md", "./link/a.md"):
        assert cli("index", name, "--agent", me).code == 0
    assert indexed(cli, me) == {"sub/a.md"}
    assert cli.json("forget", "--path", "link/../sub/a.md", "--agent", me) == {"forgotten": 1}


def test_a_missing_path_prevents_indexing(cli: CommandLine, me: str) -> None:
    write({"a.md": "a"})
    result = cli("index", "a.md", "b.md", "--agent", me)
    assert (result.code, result.out, result.err) == (
        2,
        "",
        "hivelore: b.md cannot be read: No such file or directory.\n",
    )
    assert indexed(cli, me) == set()


@pytest.mark.parametrize("words", [(), ("",), (".", "--scope", "all"), ("a\0b",), ("x" * 5_000,), ("нет.md",)])
def test_an_invalid_index_call_is_refused(cli: CommandLine, me: str, words: tuple[str, ...]) -> None:
    write({"a.md": "a"})
    result = cli("index", *words, "--agent", me)
    assert (result.code, result.out) == (2, "")


def test_names_and_texts_may_be_in_any_language(cli: CommandLine, me: str) -> None:
    write({"заметки/東京.md": "Розы 🌹 цветут."})
    assert cli("index", ".", "--scope", "agent", "--agent", me).code == 0
    assert [(one["name"], one["content"]) for one in own(cli, me)] == [("東京", "Розы 🌹 цветут.")]


def test_files_belong_to_their_repository(cli: CommandLine, me: str) -> None:
    write(
        {"shop/.git/config": '[remote "origin"]\nurl = https://example.org/acme/shop\n', "shop/a.md": "a", "b.md": "b"}
    )
    assert cli("index", "shop/a.md", "b.md", "--agent", me).code == 0
    assert {one["name"]: one["project"] for one in own(cli, me)} == {"a": "example.org/acme/shop", "b": None}


# import


def test_every_field_of_a_line_is_imported(cli: CommandLine, me: str) -> None:
    memories = {
        "id": "n-1",
        "content": "All of it.",
        "name": "Whole",
        "createdAt": "2025-03-01T10:00:00+02:00",
        "session": "s",
        "author": "ann",
        "tags": ["a", "b"],
        "scope": "agent",
        "source": "session_summary",
        "project": "shop",
        "metadata": {"mood": "good"},
        "weather": {"rain": True},
        "nothing": None,
    }
    write({"in.jsonl": lines(memories)})
    result = cli("import", "in.jsonl", "--agent", me)
    assert (result.code, result.err) == (0, "")
    (memory,) = own(cli, me)
    for name in ("content", "name", "session", "author", "tags", "scope", "source", "project"):
        assert memory[name] == memories[name]
    assert (memory["externalId"], memory["createdAt"]) == ("n-1", "2025-03-01T08:00:00Z")
    assert memory["metadata"] == {"mood": "good", "weather": {"rain": True}}


def test_alternative_field_names_are_accepted(cli: CommandLine, me: str) -> None:
    write(
        {
            "in.jsonl": lines(
                {"text": "as text", "timestamp": 1_700_000_000, "id": 7},
                {"text": "in milliseconds", "timestamp": 1_700_000_000_500},
                {"content": "wins", "text": "loses", "createdAt": None, "timestamp": "2025-01-01T00:00Z"},
            )
        }
    )
    assert cli("import", "in.jsonl", "--agent", me).code == 0
    memories = {one["content"]: one for one in own(cli, me)}
    assert memories["as text"]["createdAt"] == "2023-11-14T22:13:20Z"
    assert memories["as text"]["externalId"] == "7"
    assert memories["in milliseconds"]["createdAt"] == "2023-11-14T22:13:20.500000Z"
    assert memories["wins"]["metadata"] == {"text": "loses"}


def test_times_without_a_zone_are_utc_with_one_warning(cli: CommandLine, me: str) -> None:
    memories = [{"content": f"{hour} o'clock", "createdAt": f"2025-01-01T0{hour}:00:00"} for hour in (1, 2)]
    result = cli("import", "-", "--agent", me, stdin=lines(*memories))
    assert (result.code, result.err) == (0, "Some times had no time zone: taken as UTC.\n")
    assert [one["createdAt"] for one in own(cli, me)] == ["2025-01-01T01:00:00Z", "2025-01-01T02:00:00Z"]


def test_null_counts_as_absent(cli: CommandLine, me: str) -> None:
    names = ("id", "name", "createdAt", "session", "author", "tags", "scope", "source", "project", "metadata", "other")
    assert cli("import", "-", "--agent", me, stdin=lines({"content": "bare", **dict.fromkeys(names)})).code == 0
    (memory,) = own(cli, me)
    assert (memory["externalId"], memory["tags"], memory["metadata"], memory["source"]) == (None, [], {}, "manual")


RUNNING = {"confidence": 0.55, "confidentAt": "2026-01-31T12:00:00Z", "tier": 2, "persistent": False, "off": False}


@pytest.mark.parametrize("about", ["jellyfin", None])
def test_operational_memories_are_imported_and_exported(cli: CommandLine, me: str, about: str | None) -> None:
    known = {**RUNNING, "service": about}
    cli("import", "-", "--agent", me, stdin=lines({"id": "1", "content": "Takes 60 s.", "operational": known}))
    (memory,) = own(cli, me)
    assert memory["operational"] == known
    (exported,) = [
        one for one in map(json.loads, cli("export", "--agent", me).out.splitlines()) if one.get("agentId") == me
    ]
    assert exported["operational"] == known
    again = lines({"id": "1", "content": "Takes 60 s.", "operational": {**known, "confidence": 1}})
    assert cli.json("import", "-", "--agent", me, stdin=again)["unchanged"] == 1
    assert own(cli, me) == [memory]


def test_an_operational_memory_needs_few_fields(cli: CommandLine, me: str) -> None:
    fields = {"confidence": 1, "confidentAt": "2026-01-31T12:00:00+02:00", "service": "general"}
    cli("import", "-", "--agent", me, stdin=lines({"content": "Takes 60 s.", "operational": fields}))
    (memory,) = own(cli, me)
    expected = {**RUNNING, "confidence": 1.0, "confidentAt": "2026-01-31T10:00:00Z", "tier": 1, "service": None}
    assert memory["operational"] == expected


def test_operational_fields_of_other_programs_are_metadata(cli: CommandLine, me: str) -> None:
    cli("import", "-", "--agent", me, stdin=lines({"content": "The crane.", "operational": True}))
    (memory,) = own(cli, me)
    assert ("operational" in memory, memory["metadata"]) == (False, {"operational": True})


BAD = {
    "not json": "not JSON",
    "[1]": "not a JSON object",
    '"text"': "not a JSON object",
    "{}": "content (or text) is missing",
    '{"content": 5}': "content (or text) is missing or not a text",
    '{"content": " "}': "The content is empty",
    '{"content": "x", "scope": "everyone"}': "scope is one of",
    '{"content": "x", "source": "dream"}': "source is one of",
    '{"content": "x", "tags": "a,b"}': "tags is not a list",
    '{"content": "x", "tags": [1]}': "tags is not a list",
    '{"content": "x", "metadata": []}': "metadata is not an object",
    '{"content": "x", "name": {}}': "name is not a text",
    '{"content": "x", "createdAt": "soon"}': "createdAt is not a time",
    '{"content": "x", "createdAt": true}': "createdAt is not a time",
    '{"content": "x", "createdAt": 1e300}': "createdAt is not a time",
    '{"content": "x", "createdAt": "0001-01-01T00:00:00+09:00"}': "createdAt is not a time",
    '{"content": "x", "createdAt": "2999-01-01T00:00:00Z"}': "in the future",
    '{"content": "x", "rate": NaN}': "not JSON",
    '{"content": "x", "rate": 1e999}': "beyond 64 bits",
    '{"content": "x", "count": 18446744073709551616}': "beyond 64 bits",
    '{"content": "x", "operational": {"confidence": 0.5}}': "operational needs confidence and confidentAt",
    '{"content": "x", "operational": {"confidence": 2, "confidentAt": 1}}': "0 to 1",
    '{"content": "x", "operational": {"confidence": [], "confidentAt": 1}}': "operational: ",
    '{"content": "x", "operational": {"confidence": 1, "confidentAt": 1, "tier": 4}}': "a tier is 0 to 3",
    '{"content": "x", "operational": {"confidence": 1, "confidentAt": 1, "tier": "high"}}': "operational: ",
    '{"content": "x", "operational": {"confidence": 1, "confidentAt": 1, "service": {}}}': "service is not a text",
    '{"content": "x", "operational": {"confidence": 1, "confidentAt": 1, "service": "%s"}}'
    % ("s" * 101): "at most 100",
    '{"content": "x", "operational": {"confidence": 1, "confidentAt": "2999-01-01T00:00Z"}}': "in the future",
    '{"content": "x", "validFrom": null, "supersedes": "nothing"}': "No memory 'nothing' to supersede",
    '{"id": "own", "content": "x", "validFrom": null, "supersedes": "own"}': "supersede itself",
    '{"content": "x\\u0000"}': "NUL",
    '{"content": "\\ud800"}': "surrogate",
    '{"content": "x", "deep": ' + "[" * 5_000 + "]" * 5_000 + "}": "not JSON",
    '{"content": "x", "deep": ' + "[" * 200 + "]" * 200 + "}": "deep",
    '{"content": "' + "x" * 2_000_001 + '"}': "2,000,001 characters",
}


def test_bad_lines_are_reported_and_the_others_are_imported(cli: CommandLine, me: str) -> None:
    good = [json.dumps({"content": f"good {number}"}) for number in range(len(BAD))]
    text = "\n".join(line for pair in zip(good, BAD, strict=True) for line in pair)
    result = cli("import", "-", "--agent", me, "--json", stdin=text.encode())
    assert result.code == 7
    reasons = {int(number): reason for number, reason in re.findall(r"^Line (\d+): (.*)$", result.err, re.MULTILINE)}
    assert sorted(reasons) == [2 * number for number in range(1, len(BAD) + 1)]
    for number, (line, reason) in enumerate(BAD.items(), start=1):
        assert reason in reasons[2 * number], line[:80]
    assert len(own(cli, me)) == len(good)
    counts = result.json
    assert (counts["lines"], counts["created"], counts["refused"]) == (2 * len(BAD), len(BAD), len(BAD))
    assert {one["line"]: one["reason"] for one in counts["bad"]} == reasons


def test_invalid_utf_8_is_reported(cli: CommandLine, me: str) -> None:
    result = cli("import", "-", "--agent", me, stdin=b'\xff\n{"content": "good"}\n')
    assert (result.code, "Line 1: not UTF-8 (byte 0)" in result.err) == (7, True)


def test_an_endless_line_is_reported_without_using_memory(cli: CommandLine, me: str) -> None:
    endless = b'{"content": "' + b"x" * (17 * 1024 * 1024) + b'"}'
    result = cli("import", "-", "--agent", me, stdin=endless + b'\n{"content": "good"}')
    assert (result.code, result.err) == (7, "Line 1: longer than 16 MB\n")
    assert [one["content"] for one in own(cli, me)] == ["good"]


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_are_accepted(cli: CommandLine, me: str) -> None:
    text = b'\xef\xbb\xbf{"content": "one"}\r\n\r\n   \n{"content": "two"}'
    assert cli("import", "-", "--agent", me, stdin=text).code == 0
    assert [one["content"] for one in own(cli, me)] == ["one", "two"]


def test_the_same_file_twice_changes_nothing(cli: CommandLine, me: str) -> None:
    facts = [{"id": str(number), "content": f"fact {number}", "extra": number} for number in range(250)]
    write(
        {"in.jsonl": lines(*facts, {"content": "without an id"}, {"content": "dated", "createdAt": "2025-01-01T00Z"})}
    )
    first = cli.json("import", "in.jsonl", "--agent", me)
    assert (first["created"], first["changed"], first["unchanged"]) == (252, 0, 0)
    before = own(cli, me)
    again = cli.json("import", "in.jsonl", "--agent", me)
    assert (again["created"], again["changed"], again["unchanged"]) == (0, 0, 252)
    assert own(cli, me) == before


def test_a_changed_line_becomes_the_next_version(cli: CommandLine, me: str) -> None:
    cli("import", "-", "--agent", me, stdin=lines({"id": "x", "content": "old"}))
    counts = cli.json("import", "-", "--agent", me, stdin=lines({"id": "x", "content": "new"}))
    assert (counts["created"], counts["changed"]) == (0, 1)
    (memory,) = own(cli, me)
    assert (memory["content"], memory["version"]) == ("new", 2)


@pytest.mark.parametrize("file", ["missing.jsonl", ".", "", "нет.jsonl", "x" * 5_000])
def test_an_unreadable_file_is_refused(cli: CommandLine, me: str, file: str) -> None:
    result = cli("import", file, "--agent", me)
    assert (result.code, result.out) == (2, "")
    assert "cannot be read" in result.err


def test_an_empty_file_is_no_error(cli: CommandLine, me: str) -> None:
    write({"in.jsonl": ""})
    assert cli.json("import", "in.jsonl", "--agent", me)["lines"] == 0


# export


def test_an_export_has_a_header_the_memories_and_a_hash(cli: CommandLine, me: str) -> None:
    memory = cli.json("remember", "Goes out. Розы.", "--agent", me)["memory"]
    first, *memories, last = map(json.loads, cli("export", "--agent", me).out.splitlines())
    assert first == {"hivelore": "export", "schema": 1}
    assert (last["hivelore"], last["count"]) == ("end", len(memories))
    assert next(one for one in memories if one["id"] == memory["id"]) == memory
    assert cli("export", "--hash", "--agent", me).out == last["sha256"] + "\n"
    assert cli.json("export", "--hash", "--agent", me) == {"sha256": last["sha256"]}


def test_the_hash_changes_only_with_the_memories(cli: CommandLine, me: str) -> None:
    memory = cli.json("remember", "Hashed.", "--agent", me)["memory"]["id"]
    before = cli("export", "--hash", "--agent", me).out
    cli("recall", "hashed", "--agent", me)
    cli("get", memory, "--agent", me)
    assert cli("export", "--hash", "--agent", me).out == before
    cli("edit", memory, "--content", "Hashed again.", "--agent", me)
    assert cli("export", "--hash", "--agent", me).out != before


def test_an_export_imported_elsewhere_has_the_same_hash(cli: CommandLine, me: str) -> None:
    cli("import", "-", "--agent", me, stdin=lines({"id": "1", "content": "Travels.", "tags": ["t"], "mood": "good"}))
    assert cli("export", "out.jsonl", "--agent", me).code == 0
    other = me[:-4] + "ffff"
    assert cli("import", "out.jsonl", "--agent", other).code == 0
    (here,), (there,) = own(cli, me), own(cli, other)
    for name in ("content", "name", "tags", "metadata", "createdAt", "externalId"):
        assert there[name] == here[name]


def test_importing_an_export_into_its_source_changes_nothing(cli: CommandLine, me: str) -> None:
    cli("remember", "Private, without an external id.", "--agent", me, "--tags", "a,b")
    cli("remember", "Shared by one of them.", "--agent", me, "--scope", "swarm")
    cli("import", "-", "--agent", me, stdin=lines({"id": "1", "content": "Has one.", "mood": "good"}))
    before = own(cli, me)
    cli("export", "out.jsonl", "--agent", me)
    counts = cli.json("import", "out.jsonl", "--agent", me)
    assert (counts["created"], counts["changed"], counts["refused"]) == (0, 0, 0)
    assert own(cli, me) == before


def test_an_export_to_a_file_is_complete_or_absent(cli: CommandLine, me: str) -> None:
    for text in ("One.", "Two."):
        cli("remember", text, "--agent", me)
    result = cli("export", "out.jsonl", "--agent", me)
    count = len(Path("out.jsonl").read_text().splitlines()) - 2
    assert result.out == f"Wrote {count} memories to out.jsonl.\n"
    assert [path.name for path in Path().iterdir()] == ["out.jsonl"]
    assert Path("out.jsonl").stat().st_mode & 0o777 == 0o600


def test_an_export_to_a_device_does_not_replace_it(cli: CommandLine, me: str) -> None:
    os.mkfifo("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()))
    reader.start()
    assert cli("export", "pipe", "--agent", me).code == 0
    reader.join()
    assert read[0].endswith(b"\n")
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("file", ["missing/out.jsonl", ".", "x" * 5_000])
def test_an_export_to_an_unwritable_path_is_refused(cli: CommandLine, me: str, file: str) -> None:
    result = cli("export", file, "--agent", me)
    assert (result.code, "cannot be written" in result.err) == (2, True)
