"""What an observation is made of: checked the same whoever tells it, under the names that doors have for it."""

from datetime import datetime

from hivelore.core.text import Clean, in_one_line
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.normalizer import Normalizer, to_utc
from hivelore.observations.model import GENERAL, SERVICE_LENGTH

MAX_OBSERVATION = 4_000
"""Characters of what was seen: it is to be told in one line."""


def normalize_text(text: str, normalizer: Normalizer) -> Clean:
    """What was seen, in one line."""
    if len(text) > MAX_OBSERVATION:
        raise TooLarge(
            f"The observation has {len(text):,} characters; it may have {MAX_OBSERVATION:,}. Say it in a line, and "
            "keep what is longer as a memory of its own.",
            field="observation",
        )
    line = normalizer.field(in_one_line(text), "observation")
    if line is None:
        raise Invalid("The observation is empty: say what was seen.", field="observation")
    return line


def check_category(name: str) -> str:
    """To be cleaned yet."""
    if not name.strip():
        raise Invalid("An observation has a category, like timing.", field="category")
    return name


def normalize_service(name: str | None) -> Clean | None:
    """What is about no service in particular is about none. To be cleaned yet."""
    name = in_one_line(name or "")
    if len(name) > SERVICE_LENGTH:
        raise Invalid(f"The name of a service has at most {SERVICE_LENGTH} characters.", field="service")
    return None if name in ("", GENERAL) else Clean(name)


def service_filter(name: str | None) -> Clean | None:
    """GENERAL: what holds for all; None: any, as where the name is empty."""
    return (normalize_service(name) or GENERAL) if name and name.strip() else None


def observation_time(told: datetime | None, now: datetime) -> datetime:
    """When it was seen. Clocks may differ: what was seen was not seen in the future."""
    return min(to_utc(told, "at") or now, now)
