"""Hivelore: the memory that every swarm of coding agents uses.

    import hivelore

    with hivelore.open() as hive:
        hive.remember("The API requires a Bearer prefix on all auth headers.")
        for hit in hive.recall("why do I get a 403?"):
            print(hit.memory.name)

Names are looked up when they are first used: importing the package costs nothing.
"""

# Written out, because importing typing takes longer than starting the bridge.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from msgspec import UNSET

    from hivelore.memories.drafts import Draft
    from hivelore.memories.model import Memory, Scope, Source
    from hivelore.python.async_hive import AsyncHive, open_async
    from hivelore.python.hive import Hits, Hive
    from hivelore.python.opening import open_hive as open  # noqa: A004 - the name users read: hivelore.open
    from hivelore.search.model import Hit, ScopeChoice

__version__ = "0.1.0"

_NAMES = {
    "open": ("hivelore.python.opening", "open_hive"),
    "open_async": ("hivelore.python.async_hive", "open_async"),
    "AsyncHive": ("hivelore.python.async_hive", "AsyncHive"),
    "Hive": ("hivelore.python.hive", "Hive"),
    "Hits": ("hivelore.python.hive", "Hits"),
    "Hit": ("hivelore.search.model", "Hit"),
    "Draft": ("hivelore.memories.drafts", "Draft"),
    "UNSET": ("msgspec", "UNSET"),
    "Memory": ("hivelore.memories.model", "Memory"),
    "Scope": ("hivelore.memories.model", "Scope"),
    "ScopeChoice": ("hivelore.search.model", "ScopeChoice"),
    "Source": ("hivelore.memories.model", "Source"),
}

__all__ = [
    "UNSET",
    "AsyncHive",
    "Draft",
    "Hit",
    "Hits",
    "Hive",
    "Memory",
    "Scope",
    "ScopeChoice",
    "Source",
    "open",
    "open_async",
]


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'hivelore' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _NAMES[name]
    return getattr(import_module(module), attribute)
