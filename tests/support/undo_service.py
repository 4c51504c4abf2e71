"""The state of a world, to compare it before a change and after its undo."""

from hashlib import sha256

from hivelore.search.model import EVERYTHING
from hivelore.transfer.jsonl import _memory_digest
from support.observed import observed
from support.world import World

ALL = 10_000


def export_hash(world: World) -> str:
    """Returns the checksum that ``hivelore export --hash`` prints, of everything."""
    with world.store.read() as view:
        memories = view.page(EVERYTHING, None, ALL)
    return sha256(b"".join(sorted(_memory_digest(memory) for memory in memories))).hexdigest()


def known(world: World) -> object:
    """Returns all state but the audit trail and proposals, with the results of keyword searches."""
    with world.store.read() as view:
        seen = {name: value for name, value in observed(view).items() if name not in ("audit", "batches", "proposals")}
        words = sorted({word for memory in view.page(EVERYTHING, None, ALL) for word in memory.content.split()[:4]})
        found = {
            word: sorted(world.keywords.search(view, [word.lower().strip(".")], EVERYTHING, 50).documents.tolist())
            for word in words
        }
    return export_hash(world), seen, found


def whole(world: World) -> object:
    """Returns the complete state."""
    with world.store.read() as view:
        return observed(view)
