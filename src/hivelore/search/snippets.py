"""What is shown of a hit: whole sentences around the words that were asked for."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from math import fsum
from typing import Protocol

import regex

from hivelore.core.token_count import cost, estimate
from hivelore.core.values import replace
from hivelore.indexing.model import Candidate, ChunkKey, DocumentKey, Neighbour, PassageKey, StoredChunk
from hivelore.memories.chunking import EXCERPT_LENGTH, EXCERPT_RANGE, chunk, excerpts
from hivelore.memories.model import Chunk, Memory, Passage
from hivelore.memories.validity import state_at
from hivelore.search.model import Hit, Snippet
from hivelore.search.selection import Memories, Selection
from hivelore.storage.ports import View

# Each alternative begins with few characters: such a pattern is found much faster.
_END = re.compile(
    r"""[.!?…]+["')\]]*(?=\s+[^\sa-z])|[。！？]|\n(?=\s*\n|[ \t]*(?:[-*+•>|]|\d{1,3}[.)]|\#{1,6})[ \t]|```|~~~)"""
    r"|\#{1,6}[ \t][^\n]*"
)
"""Where a sentence, a paragraph, a heading or an item of a list ends; a line of running text ends nowhere."""
_SHORT = tuple(f" {word}" for word in ("e.g", "i.e", "etc", "cf", "vs", "approx", "resp", "Dr", "Mr", "Ms", "No"))
"""Abbreviations, whose full stop ends no sentence."""
LEAST_SHOWN = 20
"""Tokens of its passage that the first hit shows, however small the budget."""
_REACH = 300
"""So far beyond the passage an end is looked for, so that it begins and ends with a whole sentence."""
_INSIDE = re.compile(r"\w\w")
_LONGEST_WORD = 40
"""What has more characters between two blanks is no word of a script that has blanks."""

_Size = Callable[[int, int], float]
"""How much some neighbouring units are together, by the places of the first and the last."""
_Cut = Callable[[str, Passage], Sequence[Passage]]


def excerpt(text: str, chunk: Chunk, fit_to_budget: Passage, weights: Mapping[str, float]) -> Passage:
    """The sentences of a passage of the chunk, up to about 700 characters, that hold the most of the terms together,
    with what stands around them up to about 500. A sentence that the passage cuts counts as a whole; only one that is
    longer than all that is cut itself. A term is a stem, so it is looked for inside of words; ``weights`` has what each
    says."""
    whole = Passage(start=chunk.start, stop=chunk.stop)
    if fit_to_budget == whole and fit_to_budget.stop - fit_to_budget.start <= EXCERPT_RANGE[1]:
        return fit_to_budget
    sentences = _sentences(text, fit_to_budget, whole)

    def length(first: int, last: int) -> int:
        return sentences[last].stop - sentences[first].start

    return _best(text, sentences, weights, length, EXCERPT_LENGTH, EXCERPT_RANGE[1])


def shorten(text: str, tokens: int, weights: Mapping[str, float]) -> str:
    """As much of a text as has so many tokens: the sentences that hold the most of the terms, with what stands around
    them; of a sentence that is longer, the words that do. An ellipsis stands for what is left out."""
    if estimate(text) <= tokens:
        return text
    part, room = Passage(start=0, stop=len(text)), tokens - 2 * estimate("…")
    for cut in (_sentences, *_CUTS):
        units = cut(text, part)
        sums = [0.0, *accumulate(cost(text[one.start : one.stop]) for one in units)]
        part = _best(text, units, weights, lambda first, last, sums=sums: sums[last + 1] - sums[first], room, room)
        if cost(text[part.start : part.stop]) <= room:
            break
    before, after = "… " if part.start > 0 else "", " …" if part.stop < len(text) else ""
    return f"{before}{text[part.start : part.stop]}{after}"


def term_coverage(text: str, weights: Mapping[str, float]) -> float:
    """What the terms that a text holds say together."""
    folded = text.casefold()
    return fsum(weight for term, weight in weights.items() if term in folded)


def trim_partial_words(text: str, start: int, stop: int) -> Passage:
    """The span without parts of words at its ends, as where a chunk begins with the end of the one before."""
    first, last = _word_around(text, start), _word_around(text, stop)
    begin = start if first is None else first.stop
    end = stop if last is None else last.start
    return Passage(start=begin, stop=end) if text[begin:end].strip() else Passage(start=start, stop=stop)


