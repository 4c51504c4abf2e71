"""Candidates for the session-start context: the memories that are worth comparing, with their relevance to the work."""

import re
from collections.abc import Iterable, Mapping, Sequence

from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.feedback.model import NO_USAGE, UsageCounts
from hivelore.feedback.usefulness import UsefulnessService
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.reader import MemoryReader
from hivelore.observations.naming import Naming
from hivelore.search.model import QUERY_LENGTH, Filter, Query
from hivelore.search.relevance import asks_something
from hivelore.search.service import SearchService
from hivelore.search.tokenizer import query_terms
from hivelore.sessions.model import AgentEvent, EventKind, Session
from hivelore.sessions.start_context import STANDING_CATEGORIES, Candidate, is_standing

MAX_NEWEST = 250
MAX_USED = 50
MAX_STANDING = 40
"""Standing instructions of each category."""
MAX_RELEVANT = 100
MAX_WHOLE_CHARACTERS = 700
"""Longer memories are shown by their summary."""
_SEPARATORS = re.compile(r"[-/_.\s]+")
_COMMON_BRANCHES = frozenset({"main", "master", "trunk", "develop"})
"""Branches on which any work is done: their names say nothing about it."""
_MAX_FILLER = 1_000
"""Characters from which a text is taken to say something, because looking for it would take long."""
_MAX_FILES = 20
"""Changed files of which the query contains the names."""


def excerpt_text(memory: Memory) -> str:
    """Returns the content of a memory if it is short, else its summary."""
    return (memory.content if len(memory.content) <= MAX_WHOLE_CHARACTERS else memory.summary).strip()


def describe_work(event: AgentEvent, session: Session) -> str:
    """Returns a query for what the session is about: task, prompts, branch and names of changed files. Empty if nothing
    is known: a prompt like "continue" says nothing about the work."""
    prompts = (event.text if event.kind is EventKind.PROMPTED else None, session.goal, session.last_prompt)
    texts = [None if event.task is None else event.task.text, *prompts]
    parts = [text.strip() for text in (*texts, describe_repository(event) or session.work) if text is not None]
    work = "\n".join(dict.fromkeys(part for part in parts if part))
    return work if len(work) >= _MAX_FILLER or asks_something(query_terms(work)) else ""


def describe_repository(event: AgentEvent) -> Clean | None:
    """Returns the words of the branch and the names of the changed files; None if the event has none. A branch like
    ``main`` counts as none."""
    name = event.branch or ""
    branch = "" if name.casefold() in _COMMON_BRANCHES else _SEPARATORS.sub(" ", name)
    files = dict.fromkeys(path.rsplit("/", 1)[-1] for path in event.changed_files[:_MAX_FILES])
    work = " ".join((branch, *files)).strip()
    return Clean(work) if work else None


class StartCandidates:
    def __init__(
        self, reading: MemoryReader, search: SearchService, usefulness: UsefulnessService, naming: Naming
    ) -> None:
        """``search``: a service that does not log: most candidates are never injected."""
        self._reader = reading
        self._search = search
        self._usefulness = usefulness
        self._naming = naming

    def collect(self, event: AgentEvent, session: Session, viewer: Viewer, deadline: float | None) -> list[Candidate]:
        """Returns the newest memories, the most used ones, standing instructions, and those relevant to the work of the
        session. Memories without a project count in every project; operational memories have a block of their own."""
        where = replace(
            self._reader.widest_filter(viewer),
            project=event.project,
            operational=False,
            superseded=False,
            live_at=self._reader.now(),
        )
        used = self._usefulness.most_used(where, MAX_USED, viewer)
        relevance = self._relevant(describe_work(event, session), event, viewer, deadline)
        found: dict[MemoryId, Memory] = {}
        for memory in (
            *self._page(where, MAX_NEWEST, viewer),
            *self._standing(where, viewer),
            *(memory for memory, _ in used),
            *(memory for memory, _ in (relevance or {}).values()),
        ):
            if memory.operational is None and memory.project in (event.project, None):
                found[memory.id] = memory
        uses = {memory.id: use for memory, use in used}
        return [self._candidate(memory, relevance, uses) for memory in found.values()]

    def _page(self, where: Filter, limit: int, viewer: Viewer, category: Clean | None = None) -> Sequence[Memory]:
        return self._reader.page(where, None, limit, viewer, category).memories

    def _standing(self, where: Filter, viewer: Viewer) -> Iterable[Memory]:
        for category in sorted(STANDING_CATEGORIES):
            yield from self._page(where, MAX_STANDING, viewer, Clean(category))

    def _relevant(
        self, work: str, event: AgentEvent, viewer: Viewer, deadline: float | None
    ) -> Mapping[MemoryId, tuple[Memory, float]] | None:
        """Returns the most relevant memories with their relevance; None if nothing is known about the work."""
        if not work:
            return None
        query = Query(text=Clean(work[:QUERY_LENGTH]), limit=MAX_RELEVANT, project=event.project)
        hits = self._search.recall(query, viewer, deadline).hits
        return {hit.memory.id: (hit.memory, hit.relevance) for hit in hits}

    def _candidate(
        self,
        memory: Memory,
        relevance: Mapping[MemoryId, tuple[Memory, float]] | None,
        uses: Mapping[MemoryId, UsageCounts],
    ) -> Candidate:
        known = None if relevance is None else relevance[memory.id][1] if memory.id in relevance else 0.0
        return Candidate(
            memory=memory,
            text=excerpt_text(memory),
            relevance=known,
            use=uses.get(memory.id, NO_USAGE),
            standing=is_standing(memory, self._naming),
        )
