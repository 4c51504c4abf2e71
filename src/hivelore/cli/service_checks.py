"""What a running service knows about how it is."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from hivelore.cli.checks import Finding, error, ok, warning

_RESTART = "Run 'hivelore stop' and 'hivelore start'."
_CLOCK_SLACK = timedelta(hours=1)


def readiness(reasons: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """``reasons``: why the service says that it cannot do its work."""
    if not reasons:
        yield ok("readiness", "the service can do its work")
    for reason in reasons:
        since = f"since {reason['since']}" if reason["lasting"] else "perhaps it passes"
        yield error("readiness", f"{reason['message']} ({reason['cause']}, {since})", reason["remedy"])


def problems(status: Mapping[str, Any]) -> Iterator[Finding]:
    """What makes the service do its work less well, of all that stands now: the others keep it from being ready."""
    standing = status.get("problems", ())
    for problem in standing:
        if status["ready"]:
            message, detail = problem["message"], problem["detail"]
            said = message if detail.startswith(message) else f"{message} ({detail})"
            yield warning("degraded", said, problem["remedy"])


def workers(status: Mapping[str, Any]) -> Finding:
    known: Sequence[Mapping[str, Any]] = status.get("workers", ())
    failing = [one for one in known if one["failuresInARow"]]
    if failing:
        said = "; ".join(f"{one['name']} failed {one['failuresInARow']} times: {one['error']}" for one in failing)
        return warning(
            "workers", f"{said.removesuffix('.')}.", "They go on trying by themselves; service.log says more."
        )
    failed = sum(one["failures"] for one in known)
    return ok("workers", f"{len(known)} work" + (f"; {failed} failures since the start are over" if failed else ""))


def version(service: str, ours: str) -> Finding:
    if service != ours:
        return warning("version", f"The service is of version {service}, this command of {ours}.", _RESTART)
    return ok("version", service)


def failed(count: int) -> Finding:
    if count:
        return warning(
            "embeddings",
            f"{count} passages could not be embedded: they are found by keywords only, and tried again by and by.",
            "Run 'hivelore reembed' to try them at once.",
        )
    return ok("embeddings", "none failed")


def queue(status: Mapping[str, Any]) -> Finding:
    pending, trouble = status["pendingEmbeddings"], status["embeddingTrouble"]
    if status["wantedModel"] is None:
        return ok("embedding queue", "no embedding model is configured: keywords only")
    if trouble is not None:
        return error(
            "embedding queue",
            f"{pending} passages wait for a vector, and the embedder does not work: {trouble}",
            "Look at HIVELORE_EMBEDDER and what belongs to it; nothing is lost meanwhile.",
        )
    if pending is None:
        return warning("embedding queue", "The database does not tell what waits.", "See 'readiness' above.")
    return ok("embedding queue", f"{pending} passages wait" if pending else "empty")


def vectors(status: Mapping[str, Any]) -> Finding:
    if status["wantedModel"] is None:
        return ok("vectors", "no embedding model is configured")
    if status["model"] is None:
        return warning(
            "vectors",
            "The embedding model was changed, and until all is embedded anew there are keywords only.",
            "Wait; 'hivelore reembed' shows how far it is.",
        )
    if status["embeddingOutage"] is not None:
        return warning(
            "vectors",
            f"Questions are answered by keywords only: {status['embeddingOutage']}.",
            "Look at the embedding server; once it answers again, it is used at the next question.",
        )
    if not status["vectorsReady"]:
        return warning(
            "vectors",
            "The vector index is not ready: keywords only meanwhile.",
            f"Wait a minute; if it stays so: {_RESTART}",
        )
    return ok("vectors", f"{status['vectors']}, {status['model']}")


def indexes(repairs: Sequence[str]) -> Finding:
    """Of what keywords and vectors find. ``repairs``: what they lacked."""
    if repairs:
        return warning("indexes", " ".join(repairs), "Run 'hivelore doctor' again in a few minutes.")
    return ok("indexes", "complete")


def folders(status: Mapping[str, Any]) -> Finding:
    """Of memories that agents keep as files."""
    trouble, passed = status["foldersTrouble"], status["filesPassedOver"]
    if trouble is not None:
        return warning("folders", trouble, "Look at HIVELORE_WORKSPACE; what is remembered of files stays meanwhile.")
    if passed:
        return warning(
            "folders",
            f"{passed} files in {status['workspace']} are no memories as they are.",
            "service.log says which, and why.",
        )
    return ok("folders", f"{status['filesKnown']} files in {status['workspace']}")


def wall(status: Mapping[str, Any]) -> Iterator[Finding]:
    """Of a database that could refuse by itself what is not for whoever asks."""
    stands = status.get("secondWall")
    if stands is None:
        return
    if stands:
        yield ok("second wall", "the database itself refuses what a viewer may not see")
    else:
        yield warning(
            "second wall",
            "The database itself does not refuse what a viewer may not see: only Hivelore's own filters do.",
            "Let an administrator run: CREATE ROLE hivelore_viewer NOLOGIN; GRANT hivelore_viewer TO the role of "
            "HIVELORE_DATABASE. Then start Hivelore again.",
        )


def clock(newest: datetime | None, now: datetime) -> Finding:
    """``newest``: when the newest memory was made."""
    if newest is not None and newest > now + _CLOCK_SLACK:
        return warning(
            "clock",
            f"The newest memory is from {newest.isoformat(timespec='minutes')}, which is in the future.",
            "Set the clock of this machine, or of the one that wrote it: age counts when memories are ranked.",
        )
    return ok("clock", now.isoformat(timespec="seconds"))
