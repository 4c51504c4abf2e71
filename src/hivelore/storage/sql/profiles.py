"""Profiles of agents, their versions, and the changes of profiles in batches."""

from collections.abc import Sequence

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.identity.profile import ProfileChange, ProfileContent, ProfileHead, ProfileVersion
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    INTERFACES,
    PLAIN,
    TEXTS,
    Columns,
    SqlReader,
    SqlWriter,
    Table,
    plain,
)

PROFILE = Table(
    ProfileHead,
    "profile",
    "agent",
    **plain("agent version last"),
    updated_at=INSTANT,
    **plain("role description"),
    capabilities=TEXTS,
)
PROFILE_VERSION = Table(
    ProfileVersion,
    "profile_version",
    "agent number",
    "size",
    **plain("agent number"),
    at=INSTANT,
    actor=PLAIN,
    interface=INTERFACES,
    follows=PLAIN,
    is_conflict=FLAG.named("conflict"),
    content=Columns(
        ProfileContent,
        None,
        **plain("name role description"),
        capabilities=TEXTS,
        **plain("soul identity notes"),
    ),
)
PROFILE_CHANGE = Table(
    ProfileChange,
    "profile_change",
    "batch agent",
    agent=PLAIN,
    before=PLAIN.named("number_before"),
    after=PLAIN.named("number_after"),
)


class ProfileReader(SqlReader):
    """Implements ``identity.ports.ProfileReads``."""

    TABLES = (PROFILE, PROFILE_VERSION, PROFILE_CHANGE)

    def profile(self, agent: AgentId) -> ProfileHead | None:
        return self.read_one(PROFILE, "profile_by_agent", agent=agent)

    def profiles(self) -> Sequence[ProfileHead]:
        return self.read_all(PROFILE, "profiles")

    def profile_version(self, agent: AgentId, number: int) -> ProfileVersion | None:
        return self.read_one(PROFILE_VERSION, "profile_version_by_number", agent=agent, number=number)

    def profile_versions(self, agent: AgentId, before: int, limit: int) -> Sequence[ProfileVersion]:
        return self.read_all(PROFILE_VERSION, "profile_versions", agent=agent, before=before, limit=limit)

    def profile_version_sizes(self, agent: AgentId) -> Sequence[tuple[int, int]]:
        return [(number, size) for number, size in self.rows(self.SQL["profile_version_sizes"], {"agent": agent})]

    def profile_changes(self, batch: BatchId) -> Sequence[ProfileChange]:
        return self.read_all(PROFILE_CHANGE, "profile_changes", batch=batch)


class ProfileWriter(ProfileReader, SqlWriter):
    """Implements ``identity.ports.ProfileWrites``."""

    def put_profile(self, profile: ProfileHead) -> None:
        self.run("profile_put", PROFILE.params(profile))

    def put_profile_version(self, version: ProfileVersion) -> None:
        self.run("profile_version_put", {**PROFILE_VERSION.params(version), "size": version.content.size})

    def drop_profile_versions(self, agent: AgentId, last: int, kept: int) -> None:
        self.run("profile_versions_drop", {"agent": agent, "last": last, "kept": kept})

    def put_profile_changes(self, batch: BatchId, changes: Sequence[ProfileChange]) -> None:
        self.run_each("profile_change_put", [{**PROFILE_CHANGE.params(one), "batch": batch} for one in changes])
