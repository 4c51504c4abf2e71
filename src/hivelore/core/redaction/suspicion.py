"""Suspected secrets: values without a known shape or name, scored by their own shape and the words around them.

``the wifi code is 8KzQ-77pf``: the cue ``wifi`` opens a region of the text. Each unusual value in it is a candidate. A
linear classifier with trained weights (``weights.bin``, ``scripts/train_secrets.py``) decides.
"""

from array import array
from binascii import crc32
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from hivelore.core.redaction.judgement import (
    Span,
    compiled,
    is_made_up,
    is_mixed,
    is_random,
    is_reference,
    is_thought_up,
    key_of,
    kind_of,
    word_list,
    word_set,
    words_before,
)
from hivelore.core.redaction.renditions import Rendition, positions

_SHAPES: Final = (
    ("hexid", r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})$"),
    ("uuid", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
    ("keychain", r"(?=.*\d)(?=.*[A-Z])(?:[A-Za-z0-9]{6}-){2,3}[A-Za-z0-9]{6}$"),
    ("groups", r"(?:[A-Z0-9]{4,8}-){2,}[A-Z0-9]{4,8}$"),
    (
        "date",
        r"(?:19|20)\d\d[-/.]?(?:0[1-9]|1[0-2])[-/.]?[0-3]\d(?:[T_-].*)?$|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d$"
        r"|\d{1,2}:\d\d",
    ),
    ("type", r"(?:Big)?(?:[Uu]?[Ii]nt|[Ff]loat|[Cc]omplex)\d{1,3}(?:Clamped)?(?:Array|_t)?$"),
    ("sequence", r"0?12345678?9?0?$|.*(?:abcdefgh|ABCDEFGH|01234567)"),
    ("digits", r"\d{4,}$"),
    ("shorthex", r"[0-9a-f]{7,12}$"),
    ("hex", r"(?:0x)?[0-9a-f]{8,}$"),
    ("version", r"[vV=^~<>]{0,2}\d+(?:\.\d+)+(?:[-+.]?[\w.]+)*$"),
    ("number", r"[-+$]?[\d.,:/_%x-]+[a-zA-Z]{0,3}$|0x[0-9a-fA-F]{1,8}$"),
    ("digest", r"(?:sha\d+|md5|SHA\d+|h1)[:-]"),
    ("url", r"\w+://|www\."),
    ("email", r"[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,10}$|[a-z][a-z.-]*@[a-z]{1,12}[\w-]*$"),
    ("humps", r"[A-Z][a-z]{2,}_[A-Za-z][a-z]{2,}\d{2,4}$"),
    ("shout", r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"),
    ("snake", r"_*[a-z][a-z0-9]*(?:_[a-z0-9]+)+$"),
    ("humps", r"(?:[A-Z][a-z]{3,}){2,3}\d{2,4}$"),
    ("codes", r"(?=.*[a-z])[a-z0-9]{4,6}(?:-(?=[a-z]*\d)[a-z0-9]{4,6})+$"),
    ("kebab", r"[a-z0-9]+(?:-[a-z0-9]+)+$"),
    ("path", r"[\w.~@$-]*(?:/[\w.@$-]+)+/?(?::\d+)*$"),
    ("dotted", r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+$"),
    (
        "camel",
        r"(?:[a-z]{2,}|[A-Z][a-z]+\d{0,2})(?:[A-Z][a-z]+\d{0,2})+$"
        r"|[A-Z]{1,6}\d{0,3}(?:[A-Z][a-z]{2,}\d{0,2})+$|[A-Z]?[a-z]{2,}\d[A-Z]?[a-z]*$",
    ),
    ("word", r"(?:[a-z]{8,}\d{2,4}|[A-Z][a-z]{3,}\d{4})$"),
    ("name", r"(?:[A-Z]?[a-z]{2,}\d{1,3}|[A-Z]{2,}\d{1,4}|U\+[0-9A-F]{4,6})$"),
)
# Shape and strength of a value.

_NEVER: Final = ("url", "email", "version", "date", "digest", "shout", "sequence", "type")
_STRENGTH_OF: Final = {
    "digits": "digits",
    "hexid": "id",
    "uuid": "id",
    "word": "alnum",
    "humps": "alnum",
    "codes": "code",
    "keychain": "random",
    "snake": "name",
    "name": "name",
}
_WHEN_RANDOM: Final = ("kebab", "path", "camel", "shorthex")
_IDENTIFIER = r"[&*]*(?:_*(?:[A-Za-z]?[a-z]*(?:[A-Z][a-z]+)*[A-Z]{0,4}|[A-Z]+)\d{0,4}(?:_+|$)){2,}"
_CODE = (
    r"[\w.>:&*-]+[(\[]|.*(?:\w[=!]==?[^=]|&&|\|\||=>|->|\+\+|[A-Za-z_]\w*::[A-Za-z_]\w*(?:::|\(|$)|\(\)|</|/>"
    r"|[)}\]>];?[({\[<]|&\w{2,6};|;\w*$|\\[nrtux\"']|%[0-9A-F]{2}.*%[0-9A-F]{2}(?!%|$))|[A-Za-z_.-]*[A-Za-z]\d?=[^=]|\W{3}"
)
"""Calls, comparisons, tags and escapes: no values."""
_WORDS_IN_A_ROW = r"[a-z]{3,12}(?:-[a-z]{3,12}){2,23}(?:-\d{1,4})?|[a-z]{3,12}(?:\.[a-z]{3,12}){4,23}"
_SIGNED = r".*\w.*[!#$%^&*?~@+].*\w.*|[$%!#@~^]\w.*"
_SIGNED_CODE = r"@[\w.]+(?:\(.*)?|[\w.]+[=(].*|.*\W{3}.*|[\w.-]+@[\w.-]+|.*##.*|[\w.]+![rsa]|!?/.*|&\w+[;-]?|\$\w+"
STRENGTHS: Final = ("name", "code", "digits", "glued", "id", "phrase", "weak", "alnum", "password", "random")
"""How unusual a value is: from ordinary names and numbers to random characters."""
ORDINARY: Final = ("code", "digits", "glued", "phrase", "weak")
"""Strengths that count only near a cue."""
_LENGTH_OF_GLUED: Final = 16
"""Letters of a word that may be several words written as one."""


@lru_cache(maxsize=2048)
def judged_value(value: str) -> tuple[str, str] | None:
    """Returns the strength and shape of a value; None for an ordinary word, a name in a program or a reference."""
    if value.isalpha():
        if value.islower():
            return ("glued", "alpha") if len(value) >= _LENGTH_OF_GLUED else None
        is_word = len(value) < 10 or value.isupper() or value.istitle() or not is_random(value)
        return None if is_word else ("alnum", "alpha")
    if is_reference(value):
        return None
    if value.islower() and compiled(_WORDS_IN_A_ROW).fullmatch(value):
        return "phrase", "words"
    if not any(map(str.isdigit, value)):
        is_signed = len(value) > 5 and compiled(_SIGNED).fullmatch(value)
        return ("password", "signs") if is_signed and not compiled(_SIGNED_CODE).fullmatch(value) else None
    if is_thought_up(value):
        return "alnum", "made-up"
    shape = next((name for name, pattern in _SHAPES if compiled(pattern).match(value)), "other")
    strength = _strength(value, shape)
    return None if strength is None else (strength, shape)


def _strength(value: str, shape: str) -> str | None:
    """Returns the strength of a value with a digit."""
    if shape in _NEVER or compiled(_CODE).match(value):
        return None
    if shape in _STRENGTH_OF:
        return _STRENGTH_OF[shape]
    if shape == "number":
        return None if len(value) < 12 else "code"
    if shape == "dotted":
        is_words = compiled(r"[a-z]{3,12}(?:\.[a-z]{3,12})*\.?\d{1,6}").fullmatch(value)
        return "random" if is_mixed(max(value.split("."), key=len)) else "name" if is_words else None
    is_long = len(value) > 15 and is_random(value)
    if shape in _WHEN_RANDOM and not is_long:
        return "code" if shape == "shorthex" else "name"
    parts = value.split("_")
    if len(parts) > 1 and compiled(_IDENTIFIER).fullmatch(value):
        return "random" if any(len(part) > 11 and is_random(part) for part in parts) else "name"
    if is_long:
        return "random"
    if not any(map(str.isalpha, value)):
        return "code"
    if is_made_up(value) and compiled("[!#$%^&*?~@+]").search(value):
        return "password"
    if len(value) > 5 and value.isalnum():
        return "alnum"
    return "weak" if is_made_up(value) else None


Spot = tuple[int, int]
"""Start and stop."""

_CUES: Final = word_list(
    "wifi, wi-fi, ssid, wlan, user, account, unlock, log in, log-in, sign in, admin, root, identified, "
    "compte, usuario, utente, acces, acceso, zugriff, konto, benutz, luks, fernet, semilla, billetera, "
    "seed, phrase, frase, mots, radius, snmp, ldap, encrypt, decrypt, vault, unseal, wallet"
)
_KEYED_CUES: Final = tuple((key_of(cue), cue) for cue in _CUES)
_WHOLE_CUES: Final = ("pin", "pins", "puk", "code", "codes", "codice", "codigo")
TRIGGERS: Final = (*_CUES, *_WHOLE_CUES)
"""Strings of which each lower-case ASCII text with suspected secrets contains one, or one of the triggers of
``assignments``."""
_FOREIGN_CUES: Final = word_list(
    "账号, 帳號, 用户, 用戶, 登录, 登入, 账户, アカウント, ログイン, ユーザー, 계정, 로그인, логин, пин, "
    "код, доступ, учетн, 密, 鍵, キー, コード, 验证码, 驗證碼, 助记, 助記, 니모닉, мнемо, фраз, 코드, "
    "κωδικ, รหัส, رمز, סיסמ"
)
"""Words near which secrets stand, besides names of secrets."""
_BEFORE: Final = 300
_AFTER: Final = 500
_LINES_BEFORE: Final = 4
_LINES_AFTER: Final = 12
"""Characters and lines around a cue that are searched for candidates."""
_CLOSE_BEFORE: Final = 160
_CLOSE_AFTER: Final = 100
"""Largest distance of a cue from an ordinary candidate, such as a number."""
_NAMED_BEFORE: Final = 100
_NAMED_AFTER: Final = 60
"""Largest distance of a name of a secret from a candidate that looks like a name in a program."""
_NEIGHBOURS: Final = 32
"""Characters within which the first of several cues determines the region."""
LONGEST: Final = 256
"""Characters of a value that are judged. A longer value is masked to its end."""
REST: Final = r"[!#-&(-_a-~]++"
_LONGEST_WITH_SEPARATORS: Final = 32
_MOST_PARTS: Final = 12
_RUN = (
    r"(?<![\0!#-&(-_a-~])(?=[A-Za-z.,;:()_/=\[\]{}<>|*\\-]{0,80}[0-9!#$%&+?@^~]|[A-Za-z]{10}"
    r"|[(\[]?[a-z]{3,12}[-.][a-z]{3,12}[-.][a-z])[!#-&(-_a-~]{4,256}+(?!\0)"
)
"""Printable characters without quotes, not next to a mask, with a digit or sign, or many letters."""
_SPLIT = r"[,;|()\[\]{}<>]+"
_SIDES_LEFT: Final = "([{<*_~>-=:,.;|/\\+#"
_SIDES_RIGHT: Final = ".,:;)]}>|*\\_?!/"
_NO_PHRASE: Final = word_set(
    "the and for are was were with you your this that from have has had not but can will when where which who all any"
    " use used using set get does did done into out our its his her they them then than there here what how why"
    " password token secret key user login value file test must should may one two new old only also been being"
    " der die das und ist nicht ein eine mit von les des est une pour dans que los las una por con para del"
)
_LINE_OF_BLOB = r"[ \t]*[A-Za-z0-9+/]{40,}+={0,2}\r?(?:\n|$)"
_PHRASE = r"(?<![\w.-])[A-Za-z][a-z]{2,12}(?:[ _-][A-Za-z][a-z]{2,12}){2,40}(?![\w-])"
_PLAIN_WORD = rf"(?!(?:{'|'.join(sorted(_NO_PHRASE))})(?![a-z]))[A-Za-z][a-z]+"
_PLAIN_WORDS = rf"(?<![A-Za-z]){_PLAIN_WORD}(?:[ _-]{_PLAIN_WORD})*"
_BEGINS_VALUE = r"[\"'`\u201c\u201e\u00ab\u300c:=\uff1a\n-] ?$"
_STEMS_OF_PHRASES: Final = word_list(
    "pass, phrase, pw, kennwort, contras, senha, wachtwoord, mnemonic, seed, parola, haslo, mot de, mots, "
    "clave, wallet, recovery, geheim, losen, heslo, jelszo, sifre, luks, psk, wifi, wi-fi, wlan, ssid, "
    "schlussel, semilla, frase, words, parole"
)
_KEYED_STEMS_OF_PHRASES: Final = tuple((key_of(stem), stem) for stem in _STEMS_OF_PHRASES)


class Candidate(NamedTuple):
    start: int
    stop: int
    strength: str
    """One of STRENGTHS."""
    shape: str

    def moved(self, by: int) -> "Candidate":
        return Candidate(self.start + by, self.stop + by, self.strength, self.shape)


class Region(NamedTuple):
    """A part of a text around cues."""

    start: int
    stop: int
    cues: tuple[Spot, ...]
    groups: tuple[tuple[Candidate, ...], ...]
    """Candidates by word, in order. At most one of each word is a secret."""


def regions(rendition: Rendition) -> Iterator[Region]:
    """Yields the parts of the text with candidates, in order and without overlap."""
    view = rendition.view
    whole = _whole_cues(rendition)
    name_starts = sorted(start for start, _ in (*rendition.names, *whole))
    stems = [stem for key, stem in _KEYED_STEMS_OF_PHRASES if key in rendition.words]
    if not rendition.low.isascii():
        stems += _FOREIGN_CUES
    for start, stop, cues in _around_cues(rendition, whole):
        groups = [
            group
            for run in compiled(_RUN).finditer(view, start, stop)
            if (found := _candidates(run[0]))
            and (group := _close(found, run.start(), cues, name_starts))
            and not _is_in_blob(view, *run.span())
        ]
        if stems and any(stem in rendition.low[start:stop] for stem in stems):
            groups += _phrases(view, start, stop)
        if groups:
            yield Region(start, stop, tuple(cues), tuple(groups))


def _is_in_blob(view: str, start: int, stop: int) -> bool:
    """Returns True for one of several lines in base64."""
    if stop - start < _LONGEST_WITH_SEPARATORS or not compiled(r"[A-Za-z0-9+/=]+").fullmatch(view, start, stop):
        return False
    line = compiled(_LINE_OF_BLOB)
    before, behind = view.rfind("\n", 0, start), view.find("\n", stop)
    above = view.rfind("\n", 0, max(0, before)) + 1
    return bool((before > 0 and line.match(view, above)) or (behind > 0 and line.match(view, behind + 1)))


def _close(
    found: Sequence[Candidate], at: int, cues: Sequence[Spot], name_starts: Sequence[int]
) -> tuple[Candidate, ...]:
    """Returns the candidates of a run at ``at`` that are unusual enough for their distance to a cue."""
    index = bisect_left(cues, (at - _CLOSE_BEFORE, 0))
    is_close = index < len(cues) and cues[index][0] < at + _CLOSE_AFTER
    index = bisect_left(name_starts, at - _NAMED_BEFORE)
    is_named = index < len(name_starts) and name_starts[index] < at + _NAMED_AFTER
    return tuple(
        candidate.moved(at)
        for candidate in found
        if (is_close or candidate.strength not in ORDINARY)
        and (is_named or candidate.strength not in ("name", "digits"))
    )


def _whole_cues(rendition: Rendition) -> list[Spot]:
    words = f"{rendition.words} "
    if not any(f" {cue} " in words for cue in _WHOLE_CUES):
        return []
    pattern = compiled(rf"(?<![a-z])(?:{'|'.join(_WHOLE_CUES)})(?![a-z])")
    return [match.span() for match in pattern.finditer(rendition.low)]


def _around_cues(rendition: Rendition, whole: Sequence[Spot]) -> Iterator[tuple[int, int, list[Spot]]]:
    view, low = rendition.view, rendition.low
    words = [cue for key, cue in _KEYED_CUES if key in rendition.words]
    if not low.isascii():
        words += _FOREIGN_CUES
    spots = sorted((*rendition.names, *positions(low, words), *whole))
    first = last = measured = -1
    cues: list[Spot] = []
    for spot in spots:
        if last < 0 or spot[0] >= last:
            if last > 0:
                yield first, last, cues
            first, cues = max(last, _region_start(view, spot[0])), []
        if spot[0] >= measured:
            last = max(last, _region_end(view, spot[1]))
            measured = spot[0] + _NEIGHBOURS
        cues.append(spot)
    if last > 0:
        yield first, last, cues


def _region_start(view: str, at: int) -> int:
    least = max(0, at - _BEFORE)
    start = at
    for _ in range(_LINES_BEFORE):
        line = view.rfind("\n", least, start)
        if line < 0:
            return least
        start = line
    return start + 1


def _region_end(view: str, at: int) -> int:
    most = min(len(view), at + _AFTER)
    stop = at
    for _ in range(_LINES_AFTER):
        line = view.find("\n", stop + 1, most)
        if line < 0:
            blank = compiled(rf"\S{{0,{LONGEST}}}+").match(view, most)
            return blank.end() if blank else most
        stop = line
    return stop


@lru_cache(maxsize=4096)
def _candidates(run: str) -> tuple[Candidate, ...]:
    """Returns the candidates within a run of characters."""
    found = (_candidate(run, *part) for part in _parts(run))
    return tuple(candidate for candidate in found if candidate is not None)


def _parts(run: str) -> list[Spot]:
    """Returns the spans of the whole run, of its parts between separators, and of parts after ``=``, ``:`` or ``/``."""
    if run.startswith(("arn:", "ENC[")):
        return []
    if "://" in run:
        return [match.span() for match in compiled(r"(?<=[/=&?-])[\w~+%-]{20,256}+").finditer(run)]
    parts = list(_between(run, [separator.span() for separator in compiled(_SPLIT).finditer(run)]))
    spans = [(0, len(run))] if len(run) <= _LONGEST_WITH_SEPARATORS and parts != [(0, len(run))] else []
    for start, stop in parts[:_MOST_PARTS]:
        spans.append((start, stop))
        for sign in "=:/":
            at = run.find(sign, start + 1, stop - 3)
            if at > 0:
                spans.append((at + 1, stop))
    return spans


def _between(run: str, separators: Sequence[Spot]) -> Iterator[Spot]:
    start = 0
    for first, last in (*separators, (len(run), len(run))):
        if first - start > 3:
            yield start, first
        start = last


def _candidate(run: str, start: int, stop: int) -> Candidate | None:
    """Returns the candidate in a span without brackets and punctuation around it; None if there is none."""
    while start < stop and run[start] in _SIDES_LEFT:
        start += 1
    while stop > start and run[stop - 1] in _SIDES_RIGHT:
        stop -= 1
    if stop - start < 4:
        return None
    more = compiled(r"[?!*]{0,4}+").match(run, stop)  # These may belong to it.
    end = more.end() if more and stop < LONGEST else len(run)
    judged = judged_value(run[start:stop]) or (judged_value(run[start : stop + 1]) if end == stop + 1 else None)
    is_call = run[stop : stop + 1] in ("(", "[") and judged is not None and judged[0] == "name"
    return Candidate(start, end, *judged) if judged and not is_call else None


def _phrases(view: str, start: int, stop: int) -> Iterator[tuple[Candidate, ...]]:
    """Yields words in a row that form no sentence: four, or three in quotes, after a sign or at the start of a line."""
    for match in compiled(_PHRASE).finditer(view, start, stop):
        for words in compiled(_PLAIN_WORDS).finditer(match[0]):
            parts = words[0].replace("-", " ").replace("_", " ").split()
            first = match.start() + words.start()
            least = 3 if compiled(_BEGINS_VALUE).search(view, max(0, first - 2), first) else 4
            if least <= len(parts) == len(set(parts)):
                yield (Candidate(first, match.start() + words.end(), "phrase", "phrase"),)


# Features of a candidate and its surroundings.

TABLE_SIZE: Final = 1 << 16
"""Number of weights."""
_SHIFT: Final = 16
_SPREAD: Final = 0x9E3779B1
"""An odd number that mixes the bits of a hash (Knuth, The Art of Computer Programming 3, 6.4)."""
_LONGEST_LINE: Final = 2000
"""Characters of a line that are read on each side of a position."""
_MOST_NAMES: Final = 8
"""Names of secrets that are considered on each side of a candidate."""
_WORDS_BEFORE: Final = 24
_WORDS_BEHIND: Final = 8
_WORDS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\x00-\x7f]+"
_UNSPACED: Final = "\u0e00"
"""First character of the scripts without spaces. Their words are pairs of characters."""
_OPENING = "\"'`*_ \t\u201c\u201e\u00ab\u300c(<[{"

_Name = tuple[int, int, str]
"""Start, stop and kind of secret."""
_Word = tuple[int, int, str]


@lru_cache(maxsize=4096)
def _hashes(word: str) -> tuple[int, int, int]:
    """Returns hashes of a word, of its beginning and of its end; 0 for the end of a short word."""
    low = word.lower()
    ends = low[-5:].encode() if len(low) > 6 else b""
    return crc32(b"w" + low.encode()), crc32(b"p" + low[:5].encode()), crc32(b"s" + ends) if ends else 0


@lru_cache(maxsize=2048)
def _hash(text: str) -> int:
    return crc32(text.encode())


def _weight_index(hashed: int, mixed: int) -> int:
    return ((hashed + mixed) * _SPREAD & 0xFFFFFFFF) >> _SHIFT


class Surroundings:
    """The text around the candidates of a region."""

    def __init__(self, view: str, region: Region) -> None:
        self._view = view
        self._values = [(group[0].start, group[-1].stop) for group in region.groups]
        self._values.sort()
        self._value_starts = [value[0] for value in self._values]
        self._names = sorted({name for cue in region.cues if (name := _named(view, *cue))})
        self._name_starts = [name[0] for name in self._names]
        self._words = list(_words(view, region.start, region.stop, self._values))
        self._starts = [word[0] for word in self._words]

    def kind(self, candidate: Candidate) -> str:
        """Returns the kind of the nearest name of a secret before the candidate, else after it. Numbers and phrases are
        passwords."""
        if candidate.strength in ("digits", "phrase"):
            return "password"
        before, behind = self._names_around(candidate.start)
        kind = next((name[2] for name in (*before, *behind)), "secret")
        return "api-key" if kind == "some-key" else kind

    def _names_around(self, start: int) -> tuple[list[_Name], list[_Name]]:
        """Returns the names of secrets before and after a position, the nearest first."""
        at = bisect_left(self._name_starts, start)
        return self._names[max(0, at - _MOST_NAMES) : at][::-1], self._names[at : at + _MOST_NAMES]

    def traits(self, candidate: Candidate) -> set[int]:
        """Returns the indexes of the weights of a candidate."""
        return set(self._traits(candidate))

    def _traits(self, candidate: Candidate) -> Iterator[int]:
        view, start, stop = self._view, candidate.start, candidate.stop
        level = (STRENGTHS.index(candidate.strength) + 1) << 24
        end = view.find("\n", stop, stop + _LONGEST_LINE)
        line = _line_start(view, start), min(len(view), stop + _LONGEST_LINE) if end < 0 else end
        for text in _of_value(view[start:stop], candidate):
            yield _weight_index(_hash(text), 0)
        for text in (*_of_sides(view, start, stop, line), *self._of_names(start, stop, line)):
            hashed = _hash(text)
            yield _weight_index(hashed, 0)
            yield _weight_index(hashed, level)
        yield from self._of_words(start, stop, line, level)

    def _of_words(self, start: int, stop: int, line: Spot, level: int) -> Iterator[int]:
        at = bisect_left(self._starts, start)
        for distance, (first, _, word) in enumerate(reversed(self._words[max(0, at - _WORDS_BEFORE) : at])):
            yield from _of_word_above(word, level) if first < line[0] else _of_word_before(word, distance, level)
        for distance, (first, _, word) in enumerate(self._words[at : at + _WORDS_BEHIND]):
            whole, beginning, _ = _hashes(word)
            if first >= line[1]:
                if distance < 6:
                    yield _weight_index(beginning, 6)
            elif first >= stop:
                if distance < 2:
                    yield _weight_index(whole, 7)
                yield _weight_index(beginning, 8)
                yield _weight_index(beginning, level + 8)

    def _of_names(self, start: int, stop: int, line: Spot) -> Iterator[str]:
        """Yields features of the names of secrets on its line, above it, and at the head of its column."""
        view = self._view
        left = right = above = None
        in_column = False
        before, behind = self._names_around(start)
        for name in before:
            if line[0] <= name[0] and name[1] <= start:
                left = left or name
            elif name[1] <= line[0]:
                above = above or name
                in_column = in_column or _is_in_column(view, name[0], start, line[0])
        for name in behind:
            if stop <= name[0] and name[1] <= line[1]:
                right = right or name
        yield f"has:{left is not None}{right is not None}{above is not None}"
        if left:
            between = view[left[1] : start]
            others = bisect_left(self._value_starts, start) - bisect_left(self._value_starts, left[1])
            signs = "".join(between.split())[:3]
            yield f"left:{left[2]}"
            yield f"left:{_bucket(len(between))}"
            yield f"left:{min(others, 3)}:{_bucket(len(between))}"
            yield f"between:{'words' if any(map(str.isalnum, between)) else signs}"
        if right:
            yield f"right:{right[2]}"
            yield f"right:{_bucket(right[0] - stop)}"
        if above:
            lines = view.count("\n", above[1], start)
            rest = view[above[1] : view.find("\n", above[1])].rstrip()
            yield f"above:{above[2]}:{min(lines, 5)}"
            yield f"heading:{_sign(rest[-1:])}:{min(lines, 3)}"
            yield f"heading:{_bucket(len(rest))}:{min(lines, 2)}"
        if in_column:
            yield "column"


def _of_word_above(word: str, level: int) -> Iterator[int]:
    """Yields the indexes of a word on a line above."""
    if len(word) > 2 or not word.isascii():
        _, beginning, end = _hashes(word)
        yield _weight_index(beginning, 1)
        yield _weight_index(beginning, level + 1)
        if end:
            yield _weight_index(end, 1)


def _of_word_before(word: str, distance: int, level: int) -> Iterator[int]:
    """Yields the indexes of a word before the candidate on its line. ``distance``: words between them."""
    whole, beginning, end = _hashes(word)
    if distance < 3:
        yield _weight_index(whole, 2 + distance)
        yield _weight_index(whole, level + 2 + distance)
    if distance < 10:
        yield _weight_index(whole, 5)
        yield _weight_index(beginning, 5)
        yield _weight_index(beginning, level + 5)
        if end:
            yield _weight_index(end, 5)
            yield _weight_index(end, level + 5)


def _of_value(value: str, candidate: Candidate) -> Iterator[str]:
    size, strength, shape = len(value), candidate.strength, candidate.shape
    signs = [char for char in value if not char.isalnum()]
    digits = sum(map(str.isdigit, value))
    runs: list[str] = compiled("[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+").findall(value[:40])
    sorts = "".join("A" if run.isupper() else "a" if run.isalpha() else "0" if run.isdigit() else "!" for run in runs)
    length = size // 2 if size < 24 else size // 8 + 12 if size < 80 else 99
    yield "any"
    yield f"strength:{strength}"
    yield f"shape:{shape}:{strength}"
    yield f"length:{length}:{strength}"
    yield f"sorts:{sorts[:5]}"
    yield f"first:{_sign(value[0])}"
    yield f"last:{_sign(value[-1])}"
    yield f"counts:{min(len(signs), 4)}:{min(digits, 6)}"
    yield f"signs:{''.join(sorted(set(signs)))[:4]}"
    yield f"changes:{min(9, 10 * len(runs) // min(size, 40))}:{shape}"
    if len(runs) > 1 and runs[0].isalpha() and not runs[1].isalnum():
        yield f"prefix:{runs[0].lower()}{runs[1]}"


def _of_sides(view: str, start: int, stop: int, line: Spot) -> Iterator[str]:
    before = view[max(line[0], start - 24) : start].rstrip(_OPENING)
    after = view[stop : min(line[1], stop + 24)]
    yield f"before:{_sign(before[-1:])}"
    yield f"behind:{_sign(after.lstrip()[:1])}"
    yield f"touches:{view[start - 1] if start > line[0] else ''}"
    yield f"touched:{_sign(after[:1])}"
    yield f"ends:{not after.strip(' .,;)*|!?')}"
    word = before.rstrip(f":=- {_OPENING}")
    if word and not word[-1].isascii():
        yield f"script:{word[-1:]}"
        yield f"script:{word[-2:]}"
        yield f"script:{word[-3:]}"


def _line_start(view: str, at: int) -> int:
    least = max(0, at - _LONGEST_LINE)
    line = view.rfind("\n", least, at)
    return line + 1 if line >= 0 else least


def _sign(char: str) -> str:
    return "a" if char.isalnum() else char


def _words(view: str, start: int, stop: int, values: Sequence[Spot]) -> Iterator[_Word]:
    """Yields the words of a region outside of its candidates."""
    index = 0
    for match in compiled(_WORDS).finditer(view, start, stop):
        first, last = match.span()
        while index < len(values) and values[index][1] <= first:
            index += 1
        if index < len(values) and values[index][0] <= first < values[index][1]:
            continue
        if match[0][0] < _UNSPACED:
            yield first, last, match[0]
        else:
            for at in range(first, last - 1):
                yield at, at + 2, view[at : at + 2]


def _is_in_column(view: str, name: int, start: int, line: int) -> bool:
    """Returns True if a name above stands at the same distance from the start of its line, or in the same cell."""
    first = _line_start(view, name)
    if abs((name - first) - (start - line)) < 2:
        return True
    heading, row = view[first:name].lstrip("|"), view[line:start].lstrip("|")
    return start > line and any(heading.count(sign) == row.count(sign) > 0 for sign in "|,\t;")


def _bucket(distance: int) -> int:
    return distance if distance < 4 else 4 + (distance > 7) + (distance > 15) + (distance > 30) + (distance > 60)


def _named(view: str, start: int, stop: int) -> _Name | None:
    """Returns the whole name that contains a cue, and its kind; None if it stands for no secret."""
    before = view[max(0, start - 32) : start]
    letters = before.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    first = start - len(before) + len(letters)
    behind = compiled(r"[\w-]{0,32}+").match(view, stop)
    last = behind.end() if behind else stop
    name = view[first:last]
    kind = kind_of(name) or kind_of(words_before(view, first) + name)
    return (first, last, kind) if kind else None


# Classification.

STEPS: Final = 24
"""Steps of a weight per unit of log odds."""
_LEAST: Final = -0.2 * STEPS
"""Score above which a candidate counts as a secret. Secrets are rarer in ordinary text than in training."""


def suspected_secrets(rendition: Rendition) -> Iterator[Span]:
    """Yields the best candidate of each word if its score is high enough."""
    for region in regions(rendition):
        weights = _weights()
        around = Surroundings(rendition.view, region)
        for group in region.groups:
            score, candidate = max((sum(map(weights.__getitem__, around.traits(one))), one) for one in group)
            if score > _LEAST:
                start, stop = candidate.start, candidate.stop
                rest = compiled(REST).match(rendition.view, stop) if stop - start == LONGEST else None
                yield around.kind(candidate), start, rest.end() if rest else stop


@cache
def _weights() -> "array[int]":
    with open(f"{__file__.rpartition('/')[0]}/weights.bin", "rb") as file:  # noqa: PTH123 - Importing pathlib is slow.
        return array("b", file.read())
