"""Ids that tables and results show: the shortest beginning that is the id of one row."""

from hypothesis import given
from hypothesis import strategies as st

from hivelore.cli.output import short_ids
from support.command_line import CommandLine
from support.service import Service


def an_id(one: int, other: int) -> str:
    return f"01a21bcf-d64a-7b5c-8{one:03x}-{other:04x}1e444b55"


ids = st.builds(an_id, st.integers(0, 2), st.integers(0x8000, 0x8011))


@given(found=st.lists(ids, max_size=8))
def test_a_short_id_begins_one_id_and_no_shorter_one_of_23_characters_does(found: list[str]) -> None:
    for whole, short in short_ids(found).items():
        assert whole is not None
        assert whole.startswith(short)
        assert 23 <= len(short) <= 36
        assert {one for one in found if one.startswith(short)} == {whole}
        others = {one for one in found if one.startswith(short[:-1].rstrip("-"))} - {whole}
        assert len(short) == 23 or others


def test_what_is_no_id_stays_whole() -> None:
    assert short_ids(["operator", None, "01a21bcf-d64a-7b5c-834c"]) == {
        "operator": "operator",
        "01a21bcf-d64a-7b5c-834c": "01a21bcf-d64a-7b5c-834c",
    }


def test_what_a_verb_shows_is_what_another_takes(cli: CommandLine, me: str) -> None:
    as_me = ("--agent", me)
    _, shown, *_ = cli("remember", "The ibis wades.", *as_me).out.replace(":", "").split()
    assert f"{shown}  " in cli("recall", "ibis", *as_me).out
    whole = cli.json("get", shown, *as_me)["id"]
    assert whole in cli("get", shown, *as_me).out
    edited = cli("edit", shown, "--content", "The ibis flies.", *as_me).out.split()
    assert edited[3] == f"{shown}:"
    batch = cli("batches", "--memory", shown).out.splitlines()[1].split()[0]
    undone = cli("undo", batch)
    assert undone.out == f"Restored: {shown}\n"
    (again,) = (word for word in undone.err.split("'")[1].split() if word.startswith("01"))
    assert cli("undo", again).code == 0
    assert cli("batches", batch, "--drop").code == 0
    new = cli.json("remember", "The ibis sleeps.", "--supersedes", shown, *as_me)["memory"]
    assert new["supersedes"] == whole
    assert cli("forget", shown, *as_me).code == 0


def test_the_short_id_of_a_purged_memory_still_leads_to_it(cli: CommandLine, service: Service) -> None:
    for text in ("The godwit left.", "The godwit is gone."):
        service.remember_expired("local", text)
        count = cli.json("maintain", "--purge-expired")["expired"]
        purged = cli("maintain", "--purge-expired", "--apply", "--yes-delete", str(count))
        batch = purged.err.split("'hivelore undo ")[1].split("'")[0]
        (shown,) = (line.split()[0] for line in cli("batches", batch).out.splitlines() if text in line)
        assert cli("batches", "--memory", shown).out.splitlines()[1].startswith(batch)
        if text == "The godwit left.":
            assert cli("undo", shown).out == f"Restored: {shown}\n"
        else:
            assert cli("forget", shown, "--yes").code == 0
            assert cli("undo", shown).code == 3
