"""Which memory of a path or an external id is meant: a shelf has at most one of each project, and one of none."""

from collections.abc import Sequence

from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.indexing.model import Stored


def same_record(records: Sequence[Stored], project: Clean | None) -> Stored | None:
    """The one that a new telling is of: that of its project. A telling that names no project is of the only one there
    is, too; of several it is none, for nobody can say of which."""
    of_project = _of(records, project)
    if of_project is None and project is None and len(records) == 1:
        return records[0]
    return of_project


def nearest_record(records: Sequence[Stored], project: Clean | None) -> Stored | None:
    """The one that is meant where something of a project names it: that of the project, else that of none, else the
    only one there is."""
    of_none = _of(records, None)
    if of_none is None and len(records) == 1:
        of_none = records[0]
    return _of(records, project) or of_none


def require_one_project(found: Sequence[Stored]) -> Sequence[Stored]:
    """Those that were found without a project being named. Raises Invalid where they are of several."""
    projects = sorted({one.memory.project or "none" for one in found})
    if len(projects) > 1:
        told = ", ".join(projects)
        raise Invalid(f"It was indexed in several projects ({told}): say in which (project).", field="project")
    return found


def _of(records: Sequence[Stored], project: Clean | None) -> Stored | None:
    return next((one for one in records if one.memory.project == project), None)
