"""What REST takes in about what happens while services are run."""

from typing import Annotated

from pydantic import Field

from hivelore.events.model import Level
from hivelore.http.rest.models import Body, ChangeCursor, Text


class EventRequest(Body):
    text: Text
    level: Level = Level.INFO
    service: Text | None = None
    session: Text | None = None
    at: ChangeCursor | None = None


class CooldownRequest(Body):
    """Either ``minutes`` or ``until``."""

    service: Text
    action: Text
    minutes: Annotated[int, Field(strict=True)] | None = None
    until: ChangeCursor | None = None
    reason: Text | None = None
    session: Text | None = None
