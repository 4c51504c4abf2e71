"""Links of the reference store."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.model import DOUBTS, LinkKind, StoredLink
from hivelore.links.ports import KEPT
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
        return self._later_than(documents, (LinkKind.UPDATES,), 0.0)

    def doubts_of(
        self, documents: Collection[DocumentKey], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        return self._later_than(documents, DOUBTS, certainty)

    def doubts_among(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        found = {key: self._sources(key, DOUBTS, 0.0) for key in documents}
        among = {key: [one for one in some if one in documents] for key, some in found.items()}
        return {key: some for key, some in among.items() if some}

    def uncompared(self, model: Clean, limit: int) -> Sequence[DocumentKey]:
        return sorted(self._uncompared(model), reverse=True)[:limit]

    def count_uncompared(self, model: Clean) -> int:
        return len(list(self._uncompared(model)))

    def _uncompared(self, model: Clean) -> Iterator[DocumentKey]:
        for key, document in self.state.documents.items():
            if self.state.compared.get(key) != (document.memory.version, model):
                yield key

    def _later_than(
        self, documents: Collection[DocumentKey], kinds: Collection[LinkKind], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        found = {key: self._sources(key, kinds, certainty)[:KEPT] for key in documents}
        return {key: some for key, some in found.items() if some}

    def _sources(self, target: DocumentKey, kinds: Collection[LinkKind], certainty: float) -> list[DocumentKey]:
        to_it = (one for one in self.state.links.values() if one.target == target and one.link.counts)
        sources = {one.source for one in to_it if one.link.kind in kinds and one.link.certainty >= certainty}
        return sorted(sources, reverse=True)


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
