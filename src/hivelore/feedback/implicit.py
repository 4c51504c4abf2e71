"""Watching: what the end of a session shows of the use of the memories that were given in it.

It may be told again, or of an earlier end: evidence is kept once for a session, and the surest sign stays.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter, Sign
from hivelore.feedback.usage_signals import RARE, GivenMemory, ObservedUsage, observe_usage, recalls_in, session_outcome
from hivelore.feedback.usefulness import RECENT
from hivelore.indexes.ports import KeywordIndex
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import EVERYTHING, RecallId
from hivelore.search.tokenizer import STOP_WORDS, distinct_terms
from hivelore.sessions.model import Session, SessionEnd, Transcript, Turn, session_key
from hivelore.sessions.transcripts import without_own_tools
from hivelore.storage.ports import MemoryStore, View

LOOKED_AT = 1_000
"""Recalls of the agent, the newest, that those of a session are looked for in."""
READ = 4_000
"""Characters of a memory that words are taken from."""


class ImplicitFeedback:
    def __init__(self, store: MemoryStore, keywords: KeywordIndex) -> None:
        self._store = store
        self._keywords = keywords

    def watch(self, ended: SessionEnd, agent: AgentId, whole: Transcript) -> None:
        """Note what a conversation, with our own tools in it, shows of the use of what was given to this agent."""
        name = session_key(ended.program, ended.session, None if ended.subagent is None else ended.subagent.id)
        with self._store.read() as view:
            lent = _lent(view, view.session(agent, name), agent, ended, whole.turns)
            if not lent.given:
                return
            found = observe_usage(whole.turns, list(lent.given.values()))
            rare = self._rare(view, found)
        sees_all = ended.transcript is not None and bool(whole.turns) and not whole.cut and not ended.is_partial
        ending = (
            session_outcome(without_own_tools(whole).turns) if ended.task is not None and not ended.is_partial else None
        )
        noted: dict[DocumentKey, list[Evidence]] = {}
        for memory, one in found.items():
            for sign in _signs(one, rare, ending, is_recalled=memory in lent.recalled and sees_all):
                recall = lent.recalled.get(memory)
                evidence = Evidence(agent=agent, session=name, sign=sign, at=ended.at, recall=recall)
                noted.setdefault(lent.keys[memory], []).append(evidence)
        if noted:
            self._store.write(lambda tx: tx.add_evidence(noted))

    def _rare(self, view: View, found: Mapping[MemoryId, ObservedUsage]) -> frozenset[str]:
        words = {word for one in found.values() if one.is_in_doubt for word in one.given.words}
        return frozenset(word for word, says in self._keywords.rarities(view, sorted(words)).items() if says >= RARE)


class _Lent:
    """What an agent was given in a session."""

    def __init__(self) -> None:
        self.given: dict[MemoryId, GivenMemory] = {}
        self.keys: dict[MemoryId, DocumentKey] = {}
        self.recalled: dict[MemoryId, RecallId] = {}
        """Those that were given as fitting, and the last recall that did so."""


def _lent(view: View, session: Session | None, agent: AgentId, ended: SessionEnd, turns: Sequence[Turn]) -> _Lent:
    shown = () if session is None else session.shown
    asked = recalls_in(turns)
    since = min([ended.at, *(turn.at for turn in turns if turn.at is not None), *(one.at for one in shown)]) - RECENT
    named = asked | {one.recall for one in shown}
    recalls = {one.id: one for one in _logged(view, agent, since) if one.id in named} if named - {None} else {}
    shown_at: dict[MemoryId, datetime] = {}
    by: dict[MemoryId, set[RecallId]] = {}
    lent = _Lent()
    for one in shown:
        shown_at.setdefault(one.memory, one.at)
        if one.recall is not None:
            lent.recalled[one.memory] = one.recall
    for recall in recalls.values():
        for hit in recall.hits if recall.id in asked else ():
            by.setdefault(hit.memory, set()).add(recall.id)
            if hit.fits:
                lent.recalled[hit.memory] = recall.id
    for memory in (*shown_at, *(one for one in by if one not in shown_at)):
        stored = view.get(memory)
        if stored is None:
            continue
        questions = [recalls[one].question for one in by.get(memory, ())]
        known = distinct_terms("\n".join(questions)) | STOP_WORDS
        lent.keys[memory] = stored.key
        lent.given[memory] = GivenMemory(
            memory=memory,
            words=distinct_terms(f"{stored.memory.name}\n{stored.memory.content[:READ]}") - known,
            shown_at=shown_at.get(memory),
            recalls=frozenset(by.get(memory, ())),
        )
    return lent


def _logged(view: View, agent: AgentId, since: datetime) -> Sequence[Recall]:
    return view.recalls(RecallFilter(seen=EVERYTHING.visibility, agent=agent, since=since), None, LOOKED_AT)


def _signs(one: ObservedUsage, rare: frozenset[str], ending: Sign | None, *, is_recalled: bool) -> Sequence[Sign]:
    """What there is to note of one memory. That it was of no use is only said of what was recalled as fitting, in a
    conversation that was seen to its end."""
    sign = one.sign(rare)
    if sign is not None:
        return [sign] if ending is None else [sign, ending]
    return [Sign.UNUSED] if is_recalled and one.is_given and not one.is_opened else []
