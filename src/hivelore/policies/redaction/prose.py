"""Secrets in sentences of several languages, and logins such as ``user / password``."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from hivelore.policies.redaction.judgement import (
    is_generated,
    is_made_up,
    is_phrase,
    is_quoted_secret,
    is_random,
    is_thought_up,
)
from hivelore.policies.redaction.matching import Span, compiled, key_of, positions, word_set
from hivelore.policies.redaction.names import PASSWORDS, kind_of, words_before
from hivelore.policies.redaction.readings import Reading
from hivelore.policies.redaction.told import is_in_code, is_strong, is_told

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_SAID: Final = word_set(
    "password passwords passwd pwd pw passwort passworter passphrase passcode pass kennwort contrasena"
    " contrasenas senha wachtwoord haslo parola secret secrets token tokens credential credentials login logins"
    " passkey mnemonic clave chave jeton api-key apikey api-schlussel schlussel zugangsdaten zugangscode"
    " geheimnis auth-token api-token psk losenord adgangskode salasana heslo jelszo sifre passord access-key"
    " secret-key passcodes"
)
"""Names that sentences give a value to."""
_LEAD = (
    r"[^\n\0=!?;\"{}<>|]{0,60}?"
    r"(?:(?<![\w])(?i:is|was|are|reads|equals|to|lautet|lauten|ist|sind|war|auf|est|sera|es|son|era|e|sao|jest|to"
    r"|zijn|with|as|of"
    r"|ar|er|on|je|este|adalah|la|hasta|en|a|by|being|becomes|now"
    r"|still|von|from|de|от|это|теперь|είναι)(?![\w])(?:[ \t](?:now|currently|set to|still|jetzt"
    r"|ahora|just))?[ \t]{0,2}:?"
    r"|(?<=\w)'s(?= )|[:=]|--|—|–|-(?= )|[\u2190-\u21ff\u2700-\u27bf\U0001f300-\U0001faff]"
    r"|->|是|为|為|設為|设为|改成了?|换成了?|換成|は|が|는|은)"
    r"[ \t]{0,4}(?:\*\*|[\"'`\u201c\u201e\u2018\u201a\u00ab\u300c\u300e] ?)?"
)
_LINKS: Final = word_set("as is for als ist comme como est es lautet come")
_ARTICLES: Final = word_set("the my our your a das le la el il o ein dein sein new root admin temporary master")
_GAP: Final = 16
"""Characters between words for users that are looked behind."""
_CLOSE_TO: Final = 60
_MOST_CLOSE: Final = 3
"""Names that are looked around in so many characters. No sentence has more of them."""
_PHRASE = r"[a-z]{3,12}(?: [a-z]{3,12}){3,23}(?=[ .]?(?:\n|$))"
_RUN = r"(?<![\w/+.=-])(?:[A-Za-z0-9]|[!#$%^*?~+_-](?=[^\s\"'`]{4})){8,256}+(?![\w/])"
_MORE_OF_NAME = r"(?:f?[ ](?:d[e']? ?)?(?:api|secrete|privee|acces)|[ ](?:words|phrase|codes?|api))\b"
_QUOTED_NEXT = r"[ \t]{1,4}([\"`'\u201c\u00ab\u300c])([^\"`'\n\0\u201d\u00bb\u300d]{4,80})[\"`'\u201d\u00bb\u300d]"
_WORD = (
    r"((?:\|(?=[^\s|]{5}))?(?:[^\s\"'`,;|()\0\u2000-\u206f\u3000-\u9fff\uac00-\ud7ff\uff00-\uffef\u00ab\u00bb]|[;,](?="
    r"[\w!#$%&*+?@^~])){4,256}+)"
)
_LOGIN = (
    r"[^\n\0]{0,40}?(?:[:=]|\bas|\bwith|\bare|\bis|\bsind|\bsont|\bson|[ ])[ \t]{0,3}[`\"'*]{0,3}"
    r"[\w.@+-]{1,64}[`\"'*]{0,3}(?: ?/ ?| ?: ?| ?\| ?|, ?| - | pw | pass | and )[`\"'*]{0,3}" + _WORD
)
_USERS: Final = (
    *("user", "login", "log in", "sign in", "cred", "account", "admin", "root", "zugang", "benutzer", "identifiant"),
    *("compte", "usuario", "acesso", "utente", "credencia", "access", "logon"),
)
_WHOLE = r"(?:s|names?|ials?|entials?|s?daten|les|ns?|ios?|iales|e|nant)?(?![\w-])"
_LOGINS: Final = ("root:", "admin:", "administrator:", "postgres:", "user:", "sa:", "test:", "deploy:", "ubuntu:")
_KEYED_USERS: Final = tuple((key_of(user), user) for user in _USERS)
_LOGIN_ZH = r"[^\n\0]{0,40}?[/:、 ]" + _WORD
_USERS_ZH: Final = ("账号", "帳號", "用户名", "用戶", "ユーザー", "アカウント", "логин", "логін", "아이디")


def told_secrets(reading: Reading) -> Iterator[Span]:
    view, low = reading.view, reading.low
    done = near = 0
    judged: set[int] = set()
    close: deque[int] = deque([-_CLOSE_TO] * _MOST_CLOSE, maxlen=_MOST_CLOSE)
    for start, stop in reading.names:
        if start < done or start - close[0] < _CLOSE_TO or (found := _name_around(view, low, start, stop)) is None:
            continue
        close.append(start)
        near = max(near, start - 100)
        name_start, name_stop, kind = found
        for span in _of_sentence(view, low, name_start, name_stop, near, judged, is_password=kind == "password"):
            if view[span[1] : span[1] + 1] in ("(", "["):
                continue
            done = span[1]
            yield kind, *span
        near = name_stop + 140
    yield from _told_logins(reading)


def _name_around(view: str, low: str, start: int, stop: int) -> tuple[int, int, str] | None:
    """Where the whole name stands, and its kind. None where sentences give no value to it."""
    start, stop = _word_around(low, start, stop)
    name = low[start:stop]
    if start > 1 and (view[start - 1] in "+/=" or view[start - 2 : start] == "::"):
        return None
    kinds = [kind_of(words_before(view, start) + name), kind_of(name)]
    more = compiled(_MORE_OF_NAME).match(low, stop)
    is_said = not name.isascii() or name in _SAID or kinds[0] not in (None, "some-key")
    if not kinds[1] and name == "key" and "api" in low[max(0, start - 40) : stop + 40].split():
        return start, stop, "api-key"
    if not is_said and (more is None or name not in ("cle", "recovery", "seed", "chiave", "klucz", "sleutel")):
        return None
    if "password" in kinds or (not name.isascii() and name in PASSWORDS):
        kind = "password"
    else:
        kind = next((kind for kind in kinds if kind is not None and kind != "some-key"), "secret")
    return start, stop if more is None else more.end(), kind


def _told_logins(reading: Reading) -> Iterator[Span]:
    """``user / password`` behind a word for users, or alone where the password reads like nothing else."""
    view, low = reading.view, reading.low
    for spans, is_secret in (
        (_after(view, low, [user for key, user in _KEYED_USERS if key in reading.words], _LOGIN), is_made_up),
        (() if low.isascii() else _after(view, low, _USERS_ZH, _LOGIN_ZH), is_made_up),
        (_after(view, low, [" / "], _WORD), _is_password),
        (_after(view, low, _LOGINS, _WORD), _is_password),
    ):
        for span in spans:
            value = view[slice(*span)]
            if is_secret(value) and (is_secret == _is_password or not is_in_code(value)):
                yield "password", *span


def _is_password(value: str) -> bool:
    return is_strong(value) or is_thought_up(value)


def _after(view: str, low: str, words: Sequence[str], pattern: str) -> Iterator[tuple[int, int]]:
    first = last = 0
    tried = -_GAP
    for start, stop in positions(low, words):
        if first <= start < last or (pattern != _WORD and start - tried < _GAP):  # was looked at already
            continue
        tried = start
        if start and low[start].isalnum() and low[start].isascii() and low[start - 1].isalnum():
            continue
        if (
            low[start].isascii()
            and low[start].isalpha()
            and low[stop - 1] != ":"
            and not compiled(_WHOLE).match(low, stop)
        ):
            continue
        if low[start] == " " and not compiled(r"(?<![\w./'\"-])[a-z\d][\w.+@-]{1,64}$").search(
            view, max(0, start - 66), start
        ):
            continue
        if match := compiled(pattern).match(view, stop):
            first, last = match.span(1)
            yield _trimmed(view, first, last)


def _word_around(low: str, start: int, stop: int) -> tuple[int, int]:
    if not low[start].isascii():
        return start, stop
    before = low[max(0, start - 24) : start]
    behind = compiled(r"[\w-]{0,24}+").match(low, stop)
    return start - len(before) + len(before.rstrip(_NAME)), behind.end() if behind else stop


def _of_sentence(
    view: str, low: str, start: int, stop: int, near: int, judged: set[int], *, is_password: bool
) -> Iterator[tuple[int, int]]:
    """Where secrets of one name stand: beside it, before it, after a verb or a sign, in the line below."""
    if quoted := compiled(_QUOTED_NEXT).match(view, stop):
        if compiled(r"\w+=\w*").fullmatch(quoted[2]):
            return
        if is_quoted_secret(quoted[2], "token") or is_generated(quoted[2]) or is_phrase(quoted[2]):
            yield quoted.span(2)
        return
    if beside := compiled(rf"[ \t]{{1,3}}{_WORD}").match(view, stop):
        span = _trimmed(view, *beside.span(1))
        value = view[slice(*span)]
        if is_strong(value) or (is_password and is_told(value, is_password=True) and _has_digits(value)):
            yield span
            stop = beside.end()
    yield from _before(view, start, is_password=is_password)
    has_sign = compiled("[0-9!#$%&*+?@^~]").search(view, max(0, start - 60), stop + 160)
    if has_sign:
        yield from _near(view, near, stop)
    tries = (4 if near <= start else 2) if has_sign else 1 if is_password else 0
    yield from _given(
        view, stop, tries, judged, is_password=is_password, may_be_phrase=is_password and low[start:stop] != "pass"
    )


def _before(view: str, start: int, *, is_password: bool) -> Iterator[tuple[int, int]]:
    """What a sentence gives before the name: ``use ... as the password``."""
    if view[start - 1 : start] != " ":
        return
    at = max(0, start - 90)
    words = view[at : start - 1].rpartition("\n")[2].split(" ")
    end = start - 1
    for _ in range(2):
        if words and words[-1].lower() in _ARTICLES:
            end -= len(words.pop()) + 1
    if len(words) > 1 and words[-1].lower() in _LINKS:
        end -= len(words[-1]) + 1
        value = words[-2].rstrip("\"'`")
        first = end - len(words[-2]) + len(value) - len(value := re.split(r"[\"'`(,;|)\0\u4e00-\u9fff]", value)[-1])
        if 5 < len(value) <= 64 and is_told(value, is_password=is_password):
            yield first, first + len(value)


def _given(
    view: str, at: int, tries: int, judged: set[int], *, is_password: bool, may_be_phrase: bool
) -> Iterator[tuple[int, int]]:
    """What follows a verb or a sign, such as ``is`` or a colon. The first one may belong to the name.

    ``judged``: blocks of characters in which a value ended; what several names lead to is not judged again."""
    for _ in range(tries):
        lead = compiled(f"{_LEAD}{_WORD}").match(view, at)
        if lead is None:
            return
        span = _trimmed(view, *lead.span(1))
        words = compiled(_PHRASE).match(view, span[0]) if may_be_phrase else None
        block = (lead.start(1) // 64) << 1 | is_password
        is_new = span[1] - span[0] < 64 or block not in judged
        judged.add(block)
        if (
            is_new
            and view[span[1] : span[1] + 1] not in ("(", "[")
            and is_told(view[slice(*span)], is_password=is_password)
        ):
            yield span
        elif words and is_phrase(words[0]):
            yield words.span()
            return
        at = span[1]


def _near(view: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Random runs in the same line, before or behind."""
    line_start = max(start, view.rfind("\n", start, stop) + 1)
    line_end = view.find("\n", stop, stop + 140)
    for match in compiled(_RUN).finditer(view, line_start, line_end if line_end >= 0 else min(len(view), stop + 140)):
        span = _trimmed(view, *match.span())
        if is_random(view[slice(*span)]) and is_strong(view[slice(*span)]):
            yield span


def _has_digits(value: str) -> bool:
    return sum(map(str.isdigit, value)) > 1


def _trimmed(view: str, start: int, stop: int) -> tuple[int, int]:
    while stop > start + 1 and view[stop - 1] in ".,:;*?)]}>" and not is_thought_up(view[start:stop]):
        stop -= 1
    return start, stop
