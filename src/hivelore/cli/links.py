"""The verb ``links``: what was found about a memory and others."""

from typing import Annotated

from cyclopts import Parameter

from hivelore.cli import output
from hivelore.cli.connection import call, path
from hivelore.cli.options import ActingAgent, AsJson
from hivelore.cli.output import Column, Json
from hivelore.errors import Invalid

_MEMORY = "/api/memory"
_VERBS = {
    "updates": ("updates", "updated by"),
    "same-as": ("repeats", "repeated by"),
    "conflicts-with": ("contradicts", "contradicted by"),
    "may-update": ("may update", "may be updated by"),
}
"""For a link from the memory, and for one to it."""


def links(
    memory: Annotated[str, Parameter(name="id", help="Id of the memory.")],
    /,
    *,
    reject: Annotated[str | None, Parameter(help="The link to this memory is wrong.", metavar="ID")] = None,
    restore: Annotated[str | None, Parameter(help="Let a rejected link count again.", metavar="ID")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Show which memories a memory updates, repeats or contradicts.

    A trained model compares new memories with earlier ones in the background. What it finds changes no memory, but an
    updated one comes after its successor in every search.

    Example: hivelore links ID
    """
    if reject is not None and restore is not None:
        raise Invalid("Use --reject or --restore, not both.")
    place = f"{path(_MEMORY, memory)}/links"
    other = reject or restore
    if other is None:
        answer = call("GET", place, agent=agent)
    else:
        method = "PUT" if reject is not None else "DELETE"
        answer = call(method, f"{path(place, other)}/rejected", agent=agent)
    columns = (
        Column("link", _verb),
        Column("id", "other", kind="id"),
        Column("stated", "statedAt", "age"),
        Column("what differs", _difference),
        Column("certainty", _certainty),
        Column("name", _name),
    )
    if json:
        output.print_json(answer)
        return
    if not answer["links"]:
        output.note("No links. New memories are compared within seconds of being stored.")
        return
    output.show_table(columns, answer["links"])


def _verb(one: Json) -> str:
    link: Json = one["link"]
    ours, theirs = _VERBS[str(link["kind"])]
    verb = theirs if link["source"] == one["other"] else ours
    return verb if link["rejectedAt"] is None else f"{verb} (rejected)"


def _difference(one: Json) -> str:
    return one["link"]["why"]


def _certainty(one: Json) -> str:
    return f"{one['link']['certainty']:.2f}"


def _name(one: Json) -> str:
    return output.shortened(one["name"], 60)
