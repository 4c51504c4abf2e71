"""What a text of unknown origin reads like: a secret, or what stands where one will be."""

from hivelore.policies.redaction.matching import compiled

SECRET_SIGN = r"[0-9A-Z!#$%^&*?~@+]"
"""A text without any of these is no secret."""
CODE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z0-9]+(?:_[A-Z0-9]+)+"
"""A name in a program: of several parts."""
SHORTEST_PASSWORD = 6
SHORTEST_SECRET = 12

_WORD = r"(?:[A-Z]?[a-z]{1,16}|[A-Z]{1,16})\d{0,2}"
_WORDS = rf"{_WORD}(?:[-_.]{{1,3}}{_WORD})++"
_NUMBERED = r"(?i:base|utf|sha|u?int|float|md|aes|rsa|oauth|http|ipv|x|ed|curve|win|amd|arm|pbkdf|argon)-?\d+"
"""Words of the trade that end in a number."""
_ID = r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|(?:sha\d{1,3}|md5)[-:=].*"
"""UUIDs, git hashes and digests name things."""
_REFERENCE = (
    r"\$\{?\w+\}?$|%\w*%?$|[<\[{]|.*\{[\w.()]*\}|(?:~|\.{0,2})/[a-z._-]{2,}(?:/|$)|\^.*\$$"
    r"|(?i:(?:arn|vault|op|sops|file|env|secrets?|process\.env|os\.environ|import\.meta|vars|config|settings)[.:])"
    r"|(?i:(?:my|your|the|some|a)?[-_]?(?:pass|password|passwd|pwd|secret|token)$)"
)
"""Variables, templates, paths and patterns, by how they begin."""
_SIGNS = frozenset("!#$%^&*?~@+")
_SORTS = ("[a-z]", "[A-Z]", "[0-9]")
_REFERENCE_SIGNS = (
    *("${", "$(", "{{", "%(", "xxxx", "***", "...", "://", "[a-z", "(?", "\\d", "\\w", ".*"),
    *("your-", "your_", "changeme", "change-me", "change_me", "placeholder", "redacted"),
)


def is_telling(token: str) -> bool:
    """Not a placeholder such as ``ghp_xxxx...`` or ``sk-ant-your-key-here``, nor the name of a variable."""
    return bool(set(token[-12:].lower()) - set("x*._-")) and not compiled(_WORDS).fullmatch(token)


def is_secret(value: str, *, password: bool = False, bare: bool = True) -> bool:
    """Whether it reads like the output of a generator or, for a ``password``, like one that a person made up.

    ``bare``: it stood without quotes, so it may as well be a name in a program."""
    if len(value) < SHORTEST_PASSWORD or is_reference(value):
        return False
    return _is_generated(value) or (password and _is_made_up(value, bare))


def is_reference(value: str) -> bool:
    """Whether it only stands for a secret, or is the id of something that is none."""
    low = value.lower()
    for sign in _REFERENCE_SIGNS:  # a plain loop: this is asked of every value
        if sign in low:
            return True
    return bool(compiled(_REFERENCE).match(value) or compiled(_ID).fullmatch(low))


def _is_generated(value: str) -> bool:
    """At least twelve characters, with signs among letters and digits, or mostly in runs that look random."""
    if len(value) < SHORTEST_SECRET:
        return False
    if sum(map(_SIGNS.__contains__, value)) > 1 and all(compiled(some).search(value) for some in _SORTS):
        return True
    runs: list[str] = compiled(r"[^-_./:,=@\s]+").findall(value)
    random = sum(len(run) for run in runs if len(run) > 3 and _is_random(run))
    return random >= 10 and random >= 0.6 * sum(map(len, runs))


def _is_random(run: str) -> bool:
    """Whether it changes between capitals, small letters and digits too often to be words, or has digits for that."""
    pieces: list[str] = compiled(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]").findall(run)
    letters = digits = in_words = 0
    for piece in pieces:
        if piece.isdigit():
            digits += len(piece)
        elif piece.isalpha():
            letters += len(piece)
            in_words += len(piece) if _is_word(piece.lower()) else 0
    if len(set(run)) < min(5, len(run)) or letters < 2 or in_words > 0.4 * len(run):
        return False
    changes_often = len(run) <= (2.8 if digits else 2.5) * len(pieces)
    return changes_often or (digits >= 2 and len(run) >= SHORTEST_SECRET)


_PAIRS = (
    "inreerteesontiedatngenstlecontaraldeorraliseanriioitmeecrotrnstaveisdineetunsilapeceacprcticchndcaealomaaselllnarsp"
    "atofigencheiltsouurssthamolniexemompohartsumiabbladutlympieplckkeimotepusaphoshaiidigspn"
)
_COMMON_PAIRS = frozenset(_PAIRS[at : at + 2] for at in range(0, 200, 2))
"""The hundred pairs of letters that are most frequent in words of prose and programs."""


def _is_word(piece: str) -> bool:
    """Whether at least half of its pairs of letters are common ones: three words in four, one scramble in twenty."""
    if len(piece) < 4:
        return False
    pairs = len(piece) - 1
    return 2 * sum([piece[at : at + 2] in _COMMON_PAIRS for at in range(pairs)]) >= pairs


def _is_made_up(value: str, bare: bool) -> bool:
    """Letters with digits or signs, at least six, and neither a name in a program nor words in a row."""
    rest = compiled(_NUMBERED).sub("", value.rstrip("!?"))
    if sum(map(str.isalpha, rest)) < 2 or not compiled(r"[0-9!#$%^&*?~@+]").search(rest):
        return False
    return not compiled(_WORDS).fullmatch(value) and not (bare and compiled(CODE).fullmatch(value))
