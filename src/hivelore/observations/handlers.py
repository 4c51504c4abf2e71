"""Answers the operations of operational memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.agents import Role
from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.errors import Forbidden, Invalid
from hivelore.observations.curation import RatedQuery
from hivelore.observations.operations import (
    ChangeOperationalMemory,
    Context,
    ContextText,
    CountDecayed,
    DecayedCount,
    DeletedCount,
    ForgetOperationalMemories,
    GetContext,
    GetContextText,
    ListObservations,
    ListOperationalMemories,
    NamedOperationalMemory,
    ObserveResponse,
    OperationalMemoryPage,
)
from hivelore.observations.outcomes import (
    Change,
    ConfidenceTimeline,
    Effect,
    ObservationInput,
    OperationalMemory,
    describe,
)
from hivelore.sessions.injection import environment_line

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_operational_memories(app: Application, request: ListOperationalMemories, call: Call) -> OperationalMemoryPage:
    choice = RatedQuery(
        service=request.service,
        category=request.category,
        active=None if request.status == "all" else request.status == "active",
        project=request.project,
        limit=request.limit,
    )
    page = app.curation.page(choice, call.viewer, position_of(request.after))
    return OperationalMemoryPage(memories=tuple(map(describe, page.memories)), next=page.next)


def observe(app: Application, request: ObservationInput, call: Call) -> ObserveResponse:
    if call.viewer.role is Role.OPERATOR:
        rated = app.curation.create(request, call.viewer)
        return ObserveResponse(effect=Effect.NEW, about=(), why=(), memory=describe(rated))
    if request.confidence is not None or request.persistent is not None:
        raise Forbidden("Only an operator may set confidence and persistent. Leave them out.")
    done = app.observation_service.observe(request, call.viewer, call.deadline)
    rated = app.observation_service.rate(done.memory, call.viewer)
    return ObserveResponse(effect=done.effect, about=done.about, why=done.why, memory=describe(rated))


def forget_operational_memories(app: Application, request: ForgetOperationalMemories, call: Call) -> DeletedCount:
    if not request.ids:
        raise Invalid('Name what to delete: {"ids": ["..."]}, or ids=...&ids=...', field="ids")
    return DeletedCount(
        app.curation.forget(
            [app.reading.resolve(one, call.viewer, or_deleted=True) for one in request.ids], call.viewer
        )
    )


def count_decayed(app: Application, _: CountDecayed, call: Call) -> DecayedCount:
    return DecayedCount(app.curation.count_decayed(call.viewer))


def get_operational_memory(app: Application, request: NamedOperationalMemory, call: Call) -> OperationalMemory:
    return describe(app.curation.get(app.reading.resolve(request.memory, call.viewer), call.viewer))


def list_observations(app: Application, request: ListObservations, call: Call) -> ConfidenceTimeline:
    return app.curation.timeline(
        app.reading.resolve(request.memory, call.viewer), call.viewer, request.after, request.limit
    )


def change_operational_memory(app: Application, request: ChangeOperationalMemory, call: Call) -> OperationalMemory:
    change = Change(**{name: getattr(request, name) for name in Change.__struct_fields__})
    memory = app.reading.resolve(request.memory, call.viewer)
    return describe(app.curation.change(memory, change, call.viewer, request.version))


def forget_operational_memory(app: Application, request: NamedOperationalMemory, call: Call) -> None:
    app.curation.forget_one(app.reading.resolve(request.memory, call.viewer, or_deleted=True), call.viewer)


def get_context(app: Application, request: GetContext, call: Call) -> Context:
    tokens = app.memory_budget.tokens_for(request.model, request.tier) if request.budget is None else request.budget
    block = app.curation.block(call.viewer, tokens, service=request.service, project=call.project)
    environment = environment_line(app.cooldowns.format_for_agent(request.service, call.deadline)) if tokens else ""
    return Context(
        environment=app.fenced(environment) if environment else "",
        text=app.fenced(block.text) if block.text else "",
        included=block.included,
        total=block.total,
        tokens=block.tokens,
    )


def get_context_text(app: Application, request: GetContextText, call: Call) -> ContextText:
    budget = app.memory_budget.tokens_for(request.model)
    block = app.curation.block(call.viewer, budget, service=request.service, project=call.project)
    return ContextText(text=block.text, included=block.included, total=block.total)
