"""Encryption keys as text, and their ids."""

import binascii
import hashlib
from base64 import b64decode
from contextlib import suppress

from hivelore.errors import Invalid

KEY_BYTES = 32


def key_id(key: bytes) -> str:
    """Returns the id by which an encrypted value names its key."""
    return hashlib.sha256(key).hexdigest()[:8]


def parse_key(text: str) -> bytes:
    """Reads a key in base64. Raises Invalid, with an error that does not show the text."""
    with suppress(binascii.Error, ValueError):
        key = b64decode(text, validate=True)
        if len(key) == KEY_BYTES:
            return key
    raise Invalid(f"A key is {KEY_BYTES} random bytes in base64; 'openssl rand -base64 {KEY_BYTES}' prints one.")
