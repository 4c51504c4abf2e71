"""Answers the operations of agents and their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from hivelore.core.agents import ApiKey, Role
from hivelore.core.operation import Call
from hivelore.core.values import NoArguments
from hivelore.identity.operations import (
    AddAgent,
    AgentList,
    AgentWithKeys,
    Identity,
    KeyInfo,
    NewAgent,
    RevokedKeys,
    RevokeKeys,
)
from hivelore.memories.model import NAME_LENGTH
from hivelore.memories.normalizer import CONTENT_LENGTH, MAX_TAGS, to_utc
from hivelore.search.model import LIMIT_RANGE, QUERY_LENGTH

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def who_am_i(app: Application, request: NoArguments, call: Call) -> Identity:
    viewer = call.viewer
    return Identity(
        agent=viewer.agent,
        name=None if viewer.agent is None else app.agents.agent(viewer.agent).name,
        role=viewer.role,
        acting=viewer.acting,
        capabilities=tuple(app.settings.capabilities),
        lead_sees=app.settings.lead_sees,
        limits={
            "content": CONTENT_LENGTH,
            "name": NAME_LENGTH,
            "query": QUERY_LENGTH,
            "results": LIMIT_RANGE[1],
            "tags": MAX_TAGS,
        },
    )


def list_agents(app: Application, request: NoArguments, call: Call) -> AgentList:
    shows_keys = call.viewer.role is Role.OPERATOR
    return AgentList(
        tuple(
            AgentWithKeys(**structs.asdict(agent), keys=tuple(map(_key_info, keys)) if shows_keys else UNSET)
            for agent, keys in app.agents.list_agents()
        )
    )


def add_agent(app: Application, request: AddAgent, call: Call) -> NewAgent:
    issued = app.agents.add(request.name, Role(request.role), to_utc(request.expires_at, "expiresAt"))
    assert issued.agent is not None
    return NewAgent(agent=issued.agent, key=issued.text, expires_at=issued.key.expires_at)


def revoke_keys(app: Application, request: RevokeKeys, call: Call) -> RevokedKeys:
    return RevokedKeys(app.agents.revoke(request.agent))


def _key_info(key: ApiKey) -> KeyInfo:
    return KeyInfo(
        id=key.id,
        agent=key.agent,
        role=key.role,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
    )
