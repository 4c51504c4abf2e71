"""A workspace with memory folders, and the service that looks after it, over any store."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from hivelore.core.agents import Interface, Viewer
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.folders.sync import FolderSync
from hivelore.folders.workspace import WorkspaceFiles
from hivelore.memories.model import Memory
from hivelore.storage.leader_lease import LeaderLease
from support.world import AS_OPERATOR, World


class Desk:
    """A workspace and the service that looks after it."""

    def __init__(self, world: World, root: Path) -> None:
        self.world, self.root = world, root
        self.files = WorkspaceFiles(root, root / "nowhere")
        self.files.create_folders()
        local = world.agents.local_agent()
        self.local = Viewer(role=local.role, agent=local.id, interface=Interface.CLI)
        self.restart()

    def restart(self, holder: str = "one") -> FolderSync:
        """Restarts like a new process, with only the stored state."""
        place = ":/w"
        self.leader_lease = LeaderLease(self.world.store, self.world.clock, holder, f"folders {place}")
        self.service = FolderSync(
            store=self.world.store,
            workspace=self.files,
            place=Clean(place),
            memory_service=self.world.memory_service,
            agents=self.world.agents,
            leader_lease=self.leader_lease,
            redactor=Redactor(b"a key for tests only"),
            clock=self.world.clock,
        )
        return self.service

    def look(self) -> None:
        """Scans twice, because new and missing files have to be seen twice."""
        for _ in range(2):
            self.world.clock.advance(timedelta(seconds=1))
            self.service.scan()

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def memory(self, path: str, home: str | None = None) -> Memory:
        """Returns the memory of a file, by default of a shared one."""
        with self.world.store.read() as view:
            (stored,) = view.memories_at_path(None if home is None else self.local.agent, Clean(f"{self.root}/{path}"))
        return stored.memory

    def all(self) -> Sequence[Memory]:
        where = self.world.reading.widest_filter(AS_OPERATOR)
        return self.world.reading.page(where, None, 100, AS_OPERATOR).memories

    def live(self) -> list[str]:
        now = self.world.clock.now()
        return sorted(memory.content for memory in self.all() if memory.is_live(now))
