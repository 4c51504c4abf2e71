"""Snippets: excerpts of whole sentences around the terms of the query."""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from itertools import accumulate
from math import fsum

import regex

from hivelore.core.token_count import cost, estimate
from hivelore.core.values import replace
from hivelore.memories.chunking import EXCERPT_LENGTH, EXCERPT_RANGE, chunk, excerpts
from hivelore.memories.model import Chunk, Memory, MemoryId, Passage
from hivelore.memories.stored import DocumentKey, StoredChunk
from hivelore.memories.validity import state_at
from hivelore.search.model import Evidence, Hit, Snippet
from hivelore.search.ranking import Memories, Proposals, Selection
from hivelore.search.relevance import identifier_share, informative
from hivelore.storage.ports import View

# Each alternative begins with few possible characters, which makes the search much faster.
_END = re.compile(
    r"""[.!?…]+["')\]]*(?=\s+[^\sa-z])|[。！？]|\n(?=\s*\n|[ \t]*(?:[-*+•>|]|\d{1,3}[.)]|\#{1,6})[ \t]|```|~~~)"""
    r"|\#{1,6}[ \t][^\n]*"
)
"""Ends of sentences, paragraphs, headings and list items. A line break within running text is no end."""
_SHORT = tuple(f" {word}" for word in ("e.g", "i.e", "etc", "cf", "vs", "approx", "resp", "Dr", "Mr", "Ms", "No"))
"""Abbreviations whose full stop does not end a sentence."""
LEAST_SHOWN = 20
"""Least number of tokens in the snippet of the first hit, however small the budget."""
_REACH = 300
"""Characters around a passage in which the ends of its first and last sentence are searched."""
_INSIDE = re.compile(r"\w\w")
_LONGEST_WORD = 40
"""Characters. Longer runs without white space are not words of a script that uses spaces."""

_Size = Callable[[int, int], float]
"""Returns the size of a range of adjacent units, given the positions of the first and the last."""
_Cut = Callable[[str, Passage], Sequence[Passage]]


def excerpt(text: str, chunk: Chunk, passage: Passage, weights: Mapping[str, float]) -> Passage:
    """Returns the sentences of a passage with the greatest total weight of terms, up to about 700 characters.

    Surrounding sentences are added until the excerpt has about 500. A sentence that the passage cuts is taken whole;
    one longer than the excerpt is cut. Terms are stems, so they match inside words. ``weights``: those of the terms.
    """
    whole = Passage(start=chunk.start, stop=chunk.stop)
    if passage == whole and passage.stop - passage.start <= EXCERPT_RANGE[1]:
        return passage
    sentences = _sentences(text, passage, whole)

    def length(first: int, last: int) -> int:
        return sentences[last].stop - sentences[first].start

    return _best_range(text, sentences, weights, length, EXCERPT_LENGTH, EXCERPT_RANGE[1])


def shorten(text: str, tokens: int, weights: Mapping[str, float]) -> str:
    """Returns the sentences of a text with the greatest total weight of terms that fit into ``tokens``.

    Surrounding sentences fill the rest. A sentence that is too long is shortened in the same way by words. Ellipses
    mark omissions.
    """
    if estimate(text) <= tokens:
        return text
    part, room = Passage(start=0, stop=len(text)), tokens - 2 * estimate("…")
    for cut in (_sentences, *_CUTS):
        units = cut(text, part)
        sums = [0.0, *accumulate(cost(text[one.start : one.stop]) for one in units)]
        part = _best_range(
            text, units, weights, lambda first, last, sums=sums: sums[last + 1] - sums[first], room, room
        )
        if cost(text[part.start : part.stop]) <= room:
            break
    before, after = "… " if part.start > 0 else "", " …" if part.stop < len(text) else ""
    return f"{before}{text[part.start : part.stop]}{after}"


def term_coverage(text: str, weights: Mapping[str, float]) -> float:
    """Returns the total weight of the terms that a text contains."""
    folded = text.casefold()
    return fsum([weight for term, weight in weights.items() if term in folded])


