"""Sanitizer: makes stored text harmless for models and terminals.

It shows control and hidden characters as escapes, and changes tags, speaker names and markers (``<system-reminder>``,
``Human:``) that a model could mistake for its frame. Characters that look like ASCII ones count as those.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hivelore.core.text import Harmless

_LOOK_ALIKES = {
    "a": "\u0430\u0251\u03b1\u1d00\u237a\uab7a",
    "b": "\u042c\u0185\u13cf\u15af",
    "c": "\u0441\u03f2\u2ca5\u1d04\uabaf",
    "d": "\u0501\u0257\u13e7\u146f",
    "e": "\u0435\u04bd\u0454\u1d07\u0258\u212e\uab32",
    "f": "\ua799\u1e9d\u03dd",
    "g": "\u0261\u0581\u0262\u1d83",
    "h": "\u04bb\u0570\u13c2\u0266\u043d",
    "i": "\u0456\u0131\u0269\u03b9\u04cf\ua647\u026a\u04c0",
    "j": "\u0458\u03f3\u029d",
    "k": "\u03ba\u043a\u1d0b",
    "l": "\u2c93\u05df\u0627\u01c0\u029f",
    "m": "\u043c\u1d0d",
    "n": "\u0578\u043f\u057c\u0274",
    "o": "\u043e\u03bf\u0585\u0d20\u0ed0\u0e50\u1d0f\u0b20\u1040\u03c3\u05e1\u0647",
    "p": "\u0440\u03c1\u03f1\u1d18",
    "q": "\u051b\u0563\u0566",
    "r": "\u0433\u1d26\u2c85\u0280\uab47",
    "s": "\u0455\ua731\u01bd",
    "t": "\u0442\u03c4\u1d1b",
    "u": "\u03c5\u057d\u1d1c\u028b\u0446\uab4e",
    "v": "\u03bd\u0475\u1d20\u05d8",
    "w": "\u051d\u0461\u0561\u1d21\u0448\u026f",
    "x": "\u0445\u03c7\u166e",
    "y": "\u0443\u04af\u03b3\u10e7\u028f",
    "z": "\u1d22\u0290",
    "A": "\u0410\u0391\u13aa\u15c5\ua4ee",
    "B": "\u0412\u0392\u13f4\u15f7\ua4d0",
    "C": "\u0421\u03f9\u216d\u13df\ua4da",
    "D": "\u13a0\u15de\ua4d3\xd0",
    "E": "\u0415\u0395\u13ac\ua4f0",
    "F": "\u03dc\u15b4\ua4dd\u0492",
    "G": "\u050c\u13c0\ua4d6",
    "H": "\u041d\u0397\u13bb\u157c\ua4e7",
    "I": "\u0406\u0399\u2c92\ua4f2",
    "J": "\u0408\u13ab\u148d\ua4d9\u037f",
    "K": "\u041a\u039a\u13e6\u2c94\ua4d7",
    "L": "\u13de\u14aa\ua4e1\u2cd0",
    "M": "\u041c\u039c\u13b7\u15f0\ua4df\u03fa",
    "N": "\u039d\u2c9a\ua4e0",
    "O": "\u041e\u039f\u0555\u2c9e\ua4f3",
    "P": "\u0420\u03a1\u13e2\u146d\ua4d1",
    "R": "\u13a1\u13d2\u1587\ua4e3",
    "S": "\u0405\u054f\u13da\ua4e2",
    "T": "\u0422\u03a4\u13a2\ua4d4",
    "U": "\u054d\u1200\u144c\ua4f4",
    "V": "\u0474\u0667\u13d9\ua4e6\u2d38",
    "W": "\u051c\u13b3\u13d4\ua4ea",
    "X": "\u0425\u03a7\u2d5d\ua4eb",
    "Y": "\u04ae\u03a5\u13a9\ua4ec",
    "Z": "\u0396\u13c3\ua4dc",
    "<": "\u2039\xab\u02c2\u1438\u3008\u300a\u27e8\u27ea\u276c\u276e\u2770\u2991\u29fc\u227a\u22d6\u226a\u2aaa",
    ">": "\u203a\xbb\u02c3\u1433\u3009\u300b\u27e9\u27eb\u276d\u276f\u2771\u2992\u29fd\u227b\u22d7\u226b\u2aab",
    "/": "\u2044\u2215\u2571\u27cb\u29f8\u3033\u2cc6\u1735\u4e3f",
    "|": "\u2223\u2502\u2758\u05c0\u2d4f\u2503\uffe8\ua7fe",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\u2574\u30fc\u05be\u2cbb\u1400",
    "_": "\u2017\uff3f\ufe4d\ufe4e\ufe4f\u2581",
    "[": "\u3010\u3014\u27e6\u2772\u3016\u301a\u2045\uff3b",
    "]": "\u3011\u3015\u27e7\u2773\u3017\u301b\u2046\uff3d",
    ":": "\u02d0\u02f8\u0589\u05c3\u0703\u0704\u16ec\u1803\u1809\u2236\ua4fd\ua789",
    "\n": "\u2028\u2029",
}
LOOK_ALIKES = {other: plain for plain, others in _LOOK_ALIKES.items() for other in others}


if TYPE_CHECKING:
    from hivelore.memories.model import Json

_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SUSPECT = re.compile(rf"[{_HIDDEN}\r]")
# Flags of regions consist of tag characters. CR LF is a line break.
_HIDDEN_OR_FLAG = re.compile(
    rf"[{_HIDDEN}]|\r(?!\n)|\U0001f3f4[\U000e0061-\U000e007a]{{2}}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{1,3}}"
    "\U000e007f(?![\U000e0000-\U000e007f])"
)
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u2328\u232b-\u23ff\u24c2\u25a0-\u2767\u2776-\u2795\u2797-\u27bf"
    "\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = (
    "\u0620-\u064a\u066e-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0710-\u074f\u0750-\u077f\u07ca-\u07ea\u0840-\u0858"
    "\u08a0-\u08c9\u0900-\u0dff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u1878\ufb50-\ufdfb\ufe70-\ufefc"
)
_RIGHT_TO_LEFT = "[\u05d0-\u05ea\u0620-\u064a\u066e-\u06d3\u0710-\u072f\u0750-\u077f\u0780-\u07a5\u07ca-\u07ea]"
_BETWEEN = rf"[^\w\n{_HIDDEN}]"
_PLACES = (
    # Joiners between letters of joining scripts, and within an emoji.
    ("\u200c", f"(?<=[{_JOINING}])"),
    ("\u200d", f"(?<=[{_JOINING}])|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))(?=.[{_EMOJI}])"),
    # Selectors of the form of a character.
    ("\ufe0e\ufe0f", f"(?<=[{_EMOJI}0-9#*])"),
    ("\u180b\u180c\u180d\u180f", "(?<=[\u1820-\u1878])"),
    (
        "\ufe00\ufe01\ufe02" + "".join(map(chr, range(0xE0100, 0xE01F0))),
        "(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])",
    ),
    # Direction marks next to Hebrew or Arabic letters.
    ("\u200e\u200f\u061c", rf"(?<={_RIGHT_TO_LEFT})|(?<={_RIGHT_TO_LEFT}{_BETWEEN})|(?=.{_BETWEEN}?{_RIGHT_TO_LEFT})"),
)
_USEFUL = {
    each: place for characters, pattern in _PLACES for place in [re.compile(pattern, re.DOTALL)] for each in characters
}
"""Hidden characters that are useful after the text that the pattern matches."""

_GAP = r"[^\S\n]{0,8}"
# Only if no name stands before them; otherwise they are types, as in vector<tool_call>.
_TYPES = (
    r"tool_(?:calls?|results?|uses?|responses?|outputs?)|user_(?:query|instructions|input|info)|think(?:ing)?|"
    r"environment_(?:context|details)|hook_context|additional_data|turn_aborted|(?:start|end)_of_turn"
)
_TAGS = (
    r"system[-_]reminder|function[-_](?:calls?|results?)|antml:\w+|invoke\s+name|user-prompt-submit-hook|"
    r"session-start-hook|command-(?:name|message|args|contents)|local-command-(?:stdout|stderr|caveat)|"
    r"bash-(?:input|stdout|stderr)|task-notification|persisted-output|permissions\s+instructions"
)
_FRAME = re.compile(
    r"<(?=[\s/\\\w|]|<[/S])(?:"
    rf"(?i:\s{{0,8}}(?:[/\\]\s{{0,8}})*(?:{_TAGS})\b[^<>\n]{{0,200}}>?)|"
    rf"(?i:(?:(?<!\w<)|\s{{0,8}}[/\\])\s{{0,8}}(?:{_TYPES})\b[^<>\n]{{0,200}}>?)|"
    rf"(?:(?<!\w<)|{_GAP}[/\\]){_GAP}(?:system|assistant|human){_GAP}>|"
    r"\|[^\s<>|]{1,40}\|>|"
    r"</?SYS>>)|"
    r"\[(?:(?<!\w\[)|/)(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)
_OPENS = re.compile(r"<|\[/?[ISAT]")
_SPEAKS = re.compile(r"(?:Human|Assistant|System|HUMAN|ASSISTANT|SYSTEM)[^\S\n]*:")
_LINE_SPEAKS = re.compile(rf"^[^\S\n]*({_SPEAKS.pattern})", re.MULTILINE)
_OURS = re.compile(r"hivelore(-)memory", re.IGNORECASE)
_ROUND = {"<": "(", "[": "(", ">": ")", "]": ")"}
_QUOTE = "> "
_MOST_CACHED = 20_000


def sanitize(text: str) -> Harmless:
    """Returns the text without anything that a model could mistake for its frame. Ordinary and sanitized texts are
    returned unchanged."""
    text = escape_hidden(text)
    changes = dict(_changes(text))
    return Harmless(_changed(text, changes)) if changes else Harmless(text)


def escape_hidden(text: str) -> str:
    """Returns the text with control and hidden characters as visible escapes."""
    return _HIDDEN_OR_FLAG.sub(_seen, text) if _SUSPECT.search(text) else text


def show_letters(text: str) -> str:
    """Returns the letters and digits of a text in lower case, without accents. Characters that look like ASCII ones
    count as those."""
    return "".join(each for each in text.translate(_PLAIN).lower() if each.isalnum())


def sanitize_values(value: "Json") -> "Json":
    """Returns the value with all texts and names sanitized."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [sanitize_values(item) for item in value]
    if isinstance(value, dict):
        return {sanitize(name): sanitize_values(item) for name, item in value.items()}
    return value


