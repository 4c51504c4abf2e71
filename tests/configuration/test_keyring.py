"""Encryption keys and encrypted values."""

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.configuration.encryption_key import KEY_BYTES, key_id, parse_key
from hivelore.configuration.keyring import NONCE_BYTES, Keyring
from hivelore.configuration.model import Sealed
from hivelore.core.ids import random_bytes
from hivelore.core.values import replace
from hivelore.errors import Broken, Conflict, Invalid
from hivelore.local.endpoint import CONFIG_KEYS
from hivelore.runtime.settings import load
from support.configuration import config_id

FIRST, SECOND = b"1" * KEY_BYTES, b"2" * KEY_BYTES
ENTRY = config_id(1)


def test_the_first_key_is_created_private_and_the_last_one_encrypts(tmp_path: Path) -> None:
    ring = Keyring(tmp_path / "home", (), random_bytes)
    assert ring.load().newest is None
    first = ring.add()
    file = tmp_path / "home" / CONFIG_KEYS
    assert file.stat().st_mode & 0o777 == 0o600
    second = ring.add()
    assert second.newest != first.newest
    assert set(second.by_id) == {first.newest, second.newest}
    assert Keyring(tmp_path / "home", (), random_bytes).load() == ring.load()


def test_given_keys_encrypt_and_those_of_the_file_still_decrypt(tmp_path: Path) -> None:
    made = Keyring(tmp_path, (), random_bytes).add()
    keys = Keyring(tmp_path, (FIRST, SECOND), random_bytes).load()
    assert keys.newest == key_id(SECOND)
    assert set(keys.by_id) == {made.newest, key_id(FIRST), key_id(SECOND)}


@given(value=st.text(st.characters(codec="utf-8")))
def test_a_value_is_opened_as_it_was_sealed(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    keys = Keyring(Path("/nowhere"), (FIRST,), random_bytes).load()
    sealed = keys.seal(ENTRY, value, random_bytes)
    assert keys.open(ENTRY, "KEY", sealed) == value
    assert sealed.data != keys.seal(ENTRY, value, random_bytes).data


def test_an_altered_or_moved_value_is_refused() -> None:
    keys = Keyring(Path("/nowhere"), (FIRST,), random_bytes).load()
    sealed = keys.seal(ENTRY, "hunter2", random_bytes)
    for place in (0, NONCE_BYTES, len(sealed.data) - 1):
        altered = bytearray(sealed.data)
        altered[place] ^= 1
        with pytest.raises(Broken, match="altered"):
            keys.open(ENTRY, "KEY", Sealed(bytes(altered), sealed.key))
    with pytest.raises(Broken):
        keys.open(config_id(2), "KEY", sealed)
    with pytest.raises(Conflict, match="erased"):
        keys.open(ENTRY, "KEY", None)
    with pytest.raises(Conflict, match=r"HIVELORE_CONFIG_KEYS again.*rotate-key --erase-lost"):
        keys.open(ENTRY, "KEY", replace(sealed, key="ffffffff"))


def test_a_damaged_key_file_is_an_error_that_names_the_line_and_not_its_text(tmp_path: Path) -> None:
    (tmp_path / CONFIG_KEYS).write_text(f"# comment\n\n{b64encode(FIRST).decode()}\nhunter2\n")
    (tmp_path / CONFIG_KEYS).chmod(0o644)
    with pytest.raises(Broken, match="Line 4") as found:
        Keyring(tmp_path, (), random_bytes).load()
    assert "hunter2" not in str(found.value)
    assert (tmp_path / CONFIG_KEYS).stat().st_mode & 0o777 == 0o600
    (tmp_path / CONFIG_KEYS).unlink()
    (tmp_path / CONFIG_KEYS).symlink_to("/etc/hostname")
    with pytest.raises(Broken, match="regular file"):
        Keyring(tmp_path, (), random_bytes).load()


@pytest.mark.parametrize("text", ["", "hunter2", b64encode(b"short").decode(), "ü" * 44])
def test_a_text_that_is_no_key_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(Invalid, match="openssl rand") as found:
        parse_key(text)
    assert not text or text not in str(found.value)


def test_keys_come_from_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        os.environ, "HIVELORE_CONFIG_KEYS", ", ".join(b64encode(one).decode() for one in (FIRST, SECOND))
    )
    assert load().encryption_keys == (FIRST, SECOND)
    assert b64encode(FIRST).decode() not in repr(load())
    monkeypatch.setitem(os.environ, "HIVELORE_CONFIG_KEYS", "hunter2")
    with pytest.raises(Invalid, match=r"HIVELORE_CONFIG_KEYS: A key is 32") as found:
        load()
    assert "hunter2" not in str(found.value)


def test_keys_that_two_processes_add_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from hivelore.configuration.keyring import Keyring\n"
        "from hivelore.core.ids import random_bytes; ring = Keyring(Path(sys.argv[1]), (), random_bytes)\n"
        "for _ in range(15): print(ring.add().newest)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for one in running:
        one.communicate()
    assert len(Keyring(tmp_path, (), random_bytes).load().by_id) == 30


def test_the_first_key_is_created_once(tmp_path: Path) -> None:
    rings = [Keyring(tmp_path, (), random_bytes) for _ in range(2)]
    first, second = (ring.add(only_first=True) for ring in rings)
    assert first == second
    assert len(second.by_id) == 1


def test_a_truncated_value_is_an_altered_one() -> None:
    keys = Keyring(Path("/nowhere"), (FIRST,), random_bytes).load()
    sealed = keys.seal(ENTRY, "hunter2", random_bytes)
    for length in (0, 3, NONCE_BYTES, NONCE_BYTES + 2):
        with pytest.raises(Broken, match="altered"):
            keys.open(ENTRY, "KEY", replace(sealed, data=sealed.data[:length]))