def trim_partial_words(text: str, start: int, stop: int) -> Passage:
    """Returns the span without parts of words at its ends. A chunk may begin with the end of the previous one."""
    first, last = _word_around(text, start), _word_around(text, stop)
    begin = start if first is None else first.stop
    end = stop if last is None else last.start
    return Passage(start=begin, stop=end) if text[begin:end].strip() else Passage(start=start, stop=stop)


def _word_around(text: str, at: int) -> Passage | None:
    """Returns the word that contains a position; None between words and in a script without spaces."""
    if not (0 < at < len(text) and _INSIDE.fullmatch(text, at - 1, at + 1)):
        return None
    head, tail = text[max(at - _LONGEST_WORD, 0) : at].split()[-1], text[at : at + _LONGEST_WORD].split(maxsplit=1)[0]
    if len(head) + len(tail) >= _LONGEST_WORD:
        return None
    return Passage(start=at - len(head), stop=at + len(tail))


def _best_range(
    text: str, units: Sequence[Passage], weights: Mapping[str, float], size: _Size, enough: float, most: float
) -> Passage:
    """Returns the adjacent units with the greatest total weight of terms, extended evenly to ``enough``."""
    contained = [
        sum(1 << bit for bit, term in enumerate(weights) if term in sentence)
        for sentence in (text[one.start : one.stop].casefold() for one in units)
    ]
    first, last = _heaviest_range(contained, list(weights.values()), size, most)
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


def _heaviest_range(contained: Sequence[int], weights: Sequence[float], size: _Size, most: float) -> tuple[int, int]:
    """Returns the first and last of the adjacent units with the greatest total weight of terms.

    Among ties the shortest, then the first; the first unit if none contains a term. ``contained``: the terms of each
    unit, one bit for each.
    """
    best, shortest, place = 0.0, 0.0, (0, 0)
    known: dict[int, float] = {0: 0.0}
    for first in range(len(contained)):
        together = 0
        for last in range(first, len(contained)):
            length = size(first, last)
            if length > most and last > first:
                break
            together |= contained[last]
            if together not in known:
                known[together] = fsum(weight for bit, weight in enumerate(weights) if together >> bit & 1)
            worth = known[together]
            if worth > best or (worth == best and length < shortest):
                best, shortest, place = worth, length, (first, last)
    return place


def _sentences(text: str, passage: Passage, whole: Passage | None = None) -> Sequence[Passage]:
    """Returns the sentences of ``whole`` that overlap the passage, without surrounding white space; long ones in
    pieces."""
    whole = whole or passage
    start, reach = max(whole.start, passage.start - _REACH), min(whole.stop, passage.stop + _REACH)
    ends = [match.end() for match in _END.finditer(text, start, reach) if not text.endswith(_SHORT, 0, match.start())]
    found: list[Passage] = []
    for end in [*ends, reach]:
        if end > passage.start and start < passage.stop:
            sentence = text[start:end]
            begin = start + len(sentence) - len(sentence.lstrip())
            stop = start + len(sentence.rstrip())
            if stop - begin > EXCERPT_RANGE[1]:
                found.extend(excerpts(text, Passage(start=begin, stop=stop)))
            elif begin < stop:
                found.append(Passage(start=begin, stop=stop))
        start = end
    return found or (passage,)


def _splitter(pattern: str) -> _Cut:
    compiled = regex.compile(pattern, regex.DOTALL)

    def split(text: str, passage: Passage) -> Sequence[Passage]:
        return [
            Passage(start=one.start(), stop=one.end()) for one in compiled.finditer(text, passage.start, passage.stop)
        ]

    return split


_CUTS = tuple(map(_splitter, (r"\S+", r"\X{1,3}", r".")))
"""Finer units for a sentence, a word or a character that is too long."""


