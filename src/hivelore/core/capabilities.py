"""Capabilities: sets of MCP tools that a service offers to agents."""

from collections.abc import Iterable, Mapping

TOOLS: Mapping[str, tuple[str, ...]] = {
    "memory": ("memory-search", "memory-get", "memory-rate", "memory-store", "memory-delete", "inject-learning"),
    "review": ("memory-review",),
    "operations": ("memory-observe", "memory-context"),
}
"""By capability: the names of its tools."""
DEFAULT = ("memory",)


def tools_of(capabilities: Iterable[str]) -> list[str]:
    """Returns the tools of the given capabilities; unknown capabilities have none."""
    return [tool for capability in capabilities for tool in TOOLS.get(capability, ())]
