"""What a word of a sentence reads like."""

from hivelore.policies.redaction.judgement import is_generated, is_made_up, is_quoted_secret, is_thought_up
from hivelore.policies.redaction.matching import compiled

_IN_SENTENCES = (
    r"[a-z]{2,}(?:[A-Z][a-z]{2,}\d{0,2})+|(?:[A-Z][a-z]+\d{0,5}){2,}|"
    r"[A-Z]{1,6}[a-z]{0,3}\d{0,5}(?:[A-Z][a-z]{2,}){2,}|\(?[\w.]+\[.*|\[[\w .-]*\]?|"
    r"[\w.]*\(.*|//.*|[A-Z]+/\d.*|\d{1,5}/.*|[a-z]+(?:[/?#&][a-z]+)+|[\w-]*(?::[\w/.-]*){2,}|--?[a-z].*|.*(?:=>"
    r"|==\w|->|<=|>=|[\w)-]=[^=]|</).*"
    r"|[\w-]+\.[\w.-]+|v?\d+(?:[.:x/-]\d+)+\w*|[\w.+-]+@[\w.-]+|\d+(?:st|nd|rd|th|ms|s|kb|mb|gb|px|h|k|m)"
    r"|[~#@^][\w./-]{0,20}|[a-z]+\d{1,4}|[A-Z]+-?\d{1,5}|[a-z]+-[a-z0-9-]*|.*://.*|\d+-\w+|[0-9a-fA-F]{7,12}"
    r"|\d{8}T\d{4,6}Z?|\d+\*\w+|\\.*|0x[0-9a-fA-F]{1,40}|.*\+|[\w-]+/[\w/.-]+"
)
"""Calls, options, numbers, paths and names, which stand in sentences about secrets."""


def is_strong(value: str) -> bool:
    """Nothing that a text of ordinary words, numbers and names in programs holds."""
    sorts = sum(bool(compiled(sort).search(value)) for sort in ("[a-z]", "[A-Z]", "[0-9]"))
    if compiled("[0-9a-f]{32,}").fullmatch(value):
        return True
    if compiled("[0-9a-f]{4,}[0-9a-zA-Z]*(?:-[0-9a-fA-F]{4,}[0-9a-zA-Z]*)+").fullmatch(value):
        return False
    return (
        len(value) > 7
        and "\\" not in value
        and (sorts == 3 or is_generated(value))
        and is_made_up(value)
        and not is_in_code(value)
    )


def is_told(value: str, *, is_password: bool) -> bool:
    if value.isdigit():
        return len(value) > 5 and is_password
    if value.isalpha() and value.isascii():
        return len(value) > 7 and not value.islower() and not value.isupper() and is_quoted_secret(value, "token")
    if is_password and is_thought_up(value):
        return True
    if is_in_code(value):
        return False
    return is_made_up(value) or is_generated(value)


def is_in_code(value: str) -> bool:
    value = value.lstrip("*&")
    if is_thought_up(value):
        return False
    return bool(compiled(_IN_SENTENCES).fullmatch(value)) or (
        bool(compiled(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+").fullmatch(value)) and not is_generated(value)
    )
