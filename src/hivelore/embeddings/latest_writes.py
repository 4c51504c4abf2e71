"""The latest memories that each agent wrote in this process, until they have vectors."""

import threading
from collections.abc import Mapping, Sequence

from hivelore.core.agents import AgentId
from hivelore.memories.model import MemoryId

LATEST = 10.0
"""Seconds for which a write is one of the latest."""
MOST = 20
"""Writes of an agent that are remembered at a time."""


class LatestWrites:
    """Times of writes by agent and memory. In memory only, so that it costs no query while nothing is pending."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writes: dict[AgentId | None, dict[MemoryId, float]] = {}

    def add(self, agent: AgentId | None, memories: Sequence[MemoryId], now: float) -> None:
        with self._lock:
            known = self._writes.get(agent, {})
            others = {memory: at for memory, at in known.items() if memory not in memories}
            latest = [*others.items(), *((memory, now) for memory in memories)]
            self._writes[agent] = dict(latest[-MOST:])

    def of(self, agent: AgentId | None, now: float) -> Mapping[MemoryId, float]:
        """Returns the latest writes of an agent, oldest first."""
        with self._lock:
            return {memory: at for memory, at in self._writes.get(agent, {}).items() if now - at <= LATEST}

    def remove(self, agent: AgentId | None, writes: Mapping[MemoryId, float]) -> None:
        """Removes writes unless the memory was written again since."""
        with self._lock:
            known = self._writes.get(agent, {})
            left = {memory: at for memory, at in known.items() if writes.get(memory) != at}
            self._replace(agent, left)

    def clear(self, before: float) -> None:
        """Removes all writes before a time. One at that time may be later: clocks are not exact."""
        with self._lock:
            for agent, known in [*self._writes.items()]:
                self._replace(agent, {memory: at for memory, at in known.items() if at >= before})

    def _replace(self, agent: AgentId | None, writes: dict[MemoryId, float]) -> None:
        if writes:
            self._writes[agent] = writes
        else:
            self._writes.pop(agent, None)
