"""Rough English for German and Chinese texts, word by word, for a model that knows few words of other languages.

Grammar matters little to the model, the meaning of the words much. Words without an entry stay as they are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Self

WORD_LISTS = ("german.tsv", "chinese.tsv")
"""Files of the lists."""
MOST_WORDS = 4
"""German words of one entry."""
MOST_CHARACTERS = 6
"""Chinese characters of one entry."""
LEAST_GERMAN = 2
"""Words that only German has, from which a text is read as German; or half of its words."""
LEAST_PART = 4
"""Letters of a part of a German compound."""
LONGEST_COMPOUND = 60
NOTHING = "-"
"""The English of a word without a meaning of its own."""
_JOINTS = ("", "s", "n", "en", "es")
"""Letters between the parts of a compound."""
_CHINESE = re.compile("[\u4e00-\u9fff]+")
_KANA = re.compile("[\u3040-\u30ff]")
"""Only in Japanese texts, whose Chinese characters often have another meaning."""
_WORD = re.compile(r"(?<![\w`/\\.@$~-])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w`/\\@=]|[.:-]\w)")
"""No part of a path, a name or code."""


class RoughEnglish:
    """Thread-safe."""

    def __init__(self, german: Mapping[str, str], chinese: Mapping[str, str], shared: Set[str]) -> None:
        """``german``, ``chinese``: English words by words in lower case. ``shared``: German words that English has
        too."""
        self._german, self._chinese, self._shared = german, chinese, shared

    @classmethod
    def read(cls, german: Path, chinese: Path) -> Self:
        """Reads the lists: lines of a word, its English and, if English has this word too, a mark. Raises OSError, or
        ValueError for a damaged list."""
        entries = [line.split("\t") for line in german.read_text("utf-8").splitlines()]
        shared = frozenset(word for word, _, *is_shared in entries if is_shared)
        others = dict(line.split("\t") for line in chinese.read_text("utf-8").splitlines())
        return cls({word: english for word, english, *_ in entries}, others, shared)

    def __call__(self, text: str) -> str:
        if not text.isascii() and _KANA.search(text) is None:
            text = _CHINESE.sub(lambda found: f" {' '.join(self._from_chinese(found[0]))} ", text)
        words = list(_WORD.finditer(text))
        return self._from_german(text, words) if self._is_german(words) else text

    def _from_chinese(self, run: str) -> Iterator[str]:
        at = 0
        while at < len(run):
            parts = (run[at : at + length] for length in range(MOST_CHARACTERS, 0, -1))
            part = next((one for one in parts if one in self._chinese), run[at])
            english = self._chinese.get(part, part)
            if english != NOTHING:
                yield english
            at += len(part)

    def _is_german(self, words: Sequence[re.Match[str]]) -> bool:
        known = (word[0].lower() for word in words if not _is_acronym(word[0]))
        only_german = sum(word in self._german and word not in self._shared for word in known)
        return only_german >= LEAST_GERMAN or 2 * only_german >= max(len(words), 1)

    def _from_german(self, text: str, words: Sequence[re.Match[str]]) -> str:
        parts, end, at = list[str](), 0, 0
        while at < len(words):
            count, english = self._longest(text, words[at : at + MOST_WORDS])
            if english is not None:
                parts += (text[end : words[at].start()], "" if english == NOTHING else english)
                end = words[at + count - 1].end()
            at += count
        return "".join(parts) + text[end:]

    def _longest(self, text: str, words: Sequence[re.Match[str]]) -> tuple[int, str | None]:
        """Returns the number of words of the longest entry at the beginning, and its English; None if there is none."""
        for count in range(len(words), 1, -1):
            english = self._german.get(" ".join(text[words[0].start() : words[count - 1].end()].lower().split()))
            if english is not None:
                return count, english
        word = words[0][0]
        return 1, None if _is_acronym(word) else self._of_word(word.lower())

    def _of_word(self, word: str) -> str | None:
        english = self._german.get(word)
        if english is not None or len(word) > LONGEST_COMPOUND:
            return english
        if "-" in word:
            return "-".join(self._of_word(part) or part for part in word.split("-"))
        return self._of_compound(word)

    def _of_compound(self, word: str) -> str | None:
        """Returns the English of two parts, the second as long as possible."""
        for at in range(LEAST_PART, len(word) - LEAST_PART + 1):
            last = self._german.get(word[at:])
            if last is None:
                continue
            firsts = (self._german.get(word[: at - len(joint)]) for joint in _JOINTS if word[:at].endswith(joint))
            first = next((one for one in firsts if one is not None), None)
            if first is not None:
                return f"{first} {last}"
        return None


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper()
