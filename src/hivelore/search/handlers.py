"""Answers searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.agents import AgentId
from hivelore.core.operation import Call
from hivelore.core.redaction import Redactor
from hivelore.core.values import replace
from hivelore.errors import Invalid
from hivelore.memories.normalizer import clean_category_filter, clean_filter, clean_project, created_range, to_utc
from hivelore.search.model import ANY_PROJECT, QUERY_LENGTH, RERANKED, Query, RecallResult
from hivelore.search.operations import SearchMemories

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def recall(app: Application, request: SearchMemories, call: Call) -> RecallResult:
    """Searches in the caller's project unless the request names one. The message says so if there is none (N16).
    A search of all projects prefers the caller's."""
    project = call.project if request.project is None else request.project
    owner = None if request.agent is None else app.agents.resolve(request.agent)
    query = query_of(app.redactor, replace(request, project=project, agent=owner))
    if project == ANY_PROJECT:
        query = replace(query, prefers=clean_project(app.redactor, call.project))
    answer = app.search_service.recall(query, call.viewer, call.deadline)
    if project is not None:
        return answer
    return replace(answer, message=f"{answer.message} Project unknown: all projects were searched.")


def query_of(redactor: Redactor, request: SearchMemories) -> Query:
    """Returns the query of a request. Raises Invalid."""
    if not request.query.strip():
        raise Invalid("The query is empty. Provide a text to search for.", field="query")
    if len(request.query) > QUERY_LENGTH:
        raise Invalid(
            f"The query has {len(request.query):,} characters; at most {QUERY_LENGTH:,} are allowed.", field="query"
        )
    text = redactor.clean(request.query, field="query")
    if not text.strip():
        raise Invalid(
            "The query contains only private text, which is never searched for. Ask without it.", field="query"
        )
    created_after, created_before = created_range(request.created_after, request.created_before)
    return Query(
        text=text,
        limit=request.limit,
        scope=request.scope,
        source=request.source,
        owner=None if request.agent is None else AgentId(request.agent),
        session=clean_filter(redactor, request.session, "session"),
        tag=clean_filter(redactor, request.tag, "tag"),
        category=clean_category_filter(redactor, request.category),
        project=clean_project(redactor, request.project),
        now=to_utc(request.now, "now"),
        as_of=to_utc(request.as_of, "asOf"),
        superseded=request.superseded,
        only_fitting=request.only_fitting,
        reads=RERANKED if request.rerank else 0,
        awaits_latest=True,
        diversity=request.diversity,
        budget=request.budget,
        created_after=created_after,
        created_before=created_before,
    )
