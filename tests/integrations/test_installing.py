"""Files of a set-up: all of it or nothing, twice is once, and undone to the byte where nobody changed them since."""

from pathlib import Path

import pytest

from hivelore.errors import Broken, Conflict
from hivelore.integrations.entries import Entry, Kind
from hivelore.integrations.installer import plan_setup, plan_undoing, set_up, undo
from hivelore.integrations.parts import Part, Shared, Whole
from hivelore.integrations.receipts import Receipts
from support.trees import everything

HOOK = {"command": "python hivelore-hook"}
NEWER = {"command": "python3 hivelore-hook"}
ODD = "a b'\"\n☃"
"""Part of the name of a folder."""


def parts(folder: Path, hook: object = HOOK) -> list[Part]:
    return [
        Whole(folder / "plugin" / "deep" / "file.json", b"{}\n"),
        Shared(folder / "settings.json", "json", (Entry(("hooks", "Stop"), hook, Kind.ITEM),)),
        Shared(folder / "config.toml", "toml", (Entry(("mcp_servers", "hivelore"), {"command": "python"}),)),
    ]


@pytest.fixture
def receipts(tmp_path: Path) -> Receipts:
    (tmp_path / "hivelore").mkdir()
    return Receipts(tmp_path / "hivelore")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / ODD
    place.mkdir()
    return place


def put(receipts: Receipts, wanted: list[Part]) -> int:
    """The number of files that were changed."""
    plan = plan_setup("program", None, wanted, receipts)
    set_up(plan, receipts)
    return len(plan.changes)


def take(receipts: Receipts) -> None:
    receipt = receipts.find("program", None)
    assert receipt is not None
    undo(plan_undoing(receipt), receipts)
    assert receipts.all() == []


@pytest.mark.parametrize("settings", [None, b"", b'{"hooks":{"Stop":[ {"command":"x"} ]}, "b": 1.50}', b"{ }"])
@pytest.mark.parametrize("config", [None, b"", b"# mine\r\na=1", b"[mcp_servers.hivelore]\nurl='x' # by hand\n"])
def test_undoing_restores_every_byte(
    folder: Path, receipts: Receipts, settings: bytes | None, config: bytes | None
) -> None:
    for name, content in (("settings.json", settings), ("config.toml", config)):
        if content is not None:
            (folder / name).write_bytes(content)
    before = everything(folder)
    assert put(receipts, parts(folder)) == 3
    after = everything(folder)
    assert put(receipts, parts(folder)) == 0
    assert everything(folder) == after
    take(receipts)
    assert everything(folder) == before


def test_a_second_setup_replaces_the_first_and_undoing_restores_the_original(folder: Path, receipts: Receipts) -> None:
    (folder / "settings.json").write_bytes(b'{ "a":1 }')
    before = everything(folder)
    put(receipts, parts(folder))
    assert put(receipts, parts(folder, NEWER)[1:]) == 2
    assert not (folder / "plugin" / "deep" / "file.json").exists()
    assert b"python3" in (folder / "settings.json").read_bytes()
    assert (folder / "settings.json").read_bytes().count(b"hivelore-hook") == 1
    take(receipts)
    assert everything(folder) == before


def test_undoing_removes_only_our_entries_from_an_edited_file(folder: Path, receipts: Receipts) -> None:
    put(receipts, parts(folder))
    settings, config = folder / "settings.json", folder / "config.toml"
    settings.write_text(settings.read_text().replace('"hooks"', '"mine": 1,\n  "hooks"'))
    config.write_text(f"{config.read_text()}\n[mine]\na = 1\n")
    assert put(receipts, parts(folder)) == 0
    receipt = receipts.find("program", None)
    assert receipt is not None
    diffs = {change.path: change.diff() for change in plan_undoing(receipt).changes}
    assert '-          "command"' in diffs[settings] or "hivelore-hook" in diffs[settings]
    take(receipts)
    assert settings.read_text() == '{\n  "mine": 1\n}\n'
    assert config.read_text().strip() == "[mine]\na = 1"


def test_a_file_that_was_deleted_since_stays_deleted(folder: Path, receipts: Receipts) -> None:
    (folder / "settings.json").write_text('{"a": 1}')
    put(receipts, parts(folder))
    (folder / "settings.json").unlink()
    take(receipts)
    assert everything(folder) == {}


def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(folder: Path, receipts: Receipts) -> None:
    (folder / "real.json").write_text("{}")
    (folder / "real.json").chmod(0o640)
    (folder / "settings.json").symlink_to("real.json")
    before = everything(folder)
    put(receipts, parts(folder))
    assert (folder / "settings.json").is_symlink()
    assert (folder / "real.json").stat().st_mode & 0o777 == 0o640
    take(receipts)
    assert everything(folder) == before


@pytest.mark.parametrize(
    ("name", "content"), [("settings.json", b"{,"), ("settings.json", b"\xff"), ("config.toml", b"=")]
)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_touched(
    folder: Path, receipts: Receipts, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(Conflict, match=name) as refused:
        plan_setup("program", None, parts(folder), receipts)
    assert "Nothing was changed" in str(refused.value)
    assert everything(folder) == {name: content}


def test_a_file_that_was_broken_since_is_named_once(folder: Path, receipts: Receipts) -> None:
    put(receipts, parts(folder))
    (folder / "settings.json").write_bytes(b'{"hooks": ')
    with pytest.raises(Conflict) as refused:
        put(receipts, parts(folder, NEWER))
    assert str(refused.value).count(str(folder / "settings.json")) == 1


def test_if_one_file_cannot_be_written_none_is(folder: Path, receipts: Receipts) -> None:
    plan = plan_setup("program", None, parts(folder), receipts)
    (folder / "config.toml").mkdir()
    before = everything(folder)
    with pytest.raises(Broken, match=r"config\.toml"):
        set_up(plan, receipts)
    assert everything(folder) == before
    assert receipts.all() == []


def test_an_unreadable_receipt_is_reported(receipts: Receipts, folder: Path, tmp_path: Path) -> None:
    put(receipts, parts(folder))
    (file,) = (tmp_path / "hivelore" / "integrations").iterdir()
    file.write_text('{"version": 9}')
    with pytest.raises(Broken, match="another version"):
        receipts.all()
    file.write_text("[")
    with pytest.raises(Broken, match="cannot be read"):
        receipts.all()
