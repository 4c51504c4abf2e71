"""Shapes of values, and how little each looks like a word of prose, a name in a program or a number."""

from functools import lru_cache
from typing import Final

from hivelore.core.redaction.judgement import is_made_up, is_mixed, is_random, is_reference, is_thought_up
from hivelore.core.redaction.matching import compiled

_SHAPES: Final = (
    ("hexid", r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})$"),
    ("uuid", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
    ("keychain", r"(?=.*\d)(?=.*[A-Z])(?:[A-Za-z0-9]{6}-){2,3}[A-Za-z0-9]{6}$"),
    ("groups", r"(?:[A-Z0-9]{4,8}-){2,}[A-Z0-9]{4,8}$"),
    (
        "date",
        r"(?:19|20)\d\d[-/.]?(?:0[1-9]|1[0-2])[-/.]?[0-3]\d(?:[T_-].*)?$|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d$"
        r"|\d{1,2}:\d\d",
    ),
    ("type", r"(?:Big)?(?:[Uu]?[Ii]nt|[Ff]loat|[Cc]omplex)\d{1,3}(?:Clamped)?(?:Array|_t)?$"),
    ("sequence", r"0?12345678?9?0?$|.*(?:abcdefgh|ABCDEFGH|01234567)"),
    ("digits", r"\d{4,}$"),
    ("shorthex", r"[0-9a-f]{7,12}$"),
    ("hex", r"(?:0x)?[0-9a-f]{8,}$"),
    ("version", r"[vV=^~<>]{0,2}\d+(?:\.\d+)+(?:[-+.]?[\w.]+)*$"),
    ("number", r"[-+$]?[\d.,:/_%x-]+[a-zA-Z]{0,3}$|0x[0-9a-fA-F]{1,8}$"),
    ("digest", r"(?:sha\d+|md5|SHA\d+|h1)[:-]"),
    ("url", r"\w+://|www\."),
    ("email", r"[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,10}$|[a-z][a-z.-]*@[a-z]{1,12}[\w-]*$"),
    ("humps", r"[A-Z][a-z]{2,}_[A-Za-z][a-z]{2,}\d{2,4}$"),
    ("shout", r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"),
    ("snake", r"_*[a-z][a-z0-9]*(?:_[a-z0-9]+)+$"),
    ("humps", r"(?:[A-Z][a-z]{3,}){2,3}\d{2,4}$"),
    ("codes", r"(?=.*[a-z])[a-z0-9]{4,6}(?:-(?=[a-z]*\d)[a-z0-9]{4,6})+$"),
    ("kebab", r"[a-z0-9]+(?:-[a-z0-9]+)+$"),
    ("path", r"[\w.~@$-]*(?:/[\w.@$-]+)+/?(?::\d+)*$"),
    ("dotted", r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)+$"),
    (
        "camel",
        r"(?:[a-z]{2,}|[A-Z][a-z]+\d{0,2})(?:[A-Z][a-z]+\d{0,2})+$"
        r"|[A-Z]{1,6}\d{0,3}(?:[A-Z][a-z]{2,}\d{0,2})+$|[A-Z]?[a-z]{2,}\d[A-Z]?[a-z]*$",
    ),
    ("word", r"(?:[a-z]{8,}\d{2,4}|[A-Z][a-z]{3,}\d{4})$"),
    ("name", r"(?:[A-Z]?[a-z]{2,}\d{1,3}|[A-Z]{2,}\d{1,4}|U\+[0-9A-F]{4,6})$"),
)
_NEVER: Final = ("url", "email", "version", "date", "digest", "shout", "sequence", "type")
_STRENGTH_OF: Final = {
    "digits": "digits",
    "hexid": "id",
    "uuid": "id",
    "word": "alnum",
    "humps": "alnum",
    "codes": "code",
    "keychain": "random",
    "snake": "name",
    "name": "name",
}
_WHEN_RANDOM: Final = ("kebab", "path", "camel", "shorthex")
_IDENTIFIER = r"[&*]*(?:_*(?:[A-Za-z]?[a-z]*(?:[A-Z][a-z]+)*[A-Z]{0,4}|[A-Z]+)\d{0,4}(?:_+|$)){2,}"
_CODE = (
    r"[\w.>:&*-]+[(\[]|.*(?:\w[=!]==?[^=]|&&|\|\||=>|->|\+\+|[A-Za-z_]\w*::[A-Za-z_]\w*(?:::|\(|$)|\(\)|</|/>"
    r"|[)}\]>];?[({\[<]|&\w{2,6};|;\w*$|\\[nrtux\"']|%[0-9A-F]{2}.*%[0-9A-F]{2}(?!%|$))|[A-Za-z_.-]*[A-Za-z]\d?=[^=]|\W{3}"
)
"""Calls, comparisons, tags and escapes."""
_WORDS_IN_A_ROW = r"[a-z]{3,12}(?:-[a-z]{3,12}){2,23}(?:-\d{1,4})?|[a-z]{3,12}(?:\.[a-z]{3,12}){4,23}"
_SIGNED = r".*\w.*[!#$%^&*?~@+].*\w.*|[$%!#@~^]\w.*"
_SIGNED_CODE = r"@[\w.]+(?:\(.*)?|[\w.]+[=(].*|.*\W{3}.*|[\w.-]+@[\w.-]+|.*##.*|[\w.]+![rsa]|!?/.*|&\w+[;-]?|\$\w+"
STRENGTHS: Final = ("name", "code", "digits", "glued", "id", "phrase", "weak", "alnum", "password", "random")
ORDINARY: Final = ("code", "digits", "glued", "phrase", "weak")
_LENGTH_OF_GLUED: Final = 16
"""Letters from which on a word may be several that were put together."""


@lru_cache(maxsize=2048)
def judged_value(value: str) -> tuple[str, str] | None:
    """Strength and shape of a value. None where it is an ordinary word, a name in a program or a reference."""
    if value.isalpha():
        if value.islower():
            return ("glued", "alpha") if len(value) >= _LENGTH_OF_GLUED else None
        is_word = len(value) < 10 or value.isupper() or value.istitle() or not is_random(value)
        return None if is_word else ("alnum", "alpha")
    if is_reference(value):
        return None
    if value.islower() and compiled(_WORDS_IN_A_ROW).fullmatch(value):
        return "phrase", "words"
    if not any(map(str.isdigit, value)):
        is_signed = len(value) > 5 and compiled(_SIGNED).fullmatch(value)
        return ("password", "signs") if is_signed and not compiled(_SIGNED_CODE).fullmatch(value) else None
    if is_thought_up(value):
        return "alnum", "made-up"
    shape = next((name for name, pattern in _SHAPES if compiled(pattern).match(value)), "other")
    strength = _strength(value, shape)
    return None if strength is None else (strength, shape)


def _strength(value: str, shape: str) -> str | None:
    """``value``: with a digit."""
    if shape in _NEVER or compiled(_CODE).match(value):
        return None
    if shape in _STRENGTH_OF:
        return _STRENGTH_OF[shape]
    if shape == "number":
        return None if len(value) < 12 else "code"
    if shape == "dotted":
        is_words = compiled(r"[a-z]{3,12}(?:\.[a-z]{3,12})*\.?\d{1,6}").fullmatch(value)
        return "random" if is_mixed(max(value.split("."), key=len)) else "name" if is_words else None
    is_long = len(value) > 15 and is_random(value)
    if shape in _WHEN_RANDOM and not is_long:
        return "code" if shape == "shorthex" else "name"
    parts = value.split("_")
    if len(parts) > 1 and compiled(_IDENTIFIER).fullmatch(value):
        return "random" if any(len(part) > 11 and is_random(part) for part in parts) else "name"
    if is_long:
        return "random"
    if not any(map(str.isalpha, value)):
        return "code"
    if is_made_up(value) and compiled("[!#$%^&*?~@+]").search(value):
        return "password"
    if len(value) > 5 and value.isalnum():
        return "alnum"
    return "weak" if is_made_up(value) else None
