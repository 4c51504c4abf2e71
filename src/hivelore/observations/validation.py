"""Validation of observations, shared by all interfaces."""

from datetime import datetime

from hivelore.core.text import Clean, in_one_line
from hivelore.errors import Invalid, TooLarge
from hivelore.memories.normalizer import Normalizer, to_utc
from hivelore.observations.model import GENERAL, SERVICE_LENGTH

MAX_OBSERVATION = 4_000
"""Characters; an observation is shown in one line."""


def normalize_text(text: str, normalizer: Normalizer) -> Clean:
    """Returns the observation in one line."""
    if len(text) > MAX_OBSERVATION:
        raise TooLarge(
            f"The observation has {len(text):,} characters, at most {MAX_OBSERVATION:,} are allowed. Report one line, "
            "and store a longer text as a memory.",
            field="observation",
        )
    line = normalizer.field(in_one_line(text), "observation")
    if line is None:
        raise Invalid("The observation is empty. Describe what you observed.", field="observation")
    return line


def check_category(name: str) -> str:
    """Returns the category. Not yet redacted."""
    if not name.strip():
        raise Invalid("The category is empty. Use one such as timing.", field="category")
    return name


def normalize_service(name: str | None) -> Clean | None:
    """Returns the service name, None for GENERAL. Not yet redacted."""
    name = in_one_line(name or "")
    if len(name) > SERVICE_LENGTH:
        raise Invalid(f"A service name has at most {SERVICE_LENGTH} characters.", field="service")
    return None if name in ("", GENERAL) else Clean(name)


def service_filter(name: str | None) -> Clean | None:
    """Returns the service to filter by: GENERAL for observations about all services, None for any."""
    return (normalize_service(name) or GENERAL) if name and name.strip() else None


def observation_time(at: datetime | None, now: datetime) -> datetime:
    """Returns the time of the observation, at most now, because clocks may differ."""
    return min(to_utc(at, "at") or now, now)
