"""The words of a text as every keyword engine counts them: one tokenizer, so that rankings agree.

A word becomes its English stem. An identifier, a path, a version or an address is counted whole and in
parts: whole so that the very same name wins, in parts so that half a name still finds. ``retry_count``,
``retryCount`` and ``retry-count`` are the same whole. Scripts without spaces between words become runs of
one to three characters. Case, accents, vowel points and width do not matter.

A term has at most ``TERM_LENGTH`` characters, none of them a space, a quote, a control or invisible: terms
joined by spaces can be handed to an engine that splits at spaces, and are its tokens to the letter.
"""

import math
import re
import threading
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, groupby

import regex
import Stemmer

TERMS_VERSION = 1
"""Goes up whenever a text has other terms than before; indexes of an older version are built anew."""

TERM_LENGTH = 64
_MOST_KNOWN = 1 << 15
_SHORT = 4_000

_GRAMMAR = """
a an the and or not no but if of at by for with about against into through to from in on as than then so that
this these those it its is are was were be been being am i me my we us our you your he him his she her
they them their do does did doing done have has had having can could will would shall should may might
must what which who whom whose when where why how there here s t d m ll re ve don didn doesn isn aren
wasn weren won wouldn couldn shouldn
"""
_LEAST_RARITY = 1e-6
STOP_WORDS = frozenset(_GRAMMAR.split())
"""Grammar. Quantities, before and after, off and without are words like others."""

_BY_CHARACTER = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}ー"
_BY_CLUSTER = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_PICTURE = r"\p{Extended_Pictographic}"

# How a text looks, not what it says: soft hyphens, direction, variants of glyphs, skin tones, tags.
_APPEARANCE = regex.compile(
    r"[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]+"
)
# Normalising takes quadratic time on a long run of combining marks; no script has such runs.
_PILED_MARKS = regex.compile(r"(\p{M}{30})\p{M}+")
_NAME = r"[A-Za-z](?:\+\+|\#)(?!\w)|\d{1,3}(?:,\d{3}){1,4}(?![\w,])|WORD(?:(?:://|::|[-./\\:@])WORD)*+"
# Most texts are ASCII, and what re finds there it finds much faster.
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
# HTTPServer2 is HTTP, Server and 2, 45s is 45, URLs is one word; k8s and E0502 have no parts.
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
    """The terms of a text that is to be found, in order, as often as they occur."""
    return [*chain.from_iterable(map(_terms_of, tokenize(text)))]


def distinct_terms(text: str) -> frozenset[str]:
    """The same, each once. Those of a short text are remembered: the best of an answer are compared several times."""
    return _remembered(text) if len(text) <= _SHORT else _distinct(text)


def _distinct(text: str) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_terms_of, set(tokenize(text)))))


_remembered = lru_cache(maxsize=1 << 8)(_distinct)


def tokenize(text: str) -> list[str]:
    """The words of a text, as they stand there: names whole, no punctuation."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    tokens: list[str] = []
    # No token reaches across white space, so the few words with a dash or an accent need not slow down the rest.
    for is_ascii, words in groupby(text.split(), str.isascii):
        together = " ".join(words)
        tokens += _ASCII_TOKEN.findall(together) if is_ascii else _foreign_tokens(together)
    return tokens


def _foreign_tokens(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", _PILED_MARKS.sub(r"\1", _APPEARANCE.sub("", text)))
    return _TOKEN.findall(text)


def _expanded(token: str) -> tuple[str, ...]:
    """The terms of one token of a document."""
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


class _Known(dict[str, tuple[str, ...]]):
    """The terms of the tokens that came before. Looking one up is no call: every word of every text is."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = _expanded(token)
        if len(token) <= TERM_LENGTH:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[token] = terms
        return terms


_terms_of = _Known().__getitem__


def query_token_terms(token: str) -> tuple[str, ...]:
    """The terms of one token of a query: as in a document, but only the longest runs, the others find too much."""
    script = None if token.isascii() else spaceless_units(token)
    if script is not None:
        units, sizes = script
        return _runs(units, (min(len(units), sizes[-1]),))
    return _terms_of(token)


def spaceless_units(token: str) -> tuple[Sequence[str], tuple[int, ...]] | None:
    """The units of a script without spaces, and how many of them make a term; None for other tokens."""
    if _CHARACTERS.match(token):
        return token, (1, 2)
    if _CLUSTERS.match(token):
        return [cluster[: TERM_LENGTH // 3] for cluster in _CLUSTER.findall(token)], (2, 3)
    return None


def _runs(units: Sequence[str], sizes: tuple[int, ...]) -> tuple[str, ...]:
    """All runs of neighbouring units, in each of the sizes; the whole where it is shorter than that."""
    runs = tuple("".join(run) for size in sizes for run in zip(*(units[at:] for at in range(size)), strict=False))
    return runs or ("".join(units),)


def _name(token: str) -> list[str]:
    """A path, an address, a dotted or hyphened name or just a word: each level whole, then its parts."""
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
    """``retryCount`` is retrycount, retri and count; ``2025-01-31`` keeps its hyphens: they tell it from a number."""
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
    """Without case, accents and vowel points; Japanese and Indian marks belong to their letters and stay."""
    word = word.casefold()
    if word.isascii():
        return word
    word = _ACCENTS.sub(r"\1", _VOWEL_POINTS.sub("", unicodedata.normalize("NFD", word)))
    word = unicodedata.normalize("NFC", word).translate(_LETTER_VARIANTS)
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0], digit[0])), word)


class _Stemmer(threading.local):
    """One per thread: two threads must not use the same."""

    def __init__(self) -> None:
        # PyStemmer has no types.
        self.stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownMemberType]


_stemmer = _Stemmer()


def _stemmed(word: str) -> str:
    word = word[:TERM_LENGTH]
    return _stemmer.stem(word) if word.isascii() and word.isalpha() else word


STOP_TERMS = STOP_WORDS | {_stemmed(word) for word in STOP_WORDS}
"""The terms that stop words become."""


def rarity(chunks: int, having: int) -> float:
    """How much a term says that ``having`` of ``chunks`` hold: ln((n - m + 0.5) / (m + 0.5)), the idf of bm25() in
    SQLite's fts5_aux.c. One that more than half of them hold would count against its chunk; it counts next to
    nothing instead."""
    return max(math.log((chunks - having + 0.5) / (having + 0.5)), _LEAST_RARITY)
