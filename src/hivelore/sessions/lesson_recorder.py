"""Lesson recorder: stores each lesson of a session as a memory, and follows what later turns make of it.

Lessons of the last two prompts may still change, because the next turns say what became of them. All others are final:
a memory that somebody edited or deleted since stays as it is.
"""

import hashlib
from collections.abc import Callable, Sequence

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.drafts import Draft, QuotedDraft
from hivelore.memories.model import Memory, Scope, Source, Trust
from hivelore.memories.record_lookup import same_record
from hivelore.memories.service import MemoryService
from hivelore.memories.stored import Stored
from hivelore.sessions.lessons.classifier import LessonClassifier, shipped_classifier
from hivelore.sessions.lessons.drawing import EVIDENCE, WINDOW, Drawing, draw_lessons
from hivelore.sessions.model import (
    MAX_LESSONS,
    KnownLesson,
    Lesson,
    LessonProgress,
    Session,
    SessionEnd,
    Speaker,
    Turn,
    session_key,
)
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.storage.ports import MemoryStore

EXTRACTIVE = "extractive"
_OPEN_PROMPTS = 2
"""Newest prompts whose lessons may still change."""
_ERROR_LENGTH = 200


class LessonRecorder:
    def __init__(
        self,
        store: MemoryStore,
        memory_service: MemoryService,
        novelty_filter: NoveltyFilter,
        clock: Clock,
        classifier: Callable[[], LessonClassifier] = shipped_classifier,
    ) -> None:
        self._store = store
        self._memory_service = memory_service
        self._novelty_filter = novelty_filter
        self._clock = clock
        self._classifier = classifier

    def record(self, ended: SessionEnd, viewer: Viewer, conversation: Sequence[Turn]) -> bool:
        """Draws the lessons of a clean conversation and stores what is new. Returns True if the session has taught
        something so far. The same conversation again changes nothing."""
        agent = viewer.agent
        if agent is None:
            return False
        turns = _window(conversation)
        before = self._progress(ended, agent)
        drawing = draw_lessons(turns, self._classifier(), has_taught=before.has_taught)
        update = _Update(turns, before, drawing)
        drawn = update.lessons()
        for known in update.joined():
            self._forget(known, ended, viewer, agent)
            update.remove(known)
        for lesson, known in drawn:
            self._put(update, lesson, known, ended, viewer, agent)
        withdrawn = [one for one in update.withdrawn() if not self._is_explicit(one, ended, agent)]
        for known in (*update.retracted(), *self._older_retracted(update, ended, agent), *withdrawn):
            self._forget(known, ended, viewer, agent)
            update.drop(known)
        self._save(ended, agent, update.progress())
        return bool(update.known)

    def record_given(self, ended: SessionEnd, viewer: Viewer, lessons: Sequence[Lesson], by: str) -> None:
        """Stores the lessons that a model found and that are new. One that the session has had before in the same words
        is final: it stays as it is, whether it was drawn, edited, taken back or deleted since."""
        agent = viewer.agent
        if agent is None or not lessons:
            return
        before = self._progress(ended, agent)
        known = list(before.lessons)
        for lesson in lessons:
            digest = _digest(lesson.text)
            key = _given_key(digest)
            if any(digest in one.statements or key in one.statements for one in known):
                continue
            external_id, content = Clean(""), ""
            if not self._is_known(lesson, ended, agent, is_own=lambda memory: _is_own_summary(memory, ended)):
                external_id = _given_id(ended, digest)
                written = self._memory_service.remember(lesson_draft(lesson, ended, external_id, by), viewer)
                content = _digest(written.memory.content)
            known.append(KnownLesson(external_id, (key,), content))
        self._save(ended, agent, replace(before, lessons=tuple(known[-MAX_LESSONS:])))

    def _put(
        self,
        update: "_Update",
        lesson: Lesson,
        known: KnownLesson | None,
        ended: SessionEnd,
        viewer: Viewer,
        agent: AgentId,
    ) -> None:
        if known is None:
            external_id = _external_id(ended, lesson.statements[0])
            if self._is_known(lesson, ended, agent, is_own=lambda memory: _is_drawn_from(memory, ended)):
                update.keep(KnownLesson(Clean(""), lesson.statements), None)
                return
        else:
            external_id = known.external_id
            stored = self._stored(external_id, ended, agent) if external_id else None
            if stored is None or _digest(stored.memory.content) != known.content:
                update.keep(known._replace(statements=lesson.statements), known)  # Edited or deleted by somebody.
                return
        draft = lesson_draft(lesson, ended, external_id, EXTRACTIVE)
        written = self._memory_service.remember(draft, viewer)
        update.keep(KnownLesson(external_id, lesson.statements, _digest(written.memory.content)), known)

    def _is_known(self, lesson: Lesson, ended: SessionEnd, agent: AgentId, is_own: Callable[[Memory], bool]) -> bool:
        """Returns True if a memory states the lesson, and lives as long. Its lifetime is renewed. ``is_own``: memories
        that do not count, because the lesson comes from the same words."""
        project = None if ended.project is None else Clean(ended.project)
        found = self._novelty_filter.memory_stating(lesson.text, agent, project, _source(lesson), is_own)
        if found is None:
            return False
        self._novelty_filter.reinforce([found])
        return True

    def _older_retracted(self, update: "_Update", ended: SessionEnd, agent: AgentId) -> list[KnownLesson]:
        """Returns the lessons of turns that are no longer read and that the user takes back now."""
        retractions = [one for one in update.drawing.retractions if update.is_open(one.turn)]
        older = [one for one in update.known if one.external_id and update.is_out_of_sight(one)] if retractions else []
        stored = [(one, self._stored(one.external_id, ended, agent)) for one in older]
        texts = {found.memory.content: one for one, found in stored if found is not None}
        gone: list[KnownLesson] = []
        for retraction in retractions:
            text = retraction.concerned(texts)
            if text is not None:
                gone.append(texts.pop(Clean(text)))
        return gone

    def _is_explicit(self, known: KnownLesson, ended: SessionEnd, agent: AgentId) -> bool:
        """Returns True for the explicit word of a user, which only the user takes back."""
        stored = self._stored(known.external_id, ended, agent) if known.external_id else None
        return stored is not None and stored.memory.source is Source.MANUAL

    def _forget(self, known: KnownLesson, ended: SessionEnd, viewer: Viewer, agent: AgentId) -> None:
        """Forgets the memory of a lesson, unless somebody edited it."""
        stored = self._stored(known.external_id, ended, agent) if known.external_id else None
        if stored is not None and _digest(stored.memory.content) == known.content:
            self._memory_service.forget(stored.memory.id, viewer)

    def _stored(self, external_id: Clean, ended: SessionEnd, agent: AgentId) -> Stored | None:
        project = None if ended.project is None else Clean(ended.project)
        with self._store.read() as view:
            return same_record(view.memories_with_external_id(agent, external_id), project)

    def _progress(self, ended: SessionEnd, agent: AgentId) -> LessonProgress:
        with self._store.read() as view:
            session = view.session(agent, _key(ended))
        return LessonProgress() if session is None else session.progress

    def _save(self, ended: SessionEnd, agent: AgentId, progress: LessonProgress) -> None:
        fresh = Session(agent=agent, id=_key(ended), updated_at=ended.at, begun_at=self._clock.now())
        self._store.write(lambda tx: tx.put_session(replace(tx.session(agent, fresh.id) or fresh, progress=progress)))