def _word_around(text: str, at: int) -> Passage | None:
    """The word that a place is inside of; None where it is not, and in a script without blanks."""
    if not (0 < at < len(text) and _INSIDE.fullmatch(text, at - 1, at + 1)):
        return None
    head, tail = text[max(at - _LONGEST_WORD, 0) : at].split()[-1], text[at : at + _LONGEST_WORD].split(maxsplit=1)[0]
    if len(head) + len(tail) >= _LONGEST_WORD:
        return None
    return Passage(start=at - len(head), stop=at + len(tail))


def _best(
    text: str, units: Sequence[Passage], weights: Mapping[str, float], size: _Size, enough: float, most: float
) -> Passage:
    """The units that hold the most of the terms together, with more around them until it is enough."""
    held = [_held(text[one.start : one.stop].casefold(), weights) for one in units]
    first, last = _fullest(held, list(weights.values()), size, most)
    return _with_more(units, first, last, size, enough, most)


def _with_more(units: Sequence[Passage], first: int, last: int, size: _Size, enough: float, most: float) -> Passage:
    """The units from the first to the last and as many before as after them, until it is enough."""
    middle = units[first].start + units[last].stop
    while True:
        start, stop = units[first].start, units[last].stop
        after = last + 1 < len(units) and size(first, last + 1) <= most
        before = first > 0 and size(first - 1, last) <= most
        if size(first, last) >= enough or not (after or before):
            return Passage(start=start, stop=stop)
        if before and (start + stop >= middle or not after):
            first -= 1
        else:
            last += 1


def _sentences(text: str, fit_to_budget: Passage, whole: Passage | None = None) -> Sequence[Passage]:
    """Those of the whole that the passage has a part of, without blanks at their ends, a long one in pieces."""
    whole = whole or fit_to_budget
    start, reach = max(whole.start, fit_to_budget.start - _REACH), min(whole.stop, fit_to_budget.stop + _REACH)
    ends = [match.end() for match in _END.finditer(text, start, reach) if not text.endswith(_SHORT, 0, match.start())]
    found: list[Passage] = []
    for end in [*ends, reach]:
        if end > fit_to_budget.start and start < fit_to_budget.stop:
            sentence = text[start:end]
            begin = start + len(sentence) - len(sentence.lstrip())
            stop = start + len(sentence.rstrip())
            if stop - begin > EXCERPT_RANGE[1]:
                found.extend(excerpts(text, Passage(start=begin, stop=stop)))
            elif begin < stop:
                found.append(Passage(start=begin, stop=stop))
        start = end
    return found or (fit_to_budget,)


def _held(sentence: str, terms: Iterable[str]) -> int:
    """Which of the terms it holds, a bit for each."""
    return sum(1 << bit for bit, term in enumerate(terms) if term in sentence)


def _fullest(held: Sequence[int], weights: Sequence[float], size: _Size, most: float) -> tuple[int, int]:
    """First and last of the neighbouring units that hold the most of the terms; of several, the shortest, then first;
    the first one where none holds any."""
    best, shortest, place = 0.0, 0.0, (0, 0)
    known: dict[int, float] = {0: 0.0}
    for first in range(len(held)):
        together = 0
        for last in range(first, len(held)):
            length = size(first, last)
            if length > most and last > first:
                break
            together |= held[last]
            if together not in known:
                known[together] = fsum(weight for bit, weight in enumerate(weights) if together >> bit & 1)
            worth = known[together]
            if worth > best or (worth == best and length < shortest):
                best, shortest, place = worth, length, (first, last)
    return place


def _cutting(pattern: str) -> _Cut:
    parts = regex.compile(pattern, regex.DOTALL)

    def cut(text: str, fit_to_budget: Passage) -> Sequence[Passage]:
        return [
            Passage(start=one.start(), stop=one.end())
            for one in parts.finditer(text, fit_to_budget.start, fit_to_budget.stop)
        ]

    return cut


_CUTS = tuple(map(_cutting, (r"\S+", r"\X{1,3}", r".")))
"""For a sentence that is too long, for a word that is, and for a character that is."""


class Found(Protocol):
    """What the indexes say of the hits."""

    @property
    def keywords(self) -> Mapping[DocumentKey, Candidate]: ...

    @property
    def nearest(self) -> Mapping[DocumentKey, Neighbour]: ...


def build_hits(
    view: View,
    best: Sequence[Selection],
    reading: Memories,
    found: Found,
    weights: Mapping[str, float],
) -> list[Hit]:
    keys = [one.key for one in best]
    asked, memories = view.chunks_of(keys), reading(keys)
    chunks = asked()
    return [
        Hit(
            memory=memories[one.key],
            passage=_best_passage(one.key, memories[one.key], chunks.get(one.key, ()), found, weights),
            score=one.score.rounded(),
            fit=round(one.fit, 4),
            fits=one.fits,
            alike=one.alike,
        )
        for one in best
    ]


