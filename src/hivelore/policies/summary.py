"""What a memory is about, in a line, without a language model (A22)."""

import re

import regex

SUMMARY_LENGTH = 200
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_MARKS = re.compile(r"^[\s>#*+|-]+|^\s*\d{1,3}[.)]\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])['\")\]]*\s+(?=\S)|(?<=[。！？])")
_GREETING = re.compile(
    r"^(?:hi|hello|hey|thanks|thank you|ok|okay|sure|great|dear)\b[^.!?]{0,30}[.!?,]*$", re.IGNORECASE
)
_WORD = re.compile(r"\w{2,}|[^\x00-\x7f]")
_GRAPHEME = regex.compile(r"\X")
_INFORMATIVE_WORDS = 3


def summarise(content: str) -> str:
    """The first informative sentence, at most ``SUMMARY_LENGTH`` characters, on one line; what there is where
    no sentence is informative. Never empty for content that is not blank."""
    sentences = [sentence for line in _lines(content) for sentence in _SENTENCE_END.split(line) if sentence.strip()]
    telling = next((one for one in sentences if _is_informative(one)), None)
    chosen = telling or next(iter(sentences), content)
    return _shortened(" ".join(chosen.split()))


def _lines(content: str) -> list[str]:
    """Lines of prose before headings, both without their marks; fences and front matter left out."""
    prose: list[str] = []
    headings: list[str] = []
    for line in _FRONT_MATTER.sub("", content).splitlines():
        if _FENCE.match(line):
            continue
        text = _MARKS.sub("", line).strip()
        if text:
            (headings if line.lstrip().startswith("#") else prose).append(text)
    return prose + headings


def _is_informative(sentence: str) -> bool:
    return len(_WORD.findall(sentence)) >= _INFORMATIVE_WORDS and not _GREETING.match(sentence.strip())


def _shortened(text: str) -> str:
    """Cut between words, never inside a character as people see it, with an ellipsis."""
    if len(text) <= SUMMARY_LENGTH:
        return text
    kept = 0
    for grapheme in _GRAPHEME.finditer(text):
        if grapheme.end() > SUMMARY_LENGTH - 1:
            break
        kept = grapheme.end()
    cut = text[:kept]
    words = cut.rsplit(" ", 1)[0]
    return (words if len(words) > SUMMARY_LENGTH // 2 else cut).rstrip() + "…"
