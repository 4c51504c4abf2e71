"""A hive inside this process: it owns its data directory and runs its own background work."""

from typing import Any

from hivelore.api import calls
from hivelore.api.requests import (
    ProposalListing,
    listed_proposals,
)
from hivelore.core.agents import Viewer
from hivelore.core.json_codec import validated
from hivelore.core.operation import Call, Operation
from hivelore.python.argument_checks import ID, IN_REVIEW, NUMBER, WHOLE, check
from hivelore.python.hive import Hive, ProposalStatus, choice
from hivelore.python.methods import R
from hivelore.review.model import DECISIONS, Proposal, ProposalDetail, ProposalId, ProposalKind, ProposalPage
from hivelore.runtime.app import Application


class EmbeddedHive(Hive):
    """Speaks as one viewer with the services of an application that it closes in the end."""

    def __init__(self, app: Application, viewer: Viewer) -> None:
        self._app = app
        self._viewer = viewer

    def call(self, operation: Operation[..., R], request: Any) -> R:
        return calls.run(self._app, operation, validated(request), Call(viewer=self._viewer))

    def review(
        self,
        *,
        limit: int = 20,
        after: str | None = None,
        status: ProposalStatus = "open",
        kind: ProposalKind | str | None = None,
    ) -> ProposalPage:
        check(WHOLE, limit=limit)
        check(ID.or_none(), after=after)
        check(IN_REVIEW, status=status)
        wanted = None if kind is None else choice(ProposalKind, kind, "kind")
        listing = ProposalListing(limit=limit, after=after, status=status, kind=wanted)
        return listed_proposals(self._app.review_inbox, listing, self._viewer)

    def proposal(self, proposal: str) -> ProposalDetail:
        check(ID, proposal=proposal)
        return self._app.review_inbox.detail(ProposalId(proposal), self._viewer)

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        return self._app.embedding.wait(timeout)

    def close(self) -> None:
        self._app.close()

    def _decide(self, proposal: str, decision: str, reason: str | None) -> Proposal:
        return self._app.review_inbox.decide(ProposalId(proposal), DECISIONS[decision], self._viewer, reason=reason)
