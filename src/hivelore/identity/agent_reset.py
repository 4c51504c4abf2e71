"""Deletes what an agent set up: its profile, its setup script and its configuration entries."""

from hivelore.configuration.entry_changes import EntryChange
from hivelore.configuration.model import ConfigScope, Place
from hivelore.configuration.service import ConfigService
from hivelore.core.agents import Agent, Viewer
from hivelore.identity.profile import ResetResult
from hivelore.identity.profiles import ProfileService
from hivelore.setup_scripts.service import NO_SCRIPT, SetupScripts
from hivelore.storage.ports import MemoryStore, Transaction

_REASON = "The agent was reset."


class AgentReset:
    def __init__(
        self, store: MemoryStore, profiles: ProfileService, setup_scripts: SetupScripts, configuration: ConfigService
    ) -> None:
        self._store = store
        self._profiles = profiles
        self._setup_scripts = setup_scripts
        self._configuration = configuration

    def reset(self, agent: Agent, viewer: Viewer, deadline: float | None = None) -> ResetResult:
        """Gives an agent the default profile, no setup script and no configuration entries, completely or not at all.
        Each of these is a batch that can be undone. Memories and keys stay."""
        reset_profile = self._profiles.prepare_reset(agent, viewer)
        remove_script = self._setup_scripts.prepare_change(agent.id, NO_SCRIPT, viewer, reason=_REASON)
        delete_entries = self._configuration.prepare_clear(Place(ConfigScope.AGENT, agent.id), viewer)
        deleted: list[EntryChange] = []

        def reset_all(tx: Transaction) -> tuple[bool, bool]:
            deleted[:] = delete_entries(tx)
            return reset_profile(tx), remove_script(tx).is_changed

        profile, script = self._store.write(reset_all, deadline)
        warnings = tuple(self._configuration.finish(deleted))
        return ResetResult(profile=profile, setup_script=script, entries=len(deleted), warnings=warnings)
