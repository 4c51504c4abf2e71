"""Configuration entries for tests."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hivelore.configuration.model import (
    ConfigEntry,
    ConfigId,
    ConfigScope,
    ConfigVersion,
    CurrentEntry,
    EnvLine,
    Place,
    Sealed,
)
from hivelore.configuration.service import Setting
from hivelore.core.agents import Agent, Interface, Role, Viewer
from hivelore.core.text import Clean
from hivelore.local.endpoint import CONFIG_KEYS
from hivelore.repos.model import Repo, RepoId
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import START
from support.memories import ADA, instant
from support.world import BOB, LEA, World

GLOBAL = Place(ConfigScope.GLOBAL)
ADAS = Place(ConfigScope.AGENT, ADA)
REPO = Place(ConfigScope.REPO, "shop")
ALL_SEEN = Visibility(own=None, swarm=True, others=True)


def config_id(number: int) -> ConfigId:
    return ConfigId(f"00000000-0000-7000-8000-{number:012d}")


def an_entry(number: int = 1, place: Place = GLOBAL, **more: Any) -> ConfigEntry:
    default: dict[str, Any] = {"key": f"KEY_{number}", "created_at": instant(0), "updated_at": instant(0), "version": 1}
    return ConfigEntry(id=config_id(number), place=place, **(default | more))


def a_version(number: int = 1, entry: int = 1, **more: Any) -> ConfigVersion:
    default: dict[str, Any] = {
        "at": instant(0),
        "actor": ADA,
        "interface": Interface.REST,
        "is_secret": False,
        "value": "one",
        "sealed": None,
    }
    return ConfigVersion(entry=config_id(entry), number=number, **(default | more))


def a_secret(number: int = 1, entry: int = 1, key: str = "k1", **more: Any) -> ConfigVersion:
    sealed = Sealed(b"\0sealed" + bytes([number]), key)
    return a_version(number, entry, **({"is_secret": True, "value": None, "sealed": sealed} | more))


def a_line(path: str = ".env", key: str = "KEY", **more: Any) -> EnvLine:
    default: dict[str, Any] = {"workspace": "w", "path": path, "key": key, "location": "host:/w"}
    return EnvLine(**(default | more))


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
_SEALED = st.builds(Sealed, st.binary(min_size=1, max_size=20), st.sampled_from(["k1", "k2"]))
_INSTANTS = st.integers(-3, 3).map(instant)


@st.composite
def versions(draw: st.DrawFn, entry: int = 1) -> ConfigVersion:
    is_secret = draw(st.booleans())
    return a_version(
        draw(st.integers(1, 5)),
        entry,
        at=draw(_INSTANTS),
        actor=draw(st.none() | st.just(ADA)),
        interface=draw(st.sampled_from(Interface)),
        is_secret=is_secret,
        value=None if is_secret else draw(_TEXTS),
        sealed=draw(st.none() | _SEALED) if is_secret else None,
        env_path=draw(st.none() | _TEXTS),
        description=draw(st.none() | _TEXTS.map(Clean)),
        replaced_at=draw(st.none() | _INSTANTS),
    )


def put(store: MemoryStore, *values: ConfigEntry | ConfigVersion) -> None:
    def work(tx: Transaction) -> None:
        for value in values:
            if isinstance(value, ConfigEntry):
                tx.put_config_entry(value)
            else:
                tx.put_config_version(value)

    store.write(work)


def entries(store: MemoryStore, seen: Visibility = ALL_SEEN, place: Place | None = None) -> list[CurrentEntry]:
    with store.read() as view:
        return list(view.config_entries(seen, 1_000, place=place))


def versions_of(store: MemoryStore, entry: int = 1) -> list[ConfigVersion]:
    with store.read() as view:
        return list(view.config_versions(config_id(entry)))


def pruned(store: MemoryStore, before: datetime, limit: int = 10) -> int:
    return store.write(lambda tx: tx.prune_config(before, limit))


@dataclass(frozen=True)
class ConfigDesk:
    """The configuration of a world."""

    world: World
    workspace: Path

    def set(
        self, key: str, value: str, viewer: Viewer, scope: str = "agent", to: str | None = None, **more: Any
    ) -> Any:
        place = self.world.configuration.place(ConfigScope(scope), to, viewer)
        return self.world.configuration.set(place, Setting(key=key, value=value, **more), viewer)

    def env(self, viewer: Viewer, repo: str | None = None) -> dict[str, str]:
        return dict(self.world.configuration.environment(None, repo, viewer).variables)

    def listed(self, viewer: Viewer) -> list[tuple[str, str]]:
        return [(one.key, one.value) for one in self.world.configuration.list_entries(viewer, None, None).entries]

    @property
    def key_file(self) -> Path:
        return self.world.settings.home / CONFIG_KEYS


def a_repo(name: str) -> Repo:
    """Returns a repository whose id is its name."""
    return Repo(
        id=RepoId(name),
        name=Clean(name),
        url=Clean(f"https://example.com/acme/{name}"),
        default_branch=None,
        guidelines=None,
        auto_clone=True,
        created_at=START,
        updated_at=START,
    )


def made_desk(world: World, folder: Path) -> ConfigDesk:
    """Returns the configuration of a world, with keys and workspace in a folder, and the repositories shop and bank."""
    workspace = folder / "workspace"
    workspace.mkdir()
    world.settings = world.settings.model_copy(update={"home": folder / "home", "workspace": workspace})
    for agent, role in ((ADA, Role.WORKER), (BOB, Role.WORKER), (LEA, Role.LEAD)):
        added = Agent(id=agent, name=agent, role=role, created_at=START)
        world.store.write(lambda tx, added=added: tx.put_agent(added))
    for repo in map(a_repo, ("shop", "bank")):
        world.store.write(lambda tx, repo=repo: tx.put_repo(repo))
    return ConfigDesk(world, workspace)