def escaped_json(text: str) -> Harmless:
    """Sanitizes JSON text. Its values stay equal, because changed characters become escapes in the strings."""
    if _SUSPECT.search(text):
        text = _HIDDEN_OR_FLAG.sub(lambda found: found[0] if _belongs(found) else _json_escape(found[0]), text)
    changes = {place: _json_escape(text[place]) for place, new in _changes(text) if not new.startswith(_QUOTE)}
    return Harmless(_changed(text, changes)) if changes else Harmless(text)


def break_marks(text: str, mark: re.Pattern[str]) -> Harmless:
    """Sanitizes a text, and replaces the character that the first group of each mark matches. Characters that look like
    ASCII ones count as those."""
    text = sanitize(text)
    plain = text if text.isascii() else text.translate(_PLAIN)
    starts = [found.start(1) for found in mark.finditer(plain)]
    if not starts:
        return Harmless(text)
    places = _places(text) if plain is not text else range(len(text))
    return Harmless(_changed(text, {places[start]: "_" for start in starts}))


def _seen(found: re.Match[str]) -> str:
    return found[0] if _belongs(found) else _ESCAPES[ord(found[0])]


def _json_escape(character: str) -> str:
    pairs = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pairs[place : place + 4]}" for place in range(0, len(pairs), 4))


