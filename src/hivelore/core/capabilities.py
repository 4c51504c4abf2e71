"""Capabilities: sets of MCP tools that a service offers to agents."""

from enum import StrEnum


class Capability(StrEnum):
    """A set of tools. Each tool names the one that it belongs to."""

    MEMORY = "memory"
    REVIEW = "review"
    OPERATIONS = "operations"
    TASKS = "tasks"
    SWARM = "swarm"


DEFAULT = (Capability.MEMORY.value,)
