"""Rotation of the encryption key: re-encrypts the secrets one by one."""

from collections.abc import Callable

from hivelore.configuration.keyring import VARIABLE, Keyring, Keys
from hivelore.configuration.model import ConfigId, ConfigVersion, KeyRotation
from hivelore.configuration.service import NEWEST_KEY
from hivelore.core.values import replace
from hivelore.errors import Conflict, HiveloreError
from hivelore.storage.ports import MemoryStore, Transaction

_PAGE = 100


class KeyRotator:
    def __init__(self, store: MemoryStore, keyring: Keyring, random: Callable[[int], bytes]) -> None:
        self._store = store
        self._keyring = keyring
        self._random = random

    def rotate(self, *, erase_lost: bool = False) -> KeyRotation:
        """Encrypts every secret with the newest key. If all are, adds a new key first. Each secret is a transaction of
        its own, so a killed process leaves nothing undone that the next call does not do. ``erase_lost``: erases the
        secrets that cannot be read, instead of skipping them. Raises Conflict if keys are given by the environment and
        none is new, or if the key that encrypted last is missing."""
        keys = self._keyring.load()
        with self._store.read() as view:
            encrypts = view.setting(NEWEST_KEY)
            is_pending = bool(view.sealed_with_other_keys(keys.newest or "", (ConfigId(""), 0), 1))
        if encrypts is None and not is_pending and keys.newest is None:
            raise Conflict("There is no secret yet, and so no key. 'hivelore config set KEY --secret' makes both.")
        if encrypts is not None and encrypts not in keys.by_id and not erase_lost:
            raise Conflict(f"The encryption key {encrypts} is missing. {keys.missing(encrypts)}")
        if keys.newest is None or (not is_pending and not erase_lost):
            if self._keyring.is_given:
                raise Conflict(
                    f"Every secret has the newest key. Append a new one to {VARIABLE} after a comma, restart the "
                    "service, and rotate again."
                )
            keys = self._keyring.add()
        return self._reencrypt_all(keys, erase_lost)

    def _reencrypt_all(self, keys: Keys, erase_lost: bool) -> KeyRotation:
        newest = keys.newest
        assert newest is not None
        self._store.write(lambda tx: tx.set_setting(NEWEST_KEY, newest))
        done = erased = lost = 0
        after = (ConfigId(""), 0)
        while True:
            with self._store.read() as view:
                page = view.sealed_with_other_keys(newest, after, _PAGE)
            for one in page:
                if _is_readable(keys, one):
                    self._store.write(lambda tx, one=one: self.reencrypt(tx, keys, one))
                    done += 1
                elif erase_lost:
                    self._store.write(lambda tx, one=one: _erase(tx, one))
                    erased += 1
                else:
                    lost += 1
                after = (one.entry, one.number)
            if not page:
                return KeyRotation(key=newest, reencrypted=done, erased=erased, lost=lost)

    def reencrypt(self, tx: Transaction, keys: Keys, seen: ConfigVersion) -> None:
        """Encrypts one version with the newest key, unless it changed meanwhile."""
        now = tx.config_version(seen.entry, seen.number)
        if now is not None and now.sealed is not None and now.sealed == seen.sealed:
            value = keys.open(now.entry, f"entry {now.entry}", now.sealed)
            tx.put_config_version(replace(now, sealed=keys.seal(now.entry, value, self._random)))


def _is_readable(keys: Keys, version: ConfigVersion) -> bool:
    """Returns False if the key of a secret is missing, or if the secret was altered."""
    try:
        keys.open(version.entry, "", version.sealed)
    except HiveloreError:
        return False
    return True


def _erase(tx: Transaction, seen: ConfigVersion) -> None:
    now = tx.config_version(seen.entry, seen.number)
    if now is not None and now.sealed == seen.sealed:
        tx.put_config_version(replace(now, sealed=None))
