"""Profiles for tests."""

from typing import Any

from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.identity.profile import ProfileContent, ProfileHead, ProfileVersion
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import ADA, agents, instant, instants, texts

NO_TEXT = Clean("")
A_CONTENT = ProfileContent(
    name="ada",
    role=Clean("reviewer"),
    description=NO_TEXT,
    capabilities=(Clean("python"),),
    soul=Clean("I am Ada."),
    identity=NO_TEXT,
    notes=NO_TEXT,
)


def a_head(agent: AgentId = ADA, **more: Any) -> ProfileHead:
    default: dict[str, Any] = {
        "version": 1,
        "last": 1,
        "updated_at": instant(0),
        "role": Clean("reviewer"),
        "description": NO_TEXT,
        "capabilities": (),
    }
    return ProfileHead(agent=agent, **(default | more))


def a_version(number: int = 1, agent: AgentId = ADA, **content: Any) -> ProfileVersion:
    return ProfileVersion(
        agent=agent,
        number=number,
        at=instant(0),
        actor=agent,
        interface=Interface.REST,
        content=replace(A_CONTENT, **content),
    )


@st.composite
def versions(draw: st.DrawFn) -> ProfileVersion:
    return ProfileVersion(
        agent=ADA,
        number=draw(st.integers(1, 5)),
        at=draw(instants),
        actor=draw(st.none() | agents),
        interface=draw(st.sampled_from(Interface)),
        follows=draw(st.none() | st.integers(1, 5)),
        is_conflict=draw(st.booleans()),
        content=ProfileContent(
            name=draw(texts),
            role=draw(texts),
            description=draw(texts),
            capabilities=tuple(draw(st.lists(texts, max_size=3))),
            soul=draw(texts),
            identity=draw(texts),
            notes=draw(texts),
        ),
    )


def put(store: MemoryStore, *values: ProfileHead | ProfileVersion) -> None:
    def work(tx: Transaction) -> None:
        for value in values:
            if isinstance(value, ProfileHead):
                tx.put_profile(value)
            else:
                tx.put_profile_version(value)

    store.write(work)


def versions_of(store: MemoryStore, agent: AgentId = ADA) -> list[ProfileVersion]:
    with store.read() as view:
        return list(view.profile_versions(agent, 10_000, 10_000))
