"""A small population of similar memories, in which every filter finds something."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import combinations, product

from hypothesis import strategies as st

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Memory, Scope, Source
from hivelore.observations.model import GENERAL
from hivelore.search.model import Filter, Visibility
from support.laws import IS_SOAKING
from support.memories import ADA, BOB, EVERYTHING, a_memory, ids, instant, operational

OWNERS = (ADA, BOB, AgentId("Ada"))
PROJECTS = (None, Clean(""), Clean("hive"), Clean("Hive"))
SESSIONS = (None, Clean("s1"), Clean("s1 "))
TAGS = tuple(map(Clean, ("java", "Java", "a%", "a_", 'say "hi"', "back\\slash", "\u00e9", "e\u0301", "ja")))
CATEGORIES = tuple(map(Clean, ("note", "Note", "rule")))
SERVICES = tuple(map(Clean, ("jellyfin", "Jellyfin", "jelly")))
RUNNING = (None, operational(), *map(operational, SERVICES))
"""The fields of operational memories."""
SUBJECTS = (None, Clean("db.port"), Clean("DB.port"))
INSTANTS = (
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    instant(0),
    instant(0) + timedelta(microseconds=1),
    instant(1),
)


@st.composite
def inhabitants(draw: st.DrawFn) -> Memory:
    scope = draw(st.sampled_from(Scope))
    owner = draw(st.sampled_from(OWNERS if scope is Scope.AGENT else (*OWNERS, None)))
    created_at = draw(st.sampled_from(INSTANTS))
    return replace(
        a_memory(),
        id=draw(ids),
        owner=owner,
        scope=scope,
        source=draw(st.sampled_from(Source)),
        project=draw(st.sampled_from(PROJECTS)),
        session=draw(st.sampled_from(SESSIONS)),
        tags=tuple(draw(st.lists(st.sampled_from(TAGS), max_size=3))),
        category=draw(st.sampled_from(CATEGORIES)),
        created_at=created_at,
        updated_at=created_at,
        expires_at=draw(st.none() | st.sampled_from(INSTANTS)),
        operational=draw(st.sampled_from(RUNNING)),
        subject=draw(st.sampled_from(SUBJECTS)),
        valid_from=draw(st.none() | st.sampled_from(INSTANTS)),
        valid_until=draw(st.none() | st.sampled_from(INSTANTS)),
    )


populations = st.lists(inhabitants(), max_size=12, unique_by=lambda memory: memory.id)

VISIBILITIES = tuple(
    Visibility(own=own, swarm=swarm, others=others)
    for own, swarm, others in product((None, *OWNERS), (True, False), (True, False))
)

VALUES: Mapping[str, tuple[object, ...]] = {
    "owner": OWNERS,
    "source": tuple(Source),
    "project": tuple(project for project in PROJECTS if project is not None),
    "session": tuple(session for session in SESSIONS if session is not None),
    "tag": TAGS,
    "categories": (
        *map(frozenset, combinations(CATEGORIES, 1)),
        frozenset(CATEGORIES[1:]),
        frozenset((*CATEGORIES[1:], *map(Clean, "abcdefgh"))),
    ),
    "operational": (True, False),
    "services": (*map(frozenset, combinations((*SERVICES, GENERAL), 1)), frozenset((SERVICES[0], GENERAL))),
    "subject": tuple(subject for subject in SUBJECTS if subject is not None),
    "superseded": (True, False),
    "held_at": INSTANTS,
    "live_at": INSTANTS,
    "expired_at": INSTANTS,
    "created_before": INSTANTS,
    "created_after": INSTANTS,
}
"""For each part of a filter what it may ask for in this world."""


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    visibility = draw(st.sampled_from((EVERYTHING.visibility, *VISIBILITIES)))
    parts = draw(st.sets(st.sampled_from(sorted(VALUES)), max_size=3))
    return replace(Filter(visibility=visibility), **{part: draw(st.sampled_from(VALUES[part])) for part in parts})


WITH_EACH = len(VISIBILITIES) if IS_SOAKING else 4
"""Visibilities with which each value is asked for."""


def single_filters() -> list[Filter]:
    """Every visibility alone and with its own memories, and every value of every part with some of them.

    A value is asked for by several viewers, and successive values with other visibilities.
    """
    bare = [Filter(visibility=visibility) for visibility in VISIBILITIES]
    asked = ((part, value) for part, values in VALUES.items() for value in values)
    return [
        *bare,
        *(replace(each, owner=each.visibility.own) for each in bare if each.visibility.own is not None),
        *(
            replace(bare[(number + 5 * step) % len(bare)], **{part: value})
            for number, (part, value) in enumerate(asked)
            for step in range(WITH_EACH)
        ),
    ]


def census() -> list[Memory]:
    """A fixed population of 180 in which every value of every part occurs with many of the others."""
    return [
        replace(
            a_memory(),
            owner=(*OWNERS, None)[number % 4],
            scope=Scope.SWARM if number % 4 == 3 or number % 7 < 3 else Scope.AGENT,
            source=tuple(Source)[number // 3 % 4],
            project=PROJECTS[number // 5 % 4],
            session=SESSIONS[number // 2 % 3],
            tags=tuple(TAGS[(number * step) % 9] for step in range(1, 1 + number % 3)),
            category=CATEGORIES[number // 11 % 3],
            created_at=INSTANTS[number // 13 % 4],
            expires_at=(None, *INSTANTS)[number // 7 % 5],
            operational=(None, *RUNNING)[number // 17 % 6],
            subject=SUBJECTS[number // 4 % 3],
            valid_from=(None, *INSTANTS)[number // 6 % 5],
            valid_until=(None, *INSTANTS)[number // 8 % 5],
        )
        for number in range(180)
    ]
