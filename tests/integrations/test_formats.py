"""Entries in settings of other programs: they are added and removed, and everything else stays."""

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Conflict
from hivelore.integrations.entries import Entry, Kind, add_entries, remove_entries
from hivelore.integrations.formats import Json, Toml
from hivelore.integrations.json_text import parse

HOOK = {"hooks": [{"type": "command", "command": "/opt/a b/bin/hivelore-hook --agent x"}]}
EDITED = {"hooks": [{"type": "command", "command": "nice /opt/a b/bin/hivelore-hook --agent x"}], "matcher": "*"}
ENTRIES = (
    Entry(("version",), 1, Kind.NEEDED),
    Entry(("hooks", "Stop"), HOOK, Kind.ITEM),
    Entry(("mcpServers", "hivelore"), {"command": "python", "args": ["-I"]}),
)
TABLE = Entry(("mcp_servers", "hivelore"), {"command": 'py "x" \\ \x7f é\n', "args": ["-I", "a b"], "env": {"A": "1"}})
NAMES = st.sampled_from(["hooks", "Stop", "Start", "mcpServers", "hivelore", "other", "version"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(NAMES, inner)), max_leaves=8)
SETTINGS = st.dictionaries(NAMES, VALUES, max_size=5)


def merged(settings: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the settings with our entries; None if an entry does not fit."""
    try:
        return add_entries(settings, ENTRIES)
    except Conflict:
        return None


@given(SETTINGS)
def test_adding_entries_twice_is_adding_them_once(settings: dict[str, Any]) -> None:
    once = merged(settings)
    if once is not None:
        assert add_entries(once, ENTRIES) == once


@given(SETTINGS)
def test_added_entries_are_removed_and_others_stay(settings: dict[str, Any]) -> None:
    once = merged(settings)
    if once is not None:
        without = remove_entries(settings, ENTRIES)
        # A needed entry stays with the other settings.
        assert remove_entries(once, ENTRIES) == (add_entries(without, ENTRIES[:1]) if without else {})


def test_items_of_others_keep_their_order_and_our_edited_item_is_removed() -> None:
    settings = {"hooks": {"Stop": [{"a": 1}, EDITED, {"b": 2}]}}
    assert add_entries(settings, ENTRIES)["hooks"]["Stop"] == [{"a": 1}, {"b": 2}, HOOK]
    assert remove_entries(settings, ENTRIES) == {"hooks": {"Stop": [{"a": 1}, {"b": 2}]}}


def test_a_needed_entry_is_kept_and_not_left_alone() -> None:
    assert add_entries({"version": 2}, ENTRIES)["version"] == 2
    assert remove_entries(add_entries({"version": 2}, ENTRIES), ENTRIES) == {"version": 2}
    assert remove_entries(add_entries({}, ENTRIES), ENTRIES) == {}


@pytest.mark.parametrize("settings", [{"hooks": []}, {"hooks": {"Stop": {}}}, {"mcpServers": "none"}])
def test_settings_of_another_type_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(Conflict):
        add_entries(settings, ENTRIES)


@pytest.mark.parametrize("before", [{}, {"a": [1, 2.5], "hooks": {"Stop": [{"x": "é"}]}}])
@pytest.mark.parametrize("layout", [{"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")}])
@pytest.mark.parametrize("end", ["", "\n"])
def test_removing_entries_restores_json(before: dict[str, Any], layout: dict[str, Any], end: str) -> None:
    text = json.dumps(before, ensure_ascii=False, **layout) + end
    changed = Json().with_entries(text, ENTRIES[1:])
    assert json.loads(changed) == add_entries(before, ENTRIES[1:])
    assert Json().with_entries(changed, ENTRIES[1:]) == changed
    assert changed.endswith("\n") == text.endswith("\n")
    assert ("\n\t" in changed) == ("\n\t" in text)
    left = Json().without_entries(changed, ENTRIES[1:])
    assert left == (text if before else "")


COMMENTED = """\
// Mine, all of it.
{
    /* before */ "theme": "dark", // why dark
    // "mcpServers": {},
    "hooks": {
        "Stop": [ // what stops
            {"command": "beep"}, // loud
        ],
    }, // no more hooks
}
// the end
"""


def test_comments_stay_in_place() -> None:
    changed = Json(comments=True).with_entries(COMMENTED, ENTRIES[1:])
    assert [line for line in changed.splitlines() if line not in COMMENTED.splitlines()] == [
        "            {",
        '                "hooks": [',
        "                    {",
        '                        "type": "command",',
        '                        "command": "/opt/a b/bin/hivelore-hook --agent x"',
        "                    }",
        "                ]",
        "            },",
        '    "mcpServers": {',
        '        "hivelore": {',
        '            "command": "python",',
        '            "args": [',
        '                "-I"',
        "            ]",
        "        }",
        "    },",
    ]
    assert Json(comments=True).with_entries(changed, ENTRIES[1:]) == changed
    assert Json(comments=True).without_entries(changed, ENTRIES[1:]) == COMMENTED


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{ // why\n"version": 1, "a": 2 }', '{ // why\n"a": 2 }'),
        ('{"a": 2, // why\r\n  "version": 1 // because\r\n}', '{"a": 2 // why\r\n  // because\r\n}'),
        ('{"a": 2, /* why */ "version": 1,}', '{"a": 2, /* why */}'),
        ('{ // why\n"version": 1 }', "{ // why\n}"),
    ],
)
def test_removing_an_entry_keeps_the_comments_around_it(text: str, left: str) -> None:
    assert Json(comments=True).without_entries(text, [Entry(("version",), 1)]) == left


COMMENTS = st.sampled_from(["", " ", "\n", "\r\n\t", "/* , } */", " // ] {\n", '\n// "\n  '])


@st.composite
def commented(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """Settings, and a text of them with spaces and comments wherever they may be."""
    settings = draw(SETTINGS)
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+', json.dumps(settings))
    return settings, "".join(f"{draw(COMMENTS)}{token}" for token in tokens) + draw(COMMENTS)


@given(commented())
def test_no_comment_is_lost_and_none_hides_an_entry(example: tuple[dict[str, Any], str]) -> None:
    settings, text = example
    once, language = merged(settings), Json(comments=True)
    if once is not None:
        changed = language.with_entries(text, ENTRIES)
        assert parse(changed, comments=True).value == once
        left = language.without_entries(changed, ENTRIES)
        assert parse(left or "{}", comments=True).value == remove_entries(once, ENTRIES)
        if "hivelore" not in text:
            assert changed.count("/*") + changed.count("//") == text.count("/*") + text.count("//")


@given(SETTINGS)
def test_edited_json_has_the_wanted_settings(settings: dict[str, Any]) -> None:
    once = merged(settings)
    if once is not None:
        text = json.dumps(settings)
        assert json.loads(Json().with_entries(text, ENTRIES)) == once
        assert json.loads(Json().without_entries(text, ENTRIES) or "{}") == remove_entries(settings, ENTRIES)


def test_json_without_our_entries_is_unchanged() -> None:
    assert Json().without_entries('{ "a":1 }', ENTRIES) == '{ "a":1 }'


@pytest.mark.parametrize(
    "text",
    [
        *("{,}", "[]", "null", "{} {}", "{", '{"a": "', "{'a': 1}", '{"a" 1}', '{"a": 1 "b": 2}', '{"a": [1,,2]}'),
        *('{"a": 1, "a": 2}', '{"a": tru}', '{"a": NaN}', '{"a": 1} /* open', '{"a": ' + "[" * 100_000),
    ],
)
@pytest.mark.parametrize("comments", [False, True])
def test_invalid_json_is_refused(text: str, comments: bool) -> None:
    with pytest.raises(Conflict):
        Json(comments=comments).with_entries(text, ENTRIES)


@pytest.mark.parametrize("text", ['{"a": 1} // why', '{"a": 1,}', '{"a": [1,]}', '/* why */ {"a": 1}'])
def test_comments_are_refused_if_the_program_does_not_allow_them(text: str) -> None:
    with pytest.raises(Conflict, match="not valid JSON"):
        Json().with_entries(text, ENTRIES)
    assert Json(comments=True).with_entries(text, ENTRIES)


def test_errors_in_json_have_line_and_column() -> None:
    with pytest.raises(Conflict, match=r"',' or '}' was expected: line 3 column 2"):
        Json().with_entries('{\n "a": 1\n "b": 2}', ENTRIES)


@pytest.mark.parametrize("text", ["", 'a = 1\n[b]\nc = "[d]" # why\n', "a = 1", "[mcp_servers.other]\nurl = 'x'\n\n"])
def test_removing_entries_restores_toml(text: str) -> None:
    changed = Toml().with_entries(text, (TABLE,))
    assert tomllib.loads(changed)["mcp_servers"]["hivelore"] == TABLE.value
    assert changed.startswith(text)
    assert Toml().without_entries(changed, (TABLE,)).rstrip() == text.rstrip()
    assert Toml().with_entries(changed, (TABLE,)) == changed


def test_our_table_is_replaced_with_its_subtables() -> None:
    text = '[mcp_servers.hivelore]\nurl = "x"\n[mcp_servers.hivelore.env]\nA = "1"\n[b]\nc = 1\n'
    changed = Toml().with_entries(text, (TABLE,))
    assert tomllib.loads(changed) == {"b": {"c": 1}, "mcp_servers": {"hivelore": TABLE.value}}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('# top\n[mcp_servers.hivelore]\nurl = "x"\n\n# about b\n[b]\nc = 1\n', "# top\n\n# about b\n[b]\nc = 1\n"),
        ('[mcp_servers.hivelore]\n[mcp_servers.hivelore.env]\nA = "1"\n# about b\n[b]\n', "# about b\n[b]\n"),
        ("[mcp_servers.a]\nx = 1\n[mcp_servers.hivelore]\n# end\n", "[mcp_servers.a]\nx = 1\n# end\n"),
    ],
)
def test_comments_about_the_next_table_survive_replacement_and_removal(text: str, left: str) -> None:
    changed = Toml().with_entries(text, (TABLE,))
    assert [line for line in changed.splitlines() if "#" in line] == [line for line in text.splitlines() if "#" in line]
    assert Toml().without_entries(changed, (TABLE,)) == left
    assert Toml().without_entries(text, (TABLE,)) == left


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { url = "x" } }\n',
        'mcp_servers.other.url = "x"\n',
        'text = """\n[mcp_servers.hivelore]\n"""\n',
        "[mcp_servers.a]\nx = 1\n\n[b]\n\n[mcp_servers.c]\nx = 1\n",
        "a = 1\r\n[b]\r\n",
    ],
)
def test_toml_of_any_form_can_be_changed(text: str) -> None:
    changed = Toml().with_entries(text, (TABLE,))
    assert tomllib.loads(changed) == add_entries(tomllib.loads(text), (TABLE,))
    assert Toml().without_entries(changed, (TABLE,)).rstrip() == text.rstrip()


@pytest.mark.parametrize("text", ["a = ", "mcp_servers = 1\n", "a = 1\na = 2\n"])
def test_invalid_toml_is_refused(text: str) -> None:
    with pytest.raises(Conflict):
        Toml().with_entries(text, (TABLE,))
