"""One line of output as a JSON object."""

import json
from collections.abc import Mapping
from typing import Any, cast

from hivelore.runner.stream_lines import StreamLine

NOTHING: Mapping[str, Any] = {}


def parse_object(line: StreamLine) -> Mapping[str, Any] | None:
    """Returns the object; None if the line is none, or was cut."""
    if line.is_cut or not line.data.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        return None
    try:
        # Large numbers are read as float: int refuses those of many thousand digits.
        found = json.loads(line.data.decode("utf-8-sig", errors="replace"), parse_int=_number)
    except (ValueError, RecursionError):
        return None
    return as_object(found)


def as_object(value: object) -> Mapping[str, Any]:
    """Returns the value if it is an object; else an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else NOTHING


def as_list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < 20 else float(digits)
