"""Stores filled with the collections as a user would fill them, made once and shared by all sections."""

import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.filling import local
from bench.material import Bench
from bench.quality.data import Collection, Item, said_at
from hivelore.core.agents import Viewer
from hivelore.memories.drafts import Draft
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import load

TOGETHER = 100
KEPT = 5
"""Number of collections of a set that are kept for the next section. Most sets have fewer, some have hundreds."""


@dataclass(frozen=True, slots=True)
class Store:
    app: Application
    viewer: Viewer

    def remember(self, drafts: Sequence[Draft]) -> None:
        """Stores all items and waits until they are found by words and by meaning."""
        for at in range(0, len(drafts), TOGETHER):
            self.app.memory_service.remember_many(drafts[at : at + TOGETHER], self.viewer)
        while self.app.embedding.step():
            pass


def filled(bench: Bench, collection: Collection) -> Path:
    """Returns the data directory of a collection. Sections that write make a copy first."""
    home = _place(bench, collection)
    if not home.exists():
        fresh = bench.place()
        app = Application(load(home=fresh), clock=SystemClock())
        try:
            app.make_keys()
            Store(app, local(app)).remember([as_draft(item) for item in collection.items])
            while app.keywords.compact(app.store):
                pass
        finally:
            app.close()
        home.parent.mkdir(parents=True, exist_ok=True)
        fresh.rename(home)
    return home


@contextmanager
def opened(home: Path) -> Generator[Store]:
    """Opens a store with all vectors in memory and no background work."""
    app = Application(load(home=home), clock=SystemClock())
    try:
        model = app.active_model.current
        if model is not None:
            with app.store.read() as view:
                model.index.build(view)
        yield Store(app, local(app))
    finally:
        app.close()


def done(bench: Bench, collection: Collection) -> None:
    """Deletes stores that no other section opens."""
    if collection.number >= KEPT:
        shutil.rmtree(_place(bench, collection))


def as_draft(item: Item) -> Draft:
    metadata = item["metadata"]
    return Draft(
        content=metadata.get("raw") or item["text"],
        external_id=item["id"],
        session=metadata.get("session"),
        author=metadata.get("speaker"),
        created_at=said_at(item),
        tags=tuple(metadata.get("tags", ())),
    )


def _place(bench: Bench, collection: Collection) -> Path:
    return bench.folder / "quality" / collection.set / str(collection.number)
