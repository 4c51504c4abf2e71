"""Injection: selects and formats the text that a model gets unasked at session start, prompts and sub-agent starts."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hivelore.core.agents import Role, Viewer
from hivelore.core.sanitizer import sanitize
from hivelore.core.text import Clean, Harmless, in_one_line
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.errors import NotFound
from hivelore.events.cooldowns import Cooldowns
from hivelore.identity.service import Agents
from hivelore.links.decisions import DOUBT_INJECTED
from hivelore.links.model import LaterStatement
from hivelore.links.service import LinkService
from hivelore.memories.model import Memory, MemoryId, Source, Trust, Version
from hivelore.memories.reader import MemoryReader
from hivelore.memories.task_completion import OPEN_TASK
from hivelore.observations.curation import CurationService
from hivelore.observations.model import Confidence
from hivelore.observations.token_budget import TokenBudget
from hivelore.search.model import BUDGET_RANGE, QUERY_LENGTH, RERANKED, Query, RecallId
from hivelore.search.relevance import INJECTION_FLOOR, POINTER_FLOOR
from hivelore.search.service import SearchService
from hivelore.sessions.fence import fence_text
from hivelore.sessions.model import GOAL_LENGTH, AgentEvent, EventKind, Origin, Session, Task
from hivelore.sessions.start_candidates import StartCandidates, excerpt_text
from hivelore.sessions.start_context import Candidate, choose
from hivelore.tasks.model import Task as StoredTask
from hivelore.tasks.service import TaskService
from hivelore.tasks.task_text import failures, reminder

MAX_CHARACTERS = 9_500
"""Claude Code shows at most 10,000 characters of one hook's output; the fence takes the rest."""
MAX_OPERATIONAL_CHARACTERS = 6_000
"""Share of ``MAX_CHARACTERS`` for operational memory, whatever its token budget."""


@dataclass(frozen=True, slots=True)
class Note:
    """A memory and the excerpt of it that is shown."""

    memory: Memory
    text: str
    label: str = ""
    """Short id, date, and for memories of others author and trust."""
    recall: RecallId | None = None
    """The recall that returned the memory."""
    is_pointer: bool = False
    """True if a line with the name stands for the memory: it may help, and the agent can fetch it."""
    later: LaterStatement | None = None
    """The latest memory that updates it, together with which it is shown only, or one that may do so."""
    only_with: MemoryId | None = None
    """The next note, without which it is not shown: it only may update that one."""


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    notes: Sequence[Note]
    text: str = ""
    """Fixed text of the section, before its notes. It costs characters but no tokens."""


@dataclass(frozen=True, slots=True)
class Injection:
    text: str | None
    """Text for the model; None for no injection."""
    notes: Sequence[Note]


NO_INJECTION = Injection(None, ())


def excerpt(memory: Memory) -> Note:
    """Returns a memory in full if it is short, else its summary."""
    return Note(memory, excerpt_text(memory))


def environment_line(environment: str) -> Harmless:
    """Returns the line about the environment that precedes the operational block (C21); empty for no environment."""
    return sanitize(f"Environment: {environment}" if environment else "")


