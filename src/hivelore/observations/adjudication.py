"""Adjudication: asks a language model about contradictions that the rules left uncertain, in the background (X8).

It only decides proposals in the inbox, as an operator could. If the model is not sure, a person decides. The position
is stored, so no proposal is sent to the model twice.
"""

import threading
from contextlib import suppress
from datetime import datetime, timedelta

from hivelore.core.access import visible_to
from hivelore.core.agents import SERVICE_VIEWER, LeadSees
from hivelore.core.supervisor import Report, ignore_report
from hivelore.errors import Conflict, HiveloreError, Invalid, NotFound, Stale, Unavailable
from hivelore.models.ports import LanguageModel
from hivelore.models.quota import TokenQuota
from hivelore.observations import judge_prompt
from hivelore.observations.judge_prompt import Opinion
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import Proposal, ProposalDetail, ProposalFilter, ProposalId, ProposalKind
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.ports import MemoryStore

LEASE_NAME = "adjudicating"
POSITION_SETTING = "judge.asked"
"""Setting with the last proposal sent to a model: its instant and id, ``...~...``."""
PAGE = 100
ATTEMPTS = 3
"""Attempts for a request that the model refuses. An unreachable model is retried without limit."""
LEASE = timedelta(minutes=2)
"""Longer than any answer takes."""
FIRST_PAUSE = 10.0
"""Seconds of pause after a failure; multiplied by six for each further one in a row."""
LONGEST_PAUSE = 3_600.0


class Adjudicator:
    """Call ``run``, or ``step``, from one thread."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        review_inbox: ReviewInbox,
        model: LanguageModel,
        token_quota: TokenQuota,
        leader_lease: LeaderLease,
    ) -> None:
        """``leader_lease`` has the name ``LEASE_NAME``, so that no two processes pay for the same answer."""
        self._store = store
        self._review_inbox = review_inbox
        self._model = model
        self._token_quota = token_quota
        self._leader_lease = leader_lease
        self._failed = 0
        self.last_error: str | None = None
        """Error of the last attempt."""

    def run(self, stop: threading.Event, idle: float, report: Report = ignore_report) -> None:
        """Runs until ``stop`` is set, pausing ``idle`` seconds when nothing is due. ``report`` receives the outcome of
        each round."""
        while not stop.is_set():
            try:
                done = self.step()
                report(None)
            except Unavailable as error:  # For example a full disk: try again later.
                self._note_failure(error)
                done = False
                report(error)
            if not done:
                pause = FIRST_PAUSE * 6 ** (self._failed - 1) if self._failed else idle
                stop.wait(min(pause, LONGEST_PAUSE))
        with suppress(HiveloreError):  # The lease expires anyway.
            self._leader_lease.release_lease()

    def step(self) -> bool:
        """Asks about the oldest open proposal. Returns False if there is none, the daily tokens are used up, another
        process holds the lease, or the model cannot be reached."""
        waiting = self._oldest_unasked() if self._leader_lease.is_leader() else None
        if waiting is None:
            return False
        try:
            case = self._review_inbox.detail(waiting.id, SERVICE_VIEWER)
            opinion = self._ask_model(case)
            if opinion is None:
                return False
            self._failed, self.last_error = 0, None
            if opinion.how is not None:
                reason = f"{self._model.name}: {opinion.reason}"
                self._review_inbox.decide(waiting.id, opinion.how, SERVICE_VIEWER, reason=reason)
        except (Conflict, NotFound, Stale):  # It was decided, forgotten or changed meanwhile.
            pass
        except (Invalid, Unavailable) as error:
            self._note_failure(error)
            if isinstance(error, Unavailable) or self._failed < ATTEMPTS:
                return False
        position = f"{waiting.at.isoformat()}~{waiting.id}"
        self._store.write(lambda tx: tx.set_setting(POSITION_SETTING, position))
        return True

    def _ask_model(self, case: ProposalDetail) -> Opinion | None:
        """Returns None if the daily tokens do not suffice."""
        older, newer = case.memories
        service = None if newer.operational is None else newer.operational.service
        prompt = judge_prompt.prompt(older.content, newer.content, service)
        reserved = self._token_quota.reserve(self._model.most(prompt))
        if reserved is None:
            return None
        answer = self._model.answer(
            prompt, judge_prompt.SCHEMA, lambda tokens: self._token_quota.settle(reserved, tokens)
        )
        return judge_prompt.opinion(answer)

    def _note_failure(self, error: HiveloreError) -> None:
        self._failed += 1
        self.last_error = str(error)

    def _oldest_unasked(self) -> Proposal | None:
        """Returns the oldest open contradiction after the stored position."""
        seen = visible_to(SERVICE_VIEWER, LeadSees.ALL)
        where = ProposalFilter(seen=seen, open=True, kind=ProposalKind.CONTRADICTION)
        oldest, after = None, None
        with self._store.read(sees=where.seen) as view:
            known = _parse_position(view.setting(POSITION_SETTING))
            while page := view.proposals(where, after, PAGE):
                newer = [one for one in page if known is None or (one.at, one.id) > known]
                oldest = newer[-1] if newer else oldest
                if len(newer) < PAGE:
                    break
                after = (newer[-1].at, newer[-1].id)
        return oldest


def _parse_position(setting: str | None) -> tuple[datetime, ProposalId] | None:
    if setting is None:
        return None
    at, _, proposal = setting.partition("~")
    return datetime.fromisoformat(at), ProposalId(proposal)
