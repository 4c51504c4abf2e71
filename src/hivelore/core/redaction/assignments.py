"""Values of names that stand for secrets, in settings, programs, documents, tables and command lines.

``DB_PASSWORD=...``, ``apiKey: "..."``, ``--token ...``, ``| password | ... |``, ``INSERT INTO users (password) ...``.
"""

import re
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Final

from hivelore.core.redaction.judgement import (
    KEYED_STEMS,
    Span,
    compiled,
    is_bare_secret,
    is_made_up,
    is_phrase,
    is_quoted_secret,
    is_thought_up,
    kind_of,
    words_before,
)
from hivelore.core.redaction.renditions import Rendition

_BEFORE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_LONGEST_NAME = 48
_SIGN = (
    # What follows the stem of a name, up to its value: ``_2 = ``, ``": "``, `` (prod) -> ``, ``</key><string>``.
    r"([\w-]{0,40}+(?: \d{1,2}(?=:)| content(?=[ \t]{0,20}:))?)"  # 1: the rest of the name
    r"(\\?[\"'`*\])}]|&quot;|\[\]|\*\*){0,3}"  # 2: its end
    r"(?:[\s,]{1,40}[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"|[ \t]{0,30}(?:"
    r":[ \t]{0,2}[a-z&?][\w.|&'\[\]?<> ]{0,40}=(?!=)[ \t]{0,4}(?=[\"'`])"  # a type
    r"|as[ \t]string[ \t]=|\{[ \w;]{0,40}\}[ \t]?=|:=|=>|->|<-|={1,3}|\?=|\+=|:[-?=]|:(?!:)"
    r"|(\|\||\?\?|or\b|,)"  # 3: a literal must follow
    r")[ \t]{0,8}(?:\*\*[ \t]{0,4})?(?:(?:[|>][-+]?[ \t]*|\\)?\r?(\n)[ \t]{1,40})?"  # 4: on the next line
    r"|</\w{1,12}>\s{0,40}<(?:string|\w{0,10}value)>|[ \t]\{[^{}\0]{0,200}?default[ \t]{0,8}=[ \t]{0,8}"
    r"|(>)(?:<!\[cdata\[)?"  # 5: a tag
    r"|((?:[)\]]{0,2}\.\w{1,20})?\([ \t]{0,4}n?(?=[\"']))"  # 6: a call
    r"|([ \t]{1,8}))"  # 7: nothing
)
_REST, _END, _LITERAL, _NEXT_LINE, _TAG, _CALL, _BLANK = range(1, 8)
_WRAPPED = r"(?:(?:new\s)?(?:string\(\d{1,4}\)|[\w.]{1,24}\(|<<)[ \t]{0,4})"
"""Text before a literal that belongs to it: a call, or a type with its length (``string(12) "..."``)."""
_OPEN = rf"(?:(?:new\s|\(|\[)?[bfruN@]{{0,2}}|({_WRAPPED}))(\"\"\"|'''|\"|'|`|\u201c|\u201e|\u00ab ?|\u300c|\u300e)"
_CLOSE = {
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u00ab": " \u00bb",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
}
_LONGEST = 256
"""Characters of a value that are judged. A longer value is masked to its end."""
_TRIES: Final = 2
"""Further names within the same run of characters whose values are judged."""
_BARE = rf"[^\s\0]{{1,{_LONGEST}}}+"
_REST_OF_BARE = r"[^\s\"'`,;<>(){}\[\]\\|&\0]++"
_CUT = (
    r"[\"'`\u201d\u300d]|&(?:[\w.%-]{1,40}=|&|[a-z]{2,6};)|[,;](?=[\w.-]{1,40}[=:])|</|\\[nrt\"']|"
    r"[\u2000-\u206f\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7ff\u00bb]"
    r"|->|\|\||==(?=[ \w])|[)}\]];?[)}\];,(]"
)
"""Ends of a value without quotes: quotes, ``&next=``, ``, next=``, ``</``, ``->``, ``||``, closing brackets."""
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
_ENV_NAME = r"(?:^|[\s;'\"`(,&?>-])(?:[A-Z][A-Z0-9]*_)*[A-Z][A-Z0-9]*$"
_TAKES_BLANK = (
    r"(?:--?[\w-]*|(?:^|\n)[ \t]{0,12}(?:env|arg|set|setx|set -\w{1,3}|setenv|config set|export)[ \t]{1,4}[\w.-]*"
    r"|[\s({]:[\w./-]*|\((?:def\w{0,8}|setq|setf)\s[\w./*-]*)$"
)


TRIGGERS: Final = ("<td", "insert", *(stem for _, stem in KEYED_STEMS))
"""Strings of which each lower-case ASCII text with one of these secrets contains one."""


def assigned_secrets(rendition: Rendition) -> Iterator[Span]:
    """Yields the value of each name that stands for a secret, unless the value is a reference."""
    view, low = rendition.view, rendition.low
    if not rendition.names:
        return
    sign = compiled(_SIGN)
    done = judged = tries = 0
    for start, stop in rendition.names:
        if stop <= done or (match := sign.match(low, stop)) is None:
            continue
        tries = tries + 1 if start < judged else 0
        if tries > _TRIES:
            continue
        done = match.end(_REST)
        head = view[max(0, start - _LONGEST_NAME) : start]
        head = head[len(head.rstrip(_BEFORE)) :]
        name = f"{head}{view[start : match.end(_REST)]}"
        if view[start - len(head) - 2 : start - len(head)] == "::":
            continue
        kind = kind_of(name) or kind_of(words_before(view, start - len(head)) + name)
        if kind is None or compiled(r"arn:[\w:/-]*$").search(view, max(0, start - _LONGEST_NAME), start - len(head)):
            continue
        span = _value(rendition, match, name, start - len(head), kind)
        if span:
            done = span[1]
            yield "api-key" if kind == "some-key" else kind, *span
        elif match.end() >= judged:
            run = compiled(_BARE).match(view, match.end())
            judged = run.end() if run else 0


def _value(rendition: Rendition, match: re.Match[str], name: str, start: int, kind: str) -> tuple[int, int] | None:
    view, at = rendition.view, match.end()
    opened = compiled(_OPEN).match(view, at)
    if opened is not None:
        found = _literal(view, opened)
        if found is not None and (second := _second_literal(view, start, found)):
            found = second
        if found is not None:
            value = view[found[0] : min(found[1], found[0] + _LONGEST)]
            if (opened[1] and not opened[1].startswith(("string(", "<<"))) or "." in (match[_CALL] or ""):
                return found if (is_made_up(value) and " " not in value) or is_thought_up(value) else None
            if match[_CALL] and ("\\" in value or not is_quoted_secret(value, "token")):
                return None
            if match[_BLANK] and not _takes_blank(rendition, start, name):
                starts_line = not view[max(0, view.rfind("\n", 0, start)) : start].strip()
                return found if starts_line and is_made_up(value) and is_quoted_secret(value, kind) else None
            if match[_LITERAL] == "," and not _is_argument(view, start):
                return None
            if match[_LITERAL] == "," and kind == "password":
                kind = "token"
            return found if is_quoted_secret(value, kind) else None
        at = opened.end() if opened[2] != "`" and not opened[1] else at
    if match[_LITERAL] or match[_CALL] or (match[_BLANK] and not _takes_blank(rendition, start, name)):
        return None
    return _bare_value(rendition, match, name, start, at, kind)


def _second_literal(view: str, start: int, first: tuple[int, int]) -> tuple[int, int] | None:
    """Returns the second of two literals that are assigned to two names: ``user, password = "eva", "..."``."""
    comma = compiled(r"[\"'],[ ]?").match(view, first[1])
    if comma is None or not compiled(r"\w, ?$").search(view, max(0, start - 3), start):
        return None
    opened = compiled(_OPEN).match(view, comma.end())
    return _literal(view, opened) if opened else None


def _is_argument(view: str, start: int) -> bool:
    """Returns True for a quoted name that is the first argument of a call, or a name that is the first in braces:
    ``set("password", "...")``, ``{password, "..."}``."""
    before = view[max(0, start - 40) : start]
    head = before.rstrip(f"{_BEFORE}.#=[")
    return head.endswith(("{", "{:")) or bool(compiled(r"[(\[][ \t]{0,4}[\"']$").search(head))


def _takes_blank(rendition: Rendition, start: int, name: str) -> bool:
    """Returns True if a value follows the name after a space: ``--password ...``, ``export TOKEN ...``."""
    line = rendition.low[max(0, start - 48) : start] + name.lower()
    return name.lower() in ("requirepass", "masterauth", "bindpw") or bool(compiled(_TAKES_BLANK).search(line))


def _literal(view: str, opened: re.Match[str]) -> tuple[int, int] | None:
    """Returns the span of a literal that is closed on the same line."""
    mark = opened[2].rstrip() if opened[2][0] != "\u00ab" else "\u00ab"
    start = opened.end()
    if mark in ('"', "'", "`"):
        body = compiled(rf"(?:[^{mark}\\\n\0]|\\[^\n\0]){{1,4096}}+(?={mark})").match(view, start)
        return body.span() if body else None
    close = view.find(_CLOSE.get(mark, mark), start, start + 4096)
    return (start, close) if close > start and "\0" not in view[start:close] else None


def _bare_value(
    rendition: Rendition, match: re.Match[str], name: str, start: int, at: int, kind: str
) -> tuple[int, int] | None:
    view = rendition.view
    run = compiled(_BARE).match(view, at)
    if run is None or view.startswith(("&quot;", '\\"'), at):  # The rendition with resolved escapes has it.
        return None
    is_setting = (
        match[0].endswith("=")
        and not match[_END]
        and bool(compiled(_ENV_NAME).search(view[max(0, start - 1) : start] + name))
    )
    stop = _end_of_bare(view, at, run.end())
    value = view[at:stop]
    line_end = view.find("\n", stop)
    rest = view[stop : line_end if line_end >= 0 else len(view)]
    ends_line = not rest.strip(" \t\r,;\"'")
    if match[_TAG] and not view.startswith(("</", "]]>"), stop):
        return None
    if not ends_line and kind == "password" and len(rest) < 200 and compiled("[a-z]{3,12} ").match(view, at):
        words = view[at : stop + len(rest)].rstrip()
        if is_phrase(words):
            return at, at + len(words)
    if not is_setting:
        if view[stop : stop + 1] in ("(", "[") or compiled(r"[(\[!&*]{0,2}[\w.:>$?-]+[(\[]").match(value):
            return None
        if compiled(r"\w+(?:\.[a-zA-Z_]\w*)+$").match(value) and not is_long(value):
            return None
    if not (is_quoted_secret(value, kind) if is_setting else is_bare_secret(value, kind, ends_line=ends_line)):
        return None
    if len(value) == _LONGEST and (more := compiled(_REST_OF_BARE).match(view, stop)):
        stop = more.end()
    return at, stop


def is_long(value: str) -> bool:
    longest = max(value.split("."), key=len)
    return len(longest) >= 16 and any(map(str.isdigit, longest))


def _end_of_bare(view: str, at: int, stop: int) -> int:
    """Returns the end of a value without further settings, closing brackets and punctuation after it."""
    cut = compiled(_CUT).search(view, at + 1, stop)
    if cut:
        stop = cut.start()
    while stop > at + 1:
        last = view[stop - 1]
        if last in ".,:;*" or (last in _PAIRS and view.count(_PAIRS[last], at, stop) < view.count(last, at, stop)):
            stop -= 1
        else:
            break
    return stop


_SEPARATORS: Final = "|\t;,"
_LONGEST_LINE: Final = 2000
_HEADING = r"[ \t]*[\"'`*]{0,3}\w[\w .:()'/-]{0,40}[\"'`*]{0,3}[ \t\r]*"
_RULE = r"[ \t]*[|+]?[ \t]*:?[-+=|: \t]{3,}\r?"
_CELL = (
    r"<t[dh][^<>\0]{0,80}>[ \t]*(?:<\w{1,8}>){0,2}([^<>\n\0]{1,60})(?:</\w{1,8}>){0,2}[ \t]*</t[dh]>\s{0,80}<td"
    r"[^<>\0]{0,80}>\s{0,20}(?:<\w{1,8}>){0,2}([^<>\n\0]{3,256})<"
)
_INSERT = r"(?i:insert\s{1,8}into)\s[^()\n\0]{1,100}\(([^()\0]{1,400})\)\s{0,20}(?i:values?)\s{0,20}"
_ROW = r"\(((?:'(?:[^'\n\0]|'')*+'|[^()'\0]){1,2000}+)\)\s{0,4},?\s{0,20}"


def tabled_secrets(rendition: Rendition) -> Iterator[Span]:
    """Yields values in table rows and columns under a name that stands for a secret."""
    view, low = rendition.view, rendition.low
    done = 0
    for start, _ in rendition.names:
        if start < done:
            continue
        line_start = view.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1
        line_end = view.find("\n", start)
        if line_end < 0 or line_end - line_start > _LONGEST_LINE:
            done = line_end if line_end >= 0 else len(view)
            if done - line_start <= _LONGEST_LINE:
                yield from _row_of_name(view, line_start, done)
            continue
        done = line_end
        yield from _row_of_name(view, line_start, line_end)
        for separator in _SEPARATORS:
            if separator in view[line_start:line_end]:
                stop = yield from _columns(view, line_start, line_end, separator)
                done = max(done, stop)
                break
    if "<td" in low:
        for match in compiled(_CELL).finditer(view):
            kind = kind_of(match[1].strip(" :*"))
            if kind and is_quoted_secret(match[2].strip(), kind):
                yield kind, *match.span(2)
    if "insert" in low:
        yield from _inserted(view)


def _cells(view: str, start: int, stop: int, separator: str, *, filled: bool = False) -> list[tuple[int, int]]:
    """Returns the spans of the cells of a line, without spaces and quotes. Separators within quotes do not count.

    ``filled``: leave out empty cells.
    """
    if separator == "|" or '"' not in view[start:stop]:
        cuts = [start - 1] + [at for at in range(start, stop) if view[at] == separator] + [stop]
        spans = [(left + 1, right) for left, right in pairwise(cuts)]
    else:
        body = compiled(rf'(?:"(?:[^"\n]|"")*+"|[^{separator}"\n]*+)(?={separator}|$|\n|\r)')
        spans: list[tuple[int, int]] = []
        at = start
        while at <= stop:
            match = body.match(view, at, stop)
            end = match.end() if match else view.find(separator, at, stop)
            end = stop if end < 0 else end
            spans.append((at, end))
            at = end + 1
    cells = [_stripped_cell(view, *span) for span in spans]
    return [cell for cell in cells if cell[0] < cell[1]] if filled else cells


def _stripped_cell(view: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and view[start] in " \t\"'`*\r":
        start += 1
    while stop > start and view[stop - 1] in " \t\"'`*\r":
        stop -= 1
    return start, stop


def _columns(view: str, start: int, stop: int, separator: str) -> Generator[Span, None, int]:
    """Yields the secrets in the columns below one line of headings. Returns the end of the table."""
    line = view[start:stop]
    is_wiki = separator == "|" and line.lstrip().startswith("||")
    headings = line.split(separator)
    if (separator in ",;" and "(" in line) or not all(
        not heading.strip() or compiled(_HEADING).fullmatch(heading) for heading in headings
    ):
        return stop
    below = _cells(view, start, stop, separator, filled=is_wiki)
    kinds = {index: kind for index, span in enumerate(below) if (kind := kind_of(view[slice(*span)]))}
    if not kinds or sum(first < last for first, last in below) < 2:
        return stop
    count, at = len(below), stop + 1
    ruled = compiled(rf"{_RULE}(?=\n|$)").match(view, at) is not None
    if separator == "|" and not ruled and not is_wiki:
        return stop
    while at < len(view):
        end = view.find("\n", at)
        end = len(view) if end < 0 else end
        if end - at > _LONGEST_LINE:
            return at
        if not compiled(_RULE).fullmatch(view, at, end):
            cells = _cells(view, at, end, separator, filled=is_wiki) if view[at:end].strip() else []
            if len(cells) != count:
                return at
            for index, kind in kinds.items():
                value = view[slice(*cells[index])]
                if _is_cell(value, kind, separator, ruled=ruled):
                    yield "api-key" if kind == "some-key" else kind, *cells[index]
        at = end + 1
    return at


def _is_cell(value: str, kind: str, separator: str, *, ruled: bool) -> bool:
    if not value or " " in value or not is_quoted_secret(value, kind):
        return False
    return is_quoted_secret(value, "token") or value.isdigit() or (not value.isalpha() and (ruled or separator != ","))


def _row_of_name(view: str, start: int, stop: int) -> Iterator[Span]:
    """Yields the cell after a name in the same row: ``| password | ... |``."""
    if view.count(" |", start, stop) + view.count("| ", start, stop) < 3:
        return
    cells = _cells(view, start, stop, "|")
    for name, value in pairwise(cells):
        text = view[slice(*value)]
        if (
            name[0] < name[1]
            and (kind := kind_of(view[slice(*name)]))
            and " " not in text
            and is_quoted_secret(text, "token")
        ):
            yield kind, *value


def _inserted(view: str) -> Iterator[Span]:
    """Yields values of ``INSERT INTO users (name, password) VALUES ('eva', '...')``."""
    for match in compiled(_INSERT).finditer(view):
        columns = [column.strip(" \t\n\"'`[]") for column in match[1].split(",")]
        kinds = {index: kind for index, column in enumerate(columns) if (kind := kind_of(column))}
        at = match.end()
        while kinds and (row := compiled(_ROW).match(view, at)):
            values = list(compiled(r"[NE]?'((?:[^'\0]|'')*+)'|[^,'\s][^,'\0]*").finditer(view, *row.span(1)))
            for index, kind in kinds.items():
                if len(values) == len(columns) and values[index][1] and is_quoted_secret(values[index][1], kind):
                    yield kind, *values[index].span(1)
            at = row.end()
