"""Tokenizer and query analysis: the terms of a text, and the terms of a query that are looked up.

All keyword engines use this tokenizer, so that their rankings agree. A word becomes its English stem. An identifier, a
path, a version or an address yields a term for the whole and terms for its parts: the whole so that an exact name
ranks first, the parts so that half a name still matches. ``retry_count``, ``retryCount`` and ``retry-count`` yield the
same whole. Scripts without spaces between words yield runs of one to three characters. Case, accents, vowel points and
width do not matter.

A term has at most ``TERM_LENGTH`` characters, without spaces, quotes, control and invisible characters. Terms
joined by spaces are therefore exactly the tokens of an engine that splits at spaces.
"""

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import chain, groupby

import regex
import Stemmer

TERMS_VERSION = 1
"""Version of the tokenizer. Indexes written by an older version are rebuilt."""

TERM_LENGTH = 64
_MOST_KNOWN = 1 << 15
"""Tokens whose terms are cached."""
_SHORT = 4_000
"""Characters up to which the terms of a text are cached."""

_GRAMMAR = """
a an the and or not no but if of at by for with about against into through to from in on as than then so that
this these those it its is are was were be been being am i me my we us our you your he him his she her
they them their do does did doing done have has had having can could will would shall should may might
must what which who whom whose when where why how there here s t d m ll re ve don didn doesn isn aren
wasn weren won wouldn couldn shouldn
"""
_LEAST_RARITY = 1e-6
STOP_WORDS = frozenset(_GRAMMAR.split())
"""Function words. Quantities, "before", "after", "off" and "without" are not among them."""

_BY_CHARACTER = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}ー"
_BY_CLUSTER = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_PICTURE = r"\p{Extended_Pictographic}"

# Characters without meaning: soft hyphens, direction marks, glyph variants, skin tones, tags.
_APPEARANCE = regex.compile(
    r"[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]+"
)
# Normalization takes quadratic time on a long run of combining marks; no script has such runs.
_PILED_MARKS = regex.compile(r"(\p{M}{30})\p{M}+")
_NAME = r"[A-Za-z](?:\+\+|\#)(?!\w)|\d{1,3}(?:,\d{3}){1,4}(?![\w,])|WORD(?:(?:://|::|[-./\\:@])WORD)*+"
# Most texts are ASCII, and re is much faster there than regex.
_ASCII_TOKEN = re.compile(_NAME.replace("WORD", r"\w++"), re.ASCII)
_TOKEN = regex.compile(
    _NAME.replace("WORD", rf"[\w--[{_BY_CHARACTER}{_BY_CLUSTER}]]+")
    + rf"|[{_BY_CHARACTER}]+|[{_BY_CLUSTER}]+|\p{{Regional_Indicator}}{{2}}|{_PICTURE}(?:\u200d{_PICTURE})*",
    regex.V1,
)
_EMOJI = regex.compile(rf"\p{{Regional_Indicator}}{{2}}|{_PICTURE}")
_PATH_MARK = re.compile(r"[/\\:@]+")
_HYPHEN = re.compile(r"[-_]+")
_VERSION = re.compile(r"v?((\d+\.\d+)(?:\.\d+)*)")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}")
_HASH_PREFIX = 7
# HTTPServer2 has the parts HTTP, Server and 2; 45s has 45; URLs is one word; k8s and E0502 have no parts.
_PART_OF = (
    r"CAPITAL{2,}s(?!SMALL)|CAPITAL{2,}(?!SMALL)|CAPITAL?SMALL+"
    r"|(?<![^\W_])(?:\d{2,}|\d(?!LETTER))|(?<=LETTER{2})\d+|(?<=^[vV])\d+"
)
_ASCII_PART = re.compile(
    _PART_OF.replace("CAPITAL", "[A-Z]").replace("SMALL", "[a-z]").replace("LETTER", "[A-Za-z]"), re.ASCII
)
_PART = regex.compile(
    _PART_OF.replace("CAPITAL", r"[\p{Lu}\p{Lt}]")
    .replace("SMALL", r"[^\W\d_\p{Lu}\p{Lt}]")
    .replace("LETTER", r"[^\W\d_]")
)
_ACCENTS = regex.compile(r"([\p{Latin}\p{Greek}\p{Cyrillic}])\p{M}+")
_VOWEL_POINTS = regex.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u200c\u200d]+"
)
_FOREIGN_DIGIT = regex.compile(r"(?![0-9])\p{Nd}")
_LETTER_VARIANTS = str.maketrans(
    {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه"}
)
_CHARACTERS = regex.compile(rf"[{_BY_CHARACTER}]+")
_CLUSTERS = regex.compile(rf"[{_BY_CLUSTER}]+")
_CLUSTER = regex.compile(r"\X")


def document_terms(text: str) -> list[str]:
    """Returns the terms of a text to be indexed, in order and with repetitions."""
    return [*chain.from_iterable(map(_terms_of, tokenize(text)))]


def distinct_terms(text: str) -> frozenset[str]:
    """Returns the distinct terms of a text. Short texts are cached: a recall compares its best hits repeatedly."""
    return _cached_distinct(text) if len(text) <= _SHORT else _distinct(text)


def _distinct(text: str) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_terms_of, set(tokenize(text)))))


