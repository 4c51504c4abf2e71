"""Implicit feedback: evidence from an ended session about the memories that were given in it.

Reporting the same session again is harmless: it has one piece of evidence per memory, and the strongest sign stays.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.core.clock import Clock
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter, Sign
from hivelore.feedback.usage_signals import RARE, GivenMemory, ObservedUsage, observe_usage, recalls_in, session_outcome
from hivelore.feedback.usefulness import RECENT
from hivelore.indexes.ports import KeywordIndex
from hivelore.memories.model import Lifetimes, MemoryId, Source
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import EVERYTHING, RecallId
from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.model import Session, SessionEnd, Transcript, Turn, session_key
from hivelore.sessions.transcripts import without_own_tools
from hivelore.storage.ports import MemoryStore, Transaction, View

LOOKED_AT = 1_000
"""The newest recalls of an agent in which those of a session are looked up."""
READ = 4_000
"""Characters of a memory whose words are compared."""


class ImplicitFeedback:
    def __init__(self, store: MemoryStore, keywords: KeywordIndex, lifetimes: Lifetimes, clock: Clock) -> None:
        self._store = store
        self._keywords = keywords
        self._lifetimes = lifetimes
        self._clock = clock

    def watch(self, ended: SessionEnd, agent: AgentId, whole: Transcript) -> None:
        """Stores the evidence in a transcript that includes calls of Hivelore's own tools. Lessons that were used or
        opened live on from now (X21)."""
        name = session_key(ended.program, ended.session, None if ended.subagent is None else ended.subagent.id)
        with self._store.read() as view:
            given = _given_memories(view, view.session(agent, name), agent, ended, whole.turns)
            if not given.memories:
                return
            found = observe_usage(whole.turns, list(given.memories.values()))
            rare = self._rare(view, found)
        sees_all = ended.transcript is not None and bool(whole.turns) and not whole.cut and not ended.is_partial
        ending = (
            session_outcome(without_own_tools(whole).turns) if ended.task is not None and not ended.is_partial else None
        )
        used = [given.keys[memory] for memory, one in found.items() if one.is_opened or one.sign(rare) is not None]
        noted: dict[DocumentKey, list[Evidence]] = {}
        for memory, one in found.items():
            for sign in _signs(one, rare, ending, is_recalled=memory in given.recalled and sees_all):
                recall = given.recalled.get(memory)
                evidence = Evidence(agent=agent, session=name, sign=sign, at=ended.at, recall=recall)
                noted.setdefault(given.keys[memory], []).append(evidence)
        if noted or used:
            self._store.write(lambda tx: self._note(tx, noted, used))

    def _note(
        self, tx: Transaction, noted: Mapping[DocumentKey, Sequence[Evidence]], used: Sequence[DocumentKey]
    ) -> None:
        if noted:
            tx.add_evidence(noted)
        renewed = self._lifetimes.expiry(Source.LESSON, self._clock.now())
        for key, memory in tx.memories_of(used, EVERYTHING).items():
            if memory.source is Source.LESSON and memory.expires_at is not None:
                tx.set_expiry(key, None if renewed is None else max(memory.expires_at, renewed))

    def _rare(self, view: View, found: Mapping[MemoryId, ObservedUsage]) -> frozenset[str]:
        words = {word for one in found.values() if one.is_in_doubt for word in one.given.words}
        return frozenset(word for word, says in self._keywords.rarities(view, sorted(words)).items() if says >= RARE)


class _GivenMemories:
    """The memories that an agent was given in a session."""

    def __init__(self) -> None:
        self.memories: dict[MemoryId, GivenMemory] = {}
        self.keys: dict[MemoryId, DocumentKey] = {}
        self.recalled: dict[MemoryId, RecallId] = {}
        """Memories that a recall returned as relevant, with the last such recall."""


def _given_memories(
    view: View, session: Session | None, agent: AgentId, ended: SessionEnd, turns: Sequence[Turn]
) -> _GivenMemories:
    shown = () if session is None else session.shown
    asked = recalls_in(turns)
    since = min([ended.at, *(turn.at for turn in turns if turn.at is not None), *(one.at for one in shown)]) - RECENT
    named = asked | {one.recall for one in shown}
    recalls = {one.id: one for one in _logged(view, agent, since) if one.id in named} if named - {None} else {}
    shown_at: dict[MemoryId, datetime] = {}
    by: dict[MemoryId, set[RecallId]] = {}
    given = _GivenMemories()
    for one in shown:
        shown_at.setdefault(one.memory, one.at)
        if one.recall is not None:
            given.recalled[one.memory] = one.recall
    for recall in recalls.values():
        for hit in recall.hits if recall.id in asked else ():
            by.setdefault(hit.memory, set()).add(recall.id)
            if hit.fits:
                given.recalled[hit.memory] = recall.id
    for memory in (*shown_at, *(one for one in by if one not in shown_at)):
        stored = view.get(memory)
        if stored is None:
            continue
        questions = [recalls[one].question for one in by.get(memory, ())]
        known = distinct_terms("\n".join(questions)) | STOP_WORDS
        given.keys[memory] = stored.key
        given.memories[memory] = GivenMemory(
            memory=memory,
            words=distinct_terms(f"{stored.memory.name}\n{stored.memory.content[:READ]}") - known,
            shown_at=shown_at.get(memory),
            recalls=frozenset(by.get(memory, ())),
        )
    return given


def _logged(view: View, agent: AgentId, since: datetime) -> Sequence[Recall]:
    return view.recalls(RecallFilter(seen=EVERYTHING.visibility, agent=agent, since=since), None, LOOKED_AT)


def _signs(one: ObservedUsage, rare: frozenset[str], ending: Sign | None, *, is_recalled: bool) -> Sequence[Sign]:
    """Returns the signs for one memory. A memory is unused only if it was recalled as relevant and the whole transcript
    was seen."""
    sign = one.sign(rare)
    if sign is not None:
        return [sign] if ending is None else [sign, ending]
    return [Sign.UNUSED] if is_recalled and one.is_given and not one.is_opened else []
