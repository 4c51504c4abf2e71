"""Short texts that come in beside what is said, such as the name of a service: masked, on one line and not too long."""

from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean, in_one_line
from hivelore.errors import TooLarge
from hivelore.memories.model import NAME_LENGTH

SESSION_LENGTH = NAME_LENGTH


def clean_line(redactor: Redactor, text: str | None, field: str, most: int) -> Clean | None:
    """Of at most so many characters; blank counts as absent. Raises TooLarge, and Invalid for what is no text."""
    if text is None or not text.strip():
        return None
    _refuse_longer(text, field, most)
    clean = Clean(in_one_line(redactor.clean(text, field=field)))
    _refuse_longer(clean, field, most)  # A mask may be longer than what it hides.
    return clean


def _refuse_longer(text: str, field: str, most: int) -> None:
    if len(text) > most:
        raise TooLarge(f"{field} has {len(text):,} characters; at most {most:,}.", field=field)
