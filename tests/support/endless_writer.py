"""A program that writes until it is killed: ``python -m support.endless_writer FILE`` prints the id of every memory
once it was acknowledged. Imports little, so that it starts soon."""

import os
import sys
from pathlib import Path
from threading import Thread

from hivelore.core.agents import AgentId, Interface
from hivelore.core.ids import memory_id
from hivelore.core.text import Clean
from hivelore.memories.model import Chunk, Memory, Passage, Provenance, Scope, Source
from hivelore.runtime.clock import SystemClock
from hivelore.storage.sqlite.store import SqliteStore

THREADS = 4
ADA = AgentId("ada")
CONTENT = Clean("The reader of this survived.")
CHUNKS = (Chunk(index=0, start=0, stop=28, headings=(), passages=(Passage(start=0, stop=28),)),)


def main(path: Path) -> None:
    clock = SystemClock()
    store = SqliteStore(path, clock=clock)

    def write() -> None:
        while True:
            now = clock.now()
            memory = Memory(
                id=memory_id(now),
                owner=ADA,
                scope=Scope.AGENT,
                name=Clean("A note"),
                content=CONTENT,
                summary=CONTENT,
                source=Source.MANUAL,
                created_at=now,
                updated_at=now,
                provenance=Provenance(actor=ADA, interface=Interface.PYTHON),
            )
            store.write(lambda tx, memory=memory: tx.add(memory, CHUNKS))
            os.write(sys.stdout.fileno(), f"{memory.id}\n".encode())

    for _ in range(THREADS):
        Thread(target=write).start()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
