"""When agents were lately given memories: by recalls, by injections, and by what they did with them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from hivelore.feedback.recalls import Sign
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.storage.ports import View

MAX_RECALLS = 3_000
"""Newest recalls that are looked at."""
MAX_SESSIONS = 200
"""Newest sessions that are looked at."""
_SIGNS_OF_USE = frozenset({Sign.REPEATED, Sign.OPENED, Sign.CITED, Sign.APPLIED})


def times_given(
    view: View, documents: Mapping[MemoryId, DocumentKey], since: datetime
) -> Mapping[MemoryId, Sequence[datetime]]:
    """Returns when agents were given or used these memories at ``since`` or later, in no order. An injection that
    results from a recall counts once."""
    times: defaultdict[MemoryId, list[datetime]] = defaultdict(list)
    recalled = view.recall_times(documents.values(), since, MAX_RECALLS)
    evidence = view.evidence_of(documents.values())
    for memory, key in documents.items():
        times[memory] += recalled.get(key, ())
        times[memory] += [
            one.at
            for one in evidence.get(key, ())
            if one.sign in _SIGNS_OF_USE and one.agent is not None and one.at >= since
        ]
    for session in view.sessions_since(since, MAX_SESSIONS):
        for shown in session.shown:
            if shown.memory in documents and shown.recall is None and shown.at >= since:
                times[shown.memory].append(shown.at)
    return times
