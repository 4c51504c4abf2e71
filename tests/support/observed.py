"""All data of a view as plain values without keys, for comparing two stores."""

from collections.abc import Mapping, Sequence

from hivelore.indexing.model import ModelKey
from hivelore.memories.model import Memory, MemoryId, Topic
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.storage.ports import View
from hivelore.transfer.migrate.migrator import (
    all_batches,
    config_of,
    env_lines_of,
    profile_version_pages,
    repo_reports_of,
    repos_of,
    script_drafts_of,
    setup_scripts_of,
)
from support.events import ALL_EVENTS
from support.memories import EVERYTHING, instant
from support.proposals import inbox_of

ALL = 10_000


def observed(view: View, fingerprints: tuple[str, ...] = ()) -> Mapping[str, object]:
    memories = view.page(EVERYTHING, None, ALL)
    keys = {memory.id: _key(view, memory) for memory in memories}
    models = {name: model for name in fingerprints if (model := view.model_key(name)) is not None}
    return {
        "memories": list(memories),
        "documents": {memory: _document(view, key) for memory, key in keys.items()},
        "superseding": {memory: [stored.memory.id for stored in view.successors_of(memory)] for memory in keys},
        "facts": {topic: _facts(view, topic) for memory in memories if (topic := memory.topic) is not None},
        "most used": list(view.most_used(EVERYTHING, ALL)),
        "models": {name: _embedded(view, model, keys) for name, model in models.items()},
        "agents": list(view.agents()),
        "api keys": list(view.api_keys()),
        "audit": list(view.audit(ALL)),
        "jobs": list(view.jobs()),
        "events": list(view.events(ALL_EVENTS, None, ALL)),
        "cooldowns": list(view.cooldowns(instant(-1))),
        "proposals": inbox_of(view),
        "links": [one.link for one in view.links_of(keys.values())],
        "updates": _updates(view, keys),
        "batches": list(all_batches(view)),
        "configuration": list(config_of(view)),
        "env lines": list(env_lines_of(view)),
        "repos": list(repos_of(view)),
        "repo reports": list(repo_reports_of(view)),
        "setup scripts": list(setup_scripts_of(view)),
        "script drafts": list(script_drafts_of(view)),
        "profiles": list(view.profiles()),
        "profile versions": [one for page in profile_version_pages(view) for one in page],
    }


def _key(view: View, memory: Memory) -> DocumentKey:
    stored = view.get(memory.id)
    assert stored is not None
    assert stored.memory == memory
    return stored.key


def _document(view: View, key: DocumentKey) -> Mapping[str, object]:
    return {
        "history": list(view.history(key)),
        "observations": list(view.observations(key)),
        "evidence": list(view.evidence(key)),
        "chunks": [stored.chunk for stored in view.chunks(key)],
        "before": [stored.memory.id for stored in view.earlier_in_session(key, ALL)],
        "after": [stored.memory.id for stored in view.later_in_session(key, ALL)],
        "adjacent facts": [None if stored is None else stored.memory.id for stored in view.adjacent_facts(key)],
    }


def _updates(view: View, keys: Mapping[MemoryId, DocumentKey]) -> Mapping[MemoryId, list[MemoryId]]:
    ids = {key: memory for memory, key in keys.items()}
    found = view.updates_of(keys.values(), instant(0))
    return {ids[key]: [one.id for one in newer] for key, newer in found.items()}


def _facts(view: View, topic: Topic) -> list[MemoryId | None]:
    """Returns the last facts at some instants, at all, and around some instants."""
    found = [view.fact_at(topic, at) for at in (None, *map(instant, range(-3, 4)))]
    found += [one for at in map(instant, range(-3, 4)) for one in view.facts_around(topic, at)]
    return [None if stored is None else stored.memory.id for stored in found]


def _embedded(view: View, model: ModelKey, keys: Mapping[MemoryId, DocumentKey]) -> Mapping[str, object]:
    ids = {key: memory for memory, key in keys.items()}
    vectors = {
        memory: [_vectors(view, model, stored.passages) for stored in view.chunks(key)] for memory, key in keys.items()
    }
    return {
        "vectors": vectors,
        "waiting": [(ids[one.document], one.text) for one in view.queued_passages(model, instant(0), ALL)],
        "pending": view.count_pending(model),
        "stats": view.stats(EVERYTHING, model, instant(0)),
    }


def _vectors(view: View, model: ModelKey, passages: Sequence[PassageKey]) -> list[bytes | None]:
    found = view.vectors(model, passages)
    return [found[passage].tobytes() if passage in found else None for passage in passages]
