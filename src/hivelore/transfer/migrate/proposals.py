"""Moving the review inbox from one store to another: its memories are there already."""

from collections.abc import Iterable, Sequence

from hivelore.review.model import Proposal, ProposalFilter
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

PAGE = 1_000
_ALL_PROPOSALS = ProposalFilter(seen=EVERYTHING.visibility)


def proposal_pages(view: View) -> Iterable[Sequence[Proposal]]:
    """All proposals in pages, newest first."""
    page = view.proposals(_ALL_PROPOSALS, None, PAGE)
    while page:
        yield page
        page = view.proposals(_ALL_PROPOSALS, (page[-1].at, page[-1].id), PAGE)


def copy_proposals(view: View, target: MemoryStore) -> None:
    """Let the target have the proposals that the view shows, and no others."""
    with target.read() as there:
        copied = {one.id: one for page in proposal_pages(there) for one in page}
    kept = {one.id for page in proposal_pages(view) for one in page}
    for page in proposal_pages(view):
        changed = [one for one in page if copied.get(one.id) != one]
        if changed:
            target.write(lambda tx, changed=changed: _put_proposals(tx, changed))
    for gone in copied.keys() - kept:
        target.write(lambda tx, gone=gone: tx.drop_proposal(gone))


def _put_proposals(tx: Transaction, proposals: Sequence[Proposal]) -> None:
    for one in proposals:
        tx.put_proposal(one)
