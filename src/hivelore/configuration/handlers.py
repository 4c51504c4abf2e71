"""Answers the operations of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.configuration.model import ConfigItem, ConfigReport, DeletedConfig, KeyRotation
from hivelore.configuration.operations import (
    ConfigEnvironment,
    ConfigHistory,
    ConfigList,
    GetConfigHistory,
    ListConfig,
    NamedConfig,
    ResolveConfig,
    ResolvedConfig,
    RevealedConfig,
    RotateConfigKey,
    SetConfig,
)
from hivelore.configuration.service import Setting
from hivelore.core.operation import Call
from hivelore.core.values import NoArguments

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_config(app: Application, request: ListConfig, call: Call) -> ConfigList:
    found = app.configuration.list_entries(
        call.viewer,
        request.scope,
        request.scope_id,
        limit=request.limit,
        after=request.after,
        deadline=call.deadline,
    )
    return ConfigList(entries=tuple(found.entries), next=found.next, problems=tuple(found.problems))


def set_config(app: Application, request: SetConfig, call: Call) -> ConfigItem:
    place = app.configuration.place(request.scope, request.scope_id, call.viewer)
    setting = Setting(
        key=request.key,
        value=request.value,
        is_secret=request.is_secret,
        env_path=request.env_path,
        description=request.description,
    )
    return app.configuration.set(place, setting, call.viewer, call.deadline, version=request.version)


def delete_config(app: Application, request: NamedConfig, call: Call) -> DeletedConfig:
    which = app.configuration.resolve_id(request.entry, call.viewer)
    return app.configuration.delete(which, call.viewer, call.deadline)


def resolve_config(app: Application, request: ResolveConfig, call: Call) -> ResolvedConfig:
    found = app.configuration.resolved(
        request.agent, request.repo, call.viewer, key=request.key, deadline=call.deadline
    )
    return ResolvedConfig(tuple(found))


def reveal_config(app: Application, request: NamedConfig, call: Call) -> RevealedConfig:
    which = app.configuration.resolve_id(request.entry, call.viewer)
    entry, value = app.configuration.reveal(which, call.viewer, call.deadline)
    return RevealedConfig(id=entry.id, key=entry.key, value=value)


def get_config_history(app: Application, request: GetConfigHistory, call: Call) -> ConfigHistory:
    which = app.configuration.resolve_id(request.entry, call.viewer)
    versions, reads = app.configuration.history(which, call.viewer, limit=request.limit, deadline=call.deadline)
    return ConfigHistory(versions=tuple(versions), reads=tuple(reads))


def get_config_environment(app: Application, request: ResolveConfig, call: Call) -> ConfigEnvironment:
    found = app.configuration.environment(
        request.agent, request.repo, call.viewer, key=request.key, deadline=call.deadline
    )
    return ConfigEnvironment(variables=dict(found.variables), withheld=tuple(found.withheld))


def check_config(app: Application, request: NoArguments, call: Call) -> ConfigReport:
    return app.configuration_check.check()


def rotate_config_key(app: Application, request: RotateConfigKey, call: Call) -> KeyRotation:
    return app.key_rotator.rotate(erase_lost=request.erase_lost)
