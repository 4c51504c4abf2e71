"""Status of a running application: engines, models, queues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hivelore import __version__
from hivelore.folders.sync import FolderState
from hivelore.health import health_codec as wire
from hivelore.review.proposals import dropped_count
from hivelore.sessions.model import HandoverState

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def of(app: Application) -> Mapping[str, object]:
    """Returns the status, without texts and names. Values from the database are None while it is unavailable."""
    current, wanted = app.active_model.current, app.active_model.wanted
    told = app.health.told
    handovers = told(app.session_summaries.counts) or {}
    return {
        "version": __version__,
        **_health(app),
        "store": app.store.name,
        "incarnation": told(lambda: _incarnation(app)),
        "secondWall": app.store.row_level_security,
        "keywords": app.keywords.name,
        "pendingKeywords": told(lambda: app.index_rebuild.remaining),
        "vectors": None if current is None else current.index.name,
        "vectorsReady": current is not None and current.index.ready,
        "model": None if current is None else current.provider.fingerprint,
        "wantedModel": None if wanted is None else wanted.provider.fingerprint,
        "pendingEmbeddings": told(app.embedding.pending),
        "failedEmbeddings": told(app.embedding.failing),
        "embeddingTrouble": app.embedding.last_error,
        "embeddingOutage": app.active_model.outage,
        "summarizer": app.settings.summarizer.value,
        "tokensToday": told(app.token_quota.today),
        "tokensADay": app.token_quota.cap,
        "pendingSummaries": handovers.get(HandoverState.WAITING),
        "failedSummaries": handovers.get(HandoverState.FAILED),
        "summaryTrouble": app.session_summaries.last_error,
        "proposalsDropped": told(lambda: _dropped(app)),
        "judge": app.settings.judge.value,
        "judgeTrouble": None if app.adjudicator is None else app.adjudicator.last_error,
        "hookEventsWaiting": told(app.spool_drain.waiting),
        "hookEventsLost": told(app.spool_drain.lost),
        "briefingTokens": app.settings.briefing_tokens,
        "promptTokens": app.settings.prompt_tokens,
        **_folders(app),
        "ranking": app.settings.ranking.value,
        "leadSees": app.settings.lead_sees.value,
        "categories": list(app.settings.categories),
        "memoryBudget": app.settings.memory_budget,
    }


def _incarnation(app: Application) -> str | None:
    with app.store.read() as view:
        return view.setting("incarnation")


def _dropped(app: Application) -> int:
    with app.store.read() as view:
        return dropped_count(view)


def _health(app: Application) -> dict[str, object]:
    health = app.health.health()
    return {
        "ready": health.is_ready,
        "problems": [wire.problem(one) for one in health.problems],
        "workers": [wire.worker(one) for one in health.workers],
    }


def _folders(app: Application) -> dict[str, object]:
    standing = FolderState() if app.folders is None else app.folders.state
    return {
        "workspace": os.path.realpath(app.settings.workspace_folder),
        "filesKnown": standing.known,
        "filesPassedOver": standing.skipped,
        "foldersLookedAt": None if standing.scanned_at is None else standing.scanned_at.isoformat(),
        "foldersTrouble": standing.problem,
    }
