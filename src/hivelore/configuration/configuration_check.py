"""Checks keys, secrets and .env files, without changing anything."""

from collections.abc import Sequence

from hivelore.configuration.entry_changes import NEWEST_KEY
from hivelore.configuration.env_reconciler import EnvReconciler
from hivelore.configuration.keyring import Keyring, Keys
from hivelore.configuration.model import ConfigEntry, ConfigId, ConfigReport, ConfigScope, UnreadableSecret
from hivelore.configuration.rotation import NAMED, named, read_problem
from hivelore.errors import HiveloreError
from hivelore.repos.model import RepoId
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore

_PAGE = 100


class ConfigurationCheck:
    def __init__(self, store: MemoryStore, keyring: Keyring, reconciler: EnvReconciler) -> None:
        self._store = store
        self._keyring = keyring
        self._reconciler = reconciler

    def check(self) -> ConfigReport:
        """Reads every secret, compares every line of the .env files of this workspace, and looks for entries of
        repositories that are not registered. Lines of others are checked for being late."""
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
        unknown = self._find_unknown_repos()
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
            unknown_repo_count=len(unknown),
            unknown_repos=tuple(unknown[:NAMED]),
        )

    def _find_unknown_repos(self) -> Sequence[str]:
        """Returns the ids of repositories that have entries and are not registered."""
        found: list[str] = []
        last: ConfigEntry | None = None
        while True:
            with self._store.read() as view:
                page = view.config_entries(EVERYTHING.visibility, _PAGE, scope=ConfigScope.REPO, after=last)
                repos = dict.fromkeys(one.entry.place.scope_id for one in page)
                unknown = [one for one in repos if one not in found[-1:] and view.repo(RepoId(one)) is None]
            found += unknown
            if not page:
                return found
            last = page[-1].entry

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
