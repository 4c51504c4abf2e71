"""What a hook leaves to be done when the agent waits no more: an event that could not be handed over is put aside,
where the service finds it; and where no service runs as a session starts, one is started.

Nobody waits for this process, and nobody sees what it says.
"""

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.core.redaction import KEY_BYTES, Redactor
from hivelore.errors import HiveloreError
from hivelore.local import endpoint, launcher, private_files
from hivelore.local.lock import read_lock
from hivelore.sessions.fence import unfenced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hivelore.hooks.client import Event
    from hivelore.memories.model import Json

SUFFIX = ".json"
MOST_FILES = 10_000
MOST_BYTES = 64_000_000
"""Of events that wait; beyond that the oldest are lost."""
_KEY_LENGTH = 20
"""Characters of a key that may be seen: namespace and number, without the secret."""


def see_to(event: "Event", *, again: bool, longest: float) -> None:
    """``again``: whether somebody may take the event later."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, longest)
    folder = Path(endpoint.home_folder()) / endpoint.SPOOL
    try:
        told: Json = json.loads(event.body())
    except (ValueError, RecursionError):
        told = None
    if not again or not isinstance(told, dict) or not isinstance(told.get("payload"), dict):
        note_lost(folder, 1)
    else:
        try:
            put_aside(folder, {"program": event.program, "url": event.url, "key": _key(), **told})
        # Too much of it to be looked through for secrets; or no room.
        except (HiveloreError, RecursionError, OSError):
            note_lost(folder, 1)
    is_here = event.url is None or launcher.is_local(event.url)
    if is_here and _starts_session(told) and read_lock(folder.parent) is None:
        launcher.ensure(folder.parent)


def put_aside(folder: Path, told: "dict[str, Json]") -> None:
    """Keep an event until the service takes it, without secrets and without what we had told the model ourselves."""
    safe = Redactor(os.urandom(KEY_BYTES)).clean_metadata({name: _without_ours(value) for name, value in told.items()})
    data = json.dumps(safe, ensure_ascii=False).encode()
    _make(folder)
    _make_room(folder, len(data))
    # In the order of their names they are in that of their times.
    file = folder / f"{time.time_ns():020}-{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}"
    aside = file.with_suffix(".new")
    try:
        with os.fdopen(private_files.create(aside), "wb") as out:
            out.write(data)
        aside.rename(file)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def note_lost(folder: Path, count: int) -> None:
    _make(folder)
    with os.fdopen(private_files.opened(folder / endpoint.SPOOL_LOST, os.O_WRONLY | os.O_APPEND), "wb") as out:
        out.write(b"." * count)


def _make(folder: Path) -> None:
    endpoint.make_home(folder.parent)
    private_files.make_folder(folder)


def _make_room(folder: Path, size: int) -> None:
    waiting = sorted(_waiting(folder))
    files, total = len(waiting), sum(each for _, each in waiting)
    lost = 0
    for name, each in waiting:
        if files < MOST_FILES and total + size <= MOST_BYTES:
            break
        with suppress(FileNotFoundError):  # The service has taken it, or another hook has made room.
            (folder / name).unlink()
            lost += 1
        files, total = files - 1, total - each
    if lost:
        note_lost(folder, lost)


def _waiting(folder: Path) -> "Iterator[tuple[str, int]]":
    """What lies in the folder, and how large it is. Others put events there and take some meanwhile."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != endpoint.SPOOL_LOST and not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False).st_size


def _without_ours(value: "Json") -> "Json":
    if isinstance(value, str):
        return unfenced(value.replace("\0", "").encode(errors="replace").decode())
    if isinstance(value, list):
        return [_without_ours(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_ours(item) for name, item in value.items()}
    return value


def _key() -> str | None:
    """Which key was given, as far as that may be seen."""
    given = endpoint.given_key()
    return None if given is None else given.rpartition("_")[0][:_KEY_LENGTH]


def _starts_session(told: "Json") -> bool:
    if not isinstance(told, dict):
        return False
    payload = told.get("payload")
    name = told.get("event") or (payload.get("hook_event_name") if isinstance(payload, dict) else None)
    return str(name).lower() == "sessionstart"
