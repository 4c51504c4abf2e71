"""Sessions that continue one another: a program may give a resumed session a new id (D21)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from hivelore.stored_transcripts.model import MAX_CHAIN, StoredTranscript


def continued_session(entries: Iterable[Mapping[str, Any]], session: str) -> str | None:
    """Returns the session that the entries of a new session name as the one they continue; None if they name none.

    Forks of the Claude Agent SDK name their origin. Some versions of Claude Code copy entries with the earlier id.
    """
    for entry in entries:
        fork = entry.get("forkedFrom")
        origin = cast(Mapping[str, Any], fork).get("sessionId") if isinstance(fork, Mapping) else entry.get("sessionId")
        if isinstance(origin, str) and origin and origin != session:
            return origin
    return None


def follow(
    first: StoredTranscript, successors: Callable[[StoredTranscript], Sequence[StoredTranscript]]
) -> list[StoredTranscript]:
    """Returns a session and those that continue it, each the most recently used one, to the newest. ``successors``
    returns the sessions that continue one."""
    chain = [first]
    while len(chain) < MAX_CHAIN:
        known = {one.key.session for one in chain}
        found = [one for one in successors(chain[-1]) if one.key.session not in known]
        if not found:
            break
        chain.append(max(found, key=lambda one: (one.updated_at, one.id)))
    return chain
