"""Proposals in the review inbox."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from hivelore.core.agents import AgentId
from hivelore.memories.stored import DocumentKey
from hivelore.review.model import (
    Decision,
    DecisionRecord,
    Proposal,
    ProposalFilter,
    ProposalId,
    ProposalKind,
    ProposalSubject,
    ScriptSubject,
    Wanted,
)
from hivelore.search.model import Filter, Visibility
from hivelore.storage.sql.statements import (
    INSTANT,
    INTERFACES,
    PLAIN,
    SCRIPT_AGENT,
    Codec,
    Columns,
    Param,
    Params,
    SqlReader,
    SqlWriter,
    Table,
    after_position,
    begins_with,
    codes,
    condition,
    plain,
    to_micros,
)

KIND = {
    ProposalKind.CONTRADICTION: 1,
    ProposalKind.SHARING: 2,
    ProposalKind.OPERATIONAL: 3,
    ProposalKind.DUPLICATE: 4,
    ProposalKind.SUPERSESSION: 5,
    ProposalKind.UPDATE: 6,
    ProposalKind.SUBJECT: 7,
    ProposalKind.SETUP_SCRIPT: 8,
}
UNDECIDED = 0
"""Stands in the column of the decision while a proposal is open."""


def _write_wanted(value: Wanted) -> str:
    return msgspec.json.encode(value).decode()


PROPOSAL = Table(
    Proposal,
    "proposal",
    "id",
    id=PLAIN,
    kind=codes(KIND),
    wanted=Codec(msgspec.json.Decoder(Wanted).decode, _write_wanted),
    **plain("why actor"),
    interface=INTERFACES,
    session=PLAIN,
    at=INSTANT,
    decided=Columns(
        DecisionRecord,
        UNDECIDED,
        how=codes({Decision.ACCEPTED: 1, Decision.REJECTED: 2, Decision.MERGED: 3}),
        at=INSTANT.named("decided_at"),
        actor=PLAIN.named("decided_by"),
        interface=INTERFACES.named("decided_door"),
        reason=PLAIN,
    ),
    script=Columns(
        ScriptSubject,
        None,
        agent=SCRIPT_AGENT.named("script_agent"),
        version=PLAIN.named("script_version"),
        digest=PLAIN.named("script_digest"),
    ),
)


_SCRIPT = PROPOSAL.names.index("script_agent")


def proposal_condition(
    where: ProposalFilter, after: tuple[datetime, ProposalId] | None
) -> tuple[str, dict[str, Param]]:
    """Returns a filter of proposals except the visibility of their memories, to be appended to other conditions."""
    sql, params = after_position("pr.at, pr.id", after)
    if where.actor is not None:
        sql, params["actor"] = f"{sql} AND pr.actor = :actor", where.actor
    if where.open is not None:
        sql += f" AND pr.how {'=' if where.open else '<>'} {UNDECIDED}"
    if where.kind is not None:
        sql, params["kind"] = f"{sql} AND pr.kind = :kind", KIND[where.kind]
    if where.prefix is not None:
        begins, ends = begins_with("pr.id", where.prefix)
        sql, params = sql + begins, {**params, **ends}
    return sql, params


def script_condition(seen: Visibility) -> tuple[str, dict[str, Param]]:
    """Returns a filter of proposals by the visibility of their setup scripts, to be appended to other conditions."""
    if seen.others and seen.swarm:
        return "", {}
    admitted = ["pr.script_agent IS NULL"]
    params: dict[str, Param] = {}
    if seen.swarm:
        admitted.append("pr.script_agent = ''")
    if seen.others:
        admitted.append("pr.script_agent <> ''")
    elif seen.own is not None:
        admitted.append("pr.script_agent = :script_owner")
        params["script_owner"] = seen.own
    return f" AND ({' OR '.join(admitted)})", params


class ReviewReader(SqlReader):
    """Implements ``review.ports.ReviewReads``."""

    TABLES = (PROPOSAL,)

    def proposal(self, proposal: ProposalId) -> Proposal | None:
        return next(iter(self._proposals(self.SQL["proposal_by_id"], {"id": proposal})), None)

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        seen, own = condition(Filter(visibility=where.seen))
        sql, params = proposal_condition(where, after)
        scripts, script_params = script_condition(where.seen)
        statement = self.SQL["proposals"].replace("{where}", seen).replace("{proposal_filter}", sql + scripts)
        return self._proposals(statement, {**own, **params, **script_params, "limit": limit})

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        return self._proposals(self.SQL["proposals_about"], {"document": document})

    def contradictions_about(self, documents: Collection[DocumentKey]) -> Sequence[Proposal]:
        params: Params = {"kind": KIND[ProposalKind.CONTRADICTION], "documents": self.array(documents)}
        return self._proposals(self.SQL["contradictions_about"], params)

    def script_proposals(self, agent: AgentId | None, limit: int) -> Sequence[Proposal]:
        return self._proposals(self.SQL["script_proposals"], {"agent": agent or "", "limit": limit})

    def count_open_proposals(self, actor: AgentId | None, kinds: Collection[ProposalKind]) -> int:
        codes = self.array([KIND[kind] for kind in kinds])
        if actor is None:
            return self.row("proposals_open_count_without_agent", kinds=codes)[0]
        return self.row("proposals_open_count", actor=actor, kinds=codes)[0]

    def count_open_by_owner(self, owner: AgentId | None, kind: ProposalKind) -> int:
        return self.row("proposals_open_count_by_owner", owner=owner, kind=KIND[kind])[0]

    def outdated_contradictions(self, limit: int) -> Sequence[Proposal]:
        kind = KIND[ProposalKind.CONTRADICTION]
        return self._proposals(self.SQL["contradictions_outdated"], {"kind": kind, "limit": limit})

    def _proposals(self, statement: str, params: Params) -> list[Proposal]:
        found = self.rows(statement, params)
        memories: dict[str, list[ProposalSubject]] = {row[0]: [] for row in found}
        if found:
            for proposal, memory, version in self.rows(self.SQL["concerned_of"], {"ids": self.array(memories.keys())}):
                memories[proposal].append(ProposalSubject(memory, version))
        proposals = ((row, tuple(memories[row[0]])) for row in found)
        # Row-level security may hide all memories of a proposal, and a setup script has none.
        return [PROPOSAL.read(row, memories=about) for row, about in proposals if about or row[_SCRIPT] is not None]


class ReviewWriter(ReviewReader, SqlWriter):
    """Implements ``review.ports.ReviewWrites``."""

    def put_proposal(self, proposal: Proposal) -> None:
        self._drop_row(proposal.id)
        about = {one.memory for one in proposal.memories}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(about)}))
        concerned = [
            {"id": proposal.id, "position": position, "document": keys[one.memory], "version": one.version}
            for position, one in enumerate(proposal.memories)
            if one.memory in keys
        ]
        if concerned or proposal.script is not None:
            self.run("proposal_put", PROPOSAL.params(proposal))
            self.run_each("concerned_put", concerned)

    def drop_proposal(self, proposal: ProposalId) -> None:
        self._drop_row(proposal)
        self.run("script_draft_drop", {"id": proposal})

    def _drop_row(self, proposal: ProposalId) -> None:
        for name in ("concerned_drop", "proposal_drop"):
            self.run(name, {"id": proposal})

    def prune_proposals(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["proposals_old"], {"before": to_micros(before), "limit": limit})
        for (proposal,) in old:
            self.drop_proposal(proposal)
        return len(old)
