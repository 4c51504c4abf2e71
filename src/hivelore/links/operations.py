"""The operations of the links between memories (X23)."""

from hivelore.core.operation import Lane, Operation, delete, get, put
from hivelore.core.values import json_names
from hivelore.links.model import LinkPage
from hivelore.memories.operations import Id, NamedMemory


class NamedLink(NamedMemory, frozen=True, rename=json_names(memory="memoryId", other="otherId")):
    """Names the links between two memories, by their ids or the beginnings of them."""

    other: Id


LIST_LINKS = Operation(
    name="links",
    verb="links",
    summary="Returns what was found about a memory and others: which say the same, which contradict it, which it "
    "updates and which update it. Rejected links are included.",
    request=NamedMemory,
    response=LinkPage,
    handler="hivelore.links.handlers:list_links",
    lane=Lane.READ,
    http=get("/api/memory/{memoryId}/links"),
    tag="memory",
)
REJECT_LINK = Operation(
    name="reject_link",
    verb="links",
    summary="Rejects the links between two memories. They no longer count, and are not made again.",
    request=NamedLink,
    response=LinkPage,
    handler="hivelore.links.handlers:reject_link",
    lane=Lane.WRITE,
    http=put("/api/memory/{memoryId}/links/{otherId}/rejected"),
    tag="memory",
)
RESTORE_LINK = Operation(
    name="restore_link",
    verb="links",
    summary="Lets rejected links between two memories count again.",
    request=NamedLink,
    response=LinkPage,
    handler="hivelore.links.handlers:restore_link",
    lane=Lane.WRITE,
    http=delete("/api/memory/{memoryId}/links/{otherId}/rejected"),
    tag="memory",
)
OPERATIONS = (LIST_LINKS, REJECT_LINK, RESTORE_LINK)
