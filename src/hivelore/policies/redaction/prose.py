"""Secrets in sentences of several languages, and logins such as ``user / password``."""

from collections.abc import Iterator, Sequence
from typing import Final

from hivelore.policies.redaction.judgement import is_generated, is_made_up, is_phrase, is_quoted_secret, is_random
from hivelore.policies.redaction.matching import Span, compiled, key_of, positions, word_set
from hivelore.policies.redaction.names import kind_of, words_before
from hivelore.policies.redaction.readings import Reading

_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_SAID: Final = word_set(
    "password passwords passwd pwd pw passwort passworter passphrase passcode pass kennwort contrasena"
    " contrasenas senha wachtwoord haslo parola secret secrets token tokens credential credentials login logins"
    " passkey mnemonic clave chave jeton api-key apikey api-schlussel schlussel zugangsdaten zugangscode"
    " geheimnis auth-token api-token psk losenord adgangskode salasana heslo jelszo sifre passord access-key"
    " secret-key auth passcodes"
)
"""Names that sentences give a value to."""
_LEAD = (
    r"[^\n\0=!?;\"{}<>|]{0,60}?"
    r"(?:(?<![\w])(?:is|was|are|reads|equals|to|lautet|lauten|ist|sind|war|auf|est|sera|es|son|era|e|sao|jest|to"
    r"|zijn|with|as|of"
    r"|en|a|by|being|becomes|now|von|from|de|от|это|теперь)(?![\w])(?:[ \t](?:now|currently|set to|still|jetzt"
    r"|ahora|just))?[ \t]{0,2}:?"
    r"|[:=]|--|—|–|-(?= )|→|->|是|为|為|設為|设为|は|는|은)"
    r"[ \t]{0,4}(?:\*\*|[\"'`\u201c\u00ab\u300c\u300e] ?)?"
)
_BEFORE = (
    r"(?<![^\s\"'`(\u4e00-\u9fff])([^\s\"'`,;|()\0]{6,64})[\"'`]{0,2} (?:as|is|for|als|ist|comme|como|est|es"
    r"|lautet|come) "
    r"(?:(?:the|my|our|your|a|das|le|la|el|il|o|ein|dein|sein|new|root|admin|temporary|master) ){0,2}$"
)
"""What a sentence gives before the name."""
_PHRASE = r"[a-z]{3,12}(?: [a-z]{3,12}){3,23}(?=[ .]?(?:\n|$))"
_RUN = r"(?<![\w/+.=-])(?:[A-Za-z0-9]|[!#$%^*?~+_-](?=[^\s\"'`]{4})){8,256}+(?![\w/])"
_MORE_OF_NAME = r"(?:f?[ ](?:d[e']? ?)?(?:api|secrete|privee|acces)|[ ](?:words|phrase|codes?|api))\b"
_QUOTED_NEXT = r"[ \t]{1,4}([\"`'\u201c\u00ab\u300c])([^\"`'\n\0\u201d\u00bb\u300d]{4,80})[\"`'\u201d\u00bb\u300d]"
_WORD = (
    r"((?:[^\s\"'`,;|()\0\u2000-\u206f\u3000-\u9fff\uac00-\ud7ff\uff00-\uffef\u00ab\u00bb]|[;,](?="
    r"[\w!#$%&*+?@^~])){4,256}+)"
)
_LOGIN = (
    r"[^\n\0]{0,40}?(?:[:=]|\bas|\bwith|\bare|\bis|\bsind|\bsont|\bson|[ ])[ \t]{0,3}[`\"'*]{0,3}"
    r"[\w.@+-]{1,64}[`\"'*]{0,3}(?: ?/ ?| ?: ?| ?\| ?|, ?| - | pw | pass )[`\"'*]{0,3}" + _WORD
)
_USERS: Final = (
    *("user", "login", "log in", "sign in", "cred", "account", "admin", "root", "zugang", "benutzer", "identifiant"),
    *("compte", "usuario", "acesso", "utente", "credencia", "access", "logon"),
)
_WHOLE = r"(?:s|names?|ials?|entials?|s?daten|les|ns?|ios?|iales|e|nant)?(?![\w-])"
_KEYED_USERS: Final = tuple((key_of(user), user) for user in _USERS)
_LOGIN_ZH = r"[^\n\0]{0,40}?[/:、 ]" + _WORD
_USERS_ZH: Final = ("账号", "帳號", "用户名", "用戶", "ユーザー", "アカウント", "логин", "логін", "아이디")


