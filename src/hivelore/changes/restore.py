"""Restores pre-images within a transaction: row, history, chunks, keywords, vectors, links and valid time.

Vectors of unchanged passages are kept; the others are embedded in the background.
"""

from collections.abc import Collection, Mapping, Sequence

from hivelore.changes.journal import join_histories
from hivelore.changes.model import Preimage
from hivelore.core.values import replace
from hivelore.feedback.recalls import Evidence, merge_evidence
from hivelore.indexing.writer import IndexWriter
from hivelore.memories import whole_reader
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.temporal import link, may_have_links
from hivelore.memories.whole import WholeMemory
from hivelore.review.model import Proposal
from hivelore.storage.ports import Transaction


def restore(tx: Transaction, index_writer: IndexWriter, parts: Sequence[Preimage], *, reopen: bool) -> None:
    """Restores the given pre-images. ``reopen``: proposals about them become open again."""
    present = whole_reader.read_memories(tx, [one.key for one in parts])
    there = {one.key: one for one in present.memories}
    proposals = [one for key in there for one in tx.proposals_about(key)]
    events = [one for key in there for one in tx.events_about(key)]
    links = [*tx.links_of(there)]
    for one in parts:
        if one.key in there:
            take_off = index_writer.drop if one.before is None else index_writer.withdraw
            take_off(tx, Stored(one.key, there[one.key].memory))
    counted = {each for one in parts if one.before is not None for each in one.before.whole.evidence}
    known = {each.occasion for one in there.values() for each in one.evidence}
    back = [_with_later_usage(one, there.get(one.key), counted, known) for one in parts if one.before is not None]
    index_writer.import_memories(tx, back)
    for fingerprint, made in present.embedded.items():
        tx.put_vectors(tx.register_model(fingerprint, made.dimension), made.vectors, made.tokens)
    for one in parts:
        if one.before is not None:
            events += one.before.events
            links += one.before.links
            proposals += one.before.proposals if reopen or one.key not in there else ()
    versions = {one.memory.id: one.memory.version for one in back}
    for proposal in proposals:
        if proposal.decided is not None or _has_existing_versions(proposal, versions):
            tx.put_proposal(proposal)
    tx.log_events(events)
    for one in links:
        tx.put_link(one)
    _link_restored(tx, back, there)


def _has_existing_versions(proposal: Proposal, versions: Mapping[MemoryId, int]) -> bool:
    """Returns False for a proposal about a reverted version, because the next edit gets the same number and nobody
    should accept a text that they have not seen."""
    return all(each.version <= versions.get(each.memory, each.version) for each in proposal.memories)


def _with_later_usage(
    one: Preimage, now: WholeMemory | None, counted: Collection[Evidence], known: Collection[object]
) -> WholeMemory:
    """Returns the previous state with the usage recorded since. ``known``: occasions that still have evidence; usage
    that was reset meanwhile stays so."""
    assert one.before is not None
    was = one.before.whole
    if now is None:
        return was
    before = [each for each in was.evidence if each.occasion in known]
    since = [each for each in now.evidence if each not in counted]
    read = replace(was.memory, access_count=now.memory.access_count, accessed_at=now.memory.accessed_at)
    return replace(
        was, memory=read, history=join_histories(now.history, was.history), evidence=merge_evidence(before, since)
    )


def _link_restored(tx: Transaction, back: Sequence[WholeMemory], there: Mapping[DocumentKey, WholeMemory]) -> None:
    """Links the restored memories in time with memories stored meanwhile."""
    for one in back:
        if one.key not in there and may_have_links(one.memory):
            stored = tx.get(one.memory.id)
            assert stored is not None
            link(tx, stored)
