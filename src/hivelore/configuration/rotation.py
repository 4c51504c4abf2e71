"""Rotation of the encryption key: re-encrypts the secrets one by one."""

from collections.abc import Callable, Iterator
from pathlib import Path

from hivelore.configuration.entry_changes import NEWEST_KEY, current_version
from hivelore.configuration.keyring import VARIABLE, Keyring, Keys
from hivelore.configuration.model import ConfigId, ConfigVersion, KeyRotation, UnreadableSecret
from hivelore.core.clock import Clock
from hivelore.core.values import replace
from hivelore.errors import Conflict, HiveloreError
from hivelore.local.endpoint import LOCKS
from hivelore.local.file_lock import locked
from hivelore.storage.ports import MemoryStore, Transaction, View

NAMED = 20
"""Most unreadable secrets that an answer names."""
_PAGE = 100
_ATTEMPTS = 100


class KeyRotator:
    def __init__(
        self, store: MemoryStore, keyring: Keyring, home: Path, random: Callable[[int], bytes], clock: Clock
    ) -> None:
        """``home``: folder of the lock, which one rotation at a time holds."""
        self._store = store
        self._keyring = keyring
        self._lock = home / LOCKS / "config.rotation"
        self._random = random
        self._clock = clock

    def rotate(self, *, erase_lost: bool = False) -> KeyRotation:
        """Encrypts every secret with the newest key. If all that can be read are, adds a new key first. Each secret is
        a transaction of its own, so a killed process leaves nothing undone that the next call does not do.
        ``erase_lost``: erases the secrets that cannot be read, with whichever key, instead of skipping them; their
        lines in .env files are removed afterwards. Raises Conflict if keys are
        given by the environment and none is new, or if the key that encrypted last is missing; Busy while another
        rotation runs."""
        with locked(self._lock, _ATTEMPTS):
            keys = self._keyring.load()
            with self._store.read() as view:
                encrypts = view.setting(NEWEST_KEY)
            if encrypts is not None and encrypts not in keys.by_id and not erase_lost:
                raise Conflict(f"The encryption key {encrypts} is missing. {keys.missing(encrypts)}")
            is_pending = keys.newest is not None and any(
                problem is None for _, problem in self._sealed(keys, keys.newest)
            )
            if encrypts is None and not is_pending and keys.newest is None:
                raise Conflict("There is no secret yet, and so no key. 'hivelore config set KEY --secret' makes both.")
            if keys.newest is None or (not is_pending and not erase_lost):
                if self._keyring.is_given:
                    raise Conflict(
                        f"Every secret has the newest key. Append a new one to {VARIABLE} after a comma, restart the "
                        "service, and rotate again."
                    )
                keys = self._keyring.add()
            return self._reencrypt_all(keys, erase_lost)

    def _sealed(self, keys: Keys, but: str) -> Iterator[tuple[ConfigVersion, str | None]]:
        """Yields the versions whose secret has another key than ``but``, and why they cannot be read."""
        after = (ConfigId(""), 0)
        while True:
            with self._store.read() as view:
                page = view.sealed_with_other_keys(but, after, _PAGE)
            for one in page:
                yield one, read_problem(keys, one)
            if not page:
                return
            after = (page[-1].entry, page[-1].number)

    def _reencrypt_all(self, keys: Keys, erase_lost: bool) -> KeyRotation:
        newest = keys.newest
        assert newest is not None
        self._store.write(lambda tx: tx.set_setting(NEWEST_KEY, newest))
        done = erased = lost = 0
        unreadable: list[UnreadableSecret] = []
        if erase_lost:
            for one, problem in self._sealed(keys, ""):
                erased += problem is not None and self._store.write(lambda tx, one=one: self._erase(tx, one))
        for one, problem in self._sealed(keys, newest):
            if problem is None and self._store.write(lambda tx, one=one: self.reencrypt(tx, keys, one)):
                done += 1
            elif problem is not None:
                lost += 1
                if len(unreadable) < NAMED:
                    with self._store.read() as view:
                        unreadable += named(view, one, problem)
        return KeyRotation(key=newest, reencrypted=done, erased=erased, lost=lost, unreadable=tuple(unreadable))

    def reencrypt(self, tx: Transaction, keys: Keys, seen: ConfigVersion) -> bool:
        """Encrypts one version with the newest key. Returns False if it changed meanwhile."""
        now = tx.config_version(seen.entry, seen.number)
        if now is None or now.sealed is None or now.sealed != seen.sealed:
            return False
        value = keys.open(now.entry, f"entry {now.entry}", now.sealed)
        tx.put_config_version(replace(now, sealed=keys.seal(now.entry, value, self._random)))
        return True

    def _erase(self, tx: Transaction, seen: ConfigVersion) -> bool:
        """Erases one secret. Returns False if it changed meanwhile."""
        now = tx.config_version(seen.entry, seen.number)
        if now is None or now.sealed is None or now.sealed != seen.sealed:
            return False
        tx.put_config_version(replace(now, sealed=None))
        if now.env_path is not None and current_version(tx, tx.config_entry(now.entry)) is not None:
            tx.touch_env_file(now.env_path, self._clock.now())
        return True


def read_problem(keys: Keys, version: ConfigVersion) -> str | None:
    """Returns why the secret of a version cannot be read: its key is missing, or it was altered. None: it can."""
    try:
        keys.open(version.entry, "The value", version.sealed)
    except HiveloreError as error:
        return str(error)
    return None


def named(view: View, version: ConfigVersion, problem: str) -> list[UnreadableSecret]:
    """Returns an unreadable secret with the name of its entry; empty if the entry is gone."""
    entry = view.config_entry(version.entry)
    if entry is None:
        return []
    return [
        UnreadableSecret(
            scope=entry.place.scope,
            scope_id=entry.place.scope_id or None,
            key=entry.key,
            version=version.number,
            reason=problem,
        )
    ]
