"""Everything a view shows, as plain values without keys, so that two stores can be compared."""

from collections.abc import Mapping, Sequence

from hivelore.domain.index import DocumentKey, ModelKey, PassageKey
from hivelore.domain.memory import Memory, MemoryId
from hivelore.ports import View
from support.memories import EVERYTHING, instant

ALL = 10_000


def observed(view: View, fingerprints: tuple[str, ...] = ()) -> Mapping[str, object]:
    memories = view.page(EVERYTHING, None, ALL)
    keys = {memory.id: _key(view, memory) for memory in memories}
    models = {name: model for name in fingerprints if (model := view.model(name)) is not None}
    return {
        "memories": list(memories),
        "documents": {memory: _document(view, key) for memory, key in keys.items()},
        "models": {name: _embedded(view, model, keys) for name, model in models.items()},
        "agents": list(view.agents()),
        "api keys": list(view.api_keys()),
        "audit": list(view.audit(ALL)),
        "jobs": list(view.jobs()),
    }


def _key(view: View, memory: Memory) -> DocumentKey:
    stored = view.get(memory.id)
    assert stored is not None
    assert stored.memory == memory
    return stored.key


def _document(view: View, key: DocumentKey) -> Mapping[str, object]:
    return {
        "history": list(view.history(key)),
        "chunks": [stored.chunk for stored in view.chunks(key)],
        "before": [stored.memory.id for stored in view.before(key, ALL)],
        "after": [stored.memory.id for stored in view.after(key, ALL)],
    }


def _embedded(view: View, model: ModelKey, keys: Mapping[MemoryId, DocumentKey]) -> Mapping[str, object]:
    ids = {key: memory for memory, key in keys.items()}
    vectors = {
        memory: [_vectors(view, model, stored.passages) for stored in view.chunks(key)] for memory, key in keys.items()
    }
    return {
        "vectors": vectors,
        "waiting": [(ids[one.document], one.text) for one in view.waiting(model, instant(0), ALL)],
        "pending": view.pending(model),
        "stats": view.stats(EVERYTHING, model, instant(0)),
    }


def _vectors(view: View, model: ModelKey, passages: Sequence[PassageKey]) -> list[bytes | None]:
    found = view.vectors(model, passages)
    return [found[passage].tobytes() if passage in found else None for passage in passages]