class _Update:
    """The lessons of a session while those of new turns are added."""

    def __init__(self, turns: Sequence[Turn], before: LessonProgress, drawing: Drawing) -> None:
        self.drawing = drawing
        self.known = list(before.lessons)
        self._turns = turns
        self._before = before
        self._settled = _settled_turn(turns, before.settled)
        self._continued = set[KnownLesson]()

    def is_open(self, turn: int) -> bool:
        return turn > self._settled

    def is_out_of_sight(self, known: KnownLesson) -> bool:
        return not any(one in self.drawing.statements for one in known.statements)

    def lessons(self) -> list[tuple[Lesson, KnownLesson | None]]:
        """Returns the lessons that are new or have changed, each with what is known of it. If a lesson fell apart, one
        part continues it, and the others are new."""
        found: list[tuple[Lesson, KnownLesson | None]] = []
        continued = self._continued
        for lesson in self.drawing.lessons:
            known = self._known(lesson)
            if known is None and not self.is_open(lesson.last_turn) and self._before.has_taught:
                continue
            if known is not None and (known in continued or self._continues_elsewhere(known, lesson)):
                found.append((lesson, None))
                continue
            if known is not None:
                continued.add(known)
            if known is None or known.statements != lesson.statements:
                found.append((lesson, known))
        return found

    def _continues_elsewhere(self, known: KnownLesson, part: Lesson) -> bool:
        """Returns True if another drawn lesson begins as the known one, whose id comes from its first statement."""
        first = known.statements[0]
        return first not in part.statements and any(first in one.statements for one in self.drawing.lessons)

    def joined(self) -> list[KnownLesson]:
        """Returns the lessons that became part of another one. Call it after ``lessons``."""
        drawn = {one for lesson in self.drawing.lessons for one in lesson.statements}
        return [one for one in self._before.lessons if one not in self._continued and drawn.issuperset(one.statements)]

    def remove(self, lesson: KnownLesson) -> None:
        self.known = [one for one in self.known if one != lesson]

    def retracted(self) -> list[KnownLesson]:
        """Returns the lessons that the user has taken back as a whole."""
        kept = {one for lesson in self.drawing.lessons for one in lesson.statements}
        found = [self._known(one) for one in self.drawing.retracted if not kept.intersection(one.statements)]
        return [one for one in found if one is not None]

    def withdrawn(self) -> list[KnownLesson]:
        """Returns the lessons that no longer stand out, now that more turns are known."""
        drawn = {one for lesson in self.drawing.lessons for one in lesson.statements}
        return [
            one
            for one in self.known
            if not drawn.intersection(one.statements)
            and all(self.is_open(self.drawing.statements.get(key, -1)) for key in one.statements)
        ]

    def keep(self, lesson: KnownLesson, instead_of: KnownLesson | None) -> None:
        if instead_of is None:
            self.known.append(lesson)
        else:
            self.known[self.known.index(instead_of)] = lesson

    def drop(self, lesson: KnownLesson) -> None:
        if lesson in self.known:
            self.known[self.known.index(lesson)] = KnownLesson(Clean(""), lesson.statements)

    def progress(self) -> LessonProgress:
        prompts = [number for number, turn in enumerate(self._turns) if turn.speaker is Speaker.USER]
        first_open = prompts[-_OPEN_PROMPTS] if len(prompts) >= _OPEN_PROMPTS else 0
        spoken = [number for number, turn in enumerate(self._turns[:first_open]) if turn.tool is None]
        settled = _turn_digest(self._turns, spoken[-1]) if spoken else self._before.settled
        has_taught = self._before.has_taught or self.drawing.evidence >= EVIDENCE
        return LessonProgress(settled, tuple(self.known[-MAX_LESSONS:]), has_taught)

    def _known(self, lesson: Lesson) -> KnownLesson | None:
        return next((one for one in self.known if not set(one.statements).isdisjoint(lesson.statements)), None)