def compose(
    sections: Sequence[Section],
    tokens: int,
    nonce: str,
    before: Injection = NO_INJECTION,
    known: Collection[MemoryId] = (),
) -> Injection:
    """Formats sections inside a fence. Texts and notes are added in order while they fit the token and character
    limits. A text that does not fit is cut, a note that does not fit or repeats another is skipped, and a section
    without content is omitted. ``before`` comes first in any case and costs characters but no tokens. ``nonce``: see
    ``fence_text``. ``known``: memories that the model received before. A note is skipped if the model would not know
    the memory that updates it, or another one with that text."""
    left, room = tokens, MAX_CHARACTERS - len(before.text or "")
    parts = [before.text] if before.text else []
    injected = list(before.notes)
    statements = {_statement(one.memory) for one in injected}
    shown = {*known, *(one.memory.id for one in injected)}
    for section in sections:
        heading = f"## {section.heading}"
        free = room - len(heading) - 2
        lines: list[str] = [_shorten(section.text, free - 1)] if section.text and free > 1 else []
        free -= sum(len(line) + 1 for line in lines)
        for place, note in enumerate(section.notes):
            repeats = _statement(note.memory) in statements
            shown |= {note.memory.id} if repeats and not note.is_pointer else set()
            following = section.notes[place + 1] if place + 1 < len(section.notes) else None
            is_alone = note.only_with is not None and not (
                following is not None
                and following.memory.id == note.only_with
                and _statement(following.memory) not in statements
                and _fits(following, left, free)
            )
            is_outdated = note.later is not None and note.later.is_certain and note.later.memory.id not in shown
            if not (repeats or is_alone or is_outdated) and _fits(note, left, free):
                line = sanitize(_line(note))
                statements.add(_statement(note.memory))
                shown |= set() if note.is_pointer else {note.memory.id}
                lines.append(line)
                injected.append(note)
                left, free = left - estimate(line), free - len(line) - 1
        if lines:
            parts.append("\n".join((heading, *lines)))
            room = free
    return Injection(fence_text(sanitize("\n\n".join(parts)), nonce) if parts else None, injected)


def _fits(note: Note, tokens: int, characters: int) -> bool:
    line = sanitize(_line(note))
    return estimate(line) <= tokens and len(line) < characters


def place_later_statements(sections: Sequence[Section], later: Mapping[MemoryId, LaterStatement]) -> list[Section]:
    """Returns the sections with the later statement of each note right before it: moved there if it is a note anyway,
    else added. One that only may update the note is added to be shown together with it. A pointer brings none."""
    chosen = {note.memory.id: note for section in sections for note in section.notes if not note.is_pointer}
    placed = set[MemoryId]()

    def place(note: Note) -> Iterator[Note]:
        if note.memory.id in placed:
            return
        placed.add(note.memory.id)
        newer = later.get(note.memory.id)
        if newer is not None and newer.memory.id in chosen:
            yield from place(chosen[newer.memory.id])
        elif newer is not None:
            yield replace(excerpt(newer.memory), only_with=None if newer.is_certain else note.memory.id)
        yield replace(note, later=newer)

    found = list[Section]()
    for section in sections:
        notes = list[Note]()
        for note in section.notes:
            notes += [replace(note, later=later.get(note.memory.id))] if note.is_pointer else place(note)
        found.append(replace(section, notes=notes))
    return found


def _shorten(text: str, length: int) -> Harmless:
    """Returns a sanitized text, with an ellipsis for what is beyond its first ``length`` characters."""
    whole = sanitize(text[: 2 * length])  # More than is shown: sanitizing shortens no text.
    shown, end = whole, length
    while len(shown) > length:  # Hidden characters become longer where the cut separates them from what they belong to.
        end -= 1
        shown = sanitize(f"{whole[:end].rstrip()}…")
    return shown


def _statement(memory: Memory) -> str:
    """Returns what a memory says, equal for copies of it."""
    return in_one_line(memory.content).casefold()


def _line(note: Note) -> str:
    """Formats a note like ``- [019a2b3c 2026-11-03] Ports: 8443 is taken by the proxy.``; further lines are
    indented. A pointer has at most ``POINTER_TOKENS``."""
    memory = note.memory
    if note.is_pointer:
        return _pointer_line(note)
    named = not note.text.startswith(memory.name.rstrip("…"))
    text = f"{memory.name}: {note.text}" if named else note.text
    more = "" if len(note.text) >= len(memory.content.strip()) else " (in full: memory-get)"
    return f"- [{note.label}] {text}{more}".replace("\n", "\n  ")


def _pointer_line(note: Note) -> str:
    """Formats a pointer like ``- [019a2b3c] Ports: 8443 is taken by…``."""
    line = sanitize(f"- [{note.label}] {in_one_line(note.memory.name)}")
    shown = line
    while estimate(line) > POINTER_TOKENS and len(shown) > 1:
        shown = shown[: shown.rindex(" ")] if shown.count(" ") > 2 else shown[:-1]
        line = f"{shown}…"
    return line


