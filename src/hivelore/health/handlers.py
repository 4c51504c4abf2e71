"""Answers the operation that returns the status of the service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hivelore import __version__
from hivelore.core.operation import Call
from hivelore.core.values import NoArguments
from hivelore.folders.sync import FolderState
from hivelore.health.model import Status
from hivelore.sessions.model import HandoverState

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def get_status(app: Application, request: NoArguments, call: Call) -> Status:
    return read_status(app)


def read_status(app: Application) -> Status:
    current, wanted = app.active_model.current, app.active_model.wanted
    read, settings, health = app.health.try_read, app.settings, app.health.health()
    handovers = read(app.session_summaries.counts) or {}
    folders = FolderState() if app.folders is None else app.folders.state
    return Status(
        version=__version__,
        ready=health.is_ready,
        problems=health.problems,
        workers=health.workers,
        store=app.store.name,
        database_id=read(lambda: _database_id(app)),
        row_level_security=app.store.row_level_security,
        keywords=app.keywords.name,
        pending_keywords=read(lambda: app.index_rebuild.remaining),
        vectors=None if current is None else current.index.name,
        vectors_ready=current is not None and current.index.ready,
        model=None if current is None else current.provider.fingerprint,
        wanted_model=None if wanted is None else wanted.provider.fingerprint,
        pending_embeddings=read(app.embedding.pending),
        failed_embeddings=read(app.embedding.failing),
        pending_comparisons=read(app.comparisons.waiting),
        embedding_trouble=app.embedding.last_error,
        embedding_outage=app.active_model.outage,
        relevance_outage=None if app.relevance_reader is None else app.relevance_reader.outage,
        summarizer=settings.summarizer.value,
        tokens_today=read(app.token_quota.today),
        tokens_a_day=app.token_quota.cap,
        pending_summaries=handovers.get(HandoverState.WAITING),
        failed_summaries=handovers.get(HandoverState.FAILED),
        summary_trouble=app.session_summaries.last_error,
        judge=settings.judge.value,
        judge_trouble=None if app.adjudicator is None else app.adjudicator.last_error,
        hook_events_waiting=read(app.spool_drain.waiting),
        hook_events_lost=read(app.spool_drain.lost),
        missed_answers=read(app.capture.missed_answers),
        briefing_tokens=settings.briefing_tokens,
        prompt_tokens=settings.prompt_tokens,
        workspace=os.path.realpath(settings.workspace_folder),
        files_known=folders.known,
        files_passed_over=folders.skipped,
        folders_looked_at=None if folders.scanned_at is None else folders.scanned_at.isoformat(),
        folders_trouble=folders.problem,
        ranking=settings.ranking.value,
        lead_sees=settings.lead_sees,
        categories=tuple(settings.categories),
        aliases=tuple(settings.aliases),
        memory_budget=settings.memory_budget,
    )


def _database_id(app: Application) -> str | None:
    with app.store.read() as view:
        return view.setting("incarnation")
