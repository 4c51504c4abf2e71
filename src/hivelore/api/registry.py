"""Every declared operation."""

from typing import Any

from hivelore.changes import operations as changes
from hivelore.configuration import operations as configuration
from hivelore.core.operation import Operation
from hivelore.core.tool import Tool
from hivelore.embeddings import operations as embeddings
from hivelore.events import operations as events
from hivelore.feedback import operations as feedback
from hivelore.health import operations as health
from hivelore.identity import operations as identity
from hivelore.links import operations as links
from hivelore.maintenance import operations as maintenance
from hivelore.memories import operations as memories
from hivelore.observations import operations as observations
from hivelore.repos import operations as repos
from hivelore.review import operations as review
from hivelore.search import operations as search
from hivelore.sessions import operations as sessions
from hivelore.setup_scripts import operations as setup_scripts

OPERATIONS: tuple[Operation[..., Any], ...] = (
    *search.OPERATIONS,
    *memories.OPERATIONS,
    *events.OPERATIONS,
    *changes.OPERATIONS,
    *feedback.OPERATIONS,
    *sessions.OPERATIONS,
    *maintenance.OPERATIONS,
    *embeddings.OPERATIONS,
    *identity.OPERATIONS,
    *health.OPERATIONS,
    *observations.OPERATIONS,
    *review.OPERATIONS,
    *links.OPERATIONS,
    *configuration.OPERATIONS,
    *repos.OPERATIONS,
    *setup_scripts.OPERATIONS,
)
TOOLS: tuple[Tool[Any], ...] = tuple(one.tool for one in OPERATIONS if one.tool is not None)
