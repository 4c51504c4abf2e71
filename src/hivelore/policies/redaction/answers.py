"""Secrets that stand alone on the line below one that asks for them, prints them or names them."""

from collections.abc import Iterator
from typing import Final

from hivelore.policies.redaction.judgement import is_generated, is_id, is_mixed, is_thought_up
from hivelore.policies.redaction.matching import Span, compiled, positions
from hivelore.policies.redaction.names import kind_of, words_before
from hivelore.policies.redaction.readings import Reading
from hivelore.policies.redaction.told import is_strong, is_told

_LONGEST_LINE: Final = 240
_LONGEST_NAME: Final = 40
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.->$"
_BELOW = (
    r"(?:[ \t]{0,8}(?:```\w{0,10}|~~~)?\r?\n){1,4}[ \t>]{0,8}"
    r"(?:\[?[\d:. TZ-]{4,24}\]?[ \t]{1,2})?(?:[\w.@-]{1,24}:[ \t])?"  # who says it, and when
    r"(?:Out\[\d{1,4}\]: "
    r"|\$?\d{1,4} = (?:0x[0-9a-f]{1,16} )?|=> |((?:[A-Za-z]{1,12} )?(?:[Vv]alue|[Pp]assword|[Tt]oken|is)): )?"
    r"(?:it'?s |its |is |-> )?[\"'`]?(?![\w.-]{1,60}[=:][^\s=])"
    r"([^\s\"'`,;|(){}\0]{6,512}+)[\"'`]?(?:[ \t]{0,4}\r?(?:\n|$)|,[ ][a-z])"
)
_PROMPT = (
    r"[ \t]{0,8}(?:[$#%>]|>>>|\(\w{2,8}\)|In \[\d{1,4}\]:|irb\S{0,20}>|PS[^\n>]{0,80}>|[\w.@~:/-]{1,60}[$#>])[ \t]"
)
_WORDS = r"[^\n\0]{0,12}(?:\s{1,8}\d{1,2}[.):][ \t]{1,4}[a-z]{3,10}){8,24}"


_HEADINGS: Final = ("secrets", "passwords", "credentials", "tokens", "admins", "api_keys", "apikeys")
_HEADING = (
    r"[ \t]{0,12}\[?[\"']?[\w.-]{0,24}(?:secrets|passwords|credentials|tokens|admins|api_?keys)[\"']?\]?:?[ \t]*\r?\n"
)
_ENTRY = (
    r"[ \t]{0,16}(?:-[ \t]|[\"']?[\w.-]{1,40}[\"']?[ \t]{0,8}[:=][ \t]{0,8})[\"']?([^\s\"',;\0]{6,256}+)[\"']?,?"
    r"[ \t]*(?:\r?\n|$)"
)


def listed_secrets(reading: Reading) -> Iterator[Span]:
    """What stands below a heading such as ``[secrets]`` or ``passwords:``, line by line."""
    view, done = reading.view, 0
    for start, _ in positions(reading.low, [word for word in _HEADINGS if word in reading.words]):
        line = view.rfind("\n", max(0, start - 40), start) + 1
        heading = compiled(_HEADING).match(view, line) if start >= done else None
        at = done = heading.end() if heading else done
        while heading and (entry := compiled(_ENTRY).match(view, at)):
            if is_strong(entry[1]) or is_thought_up(entry[1]):
                yield "secret", *entry.span(1)
            at = done = entry.end()


def answered_secrets(reading: Reading) -> Iterator[Span]:
    view = reading.view
    done = 0
    for start, stop in reading.names:
        if start < done:
            continue
        end = view.find("\n", stop, stop + _LONGEST_LINE)
        if end < 0:
            continue
        below = compiled(_BELOW).match(view, end)
        is_list = reading.low.startswith(("mnemonic", "seed", "recovery"), start)
        if below is None and not is_list:
            done = end
            continue
        kind = _kind(view, start, stop, end)
        if below and kind and _is_answer(below[2], 1 if below[1] else _announces(view, start, end), kind):
            yield kind, *below.span(2)
            done = end
        elif is_list:
            words = compiled(_WORDS).match(view, end)
            if words:
                yield "password", words.start() + len(words[0]) - len(words[0].lstrip()), words.end()


def _kind(view: str, start: int, stop: int, end: int) -> str | None:
    """Of a name with the path that it ends: ``cfg->password``, ``config/master.key``."""
    before = view[max(0, start - 32) : start]
    first = start - len(before) + len(before.rstrip(_NAME))
    more = compiled(r"[\w-]{0,24}+").match(view, stop, end)
    last = more.end() if more else stop
    name = view[first:last].lstrip("$.->")
    if stop - first > 32 or len(name) > _LONGEST_NAME or is_mixed(name):
        return None
    return kind_of(words_before(view, first) + name) or kind_of(name)


def _announces(view: str, start: int, end: int) -> int:
    """How surely this line tells that the next one is what it names: 2, 1 or 0."""
    start = view.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1
    if compiled(_PROMPT).match(view, start, end) or view[end - 1] == "?":
        return 2
    is_heading = view[end - 1] == ":" or view.startswith("#", start) or view.count(" ", start, end) < 5
    return int(is_heading)


def _is_answer(value: str, sureness: int, kind: str) -> bool:
    if len(value) >= 40 and value.count("/") < 5 and is_generated(value) and not is_id(value):
        return True
    if not sureness or kind == "some-key":
        return sureness > 1 and is_strong(value)
    if sureness > 1 and is_id(value):
        return True
    return is_strong(value) or (kind == "password" and is_told(value, is_password=True))
