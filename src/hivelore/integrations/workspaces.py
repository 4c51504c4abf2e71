"""Choosing the folder in which agents keep memories as files: a link in the home folder leads to it."""

import os
from contextlib import suppress
from pathlib import Path

from hivelore.errors import Broken, Conflict
from hivelore.folders.rules import PERSONAL, SHARED
from hivelore.local import endpoint


def choose(home: Path, folder: Path) -> bool:
    """Have agents' files there, with the folders for them. False where they are there already. Raises Conflict where
    there are files that would be left behind, Broken where a folder cannot be made."""
    link, folder = home / endpoint.WORKSPACE, folder.expanduser().absolute()
    if link.is_symlink() or not link.exists():
        changed = link.resolve() != folder.resolve()
    else:
        changed = not folder.exists() or not link.samefile(folder)
        if changed and any(place.is_file() for place in link.rglob("*")):
            raise Conflict(f"There are files in {link}. Move them to {folder}, and then do this again.")
    try:
        for each in (PERSONAL, SHARED):
            (folder / each.path).mkdir(parents=True, exist_ok=True)
        if changed:
            _lead(link, folder)
    except OSError as error:
        raise Broken(f"{error.filename} cannot be made ({error.strerror}). Choose another folder.") from None
    return changed


def _lead(link: Path, folder: Path) -> None:
    endpoint.make_home(link.parent)
    if not link.is_symlink() and link.exists():
        for place, _, _ in os.walk(link, topdown=False):
            Path(place).rmdir()
    aside = link.with_name(f".{link.name}.new")
    with suppress(FileNotFoundError):
        aside.unlink()
    aside.symlink_to(folder)
    aside.replace(link)
