"""Links of the reference store."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.model import LinkKind, StoredLink
from hivelore.links.ports import MAX_STEPS
from hivelore.memories.stored import DocumentKey
from support.reference.state import LinkKey, State


class LinksView:
    """The part of ``storage.ports.View`` that reads links."""

    state: State

    def links_of(self, documents: Collection[DocumentKey]) -> Sequence[StoredLink]:
        kinds = list(LinkKind)
        found = [one for one in self.state.links.values() if {one.source, one.target} & set(documents)]
        by_ids = sorted(found, key=lambda one: (one.link.source, one.link.target, kinds.index(one.link.kind)))
        return sorted(by_ids, key=lambda one: one.link.at, reverse=True)

    def updates_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        return {key: found for key in documents if (found := sorted(set(self._newer(key, MAX_STEPS))))}

    def uncompared(self, model: Clean, limit: int) -> Sequence[DocumentKey]:
        return sorted(self._uncompared(model), reverse=True)[:limit]

    def count_uncompared(self, model: Clean) -> int:
        return len(list(self._uncompared(model)))

    def _uncompared(self, model: Clean) -> Iterator[DocumentKey]:
        for key, document in self.state.documents.items():
            if self.state.compared.get(key) != (document.memory.version, model):
                yield key

    def _newer(self, document: DocumentKey, steps: int) -> Iterator[DocumentKey]:
        reached = {document}
        for _ in range(steps):
            reached = {one.source for one in self._counting_updates() if one.target in reached}
            yield from reached

    def _counting_updates(self) -> Iterator[StoredLink]:
        return (one for one in self.state.links.values() if one.link.kind is LinkKind.UPDATES and one.link.counts)


def put(state: State, link: StoredLink) -> State:
    if link.source not in state.documents or link.target not in state.documents:
        return state
    return replace(state, links=state.links.put(_key(link), link))


def without(state: State, document: DocumentKey) -> State:
    """Returns the state without the links of a memory."""
    kept = state.links
    for one in state.links.values():
        if document in (one.source, one.target):
            kept = kept.drop(_key(one))
    return replace(state, links=kept, compared=state.compared.drop(document), judged=state.judged.drop(document))


def _key(link: StoredLink) -> LinkKey:
    return link.source, link.target, link.link.kind
