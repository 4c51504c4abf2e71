"""Sessions that continue one another: a program may give a resumed session a new id (D21)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from hivelore.stored_transcripts.model import MAX_CHAIN, StoredTranscript


def continued_session(entries: Iterable[Mapping[str, Any]], session: str) -> str | None:
    """Returns the session whose entries a session begins with: some versions of Claude Code copy them with the earlier
    id when they resume a session under a new one. None if there are none."""
    return _first_other((entry.get("sessionId") for entry in entries), session)


def forked_session(entries: Iterable[Mapping[str, Any]], session: str) -> str | None:
    """Returns the session that the entries of a branch name as their origin, as those of the Claude Agent SDK do."""
    forks = (entry.get("forkedFrom") for entry in entries)
    return _first_other((cast(Any, fork).get("sessionId") for fork in forks if isinstance(fork, Mapping)), session)


def is_copy_of(copy: StoredTranscript, one: StoredTranscript) -> bool:
    """Returns True if a session with the same first entry continues another one: it goes on longer. The order in which
    they were stored says nothing."""
    return copy.key.session != one.key.session and copy.forked_from is None and _length(copy) > _length(one)


def follow(
    first: StoredTranscript, successors: Callable[[StoredTranscript], Sequence[StoredTranscript]]
) -> list[StoredTranscript]:
    """Returns the sessions from one to the most recently used one that continues it, which may be the session itself.
    ``successors`` returns the sessions that continue one."""
    found = [first]
    before: dict[str, StoredTranscript | None] = {first.key.session: None}
    for one in found:
        for each in successors(one):
            if each.key.session not in before and len(found) < MAX_CHAIN:
                before[each.key.session] = one
                found.append(each)
    last: StoredTranscript | None = max(found, key=lambda one: (one.last_used_at, one.updated_at, one.id))
    chain: list[StoredTranscript] = []
    while last is not None:
        chain.insert(0, last)
        last = before[last.key.session]
    return chain


def _length(one: StoredTranscript) -> tuple[datetime, int]:
    return one.last_used_at, one.entries


def _first_other(names: Iterable[object], session: str) -> str | None:
    return next((name for name in names if isinstance(name, str) and name and name != session), None)
