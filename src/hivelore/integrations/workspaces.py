"""Choice of the folder for memories as files; a link in the home folder points to it."""

import os
from contextlib import suppress
from pathlib import Path

from hivelore.errors import Broken, Conflict
from hivelore.folders.rules import PERSONAL, SHARED
from hivelore.local import endpoint


def choose(home: Path, folder: Path) -> bool:
    """Use a folder for memories as files, and create its subfolders. Returns False if it is used already.

    Raises Conflict if files would be left behind in the current folder, Broken if a folder cannot be created.
    """
    link, folder = home / endpoint.WORKSPACE, folder.expanduser().absolute()
    if link.is_symlink() or not link.exists():
        changed = link.resolve() != folder.resolve()
    else:
        changed = not folder.exists() or not link.samefile(folder)
        left = next((place for place in link.rglob("*") if place.is_file()), None) if changed else None
        if left is not None:
            raise Conflict(f"There are files in {link}, such as {left.name}. Move them to {folder}, then try again.")
    try:
        for each in (PERSONAL, SHARED):
            (folder / each.path).mkdir(parents=True, exist_ok=True)
        if changed:
            _link(link, folder)
    except OSError as error:
        raise Broken(f"{error.filename} cannot be created ({error.strerror}). Choose another folder.") from None
    return changed


def _link(link: Path, folder: Path) -> None:
    endpoint.make_home(link.parent)
    if not link.is_symlink() and link.exists():
        for place, _, _ in os.walk(link, topdown=False):
            Path(place).rmdir()
    temporary = link.with_name(f".{link.name}.new")
    with suppress(FileNotFoundError):
        temporary.unlink()
    temporary.symlink_to(folder)
    temporary.replace(link)
