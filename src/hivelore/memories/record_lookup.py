"""Selects the memory that a path or external id refers to. It is unique per home and project."""

from collections.abc import Sequence

from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.memories.stored import Stored


def same_record(records: Sequence[Stored], project: Clean | None) -> Stored | None:
    """Returns the memory that a new draft updates: the one in its project. Without a project, a single candidate from
    any project also matches."""
    of_project = _of(records, project)
    if of_project is None and project is None and len(records) == 1:
        return records[0]
    return of_project


def nearest_record(records: Sequence[Stored], project: Clean | None) -> Stored | None:
    """Returns the memory that a reference from a project means: the one in that project, else the one without a
    project, else the only candidate."""
    of_none = _of(records, None)
    if of_none is None and len(records) == 1:
        of_none = records[0]
    return _of(records, project) or of_none


def require_one_project(found: Sequence[Stored]) -> Sequence[Stored]:
    """Returns the memories found without a project filter. Raises Invalid if they are in several projects."""
    projects = sorted({one.memory.project or "none" for one in found})
    if len(projects) > 1:
        names = ", ".join(projects)
        raise Invalid(f"Indexed in several projects ({names}). Specify one (project).", field="project")
    return found


def _of(records: Sequence[Stored], project: Clean | None) -> Stored | None:
    return next((one for one in records if one.memory.project == project), None)
