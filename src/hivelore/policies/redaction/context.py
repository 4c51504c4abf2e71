"""Secrets that are known by what stands before them: logins, headers, cookies, and values of a telling name."""

import re
from collections.abc import Iterator
from typing import Final

from hivelore.policies.redaction.judgement import CODE, SECRET_SIGN, is_reference, is_secret
from hivelore.policies.redaction.matching import Span, compiled, decoded, matches_after


def secrets_in_context(plain: str, view: str, low: str) -> Iterator[Span]:
    """``view`` is the ``plain`` text in ASCII, ``low`` the same in lower case."""
    yield from _logins(view, low)
    yield from _headers(view, low)
    if "cookie" in low:
        yield from _cookies(view, low)
    for name in _NAMES:
        if name in low:
            yield from _named_values(name, plain, view, low)


# --- Logins, headers, cookies -----------------------------------------------------------------------------------------

_URL_LOGIN = r"://(?<=[A-Za-z0-9]://)([^\s/:@\"'<>\[\0]{0,128}):([^\s/\"'<>\0]{1,256})@(?!sha\d)(?=[\w\[{$%])"
_CURL_LOGIN = r"(?:-u|--user)[ =]{1,3}[\"']?([\w.@+-]{1,64}):(?!\d+\b)([^\s\"'\0]{3,256}+)"
_NETRC_LOGIN = (
    r"(?:machine\s{1,8}\S{1,253}|default)\s{1,8}login\s{1,8}(\S{1,64})\s{1,8}password\s{1,8}([^\s\"'\0]{3,256}+)"
)
_EXAMPLES = r"(?i:user|username|example|admin|root|guest|test|postgres|mysql)$|[A-Z_]+$|..?$|\d{1,5},"
"""What documentation writes for a password, or a list of hosts for one."""


def _logins(view: str, low: str) -> Iterator[Span]:
    """``scheme://user:password@host``, ``curl -u user:password`` and the lines of .netrc: the password alone."""
    for sign, pattern in (("://", _URL_LOGIN), ("curl", _CURL_LOGIN), ("login", _NETRC_LOGIN)):
        if sign in low:
            for match in compiled(pattern).finditer(view):
                user, password = match.groups()
                if password != user and not is_reference(password) and not compiled(_EXAMPLES).match(password):
                    yield "password", *match.span(2)


def _headers(view: str, low: str) -> Iterator[Span]:
    """``Authorization: Bearer ...`` and its like; ``Bearer`` and ``Basic`` also without the name of the header."""
    for scheme in ("bearer", "token", "bot", "apikey") if "authorization" in low else ("bearer",):
        for match in matches_after(scheme, r"[ \t]{1,4}([a-z0-9._~+/-]{8,}+=*+)", low):
            value = view[match.start(1) : match.end(1)]
            if not compiled(SECRET_SIGN).search(value):
                continue
            in_header = "authorization" in low[max(0, match.start() - 40) : match.start()]
            if (in_header or scheme == "bearer") and is_secret(value, password=in_header):
                yield "auth-token", *match.span(1)
    for scheme, between in (("basic", r"[ \t]{1,4}"), ("_auth", r"[ \t]?=[ \t]?"), ('"auth"', r"[ \t]?:[ \t]?\"")):
        for match in matches_after(scheme, between + r"([a-z0-9+/]{8,}+={0,2})", low):
            login = decoded(view[match.start(1) : match.end(1)])
            if b":" in login and login.isascii():
                yield "basic-auth", *match.span(1)


def _cookies(view: str, low: str) -> Iterator[Span]:
    done = 0
    for match in matches_after("cookie", r"[\"'`\])]{0,3}[ \t]{0,4}[:=,][ \t]{0,4}", low):
        if match.end() >= done:
            line_end = low.find("\n", match.end())
            done = min(line_end if line_end >= 0 else len(low), match.end() + 4096)
            for pair in compiled(r"[\w.$-]{1,64}+=([^\s;,\"'`\\\0]{12,}+)").finditer(view, match.end(), done):
                if is_secret(pair[1]):
                    yield "cookie", *pair.span(1)


# --- Values of a telling name -----------------------------------------------------------------------------------------

_PASSWORDS: Final = ("password", "passwd", "passwort", "passphrase", "passcode", "pwd")
_NAMES: Final = (
    *_PASSWORDS,
    *("_pass", "-pass", '"pass"', "'pass'"),
    *("secret", "token", "key", "credential", "credentials", "phpsessid", "jsessionid"),
)
_KEYS = (
    r"(?:api|access|secret|private|encryption|signing|auth|account|master|storage|role|webhook|licen[cs]e|app|admin"
    r"|deploy|jwt|session|hmac|client|service)key$"
)
_OTHER_TOKENS = r"(?:page|next|prev|continuation|pagination|sync|resume|cursor|pad|eos|bos|mask|publickey)token$"
"""They mark a place in a list or a text."""


