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
    from hivelore.domain.draft import UNSET, Draft
    from hivelore.domain.memory import Memory, Scope, Source
    from hivelore.domain.search import Hit, ScopeChoice
    from hivelore.hive.base import Hits, Hive
    from hivelore.hive.opening import open_hive as open  # noqa: A004 - the name users read: hivelore.open

__version__ = "0.1.0"

_NAMES = {
    "open": ("hivelore.hive.opening", "open_hive"),
    "Hive": ("hivelore.hive.base", "Hive"),
    "Hits": ("hivelore.hive.base", "Hits"),
    "Hit": ("hivelore.domain.search", "Hit"),
    "Draft": ("hivelore.domain.draft", "Draft"),
    "UNSET": ("hivelore.domain.draft", "UNSET"),
    "Memory": ("hivelore.domain.memory", "Memory"),
    "Scope": ("hivelore.domain.memory", "Scope"),
    "ScopeChoice": ("hivelore.domain.search", "ScopeChoice"),
    "Source": ("hivelore.domain.memory", "Source"),
}

__all__ = ["UNSET", "Draft", "Hit", "Hits", "Hive", "Memory", "Scope", "ScopeChoice", "Source", "open"]


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'hivelore' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _NAMES[name]
    return getattr(import_module(module), attribute)
