"""Answers the operations of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.configuration.model import ConfigItem, KeyRotation
from hivelore.configuration.operations import (
    ConfigEnvironment,
    ConfigHistory,
    ConfigList,
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

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_config(app: Application, request: ListConfig, call: Call) -> ConfigList:
    found = app.configuration.list_entries(call.viewer, request.scope, request.scope_id, call.deadline)
    return ConfigList(tuple(found))


def set_config(app: Application, request: SetConfig, call: Call) -> ConfigItem:
    place = app.configuration.place(request.scope, request.scope_id, call.viewer)
    setting = Setting(
        key=request.key,
        value=request.value,
        is_secret=request.is_secret,
        env_path=request.env_path,
        description=request.description,
    )
    return app.configuration.set(place, setting, call.viewer, call.deadline)


def delete_config(app: Application, request: NamedConfig, call: Call) -> None:
    app.configuration.delete(app.configuration.resolve_id(request.entry, call.viewer), call.viewer, call.deadline)


def resolve_config(app: Application, request: ResolveConfig, call: Call) -> ResolvedConfig:
    return ResolvedConfig(tuple(app.configuration.resolved(request.agent, request.repo, call.viewer, call.deadline)))


def reveal_config(app: Application, request: NamedConfig, call: Call) -> RevealedConfig:
    which = app.configuration.resolve_id(request.entry, call.viewer)
    entry, value = app.configuration.reveal(which, call.viewer, call.deadline)
    return RevealedConfig(id=entry.id, key=entry.key, value=value)


def get_config_history(app: Application, request: NamedConfig, call: Call) -> ConfigHistory:
    which = app.configuration.resolve_id(request.entry, call.viewer)
    versions, reads = app.configuration.history(which, call.viewer, call.deadline)
    return ConfigHistory(versions=tuple(versions), reads=tuple(reads))


def get_config_environment(app: Application, request: ResolveConfig, call: Call) -> ConfigEnvironment:
    found = app.configuration.environment(request.agent, request.repo, call.viewer, call.deadline)
    return ConfigEnvironment(variables=dict(found.variables), withheld=found.withheld)


def rotate_config_key(app: Application, request: RotateConfigKey, call: Call) -> KeyRotation:
    return app.key_rotator.rotate(erase_lost=request.erase_lost)
