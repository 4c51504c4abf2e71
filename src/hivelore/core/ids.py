"""Random ids and secrets. No other module generates them."""

import secrets
from datetime import datetime

from hivelore.changes.model import BatchId
from hivelore.configuration.model import ConfigId
from hivelore.core.agents import AgentId, KeyId
from hivelore.core.jobs import JobId
from hivelore.events.model import LoggedId
from hivelore.memories.model import MemoryId
from hivelore.repos.model import RepoId
from hivelore.review.model import ProposalId
from hivelore.search.model import RecallId


def uuid7(now: datetime) -> str:
    """Returns a version 7 UUID (RFC 9562): 48 bits of milliseconds since 1970, then random bits."""
    value = int(now.timestamp() * 1000) & (1 << 48) - 1
    value = value << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0b11 << 62) | 0b10 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def memory_id(now: datetime) -> MemoryId:
    return MemoryId(uuid7(now))


def agent_id(now: datetime) -> AgentId:
    return AgentId(uuid7(now))


def job_id(now: datetime) -> JobId:
    return JobId(uuid7(now))


def recall_id(now: datetime) -> RecallId:
    return RecallId(uuid7(now))


def event_id(now: datetime) -> LoggedId:
    return LoggedId(uuid7(now))


def proposal_id(now: datetime) -> ProposalId:
    return ProposalId(uuid7(now))


def batch_id(now: datetime) -> BatchId:
    return BatchId(uuid7(now))


def config_id(now: datetime) -> ConfigId:
    return ConfigId(uuid7(now))


def repo_id(now: datetime) -> RepoId:
    return RepoId(uuid7(now))


def key_id() -> KeyId:
    """Returns the short, public part of a key: 10 hexadecimal digits."""
    return KeyId(secrets.token_hex(5))


def nonce() -> str:
    """Returns 16 random hexadecimal digits."""
    return secrets.token_hex(8)


def secret() -> str:
    """Returns 256 random bits as text without underscores."""
    return secrets.token_hex(32)


def random_bytes(count: int) -> bytes:
    """Returns random bytes for encryption."""
    return secrets.token_bytes(count)
