"""Secrets that are sent to log in: in URLs, headers and cookies."""

from collections.abc import Iterator
from typing import Final

from hivelore.core.redaction.judgement import is_generated, is_id, is_made_up, is_quoted_secret, is_reference
from hivelore.core.redaction.matching import Span, compiled, decoded, matches_after
from hivelore.core.redaction.readings import Reading


def sent_secrets(reading: Reading) -> Iterator[Span]:
    view, low = reading.view, reading.low
    yield from _logins(view, low)
    yield from _headers(view, low)
    yield from _logins_before_at(view)
    if "://" in low:
        yield from _queries(view)
    if "cookie" in low:
        yield from _cookies(view, low)


_URL_LOGIN = (
    r"://(?<=[A-Za-z0-9]://)([^\s/:@\"'<>\[\0]{0,128}):(?!\d{1,5}/|[a-z]{1,20}/)([^\s/\"'<>\0]{1,256}(?=@)|"
    r"[^\s\"'<>\0]{1,256}?)@(?!sha\d)(?=[\w\[{$%])"
)
_CURL_LOGIN = r"(?:[ ]-u|--user|--proxy-user)[ =]{0,3}[\"']?([\w.@+-]{1,64}):(?!\d+\b)([^\s\"'\0]{3,256}+)"
_NETRC_LOGIN = (
    r"(?:machine\s{1,8}\S{1,253}|default)\s{1,8}login\s{1,8}(\S{1,64})\s{1,8}password\s{1,8}([^\s\"'\0]{3,256}+)"
)
_AUTHORIZATION = (
    r"[\"'`\])]{0,3}[ \t]{0,4}(?:[:=,]|=>)[ \t]{0,4}[\"'`]{0,3}"
    r"(?:(bearer|token|bot|apikey|api-key|key|ssws|genie|genie-?key|splunk|discogs|basic|digest|hawk|oauth"
    r"|aws4-hmac-sha256"
    r"|[a-z][a-z-]{1,20})[ \t]{1,4}(?:token[= ]\"?)?)?([a-z0-9._~+/=-]{8,}+)"
)
_EXAMPLES = r"(?i:user|username|example|admin|root|guest|test|postgres|mysql)$|[A-Z_]+$|..?$|\d{1,5},"
"""What documentation writes for a password, or a list of hosts for one."""


_LOGINS: Final = (
    ("://", _URL_LOGIN),
    ("curl", _CURL_LOGIN),
    ("login", _NETRC_LOGIN),
    ("thin:", r"thin:([\w$]{1,64})/([^\s@\"']{3,64}+)(?=@)"),
)


def _logins(view: str, low: str) -> Iterator[Span]:
    """``scheme://user:password@host``, ``curl -u user:password`` and the lines of .netrc: the password alone."""
    for sign, pattern in _LOGINS:
        if sign in low:
            for match in compiled(pattern).finditer(view):
                user, password = match.groups()
                if password != user and not is_reference(password) and not compiled(_EXAMPLES).match(password):
                    yield "password", *match.span(2)


def _logins_before_at(view: str) -> Iterator[Span]:
    """``user:password@tcp(host)`` and ``user:password@host`` without a scheme."""
    at = view.find("@", 4)
    while at >= 0:
        if not view[at - 1].isspace():
            login = compiled(
                r"(?:^|[\"'`= :\n(])([\w.-]{1,64}):(?=[^\s]{0,64}[0-9])"
                r"([^\s:@/\"'<>\0]{5,64}+)(?=@(?!sha\d)(?:tcp|unix|udp)?[\w(])"
            ).search(view, max(0, at - 130), at + 6)
            if login and login.end() == at and not is_reference(login[2]) and is_made_up(login[2]):
                yield "password", *login.span(2)
        at = view.find("@", at + 1)


def _headers(view: str, low: str) -> Iterator[Span]:
    """``Authorization: Bearer ...`` and its like; ``Bearer`` and ``SSWS`` also without the name of the header."""
    for match in matches_after("authorization", _AUTHORIZATION, low):
        if low[match.start() - 14 : match.start() - 13].isalpha():
            continue
        scheme, start, stop = match[1] or "", *match.span(2)
        value = view[start:stop]
        if scheme not in ("basic", "digest", "aws4-hmac-sha256") and is_credential(value, bool(scheme)):
            yield "auth-token", start, stop
    for scheme in ("bearer", "ssws", "apikey"):
        for match in matches_after(scheme, r"(?:[ \t]{1,4}|,[ ]?(?![a-z_]{1,40}=))([a-z0-9._~+/=-]{8,}+)", low):
            value = view[slice(*match.span(1))]
            if is_generated(value) or is_id(value):
                yield "auth-token", *match.span(1)
    for scheme, between in (("basic", r"[ \t]{1,4}"), ("_auth", r"[ \t]?=[ \t]?"), ('"auth"', r"[ \t]?:[ \t]?\"")):
        for match in matches_after(scheme, between + r"([a-z0-9+/]{8,}+={0,2})", low):
            login = decoded(view[match.start(1) : match.end(1)])
            if login.partition(b":")[1] and login.partition(b":")[0].isascii():
                yield "basic-auth", *match.span(1)
    if "authorization" in low:
        for match in compiled(r"(?:[Ss]ignature|response)=\"?([0-9a-f]{32,128})\b").finditer(view):
            yield "auth-token", *match.span(1)


def _queries(view: str) -> Iterator[Span]:
    """Tokens in URLs: in place of a user, and values of short names."""
    for match in compiled(r"://([\w.~-]{16,256}+)(?=@[\w.-]{3})").finditer(view):
        if is_generated(match[1]) or is_id(match[1]):
            yield "token", *match.span(1)
    for match in compiled(
        r"://[^\s\"'<>]{0,120}?(?:hook|alchemy|infura|quiknode|moralis|ankr)[^\s\"'<>]{1,120}/([\w-]{20,256}+)(?![\w/.-])"
    ).finditer(view):
        if is_generated(match[1]):
            yield "token", *match.span(1)
    for match in compiled(r"IncomingWebhook/([0-9a-f]{32})(?!\w)").finditer(view):
        yield "token", *match.span(1)
    for match in compiled(r"[?&](?:key|k|sig|[Ss]ignature|auth|code|api|appid|hash|t)=([\w.~%+/-]{20,512}+)").finditer(
        view
    ):
        if is_generated(match[1]) or is_id(match[1]):
            yield "token", *match.span(1)
    for match in compiled(r"[?&]u(?:ser)?=[^\s&]{1,64}&p(?:w|ass)?=([^\s&\"'<>]{4,128}+)").finditer(view):
        if not is_reference(match[1]):
            yield "password", *match.span(1)


def is_credential(value: str, has_scheme: bool) -> bool:
    return is_generated(value) or is_id(value) or (has_scheme and is_quoted_secret(value, "token"))


def _cookies(view: str, low: str) -> Iterator[Span]:
    done = 0
    for match in matches_after("cookie", r"[\"'`\])]{0,3}[ \t]{0,4}[:=,][ \t]{0,4}", low):
        if match.end() >= done:
            line_end = low.find("\n", match.end())
            done = min(line_end if line_end >= 0 else len(low), match.end() + 4096)
            for pair in compiled(r"[\w.$-]{1,64}+=([^\s;,\"'`\\\0]{12,}+)").finditer(view, match.end(), done):
                if is_generated(pair[1]) or is_id(pair[1]):
                    yield "cookie", *pair.span(1)
