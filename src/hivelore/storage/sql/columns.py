"""Column values: codes of enums, instants and digests. A shipped code is never reused for another value."""

import hashlib
from datetime import UTC, datetime, timedelta

from hivelore.changes.model import BatchKind
from hivelore.core.agents import Interface, Role
from hivelore.core.jobs import JobState
from hivelore.events.model import Level
from hivelore.feedback.recalls import Aspect, Sign
from hivelore.memories.model import Action, Scope, Source, Statement, Topic, Trust
from hivelore.observations.model import ObservationKind
from hivelore.review.model import Decision, ProposalKind
from hivelore.search.model import RetrievalMode
from hivelore.sessions.model import HandoverState

SCOPE = {Scope.AGENT: 1, Scope.SWARM: 2}
SOURCE = {Source.MANUAL: 1, Source.FILE_INDEX: 2, Source.SESSION_SUMMARY: 3, Source.TASK_COMPLETION: 4}
ROLE = {Role.WORKER: 1, Role.LEAD: 2, Role.OPERATOR: 3}
INTERFACE = {
    Interface.PYTHON: 1,
    Interface.CLI: 2,
    Interface.REST: 3,
    Interface.MCP: 4,
    Interface.HOOK: 5,
    Interface.SERVICE: 6,
}
TRUST = {Trust.OPERATOR: 1, Trust.AGENT: 2, Trust.TOOL_OUTPUT: 3, Trust.WEB: 4}
JOB_STATE = {JobState.RUNNING: 1, JobState.DONE: 2, JobState.FAILED: 3, JobState.CANCELLED: 4}
HANDOVER_STATE = {HandoverState.WAITING: 1, HandoverState.DONE: 2, HandoverState.FAILED: 3}
KIND = {
    ObservationKind.CREATED: 1,
    ObservationKind.REINFORCED: 2,
    ObservationKind.CONTRADICTED: 3,
    ObservationKind.SET: 4,
    ObservationKind.SWITCHED_OFF: 5,
    ObservationKind.MADE_PERSISTENT: 6,
    ObservationKind.MADE_PASSING: 7,
    ObservationKind.DISPROVED: 8,
}
LEVEL = {Level.INFO: 1, Level.WARNING: 2, Level.ERROR: 3, Level.CRITICAL: 4}
"""Codes grow with severity."""
PROPOSAL_KIND = {
    ProposalKind.CONTRADICTION: 1,
    ProposalKind.SHARING: 2,
    ProposalKind.OPERATIONAL: 3,
    ProposalKind.DUPLICATE: 4,
    ProposalKind.SUPERSESSION: 5,
}
UNDECIDED = 0
"""Stands in the column of the decision while a proposal is open."""
DECISION = {Decision.ACCEPTED: 1, Decision.REJECTED: 2, Decision.MERGED: 3}
ASPECT = {Aspect.USE: 1, Aspect.RATING: 2, Aspect.OUTCOME: 3}
SIGN = {
    Sign.UNUSED: 1,
    Sign.REPEATED: 2,
    Sign.OPENED: 3,
    Sign.CITED: 4,
    Sign.APPLIED: 5,
    Sign.USELESS: 6,
    Sign.USEFUL: 7,
    Sign.FAILED: 8,
    Sign.SUCCEEDED: 9,
}
PATH = {RetrievalMode.HYBRID: 1, RetrievalMode.KEYWORDS: 2, RetrievalMode.RECENT: 3}
ACTION = {
    Action.CREATED: 1,
    Action.EDITED: 2,
    Action.PROMOTED: 3,
    Action.DEMOTED: 4,
    Action.FORGOTTEN: 5,
    Action.READ: 6,
    Action.PROPOSED: 7,
    Action.DECIDED: 8,
    Action.UNDONE: 9,
}
BATCH_KIND = {
    BatchKind.EDITED: 1,
    BatchKind.STORED: 2,
    BatchKind.OPERATED: 3,
    BatchKind.DECIDED: 4,
    BatchKind.PURGED: 5,
    BatchKind.UNDONE: 6,
}

SCOPE_OF = {code: scope for scope, code in SCOPE.items()}
SOURCE_OF = {code: source for source, code in SOURCE.items()}
ROLE_OF = {code: role for role, code in ROLE.items()}
INTERFACE_OF = {code: interface for interface, code in INTERFACE.items()}
TRUST_OF = {code: trust for trust, code in TRUST.items()}
JOB_STATE_OF = {code: state for state, code in JOB_STATE.items()}
HANDOVER_STATE_OF = {code: state for state, code in HANDOVER_STATE.items()}
KIND_OF = {code: kind for kind, code in KIND.items()}
LEVEL_OF = {code: level for level, code in LEVEL.items()}
PROPOSAL_KIND_OF = {code: kind for kind, code in PROPOSAL_KIND.items()}
DECISION_OF = {code: how for how, code in DECISION.items()}
SIGN_OF = {code: sign for sign, code in SIGN.items()}
PATH_OF = {code: path for path, code in PATH.items()}
BATCH_KIND_OF = {code: kind for kind, code in BATCH_KIND.items()}
ACTION_OF = {code: action for action, code in ACTION.items()}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    return (instant - _EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def to_micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def from_micros_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def statement_digest(value: Statement) -> bytes:
    """Returns the digest of owner, name and content. Project and scope are not part of it, so that digests from before
    projects existed stay valid."""
    return digest(value.owner or "", value.name, value.content)


def topic_digest(value: Topic) -> bytes:
    """Returns the digest of the topic that facts are about."""
    named = ["" if part is None else f"={part}" for part in (value.home, value.project)]
    return digest(*named, value.subject)


def digest(*parts: str) -> bytes:
    """Returns 16 bytes for one or several texts, for indexes on texts that may be too long to be indexed."""
    joined = b"".join([len(part).to_bytes(8, "big") + part for part in map(str.encode, parts)])
    return hashlib.blake2b(joined, digest_size=16).digest()
