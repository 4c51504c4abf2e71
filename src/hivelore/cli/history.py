"""Verbs that tell how a memory became what it is: history, diff."""

from typing import Annotated

from cyclopts import Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import AsJson, Speaker, whole
from hivelore.memories import version_codec
from hivelore.memories.model import Version

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
Which = Annotated[str, Parameter(name="id", help="Which memory.")]


def history(memory: Which, /, *, agent: Speaker = None, json: AsJson = False) -> None:
    """Show every version of a memory: who changed it, when and why.

    Also the memories that it replaced and that replaced it.

    Example: hivelore history ID
    """
    with connection.hive(agent) as hive:
        found = hive.history(memory)
    if json:
        output.as_json(version_codec.history(found))
        return
    output.table(
        ["version", "at", "action", "actor", "door", "reason", "content"], [_row(one) for one in found.versions]
    )
    if found.supersedes is not None:
        output.say(("replaced        ", "dim"), found.supersedes)
    for one in found.superseded_by:
        output.say(("was replaced by ", "dim"), one)
    for undone in found.taken_back:
        at = undone.at.isoformat(timespec="seconds").replace("+00:00", "Z")
        output.say(("taken back      ", "dim"), f"{at} by {undone.actor or 'operator'}: {undone.change}")


def _row(version: Version) -> list[str]:
    return [
        str(version.number),
        version.at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        version.action.value,
        version.actor or "operator",
        version.interface.value,
        version.reason or "",
        version.content,
    ]


def diff(
    memory: Which,
    older: Annotated[int | None, Parameter(name="from", help="Else the one before.", converter=whole)] = None,
    newer: Annotated[int | None, Parameter(name="to", help="Else the present one.", converter=whole)] = None,
    /,
    *,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Show what is different between two versions of a memory.

    Example: hivelore diff ID 1 1
    """
    with connection.hive(agent) as hive:
        found = hive.diff(memory, older, newer)
    if json:
        output.as_json(version_codec.difference(found))
        return
    if not found.fields:
        output.note(f"Versions {found.older} and {found.newer} say the same.")
    for name, text in found.fields.items():
        output.say((name, "bold"))
        for line in text.split("\n"):
            output.say((line, _COLOURS.get(line[:1], "")))
