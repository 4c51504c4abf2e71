"""The contents of a folder, to compare them with later ones."""

from pathlib import Path


def everything(folder: Path) -> dict[str, bytes | str | None]:
    """Returns the content of each file, the target of each link and None for each folder, by name."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found
