"""Checks keys, secrets and .env files, without changing anything."""

from hivelore.configuration.entry_changes import NEWEST_KEY
from hivelore.configuration.env_reconciler import EnvReconciler
from hivelore.configuration.keyring import Keyring, Keys
from hivelore.configuration.model import ConfigId, ConfigReport, UnreadableSecret
from hivelore.configuration.rotation import NAMED, named, read_problem
from hivelore.errors import HiveloreError
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore

_PAGE = 100


class ConfigurationCheck:
    def __init__(self, store: MemoryStore, keyring: Keyring, reconciler: EnvReconciler) -> None:
        self._store = store
        self._keyring = keyring
        self._reconciler = reconciler

    def check(self) -> ConfigReport:
        """Reads every secret, and compares every line of the .env files of this workspace. Lines of others are
        checked for being late."""
        with self._store.read() as view:
            encrypts = view.setting(NEWEST_KEY)
        keys = Keys({}, None, "")
        problem: str | None = None
        try:
            keys = self._keyring.load()
            if encrypts is not None and encrypts not in keys.by_id:
                problem = f"The encryption key {encrypts} is missing. {keys.missing(encrypts)}"
        except HiveloreError as error:
            problem = str(error)
        secrets, wrong, unreadable = self._read_secrets(keys)
        lines, found = self._reconciler.differences()
        with self._store.read() as view:
            problems = [*found, *self._reconciler.late(view, EVERYTHING.visibility, NAMED, only_others=True)]
        return ConfigReport(
            key=encrypts,
            key_problem=problem,
            secrets=secrets,
            unreadable_count=wrong,
            unreadable=unreadable,
            lines=lines,
            problem_count=len(problems),
            problems=tuple(problems[:NAMED]),
        )

    def _read_secrets(self, keys: Keys) -> tuple[int, int, tuple[UnreadableSecret, ...]]:
        """Returns the number of secrets, the number of those that cannot be read, and the first of these."""
        secrets = wrong = 0
        found: list[UnreadableSecret] = []
        after = (ConfigId(""), 0)
        while True:
            with self._store.read() as view:
                page = view.sealed_with_other_keys("", after, _PAGE)
                for one in page:
                    secrets += 1
                    if (problem := read_problem(keys, one)) is not None:
                        wrong += 1
                        if len(found) < NAMED:
                            found += named(view, one, problem)
            if not page:
                return secrets, wrong, tuple(found)
            after = (page[-1].entry, page[-1].number)
