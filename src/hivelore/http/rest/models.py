"""Requests of the routes that are not declared as operations."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

Text = Annotated[str, StringConstraints(strict=True)]


class Body(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", validate_by_name=False, validate_by_alias=True)


class DecisionRequest(Body):
    reason: Text | None = None
