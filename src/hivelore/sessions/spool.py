"""Draining: taking the events that hooks could not hand over, in their order."""

import logging
from collections.abc import Callable

from hivelore.core.agents import Interface, Viewer
from hivelore.errors import HiveloreError, Unavailable
from hivelore.identity.service import Agents
from hivelore.local.endpoint import is_same
from hivelore.sessions.hook_service import HookService
from hivelore.sessions.ports import Spool
from hivelore.sessions.programs.envelope import Envelope, opened

_LOG = logging.getLogger("hivelore")


class SpoolDrain:
    def __init__(self, spool: Spool, hooks: HookService, agents: Agents, url: str | None) -> None:
        """``url``: where this service answers; None: nowhere."""
        self._spool = spool
        self._hooks = hooks
        self._agents = agents
        self._url = url
        self._elsewhere: set[str] = set()
        """The names of events that are for other services: once read is enough."""

    def drain(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Take what waits, and answer how many there were. An event is removed once what follows from it is durable:
        should that be twice, nothing follows the second time. Raises Unavailable where the rest has to wait."""
        taken = 0
        waiting = self._spool.waiting()
        self._elsewhere.intersection_update(waiting)
        for name in waiting:
            if stopping():
                break
            if name not in self._elsewhere:
                taken += self._take(name)
        return taken

    def waiting(self) -> int:
        return len(self._spool.waiting())

    def lost(self) -> int:
        """How many events could not even be put aside, since the folder was made."""
        return self._spool.lost()

    def _take(self, name: str) -> bool:
        try:
            envelope = opened(self._spool.read(name))
            if not self._is_for_us(envelope):
                self._elsewhere.add(name)
                return False
            self._hooks.told_late(envelope, self._viewer(envelope))
        except Unavailable:
            raise
        except HiveloreError as error:
            _LOG.warning("An event of a hook (%s) cannot be taken and is set aside. %s", name, error)
            self._spool.set_aside(name)
            return False
        self._spool.remove(name)
        return True

    def _is_for_us(self, envelope: Envelope) -> bool:
        """What was meant for a service elsewhere is left where it is."""
        return envelope.url is None or self._url is None or is_same(envelope.url, self._url)

    def _viewer(self, envelope: Envelope) -> Viewer:
        """Only who may write into the home folder can have put it there; a key that was given says for whom."""
        if envelope.key is not None:
            return self._agents.viewer_of_key_id(envelope.key, Interface.HOOK)
        local = self._agents.local_agent()
        return Viewer(role=local.role, agent=local.id, interface=Interface.HOOK)
