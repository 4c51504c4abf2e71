"""Candidates for secrets: values near a cue, such as ``login``, that look like neither prose nor code."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hivelore.core.redaction.matching import compiled, key_of, positions, word_set
from hivelore.core.redaction.readings import Reading
from hivelore.core.redaction.shapes import ORDINARY, judged_value

Spot = tuple[int, int]
"""Start and stop."""

_CUES: Final = (
    *("wifi", "wi-fi", "ssid", "wlan", "user", "account", "unlock", "log in", "log-in", "sign in", "admin", "root"),
    *("identified", "compte", "usuario", "utente", "acces", "acceso", "zugriff", "konto", "benutz", "luks", "fernet"),
    *("semilla", "billetera", "seed", "phrase", "frase", "mots"),
    *("radius", "snmp", "ldap", "encrypt", "decrypt", "vault", "unseal", "wallet"),
)
_WHOLE_CUES: Final = ("pin", "pins", "puk", "code", "codes", "codice", "codigo")
_FOREIGN_CUES: Final = (
    *(
        "账号",
        "帳號",
        "用户",
        "用戶",
        "登录",
        "登入",
        "账户",
        "アカウント",
        "ログイン",
        "ユーザー",
        "계정",
        "로그인",
        "логин",
    ),
    *(
        "пин",
        "код",
        "доступ",
        "учетн",
        "密",
        "鍵",
        "キー",
        "コード",
        "验证码",
        "驗證碼",
        "助记",
        "助記",
        "니모닉",
        "мнемо",
        "фраз",
        "코드",
        "κωδικ",
        "รหัส",
        "رمز",
        "סיסמ",
    ),
)
"""Words besides telling names behind or before which secrets are given."""
_BEFORE: Final = 300
_AFTER: Final = 500
_LINES_BEFORE: Final = 4
_LINES_AFTER: Final = 12
"""The text around a cue in which candidates are looked for, in characters and in lines."""
_CLOSE_BEFORE: Final = 160
_CLOSE_AFTER: Final = 100
"""Characters within which a cue stands before or behind an ordinary candidate, such as a number."""
_NAMED_BEFORE: Final = 100
_NAMED_AFTER: Final = 60
"""Characters within which a telling name stands before or behind a candidate that reads like a name in a program."""
_NEIGHBOURS: Final = 32
"""Characters within which the first of several cues speaks for all."""
LONGEST: Final = 256
"""As much of a value as is judged; a longer one is masked to its end."""
REST: Final = r"[!#-&(-_a-~]++"
_LONGEST_WITH_SEPARATORS: Final = 32
_MOST_PARTS: Final = 12
_RUN = (
    r"(?<![\0!#-&(-_a-~])(?=[A-Za-z.,;:()_/=\[\]{}<>|*\\-]{0,80}[0-9!#$%&+?@^~]|[A-Za-z]{10}"
    r"|[(\[]?[a-z]{3,12}[-.][a-z]{3,12}[-.][a-z])[!#-&(-_a-~]{4,256}+(?!\0)"
)
"""Printable characters without quotes, not next to a mask, with a digit or a sign, or letters that may be no word."""
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
_STEMS_OF_PHRASES: Final = (
    *("pass", "phrase", "pw", "kennwort", "contras", "senha", "wachtwoord", "mnemonic", "seed", "parola", "haslo"),
    *("mot de", "mots", "clave", "wallet", "recovery", "geheim", "losen", "heslo", "jelszo", "sifre", "luks", "psk"),
    *("wifi", "wi-fi", "wlan", "ssid", "schlussel", "semilla", "frase", "words", "parole"),
)


class Candidate(NamedTuple):
    start: int
    stop: int
    strength: str
    """How little it looks like an ordinary word, one of STRENGTHS."""
    shape: str

    def moved(self, by: int) -> "Candidate":
        return Candidate(self.start + by, self.stop + by, self.strength, self.shape)


class Region(NamedTuple):
    """A part of a text around cues."""

    start: int
    stop: int
    cues: tuple[Spot, ...]
    groups: tuple[tuple[Candidate, ...], ...]
    """The candidates of one word each, of which at most one is a secret; in order."""


def regions(reading: Reading) -> Iterator[Region]:
    """Yields the parts of the text that hold candidates, in order and without overlap."""
    view = reading.view
    whole = _whole_cues(reading)
    name_starts = sorted(start for start, _ in (*reading.names, *whole))
    stems = [stem for stem in _STEMS_OF_PHRASES if key_of(stem) in reading.words]
    if not reading.low.isascii():
        stems += _FOREIGN_CUES
    for start, stop, cues in _around_cues(reading, whole):
        groups = [
            group
            for run in compiled(_RUN).finditer(view, start, stop)
            if (found := _candidates(run[0]))
            and (group := _close(found, run.start(), cues, name_starts))
            and not _is_in_blob(view, *run.span())
        ]
        if stems and any(stem in reading.low[start:stop] for stem in stems):
            groups += _phrases(view, start, stop)
        if groups:
            yield Region(start, stop, tuple(cues), tuple(groups))


def _is_in_blob(view: str, start: int, stop: int) -> bool:
    """Whether it is one line of several in base64."""
    if stop - start < _LONGEST_WITH_SEPARATORS or not compiled(r"[A-Za-z0-9+/=]+").fullmatch(view, start, stop):
        return False
    line = compiled(_LINE_OF_BLOB)
    before, behind = view.rfind("\n", 0, start), view.find("\n", stop)
    above = view.rfind("\n", 0, max(0, before)) + 1
    return bool((before > 0 and line.match(view, above)) or (behind > 0 and line.match(view, behind + 1)))


def _close(
    found: Sequence[Candidate], at: int, cues: Sequence[Spot], name_starts: Sequence[int]
) -> tuple[Candidate, ...]:
    """The candidates of a run that begins ``at``, without those that are too ordinary for their distance to a cue."""
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


def _whole_cues(reading: Reading) -> list[Spot]:
    words = f"{reading.words} "
    if not any(f" {cue} " in words for cue in _WHOLE_CUES):
        return []
    pattern = compiled(rf"(?<![a-z])(?:{'|'.join(_WHOLE_CUES)})(?![a-z])")
    return [match.span() for match in pattern.finditer(reading.low)]


def _around_cues(reading: Reading, whole: Sequence[Spot]) -> Iterator[tuple[int, int, list[Spot]]]:
    view, low = reading.view, reading.low
    words = [cue for cue in _CUES if key_of(cue) in reading.words]
    if not low.isascii():
        words += _FOREIGN_CUES
    spots = sorted((*reading.names, *positions(low, words), *whole))
    first = last = measured = -1
    cues: list[Spot] = []
    for spot in spots:
        if last < 0 or spot[0] >= last:
            if last > 0:
                yield first, last, cues
            first, cues = max(last, _begin(view, spot[0])), []
        if spot[0] >= measured:
            last = max(last, _end(view, spot[1]))
            measured = spot[0] + _NEIGHBOURS
        cues.append(spot)
    if last > 0:
        yield first, last, cues


def _begin(view: str, at: int) -> int:
    least = max(0, at - _BEFORE)
    start = at
    for _ in range(_LINES_BEFORE):
        line = view.rfind("\n", least, start)
        if line < 0:
            return least
        start = line
    return start + 1


def _end(view: str, at: int) -> int:
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
    """The candidates of a run of characters, at places within it."""
    found = (_candidate(run, *part) for part in _parts(run))
    return tuple(candidate for candidate in found if candidate is not None)


def _parts(run: str) -> list[Spot]:
    """The run as a whole, what separators cut it into, and what stands behind a sign, as in ``admin/...``."""
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
    """The span without the brackets and punctuation around it. None where it is no candidate."""
    while start < stop and run[start] in _SIDES_LEFT:
        start += 1
    while stop > start and run[stop - 1] in _SIDES_RIGHT:
        stop -= 1
    if stop - start < 4:
        return None
    more = compiled(r"[?!*]{0,4}+").match(run, stop)  # these may belong to it
    end = more.end() if more and stop < LONGEST else len(run)
    judged = judged_value(run[start:stop]) or (judged_value(run[start : stop + 1]) if end == stop + 1 else None)
    is_call = run[stop : stop + 1] in ("(", "[") and judged is not None and judged[0] == "name"
    return Candidate(start, end, *judged) if judged and not is_call else None


def _phrases(view: str, start: int, stop: int) -> Iterator[tuple[Candidate, ...]]:
    """Words in a row that make no sentence: four, or three that stand in quotes, behind a sign or at a line's start."""
    for match in compiled(_PHRASE).finditer(view, start, stop):
        for words in compiled(_PLAIN_WORDS).finditer(match[0]):
            parts = words[0].replace("-", " ").replace("_", " ").split()
            first = match.start() + words.start()
            least = 3 if compiled(_BEGINS_VALUE).search(view, max(0, first - 2), first) else 4
            if least <= len(parts) == len(set(parts)):
                yield (Candidate(first, match.start() + words.end(), "phrase", "phrase"),)
