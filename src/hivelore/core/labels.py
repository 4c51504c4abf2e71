"""Short texts such as the name of a service: masked, on one line and of limited length."""

from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean, in_one_line
from hivelore.errors import TooLarge
from hivelore.memories.model import NAME_LENGTH

SESSION_LENGTH = NAME_LENGTH


def clean_line(redactor: Redactor, text: str | None, field: str, most: int) -> Clean | None:
    """Returns the label in one line; None if it is blank. Raises TooLarge for more than ``most`` characters, Invalid
    for text that cannot be stored."""
    if text is None or not text.strip():
        return None
    _refuse_longer(text, field, most)
    clean = Clean(in_one_line(redactor.clean(text, field=field)))
    _refuse_longer(clean, field, most)  # A mask may be longer than the secret.
    return clean


def _refuse_longer(text: str, field: str, most: int) -> None:
    if len(text) > most:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {most:,}.", field=field)
