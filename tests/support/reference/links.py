"""Links of the reference store."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.decisions import may_update
from hivelore.links.model import DOUBTS, LinkKind, StoredLink, Successor
from hivelore.links.ports import KEPT, SHARE
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

    def updates_of(self, documents: Collection[DocumentKey], at: datetime) -> Mapping[DocumentKey, Sequence[Successor]]:
        found: dict[DocumentKey, Sequence[Successor]] = {}
        for target in documents:
            some = sorted(
                (self._successor(one, at) for one in self._sources(target, (LinkKind.UPDATES,))), reverse=True
            )
            places = Counter[tuple[bool, AgentId | None]]()
            in_turns = list[tuple[bool, bool, Successor]]()
            for one in some:
                places[of_owner := (one.holds, self.state.documents[one.key].memory.owner)] += 1
                in_turns.append((one.holds, places[of_owner] <= SHARE, one))
            if some:
                found[target] = sorted((one for *_, one in sorted(in_turns, reverse=True)[:KEPT]), reverse=True)
        return found

    def doubts_of(
        self, documents: Collection[DocumentKey], certainty: float, at: datetime
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        found: dict[DocumentKey, Sequence[DocumentKey]] = {}
        for target in documents:
            some = list[tuple[bool, float, Successor]]()
            for key, certain in self._sources(target, DOUBTS).items():
                older, newer = (self.state.documents[one].memory for one in (target, key))
                if certain >= certainty and may_update(older, newer):
                    one = self._successor(key, at)
                    some.append((one.holds, certain, one))
            kept = sorted(some, reverse=True)[:KEPT]
            if kept:
                by_certainty = sorted(kept, key=lambda one: (one[1], one[2].since, one[2].id), reverse=True)
                found[target] = [one.key for *_, one in by_certainty]
        return found

    def later_among(
        self, documents: Collection[DocumentKey], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        found = dict[DocumentKey, list[DocumentKey]]()
        for key in documents:
            unsure = self._sources(key, (LinkKind.MAY_UPDATE,)).items()
            sure = self._sources(key, (LinkKind.UPDATES, LinkKind.CONFLICTS_WITH))
            found[key] = sorted({*sure, *(one for one, certain in unsure if certain >= certainty)}, reverse=True)
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

    def _successor(self, key: DocumentKey, at: datetime) -> Successor:
        memory = self.state.documents[key].memory
        return Successor(memory.held_at(at) and memory.is_live(at), memory.holds_since, memory.id, key)

    def _sources(self, target: DocumentKey, kinds: Collection[LinkKind]) -> dict[DocumentKey, float]:
        """Returns the sources of the links to a memory with the greatest certainty of each."""
        found: dict[DocumentKey, float] = {}
        for one in self.state.links.values():
            if one.target == target and one.link.counts and one.link.kind in kinds:
                found[one.source] = max(found.get(one.source, 0.0), one.link.certainty)
        return found


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
