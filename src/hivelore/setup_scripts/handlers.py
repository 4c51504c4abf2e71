"""Answers the operations of setup scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.agents import AgentId
from hivelore.core.operation import Call
from hivelore.core.values import NoArguments
from hivelore.identity.profile import OWN
from hivelore.review.proposals import proposed_error
from hivelore.setup_scripts.decisions import script_diff
from hivelore.setup_scripts.model import ScriptVersion
from hivelore.setup_scripts.operations import (
    AgentScript,
    AgentSetupScripts,
    CompareScripts,
    ListScriptVersions,
    RestoreScript,
    ScriptDifference,
    ScriptHistory,
    ScriptResult,
    ScriptUpdate,
    ScriptVersionInfo,
    SetGlobalSetupScript,
    SetSetupScript,
    SetupScript,
    UpdateSetupScript,
)
from hivelore.setup_scripts.service import ScriptOutcome

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def get_setup_script(app: Application, request: AgentScript, call: Call) -> AgentSetupScripts:
    return _scripts(app, _find_agent(app, request.agent, call), call)


def set_setup_script(app: Application, request: SetSetupScript, call: Call) -> ScriptResult:
    return _changed(app, _find_agent(app, request.agent, call), request, call)


def get_global_setup_script(app: Application, request: NoArguments, call: Call) -> SetupScript:
    current = app.setup_scripts.current(None, call.viewer, call.deadline)
    return SetupScript(setup_script=_text(current), version=_number(current))


def set_global_setup_script(app: Application, request: SetGlobalSetupScript, call: Call) -> ScriptResult:
    return _changed(app, None, request, call)


def list_versions(app: Application, request: ListScriptVersions, call: Call) -> ScriptHistory:
    found = app.setup_scripts.history(
        _owner(app, request.agent, call),
        call.viewer,
        before=request.before,
        limit=request.limit,
        deadline=call.deadline,
    )
    return ScriptHistory(
        versions=tuple(
            ScriptVersionInfo(
                number=one.number,
                at=one.at,
                actor=one.actor,
                interface=one.interface,
                reason=one.reason,
                size=len(one.text.encode()),
            )
            for one in found
        )
    )


def compare_versions(app: Application, request: CompareScripts, call: Call) -> ScriptDifference:
    agent = _owner(app, request.agent, call)
    older, newer = (
        app.setup_scripts.version(agent, number, call.viewer, call.deadline)
        for number in (request.older, request.newer)
    )
    diff = script_diff(older.text, newer.text, f"version {older.number}", f"version {newer.number}")
    return ScriptDifference(older=older.number, newer=newer.number, diff=diff)


def restore_version(app: Application, request: RestoreScript, call: Call) -> ScriptResult:
    agent = _owner(app, request.agent, call)
    done = app.setup_scripts.restore(agent, request.version, call.viewer, reason=request.reason, deadline=call.deadline)
    return _result(done)


def update_own_script(app: Application, request: UpdateSetupScript, call: Call) -> ScriptUpdate:
    """The argument ``setupScript`` of another tool calls this, too."""
    agent = _find_agent(app, OWN, call)
    message = "This runs before your sessions where the operator turned it on."
    if request.setup_script is not None:
        done = app.setup_scripts.change(
            agent, request.setup_script, call.viewer, reason=request.reason, deadline=call.deadline
        )
        changed = _result(done).changed
        message = "Your setup script is changed." if changed else "Your setup script already says this."
    found = _scripts(app, agent, call)
    return ScriptUpdate(
        message=message,
        setup_script=found.setup_script,
        global_setup_script=found.global_setup_script,
        version=found.version,
    )


def _owner(app: Application, agent: str | None, call: Call) -> AgentId | None:
    return None if agent is None else _find_agent(app, agent, call)


def _find_agent(app: Application, agent: str, call: Call) -> AgentId:
    return app.agents.find(agent, call.viewer, "agent").id


def _scripts(app: Application, agent: AgentId, call: Call) -> AgentSetupScripts:
    found = app.setup_scripts.of_agent(agent, call.viewer, call.deadline)
    return AgentSetupScripts(
        agent=agent,
        setup_script=_text(found.own),
        global_setup_script=_text(found.shared),
        version=_number(found.own),
        global_version=_number(found.shared),
    )


def _changed(
    app: Application, agent: AgentId | None, request: SetSetupScript | SetGlobalSetupScript, call: Call
) -> ScriptResult:
    done = app.setup_scripts.change(
        agent,
        request.setup_script,
        call.viewer,
        version=request.version,
        reason=request.reason,
        propose=request.propose,
        deadline=call.deadline,
    )
    return _result(done)


def _result(done: ScriptOutcome) -> ScriptResult:
    """Raises Proposed if the change became a proposal."""
    if done.proposal is not None:
        raise proposed_error(done.proposal)
    return ScriptResult(setup_script=_text(done.current), version=_number(done.current), changed=done.is_changed)


def _text(version: ScriptVersion | None) -> str | None:
    return None if version is None else version.text or None


def _number(version: ScriptVersion | None) -> int:
    return 0 if version is None else version.number
