"""What a running application says of itself: engines, model, queues."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hivelore import __version__
from hivelore.domain.transcript import HandoverState
from hivelore.services.folders import Standing
from hivelore.services.proposing import dropped

if TYPE_CHECKING:
    from hivelore.app import Application


def of(app: Application) -> Mapping[str, object]:
    """What is running: engines, model, queue. No texts, no names."""
    current, wanted = app.serving.current, app.serving.wanted
    with app.store.read() as view:
        incarnation = view.setting("incarnation")
        handovers = view.handover_counts()
        lost = dropped(view)
    return {
        "version": __version__,
        "store": app.store.name,
        "incarnation": incarnation,
        "secondWall": app.store.has_wall,
        "keywords": app.keywords.name,
        "pendingKeywords": app.reindexing.left,
        "vectors": None if current is None else current.index.name,
        "vectorsReady": current is not None and current.index.ready,
        "model": None if current is None else current.provider.fingerprint,
        "wantedModel": None if wanted is None else wanted.provider.fingerprint,
        "pendingEmbeddings": app.embedding.pending(),
        "failedEmbeddings": app.embedding.failing(),
        "embeddingTrouble": app.embedding.last_error,
        "embeddingOutage": app.serving.outage,
        "summarizer": app.settings.summarizer.value,
        "tokensToday": app.spending.today(),
        "tokensADay": app.spending.cap,
        "pendingSummaries": handovers[HandoverState.WAITING],
        "failedSummaries": handovers[HandoverState.FAILED],
        "summaryTrouble": app.distilling.last_error,
        "proposalsDropped": lost,
        "judge": app.settings.judge.value,
        "judgeTrouble": None if app.adjudicating is None else app.adjudicating.last_error,
        "hookEventsWaiting": app.draining.waiting(),
        "hookEventsLost": app.draining.lost(),
        "briefingTokens": app.settings.briefing_tokens,
        "promptTokens": app.settings.prompt_tokens,
        **_folders(app),
        "ranking": app.settings.ranking.value,
        "leadSees": app.settings.lead_sees.value,
        "categories": list(app.settings.categories),
        "memoryBudget": app.settings.memory_budget,
    }


def _folders(app: Application) -> dict[str, object]:
    standing = Standing() if app.folders is None else app.folders.standing
    return {
        "workspace": os.path.realpath(app.settings.workspace_folder),
        "filesKnown": standing.known,
        "filesPassedOver": standing.passed_over,
        "foldersLookedAt": None if standing.looked_at is None else standing.looked_at.isoformat(),
        "foldersTrouble": standing.trouble,
    }
