"""Checks the documents: relative links and anchors, Python examples that must compile, and generated reference pages.

Run as ``python scripts/check_docs.py``; prints one line per finding and ends with 1 where there is any.
Links to other sites are not followed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import render_reference
from markdown_it import MarkdownIt
from markdown_it.token import Token

DOCUMENTS = ("*.md", "docs/**/*.md", "bench/**/*.md")
LINKS = {"link_open": "href", "image": "src"}
HTML_ANCHOR = re.compile(r"""\b(?:id|name)=["']([^"']+)["']""")
NOT_IN_A_SLUG = re.compile(r"[^\w\- ]")


def problems(root: Path) -> Iterator[str]:
    """Yields the problems in the documents under ``root``, as ``file:line: sentence``."""
    for pattern in DOCUMENTS:
        for document in sorted(root.glob(pattern)):
            for line, problem in _problems_of(document, root):
                yield f"{document.relative_to(root)}:{line}: {problem}"


def _problems_of(document: Path, root: Path) -> Iterator[tuple[int, str]]:
    for token in _tokens(document):
        line = token.map[0] + 1 if token.map else 1
        for part in token.children or ():
            target = part.attrGet(LINKS[part.type]) if part.type in LINKS else None
            if target is not None and (problem := _problem_of_link(str(target), document, root)):
                yield line, problem
        if token.type == "fence" and token.info.split()[:1] == ["python"]:
            try:
                compile(token.content, document.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            except SyntaxError as error:
                yield line + (error.lineno or 0), f"this Python example does not compile: {error.msg}"


def _problem_of_link(link: str, document: Path, root: Path) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (document.parent / unquote(parts.path)).resolve() if parts.path else document
    if not target.exists() or not target.is_relative_to(root.resolve()):
        return f"the link {link} leads nowhere"
    if parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in anchors(target):
        return f"the link {link} names a heading that {target.name} does not have"
    return None


def anchors(document: Path) -> set[str]:
    """Returns the anchors of this document, as GitHub derives them from headings."""
    found: set[str] = set()
    tokens = _tokens(document)
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            found.add(_unused(_slug(heading), found))
    for token in tokens:
        for part in (token, *(token.children or ())):
            if part.type in {"html_block", "html_inline"}:
                found.update(HTML_ANCHOR.findall(part.content))
    return found


def _slug(heading: Token) -> str:
    text = "".join(part.content for part in heading.children or () if part.type in {"text", "code_inline"})
    return NOT_IN_A_SLUG.sub("", text.strip().lower()).replace(" ", "-")


def _unused(slug: str, taken: set[str]) -> str:
    number, candidate = 0, slug
    while candidate in taken:
        number += 1
        candidate = f"{slug}-{number}"
    return candidate


def _tokens(document: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8"))


def main() -> int:
    found = [*problems(Path(__file__).resolve().parent.parent), *render_reference.problems()]
    print("\n".join(found) or "The documents are sound.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