def _kind(label: str) -> str | None:
    """The kind of secret that a name in lower case announces. Words before the name count as part of it."""
    name = compiled("[^a-z]+").sub("", label)
    if name.endswith((*_PASSWORDS, "pass")):
        return "password"
    if name.endswith(("secretaccesskey", "awssecretkey", "awssecret")):
        return "aws-secret"
    if name.endswith(("accountkey", "sharedaccesskey")):
        return "azure-key"
    if name.endswith("token"):
        return None if compiled(_OTHER_TOKENS).search(name) else "token"
    if name.endswith("key"):
        return "api-key" if compiled(_KEYS).search(name) else None
    return "cookie" if name.endswith(("sessid", "sessionid")) else "secret"


_LONGEST: Final = 64
"""As much of a value as is judged; a longer one is masked to its end."""
_SIGN = (
    r"(?:[_-]?[0-9]{1,2})?(?:\\?[\"'`*\])]|&quot;|\[\]){0,3}"
    r"(?:[ \t]{0,8}(?::[ \t]{0,2}[a-z&?][\w.|&'\[\]?<> ]{0,40}=[ \t]{0,4}(?=[\"'`])|:=|=>|={1,3}|:|(>))"
    r"(?:\*\*[ \t]{1,4}|[ \t]{0,8})"
    r"|[\s,]{1,40}[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"|[ \t]{1,4}(?:is|was|(?:set |changed )?to)[ \t:]{1,4}"
    r"|([ \t]{1,4}))"
)
"""What leads from a name to its value: the number of the name and the end of its quotes, then a sign, a type and a
sign, a tag (group 1), ``value:``, ``is``, or nothing (group 2)."""
_BARE_RUN = r"[^\s\"'`,;<>(){}\[\]\\|&\0]"
_VALUE = (
    r"(?:\\\"([^\"\\\s\0]{6,64})|[bfru]{0,2}(?:\"([^\"\s\0]{6,64})|'([^'\s\0]{6,64})|`([^`\s\0]{6,64}))"
    r"|&quot;([^&\s\0]{6,64})|(?=[^\s\"'`,;<>(){}\[\]\\|\0]{6})"
    rf"({_BARE_RUN}{{0,64}}+(?:&(?![\w.%-]{{0,40}}=|&|[a-z]{{2,6}};){_BARE_RUN}{{0,64}}+){{0,6}}+))"
)
_SIGN_AND_VALUE = _SIGN + _VALUE
_TAG, _NOTHING, _BARE = 1, 2, 8
"""Groups; 3 to 7 are values in quotes of one sort each."""
_QUOTED_RUN = r"[^\s\"'`\0]+"
_BARE_REST = r"(?:[&;|,(\[{](?![\w.%-]{0,40}[=:])[^\s\"'`<>\\\0&;|,]{1,64}+){1,8}+"
"""How a bare value goes on behind a sign that could have ended it."""


def _named_values(name: str, plain: str, view: str, low: str) -> Iterator[Span]:
    done = 0
    has_sign = compiled(SECRET_SIGN).search
    for match in matches_after(name, _SIGN_AND_VALUE, low):
        start, stop = match.span(match.lastindex or 0)
        if start < done or not has_sign(view, start, stop):
            continue
        label = low[max(0, match.start() - 32) : match.start()]
        if (kind := _kind(label)) is None or not _leads_to_value(match, label, view):
            continue
        bare = match.lastindex == _BARE
        value = _without_sentence(plain[start:stop]) if bare else plain[start:stop]
        if is_secret(value, password=kind == "password", bare=bare):
            done = _end(view, start, start + len(value), bare)
            yield kind, start, done


def _leads_to_value(match: re.Match[str], label: str, view: str) -> bool:
    """Whether what follows the name is a value at all, not a word of a sentence, a call or an index."""
    follows = view[match.end() : match.end() + 1]
    if match.lastindex != _BARE:
        return follows not in (" ", "\t")
    if match[_TAG] and follows != "<":
        return False
    if match[_NOTHING] and not compiled(r"--[\w-]+$").search(label):
        return False
    return follows not in ("(", "[") or not compiled(rf"{CODE}|\w+").fullmatch(match[_BARE])


def _end(view: str, start: int, stop: int, bare: bool) -> int:
    """Where a secret ends of which the part up to ``stop`` was judged."""
    patterns: list[str] = []
    if stop - start >= _LONGEST:
        patterns.append(f"{_BARE_RUN}+" if bare else _QUOTED_RUN)
    if bare:
        patterns.append(_BARE_REST)
    for pattern in patterns:
        if rest := compiled(pattern).match(view, stop):
            stop = rest.end()
    return stop


def _without_sentence(value: str) -> str:
    """A bare value without what belongs to the text around it: a script that has no spaces, closing marks."""
    if not value.isascii():
        value = value[: next((at for at, character in enumerate(value) if character >= "\u2000"), None)]
    return value.removesuffix("**").rstrip(".,:")
