"""Secrets in a column or a row of a table whose heading says so: CSV, Markdown, SQL clients, HTML."""

from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Final

from hivelore.core.redaction.judgement import is_quoted_secret
from hivelore.core.redaction.matching import Span, compiled
from hivelore.core.redaction.names import kind_of
from hivelore.core.redaction.readings import Reading

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


def tabled_secrets(reading: Reading) -> Iterator[Span]:
    view, low = reading.view, reading.low
    done = 0
    for start, _ in reading.names:
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
    """Where the cells of a line stand, without blanks and quotes. A separator within quotes is none.

    ``filled``: without those in which nothing stands."""
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
    cells = [_bare(view, *span) for span in spans]
    return [cell for cell in cells if cell[0] < cell[1]] if filled else cells


def _bare(view: str, start: int, stop: int) -> tuple[int, int]:
    while start < stop and view[start] in " \t\"'`*\r":
        start += 1
    while stop > start and view[stop - 1] in " \t\"'`*\r":
        stop -= 1
    return start, stop


def _columns(view: str, start: int, stop: int, separator: str) -> Generator[Span, None, int]:
    """Yields what stands below the headings of one line, and answers where the table ends."""
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
    """``| password | ... |``: what stands beside a name."""
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
    """``INSERT INTO users (name, password) VALUES ('eva', '...')``."""
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
