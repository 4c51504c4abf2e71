"""Putting a copy of the hook into a home folder, so that it starts quickly and still does when Hivelore is installed
anew, or has gone.

    bin/hivelore-hook          what is started: ``python -I -S .../bin/hivelore-hook --agent claude-code``
    bin/lib-0123456789/        the modules that it needs, compiled

The modules are not put into the one file: that would be compiled at every start, which takes longer than the rest.
"""

import compileall
import hashlib
import os
import shutil
from importlib.resources import files
from pathlib import Path

from hivelore.local import endpoint, private_files

_FILE = "hivelore-hook"
MODULES = (
    "__init__.py",
    "core/__init__.py",
    "core/text.py",
    "local/endpoint.py",
    "errors.py",
    "hooks/__init__.py",
    "hooks/fallback.py",
    "hooks/client.py",
    "local/launcher.py",
    "local/lock.py",
    "sessions/__init__.py",
    "sessions/fence.py",
    "core/redaction/__init__.py",
    "core/redaction/assignments.py",
    "core/redaction/suspicion.py",
    "core/redaction/logins.py",
    "core/redaction/encodings.py",
    "core/redaction/judgement.py",
    "core/redaction/matching.py",
    "core/redaction/names.py",
    "core/redaction/readings.py",
    "core/redaction/vendors.py",
    "core/redaction/weights.bin",
    "local/private_files.py",
    "local/git_project.py",
)
_START = """\
# Hands what happens in an agent program over to Hivelore. Made by hivelore; what it needs lies beside it.
import os
import posix
import sys

sys.excepthook = lambda *_: posix._exit(0)
sys.path.insert(0, __file__.rpartition("/")[0] + "/{library}")

# It belongs to the home folder that it lies in, unless somebody says otherwise.
os.environ.setdefault("HIVELORE_HOME", __file__.rpartition("/bin/")[0])

from hivelore.hooks.client import main

main(sys.argv[1:])
"""


def file_in(home: endpoint.Folder) -> Path:
    """What is started, below a home folder."""
    return Path(home) / endpoint.HOOK / _FILE


def remove_from(home: endpoint.Folder) -> None:
    """Take the hook out of a home folder again. Raises OSError where that cannot be."""
    file_in(home).unlink(missing_ok=True)
    folder = Path(home) / endpoint.HOOK
    for library in folder.glob("lib-*"):
        shutil.rmtree(library)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def copy_to(home: endpoint.Folder) -> Path:
    """Put the hook into a home folder, in place of an older one, and answer the file to start. Doing so again changes
    nothing. Raises OSError where nothing can be written."""
    sources = {name: files("hivelore").joinpath(name).read_bytes() for name in MODULES}
    digest = hashlib.sha256(b"\0".join(name.encode() + b"\0" + text for name, text in sources.items()))
    folder = endpoint.make_home(home) / endpoint.HOOK
    private_files.make_folder(folder)
    library = folder / f"lib-{digest.hexdigest()[:10]}"
    if not library.is_dir():
        _fill(library, sources)
    file = file_in(home)
    start = _START.format(library=library.name)
    if not file.is_file() or file.read_text(encoding="utf-8") != start:
        with private_files.replacing(file) as out:
            out.write(start.encode())
    for older in folder.glob("lib-*"):
        if older != library:
            shutil.rmtree(older, ignore_errors=True)
    return file


def _fill(library: Path, sources: dict[str, bytes]) -> None:
    aside = library.with_name(f".{library.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(private_files.FOLDER)  # Fails where anything is in its place by now.
    for name, text in sources.items():
        place = aside / "hivelore" / name
        private_files.make_folder(place.parent / "__pycache__")
        with os.fdopen(private_files.create(place), "wb") as out:
            out.write(text)
    # For the Python that does this; another one compiles them itself, the first time.
    compileall.compile_dir(aside, quiet=2)
    aside.rename(library)