AUTHOR_LENGTH = 40
"""Characters of an author's name that are shown."""
_TRUST: Mapping[Trust, str] = {
    Trust.OPERATOR: "",
    Trust.AGENT: "unverified",
    Trust.TOOL_OUTPUT: "tool output",
    Trust.WEB: "web",
}
"""Words for the trust in a memory; none if a person stated it."""
_BRACKETS = str.maketrans("[],", "() ")
"""Replaced, so that a name cannot end the label or forge a trust."""


def note_label(memory: Memory, short_id: str, author: str | None = None, confidence: Confidence | None = None) -> str:
    """Returns what precedes the text of a note, like ``019a2b3c 2026-11-03 bob, unverified``.

    ``author``: agent that wrote the memory, None for the reader itself, for whom author and trust are left out.
    ``confidence``: that of an operational memory.
    """
    about = f"{short_id} {memory.updated_at:%Y-%m-%d}"
    if author is None:
        return about
    name = in_one_line(author.translate(_BRACKETS))[:AUTHOR_LENGTH].rstrip()
    trust = _TRUST[memory.provenance.trust] if confidence is None else f"confidence {round(confidence, 2)}"
    return f"{about} {name}, {trust}" if trust else f"{about} {name}"


MAX_RELEVANT = 5
"""Memories injected because they match a prompt or task (B11)."""
MAX_POINTERS = 3
POINTER_TOKENS = 20
TASK_TOKENS = 1_000
"""Estimated tokens of the memories that a task starts with (B11)."""
TASK_LENGTH = 2_000
"""Characters of the current task that are shown. They, the goal and the operational memory leave room for the last
request."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """Estimated tokens; 0 disables an injection."""

    start: int
    prompt: int
    operational: TokenBudget
    """Budget of operational memory, by model."""


class InjectionService:
    def __init__(
        self,
        search_service: SearchService,
        reading: MemoryReader,
        curation: CurationService,
        cooldowns: Cooldowns,
        budgets: Budgets,
        agents: Agents,
        nonce: Callable[[], str],
        start_candidates: StartCandidates,
        links: LinkService,
        tasks: TaskService,
    ) -> None:
        """``nonce``: see ``fence_text``."""
        self._search_service = search_service
        self._reader = reading
        self._curation = curation
        self._cooldowns = cooldowns
        self._budgets = budgets
        self._agents = agents
        self._nonce = nonce
        self._start_candidates = start_candidates
        self._links = links
        self._tasks = tasks

    def inject(self, event: AgentEvent, session: Session, viewer: Viewer, deadline: float | None = None) -> Injection:
        """Returns the text to inject at an event, without memories the model already received. ``session`` is the
        session after the event."""
        reader = viewer
        # Even a lead gets only its own and shared memories unasked.
        viewer = replace(viewer, role=Role.WORKER)
        known = frozenset((one.memory, one.version) for one in session.injected if not one.is_pointer)
        begins = event.kind is EventKind.STARTED or (event.kind is EventKind.PROMPTED and session.context_event is None)
        tokens = self._budgets.prompt if event.kind is not EventKind.STARTED else 0
        task = self._current_task(event, reader) if begins or event.task is not None else None
        is_told = _is_told_by_runner(event, task)
        if task is not None and begins:  # Its text decides which memories are relevant.
            event = replace(event, task=Task(Clean(task.id), task.text))
        sections = [*_reminders(event, session, task)] if begins and not is_told else []
        if event.kind is EventKind.STARTED and (failed := self._tasks.recent_failures(reader)):
            sections.append(Section("Failed tasks (get-task, resume or cancel)", (), _shorten(failures(failed), 1_500)))
        running = self._operational_context(event, known, viewer) if begins and not is_told else NO_INJECTION
        known |= _versions(running.notes)
        query = "" if is_told else _recall_query(event, session)
        found = [*self._relevant_memories(query, event, known, viewer, deadline)]
        if event.kind is EventKind.PROMPTED:
            for prompt in (one for one in session.owed if one != session.last_prompt):
                in_full = known | _versions(one for one in found if not one.is_pointer)
                found += self._relevant_memories(prompt, event, in_full, viewer, deadline)
        relevant = [one for one in found if not one.is_pointer]
        shown = {one.memory.id for one in relevant}
        pointed = {one.memory.id: one for one in found if one.is_pointer and one.memory.id not in shown}
        pointers = [*pointed.values()][:MAX_POINTERS]
        standing, rest = (), list[Section]()
        if begins and self._budgets.start:
            tokens += self._budgets.start
            standing, rest = self._start_context(event, session, known, relevant, viewer, deadline)
            rest = [] if is_told else rest
        sections += [Section("Standing instructions", standing), Section("Relevant Past Knowledge", relevant), *rest]
        sections.append(Section("May be relevant (memory-get)", pointers))
        sections = self._with_later_statements(sections, viewer, deadline) if tokens else []
        new = self._label_notes(self._without_repetitions(sections, session, viewer), running.notes, reader)
        return compose(new, tokens, self._nonce(), running, {memory for memory, _ in known})

    def knowledge(
        self, text: str, project: Clean | None, viewer: Viewer, deadline: float | None = None, *, without_task: str
    ) -> Injection:
        """Returns the memories that are relevant to the text of a task, before it starts (B11); no text if there are
        none. ``without_task``: the task, whose own memory teaches nothing."""
        reader = viewer
        viewer = viewer if viewer.agent is None else replace(viewer, role=Role.WORKER)
        query = Query(
            text=Clean(text[:QUERY_LENGTH]),
            limit=2 * MAX_RELEVANT,
            project=project,
            floor=INJECTION_FLOOR,
            most_fitting=2 * MAX_RELEVANT,
            reads=RERANKED,
            budget=max(TASK_TOKENS, BUDGET_RANGE[0]),
        )
        found = self._search_service.recall(query, viewer, deadline)
        hits = [one for one in found.hits if one.fits and _is_injected(one.memory)]
        others = [one for one in hits if one.memory.source_task_id != without_task]
        notes = [Note(one.memory, one.passage.content, recall=found.id) for one in others[:MAX_RELEVANT]]
        sections = self._with_later_statements([Section("Relevant Past Knowledge", notes)], viewer, deadline)
        fewer = [replace(one, notes=one.notes[:MAX_RELEVANT]) for one in sections]
        return compose(self._label_notes(fewer, (), reader), TASK_TOKENS, self._nonce())

    def _current_task(self, event: AgentEvent, reader: Viewer) -> StoredTask | None:
        """Returns the stored task of a session: the one it was started for, else the one it worked on last."""
        name = None if event.task is None else event.task.id
        return self._tasks.current(name, event.session, reader)

    def _with_later_statements(
        self, sections: Sequence[Section], viewer: Viewer, deadline: float | None
    ) -> list[Section]:
        memories = [note.memory for section in sections for note in section.notes]
        later = self._links.later_statements(memories, viewer, deadline, certainty=DOUBT_INJECTED)
        return place_later_statements(sections, later)

    def _operational_context(
        self, event: AgentEvent, known: frozenset[tuple[MemoryId, int]], viewer: Viewer
    ) -> Injection:
        """Returns active cooldowns (C42) and operational memory (C21)."""
        budget = self._budgets.operational.tokens_for(event.model)
        if not budget:
            return NO_INJECTION
        environment = environment_line(self._cooldowns.format_for_agent())
        room = MAX_OPERATIONAL_CHARACTERS - len(environment)
        block = self._curation.block(viewer, budget, project=event.project, characters=room, known=known)
        text = "\n\n".join(part for part in (environment, block.text) if part)
        return Injection(text, [Note(memory, memory.content) for memory in block.memories])

    def _relevant_memories(
        self,
        question: str,
        event: AgentEvent,
        known: frozenset[tuple[MemoryId, int]],
        viewer: Viewer,
        deadline: float | None,
    ) -> Sequence[Note]:
        budget = self._budgets.start if event.kind is EventKind.STARTED else self._budgets.prompt
        if not question.strip() or not budget:
            return ()
        query = Query(
            text=Clean(question[:QUERY_LENGTH]),
            limit=MAX_RELEVANT + MAX_POINTERS,
            project=event.project,
            floor=INJECTION_FLOOR,
            least_relevance=POINTER_FLOOR,
            most_fitting=MAX_RELEVANT,
            reads=RERANKED,
            budget=max(budget, BUDGET_RANGE[0]),
            known=known,
        )
        answer = self._search_service.recall(query, viewer, deadline)
        mine = (hit for hit in answer.hits if event.subagent is not None or not _is_summary_of(event, hit.memory))
        hits = [hit for hit in mine if _is_injected(hit.memory)]
        notes = (Note(one.memory, one.passage.content, recall=answer.id) for one in hits if one.fits)
        pointers = [Note(one.memory, one.passage.content, is_pointer=True) for one in hits if not one.fits]
        return [*notes, *pointers[:MAX_POINTERS]]

    def _start_context(
        self,
        event: AgentEvent,
        session: Session,
        known: frozenset[tuple[MemoryId, int]],
        relevant: Sequence[Note],
        viewer: Viewer,
        deadline: float | None,
    ) -> tuple[Sequence[Note], list[Section]]:
        """Returns the standing instructions and the other memories that are worth their tokens in this session.
        ``relevant``: notes that are injected anyway."""
        collected = self._start_candidates.collect(event, session, viewer, deadline)
        shown = {note.memory.id for note in relevant}
        candidates = [
            one
            for one in collected
            if one.memory.id not in shown and _is_injected(one.memory) and not _is_summary_of(event, one.memory)
        ]
        injected = [Candidate(memory=note.memory, text=note.text, relevance=None) for note in relevant]
        tokens = self._budgets.start - sum(one.tokens for one in injected)
        best = choose(candidates, max(tokens, 0), self._reader.now(), injected)
        # Memories that the model knows are left out afterwards, so that nothing less valuable replaces them.
        chosen = [one for one in best if (one.memory.id, one.memory.version) not in known]
        standing = [one.memory for one in chosen if one.standing]
        rest = [one.memory for one in chosen if not one.standing]
        summaries = [one for one in rest if one.source is Source.SESSION_SUMMARY]
        notes = [one for one in rest if one.source is not Source.SESSION_SUMMARY]
        sections = [Section("Notes", _excerpts(notes)), Section("Earlier sessions", _excerpts(summaries))]
        return _excerpts(standing), sections

    def _without_repetitions(self, sections: Sequence[Section], session: Session, viewer: Viewer) -> Sequence[Section]:
        """Returns the sections without memories whose name and text have not changed since they were injected."""
        injected = {one.memory: one.version for one in session.injected if not one.is_pointer}
        pointed = {one.memory for one in session.injected}

        def is_new(note: Note) -> bool:
            memory = note.memory
            if note.is_pointer and memory.id in pointed:
                return False
            if memory.id not in injected:
                return True
            try:
                versions = self._reader.history(memory.id, viewer).versions
            except NotFound:  # It was deleted meanwhile.
                return False
            was = next((one for one in versions if one.number == injected[memory.id]), None)
            return was is None or _shown_texts(was) != _shown_texts(memory)

        return [replace(section, notes=list(filter(is_new, section.notes))) for section in sections]

    def _label_notes(self, sections: Sequence[Section], before: Sequence[Note], reader: Viewer) -> Sequence[Section]:
        """Returns the sections with labelled notes. Short ids are unique among all memories that the reader may read by
        id, which may be more than are injected. ``before``: notes that are shown already; a later statement is named by
        the first memory with its text."""
        notes = [note for section in sections for note in section.notes]
        stating = dict[str, Memory]()
        for note in (*before, *notes):
            if not note.is_pointer:
                stating.setdefault(_statement(note.memory), note.memory)
        later = [note.later.memory for note in notes if note.later is not None]
        named = {one.id: stating.get(_statement(one), one).id for one in later}
        memories = [note.memory for note in notes]
        short = self._reader.short_ids({*(one.id for one in memories), *named.values()}, reader)
        now = self._reader.now()
        writers = {one.provenance.actor for one in memories} - {reader.agent, None}
        names = self._agents.names([one for one in writers if one is not None])

        def label(note: Note) -> str:
            memory, writer = note.memory, note.memory.provenance.actor
            if note.is_pointer:
                return short[memory.id]
            author = rated = None
            if writer != reader.agent:
                author = (memory.author or Role.OPERATOR) if writer is None else names.get(writer, writer)
                rated = None if memory.operational is None else self._curation.rate(memory, now).confidence
            known = note_label(memory, short[memory.id], author, rated)
            if note.later is None:
                return known
            verb = "updated" if note.later.is_certain else "may be updated"
            return f"{known}, {verb} {note.later.at:%Y-%m-%d} by {short[named[note.later.memory.id]]}"

        return [
            replace(section, notes=[replace(note, label=label(note)) for note in section.notes]) for section in sections
        ]


def _shown_texts(memory: Memory | Version) -> tuple[str, str, str]:
    return memory.name, memory.content, memory.summary


def _is_summary_of(event: AgentEvent, memory: Memory) -> bool:
    """Returns True if the memory summarizes the session of the event, whose conversation the model has."""
    return memory.source is Source.SESSION_SUMMARY and memory.session == event.session


def _is_injected(memory: Memory) -> bool:
    """Returns False for a task that is still to be done, by whomever."""
    return memory.category != OPEN_TASK


def _versions(notes: Iterable[Note]) -> frozenset[tuple[MemoryId, int]]:
    return frozenset((note.memory.id, note.memory.version) for note in notes)


def _excerpts(memories: Iterable[Memory]) -> Sequence[Note]:
    return [excerpt(memory) for memory in memories]


def _recall_query(event: AgentEvent, session: Session) -> str:
    """Returns the text that injected memories should match."""
    if event.kind is EventKind.PROMPTED:
        return event.text or ""
    parts = [None if event.task is None else event.task.text]
    if event.kind is EventKind.SUBAGENT_STARTED or event.origin is Origin.COMPACTED:
        parts += [session.goal, session.last_prompt]
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _is_told_by_runner(event: AgentEvent, task: StoredTask | None) -> bool:
    """Returns True if a runner started the session and put the task, what is relevant to it and the operational context
    into its prompts. A compaction removes what stood in the first prompt."""
    if event.kind not in (EventKind.STARTED, EventKind.PROMPTED) or event.origin is Origin.COMPACTED:
        return False
    if event.task is None or task is None or task.id != event.task.id:
        return False
    return task.lease is not None and task.lease.runner is not None


def _reminders(event: AgentEvent, session: Session, task: StoredTask | None) -> Iterable[Section]:
    """Yields the current task and, after a compaction, what was asked for (D25)."""
    if task is not None:
        yield Section("Current task", (), _shorten(reminder(task), TASK_LENGTH))
    elif event.task is not None:
        yield Section("Current task", (), _shorten(f"{event.task.id}: {event.task.text}".rstrip(": "), TASK_LENGTH))
    compacted, asking = event.origin is Origin.COMPACTED, event.kind is EventKind.PROMPTED
    if session.goal is not None and (compacted or (asking and session.goal != session.last_prompt)):
        yield Section("Session goal", (), _shorten(session.goal, GOAL_LENGTH))
    if compacted and session.last_prompt not in (None, session.goal):
        yield Section("Last request", (), _shorten(session.last_prompt or "", GOAL_LENGTH))