_cached_distinct = lru_cache(maxsize=1 << 8)(_distinct)


def tokenize(text: str) -> list[str]:
    """Returns the words of a text as written, without punctuation; names are whole."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    tokens: list[str] = []
    # No token contains white space, so only words with other characters need the slower pattern.
    for is_ascii, words in groupby(text.split(), str.isascii):
        together = " ".join(words)
        tokens += _ASCII_TOKEN.findall(together) if is_ascii else _foreign_tokens(together)
    return tokens


def _foreign_tokens(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", _PILED_MARKS.sub(r"\1", _APPEARANCE.sub("", text)))
    return _TOKEN.findall(text)


def _expanded(token: str) -> tuple[str, ...]:
    """Returns the terms of one token of a document."""
    if not token.isascii():
        script = spaceless_units(token)
        if script is not None:
            units, sizes = script
            return _runs(units, sizes)
        if _EMOJI.match(token):
            pictures: list[str] = _EMOJI.findall(token)
            return ("".join(pictures)[:TERM_LENGTH], *(pictures if len(pictures) > 1 else ()))
    elif token.isalpha() and (token[1:].islower() or len(token) == 1):
        return (_stemmed(token.lower()),)
    if token[-1] in "+#":
        return (token.lower(),)
    if "," in token:
        return (token.replace(",", ""),)
    return tuple(_name(token) if _PATH_MARK.search(token) or "." in token else _identifier(token))


class _TermCache(dict[str, tuple[str, ...]]):
    """Terms by token. A dictionary, because a lookup for every word of every text must not cost a function call."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = _expanded(token)
        if len(token) <= TERM_LENGTH:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[token] = terms
        return terms


_terms_of = _TermCache().__getitem__


def query_token_terms(token: str) -> tuple[str, ...]:
    """Returns the terms of one token of a query: as in a document, but of runs only the longest; shorter ones match too
    much."""
    script = None if token.isascii() else spaceless_units(token)
    if script is not None:
        units, sizes = script
        return _runs(units, (min(len(units), sizes[-1]),))
    return _terms_of(token)