_CODE = (
    r"[a-z]{2,}(?:[A-Z][a-z]{2,}\d{0,2})+|(?:[A-Z][a-z]+\d{0,5}){2,}|\(?[\w.]+\[.*|\[[\w .-]*\]?|"
    r"[\w.]*\(.*|//.*|[A-Z]+/\d.*|\d{1,5}/.*|[a-z]+(?:[/?#&][a-z]+)+|[\w-]*(?::[\w/.-]*){2,}|--?[a-z].*|.*(?:=>"
    r"|==\w|->|<=|>=|[\w)-]=[^=]|</).*"
    r"|[\w-]+\.[\w.-]+|v?\d+(?:[.:x/-]\d+)+\w*|[\w.+-]+@[\w.-]+|\d+(?:st|nd|rd|th|ms|s|kb|mb|gb|px|h|k|m)"
    r"|[~#@^].{0,20}|[a-z]+\d{1,4}|[A-Z]+-?\d{1,5}|[a-z]+-[a-z0-9-]*|.*://.*|\d+-\w+|[0-9a-fA-F]{7,12}"
    r"|\d{8}T\d{4,6}Z?|\d+\*\w+|\\.*|0x[0-9a-fA-F]+|.*\+|[\w-]+/[\w/.-]+"
)
"""Calls, options, numbers, paths and names, which stand in sentences about secrets."""


def told_secrets(reading: Reading) -> Iterator[Span]:
    view, low = reading.view, reading.low
    done = 0
    for start, stop in reading.names:
        if start < done or (found := _name_around(view, low, start, stop)) is None:
            continue
        name_start, name_stop, kind = found
        for span in _of_sentence(view, low, name_start, name_stop, is_password=kind == "password"):
            if view[span[1] : span[1] + 1] in ("(", "["):
                continue
            done = span[1]
            yield kind, *span
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
    if not is_said and (more is None or name not in ("cle", "recovery", "seed", "chiave", "klucz", "sleutel")):
        return None
    if "password" in kinds:
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
        (_after(view, low, [" / "], _WORD), _is_strong),
    ):
        for span in spans:
            value = view[slice(*span)]
            if is_secret(value) and not _is_code(value):
                yield "password", *span


def _after(view: str, low: str, words: Sequence[str], pattern: str) -> Iterator[tuple[int, int]]:
    for start, stop in positions(low, words):
        if start and low[start].isalnum() and low[start].isascii() and low[start - 1].isalnum():
            continue
        if low[start].isascii() and low[start].isalpha() and not compiled(_WHOLE).match(low, stop):
            continue
        if low[start] == " " and not compiled(r"(?<![\w./'\"-])[a-z\d][\w.+@-]{1,64}$").search(
            view, max(0, start - 66), start
        ):
            continue
        if match := compiled(pattern).match(view, stop):
            yield _trimmed(view, *match.span(1))


def _word_around(low: str, start: int, stop: int) -> tuple[int, int]:
    if not low[start].isascii():
        return start, stop
    before = low[max(0, start - 24) : start]
    behind = compiled(r"[\w-]{0,24}+").match(low, stop)
    return start - len(before) + len(before.rstrip(_NAME)), behind.end() if behind else stop


def _of_sentence(view: str, low: str, start: int, stop: int, *, is_password: bool) -> Iterator[tuple[int, int]]:
    """Where secrets of one name stand: beside it, before it, after a verb or a sign, in the line below."""
    if quoted := compiled(_QUOTED_NEXT).match(view, stop):
        if is_quoted_secret(quoted[2], "token") or is_generated(quoted[2]) or is_phrase(quoted[2]):
            yield quoted.span(2)
        return
    if beside := compiled(rf"[ \t]{{1,3}}{_WORD}").match(view, stop):
        span = _trimmed(view, *beside.span(1))
        value = view[slice(*span)]
        if _is_strong(value) or (is_password and _is_said(value, is_password=True) and _has_digits(value)):
            yield span
            stop = beside.end()
    before = compiled(_BEFORE).search(view, max(0, start - 90), start)
    if before and _is_said(before[1], is_password=is_password):
        yield before.span(1)
    has_sign = compiled("[0-9!#$%&*+?@^~]").search(view, max(0, start - 60), stop + 160)
    if has_sign:
        yield from _near(view, start, stop)
    tries = 4 if has_sign else 1 if is_password else 0
    yield from _given(
        view, stop, tries, is_password=is_password, may_be_phrase=is_password and low[start:stop] != "pass"
    )
    yield from _below(view, low, start, is_password=is_password)


