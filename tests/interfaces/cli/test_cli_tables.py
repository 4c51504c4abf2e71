"""Tables of the command line: aligned columns, also of wide characters, and a last column that fits the terminal."""

import sys

import pytest

from hivelore.cli.output import table

HEAD = ("name", "text")
ROWS = (("ibis", "wades"), ("朱鷺", "飛ぶ"), ("e\u0301tourneau", ""))


def test_columns_of_wide_characters_are_aligned_without_blanks_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    table(HEAD, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "name       text",
        "ibis       wades",
        "朱鷺       飛ぶ",
        "e\u0301tourneau",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a" * 22, "a" * 22),
        ("a" * 23, "a" * 21 + "…"),
        ("朱" * 11, "朱" * 11),
        ("朱" * 12, "朱" * 10 + "…"),
        ("a" + "朱" * 11, "a" + "朱" * 10 + "…"),
        ("e\u0301" * 22, "e\u0301" * 22),
        ("a" * 20 + " " + "a" * 9, "a" * 20 + "…"),
    ],
)
def test_on_a_terminal_the_last_column_is_cut_to_its_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, shown: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "28")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    table(HEAD, [("ibis", text)])
    assert capsys.readouterr().out.splitlines()[1] == f"ibis  {shown}"