def spaceless_units(token: str) -> tuple[Sequence[str], tuple[int, ...]] | None:
    """Returns the units of a token of a script without spaces and the units per term; None for other tokens."""
    if _CHARACTERS.match(token):
        return token, (1, 2)
    if _CLUSTERS.match(token):
        return [cluster[: TERM_LENGTH // 3] for cluster in _CLUSTER.findall(token)], (2, 3)
    return None


def _runs(units: Sequence[str], sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Returns all runs of adjacent units in each size; the whole if it is shorter."""
    runs = tuple("".join(run) for size in sizes for run in zip(*(units[at:] for at in range(size)), strict=False))
    return runs or ("".join(units),)


def _name(token: str) -> list[str]:
    """Returns the terms of a path, address, dotted or hyphenated name: each level whole, then its parts."""
    segments = [segment for segment in _PATH_MARK.split(token) if segment]
    terms: list[str] = []
    if len(segments) > 1 and len(token) <= TERM_LENGTH:
        terms.append(_folded(token).replace("\\", "/")[:TERM_LENGTH])
    for segment in segments:
        rest = segment
        if "." in segment and len(segment) <= TERM_LENGTH:
            whole = _folded(segment)[:TERM_LENGTH]
            version = _VERSION.match(whole)
            if version is None:
                terms.append(whole)
            else:
                terms.extend(dict.fromkeys((whole, version[1], version[2])))
                rest = whole[version.end() :]
        for identifier in rest.split("."):
            terms.extend(_identifier(identifier))
    return terms


def _identifier(name: str) -> list[str]:
    """Returns the terms of an identifier: retrycount, retri and count for ``retryCount``. ``2025-01-31`` keeps its
    hyphens, because it is no number."""
    pieces = [piece for piece in _HYPHEN.split(name) if piece]
    parts = [_folded(part) for piece in pieces for part in _parts(piece)]
    hyphen = "-" if len(pieces) > 1 and "-" in name and all(piece.isdigit() for piece in pieces) else ""
    whole = _folded(hyphen.join(pieces))
    terms: list[str] = []
    if whole and (len(whole) <= TERM_LENGTH or len(pieces) == 1):
        terms.append(_stemmed(whole))
    if parts != [whole]:
        terms.extend(_stemmed(part) for part in parts if len(part) > 1 or part.isdigit())
    return terms


def _parts(piece: str) -> list[str]:
    if _HASH.fullmatch(piece.lower()):
        return [piece[:_HASH_PREFIX]]
    if len(piece) > TERM_LENGTH:
        return [piece]
    return (_ASCII_PART if piece.isascii() else _PART).findall(piece)


def _folded(word: str) -> str:
    """Removes case, accents and vowel points. Japanese and Indic marks belong to their letters and stay."""
    word = word.casefold()
    if word.isascii():
        return word
    word = _ACCENTS.sub(r"\1", _VOWEL_POINTS.sub("", unicodedata.normalize("NFD", word)))
    word = unicodedata.normalize("NFC", word).translate(_LETTER_VARIANTS)
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0], digit[0])), word)


class _Stemmer(threading.local):
    """A stemmer for each thread, because stemmers are not thread-safe."""

    def __init__(self) -> None:
        # PyStemmer has no types.
        self.stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownMemberType]


_stemmer = _Stemmer()


def _stemmed(word: str) -> str:
    word = word[:TERM_LENGTH]
    return _stemmer.stem(word) if word.isascii() and word.isalpha() else word


STOP_TERMS = STOP_WORDS | {_stemmed(word) for word in STOP_WORDS}
"""Terms of the stop words."""


def rarity(chunks: int, having: int) -> float:
    """Returns the weight of a term that occurs in ``having`` of ``chunks``: ln((n - m + 0.5) / (m + 0.5)).

    This is the idf of bm25() in SQLite's fts5_aux.c. A term in more than half of the chunks would count against them;
    its weight is almost zero instead.
    """
    return max(math.log((chunks - having + 0.5) / (having + 0.5)), _LEAST_RARITY)


# Query analysis.

QUERY_LIMIT = 32
PASTE = 128
"""A query with more distinct terms than this is pasted text, not a question."""
GIST = 500
"""Characters of each end of a pasted text that are embedded."""
ENOUGH = 3
"""A first or last paragraph with fewer terms is a greeting or an appeal; the next one counts with it."""
_TERMS_OF_A_LINE = 6
"""Number of query terms that a text about one line of a pasted text contains."""
_LOOKED_UP = 1_024
"""Terms of a pasted text whose rarity is looked up."""
_REPEATED = 3
"""Terms of a pasted text that occur more often are part of its layout."""
_NOWHERE = " "
"""A term that no text contains."""
_BLANK_LINE = re.compile(r"\n\s*\n")

Rarities = Callable[[Sequence[str]], Mapping[str, float]]
"""Returns the ``rarity`` of each term."""


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """The terms of a query to look up."""

    terms: Sequence[str]
    words: int
    """Number of words that the terms come from; a name is one word."""
    are_all: bool
    """False if the query has more terms, as pasted text does. No document contains nearly all of them."""

    def weight(self, rarities: Mapping[str, float]) -> float:
        """Returns the keyword score of a full answer: the sum of all rarities, or of those of one line if not
        ``are_all``."""
        weights = rarities.values()
        return sum(weights) if self.are_all else sum(nlargest(_TERMS_OF_A_LINE, weights))


def query_terms(text: str, limit: int = QUERY_LIMIT) -> list[str]:
    """Returns the terms of ``analyze_query`` without rarities."""
    return [*analyze_query(text, limit).terms]


def analyze_query(text: str, limit: int = QUERY_LIMIT, rarities: Rarities | None = None) -> QueryAnalysis:
    """Returns the distinct terms to look up, in order, at most ``limit``. A text may match with any of them.

    Stop words are left out unless there is nothing else. Of too many terms, the rarest that occur anywhere are kept if
    ``rarities`` are known; otherwise those that are repeated, look like a name or a number, or are long. In pasted text
    half of them come from the first and last paragraphs, where a question stands; an error message may be anywhere.
    """
    tokens = tokenize(text)
    all_terms = {token: query_token_terms(token) for token in tokens}
    kept = {token: [term for term in terms if term not in STOP_TERMS] for token, terms in all_terms.items()}
    informative = {token: terms for token, terms in kept.items() if terms} or all_terms
    counts = Counter(chain.from_iterable([informative[token] for token in tokens if token in informative]))
    if len(counts) <= limit:
        # In a script without spaces each term counts as a word.
        words = sum(1 if spaceless_units(token) is None else len(terms) for token, terms in informative.items())
        return QueryAnalysis([*counts], words, are_all=True)
    is_pasted = len(counts) > PASTE or _is_long(text)
    if rarities is not None:
        best = _rarest(_terms_at_ends(text, counts, limit // 2) if is_pasted else [], counts, limit, rarities)
    elif is_pasted:
        best = _terms_at_ends(text, counts, limit)
    else:
        best = sorted(counts, key=lambda term: (-counts[term], term.isalpha(), -len(term)))[:limit]
    chosen = set(best)
    return QueryAnalysis([term for term in counts if term in chosen], len(chosen), are_all=False)


def whole_terms(names: Iterable[str], rarities: Mapping[str, float]) -> list[str]:
    """Returns the rarest term of each name: its whole, if that is looked up. ``rarities``: of the terms that are looked
    up; names without one of them are left out."""
    known = [[term for term in document_terms(name) if term in rarities] for name in names]
    return [*dict.fromkeys(max(terms, key=lambda term: rarities[term]) for terms in known if terms)]


def text_to_embed(text: str) -> str:
    """Returns the text of a query to embed. Of pasted text that is as much as a model reads: its last informative
    paragraphs and its first ones."""
    if not _is_long(text) and (len(text) <= 2 * GIST or len(set(_informative_terms(text))) <= PASTE):
        return text
    paragraphs = _BLANK_LINE.split(text.strip())
    last = "\n\n".join(reversed(_informative_paragraphs(reversed(paragraphs))))
    first = "\n\n".join(_informative_paragraphs(paragraphs))
    return f"{last[-GIST:]}\n\n{first[:GIST]}"


def _terms_at_ends(text: str, counts: Mapping[str, int], limit: int) -> list[str]:
    paragraphs = [_informative_terms(paragraph) for paragraph in _BLANK_LINE.split(text)]
    paragraphs = paragraphs if any(paragraphs) else [list(counts)]
    last = _first_terms([terms[::-1] for terms in reversed(paragraphs)], limit // 2)
    return [*_first_terms(paragraphs, limit - limit // 2), *last]


def _first_terms(paragraphs: Iterable[Sequence[str]], limit: int) -> Iterable[str]:
    """Returns the first distinct terms, from as few paragraphs as have enough."""
    terms: dict[str, None] = {}
    for paragraph in paragraphs:
        for term in paragraph:
            if len(terms) < limit:
                terms[term] = None
        if len(terms) >= ENOUGH:
            break
    return terms


def _rarest(ends: Sequence[str], counts: Mapping[str, int], limit: int, rarities: Rarities) -> list[str]:
    """Returns the terms at the ends, then the rarest others. Terms that no text contains are left out."""
    # Frequent terms are layout, and numbers are line numbers. Among the others the last come first.
    words = [term for term in [*counts][::-1] if not (term.isdigit() or (ends and counts[term] > _REPEATED))]
    known = rarities([*dict.fromkeys([*ends, *words[:_LOOKED_UP]]), _NOWHERE])
    found = {term: rare for term, rare in known.items() if rare < known[_NOWHERE]}
    best = [*(term for term in ends if term in found), *sorted(found, key=lambda term: -found[term])]
    return [*dict.fromkeys(best or [*ends, *words])][:limit]


def _is_long(text: str) -> bool:
    """Returns True for a text of several paragraphs that is longer than a question."""
    return len(text) > 2 * GIST and _BLANK_LINE.search(text) is not None


def _informative_paragraphs(paragraphs: Iterable[str]) -> list[str]:
    """Returns as few of the first paragraphs as have enough terms together."""
    found: list[str] = []
    terms = 0
    for paragraph in paragraphs:
        found.append(paragraph)
        terms += len(_informative_terms(paragraph))
        if terms >= ENOUGH:
            break
    return found


def _informative_terms(text: str) -> list[str]:
    return [term for token in tokenize(text) for term in query_token_terms(token) if term not in STOP_TERMS]