def memories_as_of(view: View, memories: Sequence[Memory], at: datetime) -> list[Memory]:
    """Memories as they were at an instant (``memories.validity``)."""
    later = [one for one in memories if one.version > 1 and one.updated_at > at]
    keys = {one.id: stored.key for one in later if (stored := view.get(one.id)) is not None}
    histories = view.histories(list(keys.values()))
    return [state_at(one, histories[keys[one.id]], at) if one.id in keys else one for one in memories]


def hits_as_of(view: View, hits: Sequence[Hit], at: datetime, weights: Mapping[str, float]) -> list[Hit]:
    """Hits as they were at an instant: what is shown is found anew where the words were others."""
    was = memories_as_of(view, [hit.memory for hit in hits], at)
    return [
        replace(
            hit,
            memory=memory,
            passage=hit.passage if memory.content == hit.memory.content else _passage_then(memory, weights),
        )
        for hit, memory in zip(hits, was, strict=True)
    ]


def _passage_then(memory: Memory, weights: Mapping[str, float]) -> Snippet:
    """An excerpt of the chunk that holds most of the terms."""
    chunks = chunk(memory.content)
    best = max(chunks, key=lambda one: term_coverage(memory.content[one.start : one.stop], weights))
    span = excerpt(memory.content, best, Passage(start=best.start, stop=best.stop), weights)
    return make_snippet(memory, best, span.start, span.stop, len(chunks))


def _best_passage(
    key: DocumentKey, memory: Memory, chunks: Sequence[StoredChunk], found: Found, weights: Mapping[str, float]
) -> Snippet:
    """An excerpt of the nearest passage by meaning or of the best chunk by words: of the one that says more of the
    question, and of the former where that is a tie."""
    near, keyword = found.nearest.get(key), found.keywords.get(key)
    spans = [None if near is None else _passage(chunks, near.passage)]
    spans.append(None if keyword is None else _chunk(chunks, keyword.chunk))
    parts = {span: excerpt(memory.content, *span, weights) for span in dict.fromkeys(spans) if span is not None}
    if not parts:
        return replace(summary_snippet(memory), total_chunks=max(len(chunks), 1))
    (chunk, _), best = max(
        parts.items(), key=lambda one: term_coverage(memory.content[one[1].start : one[1].stop], weights)
    )
    return make_snippet(memory, chunk, best.start, best.stop, len(chunks))


def _passage(chunks: Sequence[StoredChunk], key: PassageKey) -> tuple[Chunk, Passage] | None:
    for stored in chunks:
        for passage_key, passage in zip(stored.passages, stored.chunk.passages, strict=True):
            if passage_key == key:
                return stored.chunk, passage
    return None


def _chunk(chunks: Sequence[StoredChunk], key: ChunkKey) -> tuple[Chunk, Passage] | None:
    """All of it."""
    found = next((stored.chunk for stored in chunks if stored.key == key and stored.chunk.passages), None)
    return None if found is None else (found, Passage(start=found.start, stop=found.stop))


def summary_snippet(memory: Memory) -> Snippet:
    return Snippet(content=memory.summary, chunk_index=0, total_chunks=1, headings=())


def make_snippet(memory: Memory, chunk: Chunk, start: int, stop: int, total: int) -> Snippet:
    span = trim_partial_words(memory.content, start, stop)
    return Snippet(
        content=memory.content[span.start : span.stop].strip(),
        chunk_index=chunk.index,
        total_chunks=total,
        headings=chunk.headings,
    )


def fit_to_budget(hits: Sequence[Hit], budget: int | None, weights: Mapping[str, float]) -> list[Hit]:
    """The hits whose names and passages take up to ``budget`` tokens together, in their order: what is too long for the
    rest is left out. Of the first one, the part of the passage that says the most of the question, whose terms have
    ``weights``, is shown where not all of it has room."""
    if budget is None or not hits:
        return list(hits)
    passage, room = hits[0].passage, max(budget - estimate(hits[0].memory.name), LEAST_SHOWN)
    first = replace(hits[0], passage=replace(passage, content=shorten(passage.content, room, weights)))
    left = budget - _cost(first)
    build_hits = [first]
    for hit in hits[1:]:
        cost = _cost(hit)
        if cost <= left:
            left -= cost
            build_hits.append(hit)
    return build_hits


def _cost(hit: Hit) -> int:
    return estimate(hit.memory.name) + estimate(hit.passage.content)