def build_hits(
    view: View,
    best: Sequence[Selection],
    memories: Memories,
    proposals: Proposals,
    names: Set[str],
    weights: Mapping[str, float],
) -> list[Hit]:
    """Returns hits with their best snippets, and the evidence for the relevance of each. ``names``: the identifiers of
    the query. ``weights``: those of its terms."""
    keys = [one.key for one in best]
    deferred, found = view.chunks_of(keys), memories(keys)
    chunks, hits, asked = deferred(), list[Hit](), informative(weights)
    for one in best:
        memory = found[one.key]
        snippet = _best_snippet(one.key, memory, chunks.get(one.key, ()), proposals, weights)
        shown = f"{memory.name}\n{snippet.content}"
        evidence = Evidence(
            cosine=one.cosine,
            covered=term_coverage(shown, asked) / fsum(asked.values()) if asked else 0.0,
            identifier=identifier_share(names, shown, asked),
        )
        hits.append(Hit(memory=memory, passage=snippet, score=one.score.rounded(), evidence=evidence, alike=one.alike))
    return hits


def memories_as_of(view: View, memories: Sequence[Memory], at: datetime) -> list[Memory]:
    """Returns the state of each memory at a time (``memories.validity``)."""
    later = [one for one in memories if one.version > 1 and one.updated_at > at]
    keys = {one.id: stored.key for one in later if (stored := view.get(one.id)) is not None}
    histories = view.histories(list(keys.values()))
    return [state_at(one, histories[keys[one.id]], at) if one.id in keys else one for one in memories]


def hits_as_of(view: View, hits: Sequence[Hit], at: datetime, weights: Mapping[str, float]) -> list[Hit]:
    """Returns the state of each hit at a time. A memory with other content then gets a new snippet: an excerpt of the
    chunk with the greatest total weight of terms."""
    found: list[Hit] = []
    for hit, memory in zip(hits, memories_as_of(view, [hit.memory for hit in hits], at), strict=True):
        snippet = hit.passage
        if memory.content != hit.memory.content:
            chunks = chunk(memory.content)
            best = max(chunks, key=lambda one: term_coverage(memory.content[one.start : one.stop], weights))
            span = excerpt(memory.content, best, Passage(start=best.start, stop=best.stop), weights)
            snippet = make_snippet(memory, best, span.start, span.stop, len(chunks))
        found.append(replace(hit, memory=memory, passage=snippet))
    return found


def _best_snippet(
    key: DocumentKey,
    memory: Memory,
    chunks: Sequence[StoredChunk],
    proposals: Proposals,
    weights: Mapping[str, float],
) -> Snippet:
    """Returns an excerpt of the nearest passage or of the best chunk by keywords, whichever has the greater total
    weight of terms; the former if equal."""
    near, match = proposals.nearest.get(key), proposals.keywords.get(key)
    spans: dict[tuple[Chunk, Passage], None] = {}
    for stored in chunks:
        for passage_key, passage in zip(stored.passages, stored.chunk.passages, strict=True):
            if near is not None and passage_key == near.passage:
                spans[stored.chunk, passage] = None
    for stored in chunks:
        if match is not None and stored.key == match.chunk and stored.chunk.passages:
            spans[stored.chunk, Passage(start=stored.chunk.start, stop=stored.chunk.stop)] = None
    if not spans:
        return replace(summary_snippet(memory), total_chunks=max(len(chunks), 1))
    excerpts = [(one, excerpt(memory.content, one, passage, weights)) for one, passage in spans]
    best, span = max(excerpts, key=lambda one: term_coverage(memory.content[one[1].start : one[1].stop], weights))
    return make_snippet(memory, best, span.start, span.stop, len(chunks))


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
    """Returns the hits whose names and snippets fit into ``budget`` tokens together, in order.

    Hits too long for the remaining budget are left out, with those that they update; the snippet of the first one is
    shortened instead.
    """
    if budget is None or not hits:
        return list(hits)
    snippet, room = hits[0].passage, max(budget - estimate(hits[0].memory.name), LEAST_SHOWN)
    first = replace(hits[0], passage=replace(snippet, content=shorten(snippet.content, room, weights)))
    left, fitting, too_long = budget, list[Hit](), set[MemoryId]()
    for hit in (first, *hits[1:]):
        tokens = estimate(hit.memory.name) + estimate(hit.passage.content)
        is_outdated = hit.updated is not None and hit.updated.by in too_long
        if not is_outdated and (tokens <= left or not fitting):
            left -= tokens
            fitting.append(hit)
        else:
            too_long.add(hit.memory.id)
    return fitting
