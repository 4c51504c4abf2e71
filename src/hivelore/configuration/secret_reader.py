"""Reads secrets with the keys of the keyring, which is loaded when the first secret is read."""

from functools import cached_property

from hivelore.configuration.keyring import Keyring, Keys
from hivelore.configuration.model import ConfigVersion
from hivelore.errors import HiveloreError


class SecretReader:
    """Reads the values of one request. A damaged key file is an error of the secrets, and not of other entries."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def value(self, version: ConfigVersion, name: str) -> str:
        """Returns the value of a version of the entry ``name``. Raises Conflict or Broken for a secret that cannot be
        read."""
        return version.value if version.value is not None else self._keys.open(version.entry, name, version.sealed)

    def problem(self, version: ConfigVersion, name: str) -> str | None:
        """Returns why a value cannot be read; None if it can."""
        try:
            self.value(version, name)
        except HiveloreError as error:
            return str(error)
        return None

    def is_same(self, one: ConfigVersion, other: ConfigVersion) -> bool:
        """Returns True for equal values; False if one cannot be read."""
        try:
            return self.value(one, "") == self.value(other, "")
        except HiveloreError:
            return False

    @cached_property
    def _keys(self) -> Keys:
        return self._keyring.load()
