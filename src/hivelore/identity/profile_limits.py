"""Limits of profiles: the size of their fields, and how many versions are kept (D07)."""

from collections.abc import Sequence

from hivelore.errors import Invalid, TooLarge
from hivelore.identity.profile import (
    CAPABILITY_BYTES,
    LIMITS,
    MAX_CAPABILITIES,
    MAX_VERSION_BYTES,
    MAX_VERSIONS,
    ProfileField,
)


def check_text(field: ProfileField, text: str) -> None:
    """Raises TooLarge for a text with more bytes than its field may have."""
    # Lone surrogates have no UTF-8; redaction refuses them.
    size = len(text.encode(errors="surrogatepass"))
    if size > LIMITS[field]:
        raise TooLarge(
            f"{field.value} has {size:,} bytes in UTF-8; at most {LIMITS[field]:,}. Shorten it, and store what is "
            "worth finding later as memories.",
            field=field.value,
        )


def check_capabilities(capabilities: Sequence[str]) -> None:
    """Raises TooLarge for too many capabilities or too long ones, Invalid for an empty one."""
    name = ProfileField.CAPABILITIES.value
    if len(capabilities) > MAX_CAPABILITIES:
        raise TooLarge(
            f"A profile has at most {MAX_CAPABILITIES} capabilities, this one {len(capabilities):,}.", field=name
        )
    for capability in capabilities:
        size = len(capability.encode(errors="surrogatepass"))
        if size > CAPABILITY_BYTES:
            raise TooLarge(f"A capability has at most {CAPABILITY_BYTES} bytes, one has {size:,}.", field=name)
        if not capability.strip():
            raise Invalid("A capability is empty. Leave it out.", field=name)


def last_dropped(sizes: Sequence[tuple[int, int]], current: int) -> int:
    """Returns the number up to which all versions but the current one are dropped; 0 for none.

    ``sizes``: number and bytes of every version, newest first. Versions that conflicted with the current one are newer.
    """
    kept, total = 1, dict(sizes)[current]
    for number, size in sizes:
        if number != current:
            kept, total = kept + 1, total + size
            if kept > MAX_VERSIONS or total > MAX_VERSION_BYTES:
                return number
    return 0
