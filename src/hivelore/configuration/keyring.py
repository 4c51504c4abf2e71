"""Encryption of secrets with AES-256-GCM, and the keys for it."""

import os
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hivelore.configuration.encryption_key import KEY_BYTES, key_id, parse_key
from hivelore.configuration.model import ConfigId, Sealed
from hivelore.errors import Broken, Conflict, Invalid
from hivelore.local import private_files
from hivelore.local.endpoint import CONFIG_KEYS, LOCKS
from hivelore.local.file_lock import locked

VARIABLE = "HIVELORE_CONFIG_KEYS"
NONCE_BYTES = 12
_HEADER = "# Keys of the secrets in the configuration of Hivelore. Without them the secrets cannot be read.\n"


class NoKey(Conflict):
    """There is no encryption key yet, and no secret was ever stored."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by id. The newest one encrypts."""

    by_id: Mapping[str, bytes]
    newest: str | None
    source: str
    """Where keys are added, for people."""

    def seal(self, entry: ConfigId, value: str, random: Callable[[int], bytes]) -> Sealed:
        """Encrypts a value for one entry. There must be a key."""
        return self.seal_bytes(_bound_to(entry), value.encode(), random)

    def seal_bytes(self, bound_to: bytes, data: bytes, random: Callable[[int], bytes]) -> Sealed:
        """Encrypts data, which can be decrypted only with the same ``bound_to``. There must be a key."""
        assert self.newest is not None
        nonce = random(NONCE_BYTES)
        return Sealed(nonce + AESGCM(self.by_id[self.newest]).encrypt(nonce, data, bound_to), self.newest)

    def open(self, entry: ConfigId, name: str, sealed: Sealed | None) -> str:
        """Decrypts the value of an entry with the key ``name``. Raises Conflict if it was erased or its encryption key
        is missing, and Broken if it was altered."""
        if sealed is None:
            raise Conflict(f"The value of {name} was erased. Set it again.")
        return self.open_bytes(_bound_to(entry), name, sealed).decode()

    def open_bytes(self, bound_to: bytes, name: str, sealed: Sealed) -> bytes:
        """Decrypts data, called ``name`` in errors. Raises Conflict if its encryption key is missing, and Broken if it
        was altered."""
        key = self.by_id.get(sealed.key)
        if key is None:
            raise Conflict(
                f"{name} cannot be decrypted: its encryption key {sealed.key} is missing. {self.missing(sealed.key)}"
            )
        try:
            return AESGCM(key).decrypt(sealed.data[:NONCE_BYTES], sealed.data[NONCE_BYTES:], bound_to)
        except (InvalidTag, ValueError):  # ValueError: a part of it is missing.
            raise _altered(name) from None

    def missing(self, key: str) -> str:
        """Returns what to do about a missing key."""
        return (
            f"Add the key {key} to {self.source} again, from a backup or another machine. If it is lost, erase its "
            "secrets with 'hivelore config rotate-key --erase-lost' and set them again."
        )


class Keyring:
    """The keys of HIVELORE_CONFIG_KEYS, or of the file in the home folder. It is read at each use, because another
    process may have added a key."""

    def __init__(self, home: Path, given: Sequence[bytes], random: Callable[[int], bytes]) -> None:
        """``given``: the keys of HIVELORE_CONFIG_KEYS, newest last; then those of the file only decrypt."""
        self._file = home / CONFIG_KEYS
        self._lock = home / LOCKS / CONFIG_KEYS
        self._given = tuple(given)
        self._random = random

    @property
    def is_given(self) -> bool:
        """True if keys come from HIVELORE_CONFIG_KEYS, so that none can be created here."""
        return bool(self._given)

    def load(self) -> Keys:
        """Raises Broken for a damaged file."""
        keys = [*self._read_file(), *self._given]
        source = VARIABLE if self._given else str(self._file)
        return Keys({key_id(key): key for key in keys}, key_id(keys[-1]) if keys else None, source)

    def add(self, *, only_first: bool = False) -> Keys:
        """Adds a random key to the file, which is created if necessary. ``only_first``: not if it has one. Other
        processes that add a key at the same time wait."""
        with locked(self._lock):
            known = self._read_file()
            if not (only_first and known):
                private_files.make_folder(self._file.parent)
                lines = [b64encode(key).decode() for key in (*known, self._random(KEY_BYTES))]
                with private_files.replacing(self._file) as out:
                    out.write((_HEADER + "\n".join(lines) + "\n").encode())
        return self.load()

    def _read_file(self) -> list[bytes]:
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Broken(
                f"{self._file} cannot be read ({error.strerror}). It must be a regular file of this user."
            ) from None
        with os.fdopen(descriptor, "rb") as file:
            private_files.tighten(self._file)
            lines = file.read(1_000_000).decode("utf-8", "replace").splitlines()
        keys: list[bytes] = []
        for number, line in enumerate(lines, start=1):
            if line.strip() and not line.startswith("#"):
                try:
                    keys.append(parse_key(line.strip()))
                except Invalid as error:
                    raise Broken(f"Line {number} of {self._file} is no key. Restore the file. {error}") from None
        return keys


def _altered(name: str) -> Broken:
    return Broken(
        f"The stored value of {name} was altered, so it cannot be decrypted. Restore a backup, or set the value again."
    )


def _bound_to(entry: ConfigId) -> bytes:
    """Returns the data by which a value cannot be moved to another entry."""
    return f"hivelore configuration {entry}".encode()
