"""Every vector engine on every store it works on, one after the other."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from hivelore.indexes.ports import VectorIndex
from hivelore.memories.model import Scope
from hivelore.storage.ports import MemoryStore
from support.clocks import SteppingClock
from support.memories import BOB, a_memory
from support.places import IN_MEMORY
from support.stores import STORES
from support.vector_engines import (
    DIMENSION,
    ENGINES,
    MODEL,
    SETTINGS,
    Library,
    NewLibrary,
    Setting,
    batched,
    clustered,
    near,
)


@contextmanager
def opened(store: str) -> Generator[MemoryStore]:
    with (
        TemporaryDirectory(dir=IN_MEMORY) as folder,
        closing(STORES[store].open(Path(folder), SteppingClock())) as opened_store,
    ):
        yield opened_store


@pytest.fixture(params=SETTINGS, ids="-".join)
def setting(request: pytest.FixtureRequest) -> Setting:
    """An engine and a store, by their names."""
    return request.param


@pytest.fixture
def new_index(setting: Setting) -> Callable[[], VectorIndex]:
    """Makes an index that has not seen anything yet, each time it is called."""
    return lambda: ENGINES[setting[0]].make(MODEL, DIMENSION)


@pytest.fixture
def new_library(setting: Setting, new_index: Callable[[], VectorIndex]) -> NewLibrary:
    """Opens a new, empty store with an index over it, each time it is called."""

    @contextmanager
    def new() -> Generator[Library]:
        with opened(setting[1]) as store:
            yield Library(store, new_index())

    return new


@pytest.fixture
def library(new_library: NewLibrary) -> Generator[Library]:
    with new_library() as library:
        yield library


@pytest.fixture(scope="module")
def crowds() -> Generator[Callable[[str], MemoryStore]]:
    """Stores of each kind with 10,000 vectors, to be read only: one of Ada's, 60 degrees from NORTH, 5,000 nearer ones
    of Bob's, and shared ones anywhere."""
    with ExitStack() as stack:
        made: dict[str, MemoryStore] = {}

        def crowd(kind: str) -> MemoryStore:
            if kind not in made:
                made[kind] = stack.enter_context(opened(kind))
                library = Library(made[kind], ENGINES["exact"].make(MODEL, DIMENSION))
                nearer = [near(angle) for angle in np.linspace(0, 50, 5_000)]
                library.keep([(a_memory(owner=BOB), vectors) for vectors in batched(nearer, 20)])
                library.add(near(60))
                shared = clustered(4_999, seed=1)
                library.keep([(a_memory(owner=BOB, scope=Scope.SWARM), vectors) for vectors in batched(shared, 20)])
            return made[kind]

        yield crowd


@pytest.fixture
def crowd(crowds: Callable[[str], MemoryStore], setting: Setting, new_index: Callable[[], VectorIndex]) -> Library:
    return Library(crowds(setting[1]), new_index())
