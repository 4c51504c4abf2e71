"""Decides what becomes of an update of a profile that was made from an earlier version."""

from collections.abc import Mapping
from dataclasses import dataclass

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.identity.profile import ProfileContent, ProfileField

Changes = Mapping[ProfileField, Clean | tuple[Clean, ...]]
"""The new values of the given fields."""


@dataclass(frozen=True, slots=True)
class Merged:
    """``content`` is the next version. With ``conflicts``, it is what the writer meant, and does not become current."""

    content: ProfileContent
    conflicts: tuple[ProfileField, ...] = ()
    """The fields that somebody else changed, too."""


def merge(changes: Changes, base: ProfileContent | None, current: ProfileContent) -> Merged:
    """Merges changes of the version ``base`` into the current version.

    Fields merge as a whole. Changes conflict if another value replaced that of ``base`` in the current version
    meanwhile. ``base`` None: the version is not kept any more, so each differing value conflicts.
    """
    differing = {field: value for field, value in changes.items() if value != current.get(field)}
    conflicts = tuple(
        field
        for field in ProfileField
        if field in differing and (base is None or base.get(field) != current.get(field))
    )
    if conflicts:
        return Merged(changed(current if base is None else base, changes), conflicts)
    return Merged(changed(current, differing))


def changed(content: ProfileContent, changes: Changes) -> ProfileContent:
    return replace(content, **{field.value: value for field, value in changes.items()})


def changed_fields(before: ProfileContent | None, after: ProfileContent) -> tuple[ProfileField, ...]:
    """Returns the fields that differ; without an earlier content those that are not empty."""
    return tuple(
        field for field in ProfileField if (after.get(field) != before.get(field) if before else after.get(field))
    )