def lesson_draft(lesson: Lesson, ended: SessionEnd, external_id: Clean, by: str) -> Draft:
    """Returns the draft of the memory that holds a lesson."""
    about = {
        "program": ended.program,
        "extractor": by,
        "turn": lesson.first_turn,
        "said": None if lesson.at is None else lesson.at.isoformat(),
        "files": list(lesson.files),
        "command": lesson.command,
        "error": lesson.error[:_ERROR_LENGTH],
        "subagent": None if ended.subagent is None else ended.subagent.type,
    }
    return QuotedDraft(
        content=lesson.text,
        name=lesson.name,
        scope=Scope.AGENT,
        source=_source(lesson),
        category=lesson.kind.value,
        project=ended.project,
        session=ended.session,
        source_task_id=None if ended.task is None else ended.task.id,
        external_id=external_id,
        metadata={name: value for name, value in about.items() if value or name == "turn"},
        trust=Trust.AGENT,
    )


def _source(lesson: Lesson) -> Source:
    """Returns the source of the memory of a lesson. The explicit word of a user never expires (X21)."""
    return Source.MANUAL if lesson.is_explicit else Source.LESSON


def _is_drawn_from(memory: Memory, ended: SessionEnd) -> bool:
    """Returns True for the summary of a session and the lessons drawn from it, which may share sentences."""
    return (memory.external_id or "").startswith(_external_id(ended, "")) or _is_own_summary(memory, ended)


def _is_own_summary(memory: Memory, ended: SessionEnd) -> bool:
    return memory.source is Source.SESSION_SUMMARY and memory.session == ended.session


def _window(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Returns the newest turns with at most ``WINDOW`` of user and agent."""
    spoken = [number for number, turn in enumerate(turns) if turn.tool is None]
    return turns[spoken[-WINDOW] :] if len(spoken) > WINDOW else turns


def _settled_turn(turns: Sequence[Turn], settled: str) -> int:
    """Returns the index of the last settled turn; -1 if it is not among them."""
    for number in reversed(range(len(turns))):
        if settled and turns[number].tool is None and _turn_digest(turns, number) == settled:
            return number
    return -1


def _turn_digest(turns: Sequence[Turn], number: int) -> str:
    """Returns a digest of a turn and the one before, because short turns repeat."""
    before = next((turn.text for turn in reversed(turns[:number]) if turn.tool is None), "")
    return _digest(f"{before}\n{turns[number].text}")


def _external_id(ended: SessionEnd, key: str) -> Clean:
    return Clean(f"lesson:{ended.thread.removeprefix('session:')}:{key}")


def _given_id(ended: SessionEnd, digest: str) -> Clean:
    """Returns the external id of a lesson that a model found. It is no id of a lesson drawn from a session."""
    return Clean(f"lesson:given:{ended.thread.removeprefix('session:')}:{digest}")


def _given_key(digest: str) -> str:
    """Returns what stands in ``KnownLesson.statements`` for the text of a model, which is no sentence of a session."""
    return f"given:{digest}"


def _key(ended: SessionEnd) -> Clean:
    return session_key(ended.program, ended.session, None if ended.subagent is None else ended.subagent.id)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
