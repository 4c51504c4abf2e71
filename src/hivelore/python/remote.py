"""A hive behind a service."""

import time
from typing import Any
from urllib.parse import quote

from hivelore.core.json_codec import convert, validated
from hivelore.core.operation import Lane, Operation, encode_request, response_type
from hivelore.errors import Broken, Invalid, NotFound
from hivelore.python.argument_checks import ID, IN_REVIEW, NUMBER, WHOLE, check
from hivelore.python.client import Client
from hivelore.python.hive import Hive, ProposalStatus, choice
from hivelore.python.methods import R
from hivelore.review import proposal_codec
from hivelore.review.model import Proposal, ProposalDetail, ProposalKind, ProposalPage

_LOOK_EVERY = 0.1
_USUAL = 60.0
_LONG = 600.0
"""Seconds for what may be about all memories."""


class RemoteHive(Hive):
    """The same as an embedded one, through ``python.client``, which it closes in the end."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(self, operation: Operation[..., R], request: Any) -> R:
        sent = encode_request(operation, validated(request))
        timeout = _LONG if operation.lane is Lane.SLOW else _USUAL
        answer = self._client.call(
            sent.method, sent.path, body=sent.body, query=sent.query, version=sent.version, timeout=timeout
        )
        try:
            return convert(response_type(operation, answer), answer)
        except Invalid as error:
            raise Broken(
                f"The service's answer is not as expected ({error}) Its version of Hivelore is another one than "
                "that of this program: update the older one, and restart the service."
            ) from None

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
        wanted = None if kind is None else choice(ProposalKind, kind, "kind").value
        query = {"limit": limit, "after": after, "status": status, "kind": wanted}
        return proposal_codec.read_page(self._client.call("GET", "/api/review", query=query))

    def proposal(self, proposal: str) -> ProposalDetail:
        check(ID, proposal=proposal)
        return proposal_codec.read_case(self._client.call("GET", _at(proposal)))

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        for _ in range(max(1, round(timeout / _LOOK_EVERY))):
            status = self._client.call("GET", "/api/status")
            if not status["pendingEmbeddings"] and (status["vectorsReady"] or status["vectors"] is None):
                return True
            time.sleep(_LOOK_EVERY)
        return False

    def close(self) -> None:
        self._client.close()

    def _decide(self, proposal: str, decision: str, reason: str | None) -> Proposal:
        answer = self._client.call("POST", f"{_at(proposal)}/{decision}", body={"reason": reason})
        return proposal_codec.read_proposal(answer)


def _at(proposal: str) -> str:
    if not proposal:
        raise NotFound("No proposal has an empty id. The inbox lists what there is.")
    return f"/api/review/{quote(proposal, safe='')}"
