"""Fences with a known number."""

import re

from hivelore.core.sanitizer import sanitize
from hivelore.sessions import fence
from hivelore.sessions.fence import NAME

NONCE = "0123456789abcdef"
BEGIN = fence.opening_tag(NONCE)
END = fence.closing_tag(NONCE)
_FENCE = re.compile(rf"<{NAME}-([0-9a-f]{{16}})>\n(.*)\n</{NAME}-\1>", re.DOTALL)


def fenced(text: str) -> str:
    return fence.fence_text(sanitize(text), NONCE)


def inside(text: str) -> tuple[str, str]:
    """Returns the number and the contents of the fence around a whole text, without the notice."""
    found = _FENCE.fullmatch(text)
    assert found is not None, text
    assert found[2].startswith(f"{fence.NOTICE}\n\n")
    return found[1], found[2].removeprefix(f"{fence.NOTICE}\n\n")
