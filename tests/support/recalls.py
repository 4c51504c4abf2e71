"""Logged recalls for tests: plain examples, and strategies for all valid ones."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import TypedDict, Unpack

from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface, Role
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.feedback.recalls import Recall, RecalledMemory, RecallFilter
from hivelore.memories.model import MemoryId
from hivelore.search.model import RecallId, RetrievalMode, Score
from hivelore.storage.ports import MemoryStore
from support.clocks import START
from support.memories import ADA, EVERYTHING, agents, instants, texts

ALL_RECALLS = RecallFilter(seen=EVERYTHING.visibility, operators=True)

_numbers = count(1)


class Parts(TypedDict, total=False):
    id: RecallId
    at: datetime
    agent: AgentId | None


def a_recall(*given: MemoryId, **parts: Unpack[Parts]) -> Recall:
    """Returns a recall of Ada with these memories; ids ascend in the order of calls."""
    score = Score(total=0.75, similarity=0.5, keyword=0.25)
    plain = Recall(
        id=RecallId(f"r{next(_numbers):06}"),
        at=START,
        agent=ADA,
        role=Role.WORKER,
        interface=Interface.MCP,
        project=None,
        session=None,
        question=Clean("Which Java?"),
        path=RetrievalMode.HYBRID,
        candidates=7,
        hits=tuple(RecalledMemory(memory, rank, score, 1.5, True) for rank, memory in enumerate(given, start=1)),
    )
    return replace(plain, **parts)


exact = st.floats(-4, 4, width=32)
"""As exact as a store keeps them."""
scores = st.builds(Score, **dict.fromkeys(Score.__struct_fields__, exact))


@st.composite
def recalls(draw: st.DrawFn, memories: Sequence[MemoryId]) -> Recall:
    """Generates recalls with some of these memories."""
    given = draw(st.lists(st.sampled_from(memories), unique=True) if memories else st.just([]))
    return Recall(
        id=RecallId(f"r{next(_numbers):06}"),
        at=draw(instants),
        agent=draw(st.none() | agents),
        role=draw(st.sampled_from(Role)),
        interface=draw(st.sampled_from(Interface)),
        project=draw(st.none() | texts),
        session=draw(st.none() | texts),
        question=draw(texts),
        path=draw(st.sampled_from(RetrievalMode)),
        candidates=draw(st.integers(0, 2**31)),
        hits=tuple(
            RecalledMemory(memory, rank, draw(scores), draw(exact), draw(st.booleans()))
            for rank, memory in enumerate(given, start=1)
        ),
    )


def log(store: MemoryStore, *entries: Recall) -> None:
    store.write(lambda tx: tx.log_recalls(entries))


def logged(store: MemoryStore, where: RecallFilter = ALL_RECALLS) -> Sequence[Recall]:
    with store.read() as view:
        return view.recalls(where, None, 1_000)
