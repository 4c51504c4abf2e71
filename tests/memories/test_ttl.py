"""Lifetimes of memories: the documented values, and the laws of expiry (B08)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.memories.model import LIFETIMES, Lifetimes, Source
from support.memories import a_memory

BORN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)

births = st.timedeltas(timedelta(), timedelta(days=36_500)).map(lambda age: BORN - age)
lifetimes = st.timedeltas(SECOND, timedelta(days=3650))
mortals = st.sampled_from([source for source, lifetime in LIFETIMES.items() if lifetime is not None])


@pytest.mark.parametrize(
    ("source", "expires_at"),
    [
        (Source.TASK_COMPLETION, datetime(2026, 3, 8, 12, 0, tzinfo=UTC)),
        (Source.SESSION_SUMMARY, datetime(2026, 3, 4, 12, 0, tzinfo=UTC)),
        (Source.FILE_INDEX, datetime(2026, 3, 31, 12, 0, tzinfo=UTC)),
        (Source.MANUAL, None),
    ],
)
def test_each_source_has_its_documented_lifetime(source: Source, expires_at: datetime | None) -> None:
    assert Lifetimes().expiry(source, BORN) == expires_at


def test_every_source_has_a_lifetime() -> None:
    assert set(LIFETIMES) == set(Source)


@given(mortals, births)
def test_a_memory_expires_on_a_whole_second_and_not_late(source: Source, born: datetime) -> None:
    lifetime, expires_at = LIFETIMES[source], Lifetimes().expiry(source, born)
    assert lifetime is not None
    assert expires_at is not None
    assert expires_at.microsecond == 0
    assert lifetime - SECOND < expires_at - born <= lifetime
    assert expires_at.tzinfo is UTC


@given(mortals, births)
def test_a_memory_is_valid_until_its_expiry(source: Source, born: datetime) -> None:
    expires_at = Lifetimes().expiry(source, born)
    assert expires_at is not None
    memory = a_memory(source=source, created_at=born, updated_at=born, expires_at=expires_at)
    assert memory.is_live(born)
    assert memory.is_live(expires_at - MICROSECOND)
    assert not memory.is_live(expires_at)
    assert not memory.is_live(expires_at + SECOND)


@given(births)
def test_a_memory_without_an_expiry_never_expires(now: datetime) -> None:
    memory = a_memory(expires_at=Lifetimes().expiry(Source.MANUAL, BORN))
    assert memory.is_live(now)
    assert replace(memory, expires_at=BORN).is_live(now) == (now < BORN)


@given(mortals, births, births)
def test_a_later_memory_never_expires_sooner(source: Source, one: datetime, other: datetime) -> None:
    first, second = (Lifetimes().expiry(source, born) for born in sorted((one, other)))
    assert first is not None
    assert second is not None
    assert first <= second


@given(st.sampled_from(Source), lifetimes, births)
def test_each_lifetime_is_a_separate_setting(source: Source, lifetime: timedelta, born: datetime) -> None:
    changed = Lifetimes({**LIFETIMES, source: lifetime})
    assert changed.expiry(source, born) == (born + lifetime).replace(microsecond=0)
    for other in set(Source) - {source}:
        assert changed.expiry(other, born) == Lifetimes().expiry(other, born)
