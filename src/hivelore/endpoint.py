"""Where the service is and how to come in: the home folder, its keys, the URL.

Standard library only, and pathlib only for those who use it already: hooks, bridge, client and settings all
start here.
"""

import os
from collections.abc import Mapping

from hivelore.errors import Broken, Unauthenticated

TYPE_CHECKING = False
"""Written out, because importing typing takes time too."""

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_URL = "http://127.0.0.1:4483"
OPERATOR_KEY = "operator.key"
AGENT_KEY = "agent.key"
LOCK = "hivelore.lock"
DATABASE = "hivelore.db"
Folder = str | os.PathLike[str]
_LARGEST_KEY = 4_096


def home(environment: Mapping[str, str] = os.environ) -> "Path":
    """The folder with database, keys and lock: HIVELORE_HOME, else the user's data folder."""
    from pathlib import Path

    return Path(home_folder(environment))


def home_folder(environment: Mapping[str, str] = os.environ) -> str:
    """``home`` as a text, for who is in a hurry."""
    chosen = environment.get("HIVELORE_HOME")
    if chosen:
        return _absolute(chosen, environment)
    data = environment.get("XDG_DATA_HOME") or _absolute("~/.local/share", environment)
    return f"{data.rstrip('/')}/hivelore"


def _absolute(path: str, environment: Mapping[str, str]) -> str:
    user = environment.get("HOME")
    if user and path.startswith("~/"):
        return user + path[1:]
    if path.startswith("/"):
        return path
    from pathlib import Path

    try:
        return str(Path(path).expanduser().absolute())
    except (RuntimeError, OSError) as error:
        raise Broken(f"{path} leads nowhere ({error}). Set HIVELORE_HOME to a folder.") from None


def given_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """HIVELORE_URL, where somebody set it."""
    return environment.get("HIVELORE_URL") or None


def url(environment: Mapping[str, str] = os.environ) -> str:
    return (environment.get("HIVELORE_URL") or DEFAULT_URL).rstrip("/")


def given_key(environment: Mapping[str, str] = os.environ) -> str | None:
    """HIVELORE_KEY, where somebody set it."""
    return environment.get("HIVELORE_KEY") or None


def inherited(folder: Folder, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a process that is to work on the home ``folder``."""
    return {**environment, "HIVELORE_HOME": os.fspath(folder)}


def key(name: str, folder: Folder, environment: Mapping[str, str] = os.environ) -> str:
    """The key to come in with: HIVELORE_KEY, else the file ``name`` in the home ``folder``.

    A key that is given and wrong is an error later, never a reason to fall back to the file.
    """
    given = given_key(environment)
    if given is not None:
        return given
    file = f"{os.fspath(folder)}/{name}"
    try:
        return _text(file).strip()
    except FileNotFoundError:
        raise Unauthenticated(f"No key: there is no {file}. Start the service once ('hivelore start').") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unauthenticated(f"The key file {file} cannot be read ({error}).") from None


def has_key(name: str, folder: Folder, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether there is anything to come in with."""
    return given_key(environment) is not None or os.access(f"{os.fspath(folder)}/{name}", os.R_OK)


def _text(file: str) -> str:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _LARGEST_KEY).decode("ascii")
    finally:
        os.close(descriptor)


def make_home(given: Folder) -> "Path":
    """Create the home folder, open to its owner alone."""
    from pathlib import Path

    folder = Path(given)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Broken(f"The folder {folder} cannot be made ({error}). Choose another with HIVELORE_HOME.") from None
    return folder


def write_private(file: "Path", text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    aside = file.with_name(f".{file.name}.new")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    aside.replace(file)
