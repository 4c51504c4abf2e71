"""Verbs about the service on this machine: serve, start, stop, status, mcp, hook."""

import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from hivelore import __version__
from hivelore.cli import checks, exits, output
from hivelore.cli.options import AsJson, whole_number
from hivelore.core.text import counted
from hivelore.errors import Invalid, Unavailable
from hivelore.local import endpoint, launcher, transport
from hivelore.local.lock import Owner, read_owner
from hivelore.python.client import Client
from hivelore.sessions.missed_answers import DAYS

_TIMEOUT = 10.0
_SHORT_TIMEOUT = 2.0
"""Seconds; for a service that is not ready."""


def serve(
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on (default: the host of HIVELORE_URL).")] = None,
    port: Annotated[
        int | None, Parameter(help="Port; 0: any free one (default: the port of HIVELORE_URL).", converter=whole_number)
    ] = None,
) -> None:
    """Run the service in the foreground until Ctrl-C.

    Example: hivelore serve --host 127.0.0.1 --port 0
    """
    if port is not None and not 0 <= port <= 65_535:
        raise Invalid(f"A port is 0 to 65535, not {port}.", field="port")
    if host is not None and not host.strip():
        raise Invalid("--host is empty. Give an address of this machine, or omit it.", field="host")
    from hivelore.http.server import serve as run_service
    from hivelore.runtime.settings import load

    settings = load()
    output.note(f"Hivelore {__version__} opens {settings.home} ...")
    run_service(settings, host=host, port=port, ready=_welcome)
    output.note("Hivelore has stopped.")


_FIRST_STEPS = """
  hivelore remember "..."    remember something
  hivelore recall "..."      find it again
  hivelore doctor            look for problems

To set it up in Claude Code:
  hivelore setup claude-code

Ctrl-C stops it."""


def _welcome(url: str) -> None:
    """Say where the service answers; at a terminal also what to do next. A background start writes to its log."""
    output.say(f"Hivelore {__version__} answers at ", (url, "bold"))
    if sys.stdout.isatty():
        output.say(_FIRST_STEPS)
    sys.stdout.flush()


def start(*, json: AsJson = False) -> None:
    """Start the service in the background.

    Example: hivelore start
    """
    home = endpoint.home()
    chosen = endpoint.given_url()
    if chosen is not None and not transport.is_local(chosen):
        raise Invalid(f"HIVELORE_URL is another machine ({chosen}): start the service there, or unset it.")
    before = read_owner(home)
    url = launcher.ensure(home, is_asked_for=True)
    owner = read_owner(home)
    if json:
        output.print_json({"url": url, "pid": None if owner is None else owner.pid, "started": before != owner})
    elif before == owner:
        output.say(f"Hivelore is already running at {url}.")
    else:
        output.say("Hivelore answers at ", (url, "bold"))


def stop(*, json: AsJson = False) -> None:
    """Stop the service after its current work.

    Example: hivelore stop
    """
    stopped = launcher.stop(endpoint.home())
    if json:
        output.print_json({"stopped": stopped})
    else:
        output.say("Hivelore has stopped." if stopped else "No service was running.")


def status(*, json: AsJson = False) -> int:
    """Show the state of the service.

    Does not start it. The exit code is 6 if no service answers, and 1 if it runs but is not ready.

    Example: hivelore status
    """
    home = endpoint.home()
    owner = read_owner(home)
    url = owner.url if owner is not None and owner.url is not None else endpoint.given_url()
    answer = None if url is None else _ask_status(url, home)
    if url is None or answer is None:
        where = f"on {home}" if url is None or transport.is_local(url) else f"at {url}"
        if json:
            output.print_json({"running": False, "home": str(home)})
        else:
            output.say(f"No service answers {where}. 'hivelore start' starts one.")
        return exits.UNAVAILABLE
    facts = _describe_process(url, home, owner) | answer
    if json:
        output.print_json(facts)
    else:
        _show_status(facts)
    return 0 if facts.get("ready", True) else exits.UNEXPECTED


def _ask_status(url: str, home: Path) -> dict[str, Any] | None:
    """Return the status of a service; None if none answers. Without its database it returns only its problems."""
    if transport.is_local(url) and not launcher.is_alive(url):
        return None
    client = Client(url, endpoint.key(endpoint.OPERATOR_KEY, home), interface="cli")
    try:
        reasons = client.reasons(_TIMEOUT)
    except Unavailable:
        return None
    try:
        return client.call("GET", "/api/status", timeout=_SHORT_TIMEOUT if reasons else _TIMEOUT)
    except Unavailable:
        return {"ready": False, "problems": list(reasons)} if reasons else None
    finally:
        client.close()


def _describe_process(url: str, home: Path, owner: Owner | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"running": True, "url": url, "home": str(home)}
    if owner is not None:
        uptime = output.now() - datetime.fromisoformat(owner.started_at)
        facts |= {"pid": owner.pid, "startedAt": owner.started_at, "uptimeSeconds": round(uptime.total_seconds())}
    return facts