def _belongs(found: re.Match[str]) -> bool:
    """Returns True if a hidden character is useful at its position."""
    where = _USEFUL.get(found[0])
    return len(found[0]) > 1 or (where is not None and where.match(found.string, found.start()) is not None)


def _changes(text: str) -> Iterator[tuple[int, str]]:
    """Yields positions of characters and their replacements."""
    plain = text if text.isascii() else text.translate(_PLAIN)
    spans = [found.span() for found in _FRAME.finditer(plain)] if _OPENS.search(plain) else []
    speakers = [found.start(1) for found in _LINE_SPEAKS.finditer(plain)] if _SPEAKS.search(plain) else []
    ours = [found.start(1) for found in _OURS.finditer(plain)]
    if not (spans or speakers or ours):
        return
    places = _places(text) if plain is not text else range(len(text))
    for start, end in spans:
        for place in (start, end - 1):
            if plain[place] in _ROUND:
                yield places[place], _ROUND[plain[place]]
    yield from ((places[place], "_") for place in ours)
    yield from ((places[place], _QUOTE + text[places[place]]) for place in speakers)


def _places(text: str) -> list[int]:
    """Returns the position in the text of each character of the plain text."""
    return [place for place, character in enumerate(text) for _ in _PLAIN[ord(character)]]


def _changed(text: str, changes: dict[int, str]) -> str:
    pieces: list[str] = []
    last = 0
    for place in sorted(changes):
        pieces += (text[last:place], changes[place])
        last = place + 1
    return "".join((*pieces, text[last:]))


class _Escapes(dict[int, str]):
    """Escapes of characters as in source code."""

    def __missing__(self, code: int) -> str:
        seen = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        return self.setdefault(code, seen)


class _Plain(dict[int, str]):
    """The ASCII character that each character looks like; empty for invisible characters and accents."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code))
        plain = "".join(LOOK_ALIKES.get(part, part) for part in parts if unicodedata.category(part) not in _UNSEEN)
        if len(self) < _MOST_CACHED:
            self[code] = plain
        return plain


_UNSEEN = ("Mn", "Me", "Cf")
_PLAIN = _Plain()
_ESCAPES = _Escapes()