def _given(view: str, at: int, tries: int, *, is_password: bool, may_be_phrase: bool) -> Iterator[tuple[int, int]]:
    """What follows a verb or a sign, such as ``is`` or a colon. The first one may belong to the name."""
    for _ in range(tries):
        lead = compiled(f"{_LEAD}{_WORD}").match(view, at)
        if lead is None:
            return
        span = _trimmed(view, *lead.span(1))
        words = compiled(_PHRASE).match(view, span[0]) if may_be_phrase else None
        if view[span[1] : span[1] + 1] not in ("(", "[") and _is_said(view[slice(*span)], is_password=is_password):
            yield span
        elif words and is_phrase(words[0]):
            yield words.span()
            return
        at = lead.end(1)


def _near(view: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Random runs in the same line, before or behind."""
    line_start = view.rfind("\n", max(0, start - 60), start) + 1 or max(0, start - 60)
    line_end = view.find("\n", stop, stop + 140)
    for match in compiled(_RUN).finditer(view, line_start, line_end if line_end >= 0 else min(len(view), stop + 140)):
        span = _trimmed(view, *match.span())
        if is_random(view[slice(*span)]) and _is_strong(view[slice(*span)]):
            yield span


def _has_digits(value: str) -> bool:
    return sum(map(str.isdigit, value)) > 1


def _below(view: str, low: str, start: int, *, is_password: bool) -> Iterator[tuple[int, int]]:
    """A secret alone on the line below one that names it."""
    line_start, line_end = low.rfind("\n", max(0, start - 80), start) + 1, low.find("\n", start, start + 80)
    if line_end < 0:
        return
    below = compiled(
        r"(?:[ \t]{0,8}(?:```\w{0,10}|~~~)?\r?\n){1,4}[ \t>]{0,8}([^\s\"'`,;|(){}\0]{6,256}+)[ \t]{0,4}\r?(?:\n|$)"
    ).match(view, line_end)
    is_heading = (
        view[line_end - 1] == ":" or view.startswith("#", line_start) or view.count(" ", line_start, line_end) < 5
    )
    if below and is_heading and (_is_strong(below[1]) or (is_password and _is_said(below[1], is_password=True))):
        yield below.span(1)
    words = compiled(r"[^\n\0]{0,12}(?:\s{1,8}\d{1,2}[.):][ \t]{1,4}[a-z]{3,10}){8,24}").match(view, line_end)
    if words and low.startswith(("mnemonic", "seed", "recovery"), start):
        yield words.start() + len(words[0]) - len(words[0].lstrip()), words.end()


def _is_strong(value: str) -> bool:
    """Nothing that a text of ordinary words, numbers and names in programs holds."""
    sorts = sum(bool(compiled(sort).search(value)) for sort in ("[a-z]", "[A-Z]", "[0-9]"))
    if compiled("[0-9a-f]{32,}").fullmatch(value):
        return True
    if compiled("[0-9a-f]{4,}[0-9a-zA-Z]*(?:-[0-9a-fA-F]{4,}[0-9a-zA-Z]*)+").fullmatch(value):
        return False
    return (
        len(value) > 7
        and "\\" not in value
        and (sorts == 3 or is_generated(value))
        and is_made_up(value)
        and not _is_code(value)
    )


def _is_said(value: str, *, is_password: bool) -> bool:
    if value.isdigit():
        return len(value) > 5 and is_password
    if value.isalpha() and value.isascii():
        return len(value) > 7 and not value.islower() and not value.isupper() and is_quoted_secret(value, "token")
    if _is_code(value):
        return False
    return is_made_up(value) or is_generated(value)


def _trimmed(view: str, start: int, stop: int) -> tuple[int, int]:
    while stop > start + 1 and view[stop - 1] in ".,:;*?)]}>":
        stop -= 1
    return start, stop


def _is_code(value: str) -> bool:
    value = value.lstrip("*&")
    return bool(compiled(_CODE).fullmatch(value)) or (
        bool(compiled(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+").fullmatch(value)) and not is_generated(value)
    )