def _show_status(facts: Mapping[str, Any]) -> None:
    if not facts.get("ready", True):
        output.say(("The service runs, but it is not ready.", "bold red"))
    for problem in facts.get("problems", ()):
        output.say((f"{problem['cause']:20}", "bold red"), f"{problem['message']} {problem['remedy']}")
    process = f"{facts['pid']}, started {output.age(facts['startedAt'])}" if "pid" in facts else None
    # The version is missing when the service cannot reach its database.
    known = dict(_summarize(facts)) if "version" in facts else {}
    output.show_fields({"url": facts["url"], "home": facts["home"], "process": process, **known})


def _summarize(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "version", facts["version"]
    yield "database", facts["store"]
    left = facts["pendingKeywords"]
    remaining = f"{counted(left, 'memory', 'memories')} left to index" if left else "complete"
    yield "keyword index", f"{facts['keywords']}, {remaining}"
    if facts["wantedModel"] is None:
        yield "embedding model", "none: keywords only"
    else:
        yield "embedding model", facts["wantedModel"]
        vectors = facts["vectors"] or "vectors of the new model are not complete yet"
        yield "vector index", vectors if facts["vectorsReady"] else f"{vectors}, loading"
        waiting = _count(facts["pendingEmbeddings"], "waiting")
        yield "embeddings", f"{waiting}{_count(facts['failedEmbeddings'], 'failed', before=', ')}" or "complete"
    if facts.get("pendingComparisons") is not None:
        yield "links", _count(facts["pendingComparisons"], "waiting to be compared") or "complete"
    if facts["embeddingTrouble"] is not None:
        yield "embedding error", facts["embeddingTrouble"]
    if facts["embeddingOutage"] is not None:
        yield "embedding outage", facts["embeddingOutage"]
    if facts.get("relevanceOutage") is not None:
        yield "relevance model", facts["relevanceOutage"]
    waiting = _count(facts["pendingSummaries"], "waiting", before=", ")
    yield "summaries", f"{facts['summarizer']}{waiting}{_count(facts['failedSummaries'], 'failed', before=', ')}"
    if facts["summaryTrouble"] is not None:
        yield "summary error", facts["summaryTrouble"]
    if facts["judge"] == "model":
        yield "contradictions", facts["judgeTrouble"] or "judged by the language model"
    if facts["tokensToday"]:
        yield "tokens today", f"{facts['tokensToday']:,} of {facts['tokensADay']:,}"
    skipped = _count(facts["filesPassedOver"], "skipped", before=", ")
    yield "workspace", f"{facts['workspace']}: {counted(facts['filesKnown'], 'file')}{skipped}"
    if facts["foldersTrouble"] is not None:
        yield "workspace error", facts["foldersTrouble"]
    events = _count(facts["hookEventsWaiting"], "waiting"), _count(facts["hookEventsLost"], "lost")
    if any(events):
        yield "hook events", ", ".join(filter(None, events))
    for missed in facts["missedAnswers"] or ():
        yield "missed answers", f"{missed['program']}: {checks.count_misses(missed)} in {DAYS} days"
    failing = [worker["name"] for worker in facts.get("workers", ()) if worker["failuresInARow"]]
    yield "workers", f"failing: {', '.join(failing)}" if failing else f"{len(facts.get('workers', ()))} running"


def _count(number: int | None, what: str, before: str = "") -> str:
    return f"{before}{number:,} {what}" if number else ""


def mcp(
    *,
    project: Annotated[
        str | None,
        Parameter(help="Project name (default: the git repository of the working directory).", metavar="NAME"),
    ] = None,
) -> int:
    """Speak MCP on stdin and stdout.

    Agent programs that start their own tool servers run this. It connects them to the service, and starts the service
    when it does not run. Memories are stored for the project, and searches are limited to it.

    Example: hivelore mcp --project shop
    """
    from hivelore.mcp.bridge import main

    return main(() if project is None else ("--project", project))


def hook(
    *,
    agent: Annotated[str, Parameter(help="Agent program, like claude-code.", metavar="PROGRAM")],
    event: Annotated[
        str | None, Parameter(help="Name of the event (default: as given on stdin).", metavar="NAME")
    ] = None,
    project: Annotated[
        str | None, Parameter(help="Project name (default: that of the working directory).", metavar="NAME")
    ] = None,
) -> None:
    """Deliver an event of an agent program; its hooks run this.

    Reads the event from stdin, and prints the text that the program should inject, if any. Waits at most 200 ms for
    the service. The exit code is always 0; an event that cannot be delivered now is delivered later.

    Example: hivelore hook --agent claude-code
    """
    from hivelore.hooks.client import main

    options = {"--agent": agent, "--event": event, "--project": project}
    main([word for name, value in options.items() if value is not None for word in (name, value)])
