"""Answers the operations of agents, their keys and their profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from hivelore.core.agents import ApiKey, Role
from hivelore.core.operation import Call
from hivelore.core.values import NoArguments
from hivelore.errors import Invalid
from hivelore.identity.operations import (
    AddAgent,
    AgentList,
    AgentWithKeys,
    CompareProfiles,
    ComposePrompt,
    Identity,
    JoinedSwarm,
    JoinSwarm,
    KeyInfo,
    ListProfileVersions,
    NamedAgent,
    NewAgent,
    ProfileHistory,
    ResetAgent,
    RestoreProfile,
    RevokedKeys,
    RevokeKeys,
    UpdateProfile,
)
from hivelore.identity.profile import FIELD_BYTES, Profile, ResetResult
from hivelore.identity.profiles import GivenProfile
from hivelore.identity.prompt import Prompt
from hivelore.memories.model import NAME_LENGTH
from hivelore.memories.normalizer import CONTENT_LENGTH, MAX_TAGS, to_utc
from hivelore.review.model import Proposal
from hivelore.review.proposals import proposed_error
from hivelore.search.model import LIMIT_RANGE, QUERY_LENGTH, Difference
from hivelore.setup_scripts.handlers import set_setup_script
from hivelore.setup_scripts.operations import SetSetupScript
from hivelore.storage.ports import Transaction

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
            "profileField": FIELD_BYTES,
            "query": QUERY_LENGTH,
            "results": LIMIT_RANGE[1],
            "tags": MAX_TAGS,
        },
        profile=None if viewer.agent is None else app.profiles.card(viewer.agent),
    )


def list_agents(app: Application, request: NoArguments, call: Call) -> AgentList:
    shows_keys, cards = call.viewer.role is Role.OPERATOR, app.profiles.cards()
    return AgentList(
        tuple(
            AgentWithKeys(
                **structs.asdict(agent),
                profile=cards.get(agent.id),
                keys=tuple(map(_key_info, keys)) if shows_keys else UNSET,
            )
            for agent, keys in app.agents.list_agents()
        )
    )


def add_agent(app: Application, request: AddAgent, call: Call) -> NewAgent:
    issued = app.agents.add(request.name, Role(request.role), to_utc(request.expires_at, "expiresAt"))
    assert issued.agent is not None
    return NewAgent(agent=issued.agent, key=issued.text, expires_at=issued.key.expires_at)


def revoke_keys(app: Application, request: RevokeKeys, call: Call) -> RevokedKeys:
    return RevokedKeys(app.agents.revoke(request.agent))


def join_swarm(app: Application, request: JoinSwarm, call: Call) -> JoinedSwarm:
    given = GivenProfile(
        name=request.name,
        role=request.role,
        description=request.description,
        capabilities=request.capabilities,
    )
    profile, is_new = app.profiles.join(given, call.viewer, call.deadline)
    return JoinedSwarm(profile=profile, is_new=is_new)


def get_profile(app: Application, request: NamedAgent, call: Call) -> Profile:
    agent = app.agents.find(request.agent, call.viewer)
    return app.profiles.read(agent, call.viewer, call.deadline)


def update_profile(app: Application, request: UpdateProfile, call: Call) -> Profile:
    given = GivenProfile(
        name=request.name,
        role=request.role,
        description=request.description,
        capabilities=request.capabilities,
        soul=request.soul,
        identity=request.identity,
        notes=request.notes,
    )
    agent = app.agents.find(request.agent, call.viewer)
    if request.setup_script is None:
        return app.profiles.update(agent, given, call.viewer, expected=request.version, deadline=call.deadline)
    if given == GivenProfile():
        if request.version is not None:
            raise Invalid(
                "version (If-Match) is that of a profile, and setupScript alone does not change it. Leave version out, "
                "or use PUT /api/agents/{agent}/setup-script with the version of the script.",
                field="version",
            )
        set_setup_script(app, SetSetupScript(agent=agent.id, setup_script=request.setup_script), call)
        return app.profiles.read(agent, call.viewer, call.deadline)
    change_script = app.setup_scripts.prepare_change(agent.id, request.setup_script, call.viewer)
    proposed: list[Proposal] = []

    def change_script_too(tx: Transaction) -> None:
        proposal = change_script(tx).proposal
        proposed[:] = [] if proposal is None else [proposal]

    profile = app.profiles.update(
        agent, given, call.viewer, expected=request.version, also=change_script_too, deadline=call.deadline
    )
    for one in proposed:
        raise proposed_error(one, profile=profile.version)
    return profile


def get_profile_history(app: Application, request: ListProfileVersions, call: Call) -> ProfileHistory:
    agent = app.agents.find(request.agent, call.viewer)
    versions, before = app.profiles.history(agent, call.viewer, request.before, request.limit, call.deadline)
    return ProfileHistory(versions=tuple(versions), next=before)


def compare_profiles(app: Application, request: CompareProfiles, call: Call) -> Difference:
    agent = app.agents.find(request.agent, call.viewer)
    return app.profiles.difference(agent, call.viewer, request.older, request.newer, call.deadline)


def restore_profile(app: Application, request: RestoreProfile, call: Call) -> Profile:
    agent = app.agents.find(request.agent, call.viewer)
    return app.profiles.restore(agent, request.version, call.viewer, call.deadline)


def reset_agent(app: Application, request: ResetAgent, call: Call) -> ResetResult:
    return app.agent_reset.reset(app.agents.find(request.agent, call.viewer), call.viewer, call.deadline)


def compose_prompt(app: Application, request: ComposePrompt, call: Call) -> Prompt:
    agent = app.agents.find(request.agent, call.viewer)
    return app.prompts.compose(agent, call.viewer, repo=request.repo, task=request.task, deadline=call.deadline)


def _key_info(key: ApiKey) -> KeyInfo:
    return KeyInfo(
        id=key.id,
        agent=key.agent,
        role=key.role,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
    )
