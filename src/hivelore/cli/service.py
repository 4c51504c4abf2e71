"""Verbs about the service of this machine: serve, start, stop, status, mcp."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from hivelore import __version__
from hivelore.cli import exits, output
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson, whole
from hivelore.errors import Invalid, Unavailable
from hivelore.local import endpoint, launcher
from hivelore.local.lock import Owner, read_owner
from hivelore.python.client import Client

_PATIENCE = 10.0
_SHORT = 2.0
"""Seconds that one is asked which says that it cannot do its work."""


def serve(
    *,
    host: Annotated[str | None, Parameter(help="Where to listen. Else: the host of HIVELORE_URL.")] = None,
    port: Annotated[
        int | None, Parameter(help="0 takes any free one. Else: the port of HIVELORE_URL.", converter=whole)
    ] = None,
) -> None:
    """Run the service here, until Ctrl-C.

    Example: hivelore serve --host 127.0.0.1 --port 0
    """
    if port is not None and not 0 <= port <= 65_535:
        raise Invalid(f"A port is 0 to 65535, not {port}.", field="port")
    if host is not None and not host.strip():
        raise Invalid("--host is empty: name an address of this machine, or leave it out.", field="host")
    from hivelore.http.server import serve as run_service
    from hivelore.runtime.settings import load

    settings = load()
    output.note(f"Hivelore {__version__} opens {settings.home} ...")
    run_service(settings, host=host, port=port, ready=_welcome)
    output.note("Hivelore has ended.")


def _welcome(url: str) -> None:
    output.say(f"Hivelore {__version__} answers at ", (url, "bold"))
    output.say()
    output.say("  hivelore remember ", ('"..."', "dim"), "    keep something")
    output.say("  hivelore recall ", ('"..."', "dim"), "      find it again")
    output.say("  hivelore doctor            see whether all is well")
    output.say()
    output.say("Claude Code remembers with it after:")
    output.say("  hivelore setup claude-code")
    output.say()
    output.say("Ctrl-C ends it.")
    sys.stdout.flush()


def start(*, json: AsJson = False) -> None:
    """Start the service in the background.

    Example: hivelore start
    """
    home = endpoint.home()
    chosen = endpoint.given_url()
    if chosen is not None and not launcher.is_local(chosen):
        raise Invalid(f"HIVELORE_URL names another place, {chosen}: start the service there, or unset it.")
    before = read_owner(home)
    url = launcher.ensure(home)
    owner = read_owner(home)
    if json:
        output.as_json({"url": url, "pid": None if owner is None else owner.pid, "started": before != owner})
    elif before == owner:
        output.say(f"Hivelore answers at {url} already.")
    else:
        output.say("Hivelore answers at ", (url, "bold"))


def stop(*, json: AsJson = False) -> None:
    """End the service, after what it is doing.

    Example: hivelore stop
    """
    stopped = launcher.stop(endpoint.home())
    if json:
        output.as_json({"stopped": stopped})
    else:
        output.say("Hivelore has ended." if stopped else "No service was running.")


def status(*, json: AsJson = False) -> int:
    """Show how the service is.

    Starts none; exit code 6 where none answers, 1 where one runs that cannot do its work.

    Example: hivelore status
    """
    home = endpoint.home()
    owner = read_owner(home)
    url = owner.url if owner is not None and owner.url is not None else endpoint.given_url()
    told = None if url is None else _asked(url, home)
    if url is None or told is None:
        where = f"on {home}" if url is None or launcher.is_local(url) else f"at {url}"
        if json:
            output.as_json({"running": False, "home": str(home)})
        else:
            output.say(f"No service answers {where}. 'hivelore start' starts one.")
        return exits.UNAVAILABLE
    facts = _process(url, home, owner) | told
    if json:
        output.as_json(facts)
    else:
        _show(facts)
    return 0 if facts.get("ready", True) else exits.UNEXPECTED


def _show(facts: dict[str, Any]) -> None:
    if not facts.get("ready", True):
        output.say(("The service runs, but cannot do its work.", "bold red"))
    for problem in facts.pop("problems", ()):
        output.say((f"{problem['cause']:20}", "bold red"), f"{problem['message']} {problem['remedy']}")
    if (workers := facts.pop("workers", None)) is not None:
        failing = [worker["name"] for worker in workers if worker["failuresInARow"]]
        facts["workers"] = f"{len(workers)}, failing: {', '.join(failing)}" if failing else len(workers)
    for name, value in list(facts.items())[1:]:
        output.say((f"{name:20}", "dim"), "-" if value is None else str(value))


def _asked(url: str, home: Path) -> dict[str, Any] | None:
    """What a service says of itself; None where none answers. One whose database fails knows nobody who asks, and says
    only why."""
    if launcher.is_local(url) and not launcher.is_alive(url):
        return None
    client = Client(url, endpoint.key(endpoint.OPERATOR_KEY, home), interface="cli")
    try:
        reasons = client.reasons(_PATIENCE)
    except Unavailable:
        return None
    try:
        return client.call("GET", "/api/status", timeout=_SHORT if reasons else _PATIENCE)
    except Unavailable:
        return {"ready": False, "problems": list(reasons)} if reasons else None
    finally:
        client.close()


def _process(url: str, home: Path, owner: Owner | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"running": True, "url": url, "home": str(home)}
    if owner is not None:
        uptime = now() - datetime.fromisoformat(owner.started_at)
        facts |= {"pid": owner.pid, "startedAt": owner.started_at, "uptimeSeconds": round(uptime.total_seconds())}
    return facts


def mcp(
    *,
    project: Annotated[
        str | None, Parameter(help="A project's name. Else: the git repository it is started in.", metavar="NAME")
    ] = None,
) -> int:
    """Speak MCP on stdin and stdout.

    The bridge between the service, which it starts when it does not run, and an agent that starts its tools itself.
    What it stores is marked with a project, and what it searches is narrowed to it.

    Example: hivelore mcp --project shop
    """
    from hivelore.mcp.bridge import main

    return main(() if project is None else ("--project", project))


def hook(
    *,
    agent: Annotated[str, Parameter(help="Whose hook it is, like claude-code.", metavar="PROGRAM")],
    event: Annotated[
        str | None, Parameter(help="What the program calls the event. Else: what it says on stdin.", metavar="NAME")
    ] = None,
    project: Annotated[
        str | None, Parameter(help="A project's name. Else: that of the folder it is started in.", metavar="NAME")
    ] = None,
) -> None:
    """Hand an event of an agent program over, for its hooks.

    Takes on stdin what the program tells its hook, and prints what the program is to be told, if anything. Waits
    200 ms for the service at most, and ends with 0 whatever is wrong; what cannot be handed over is delivered later.

    Example: hivelore hook --agent claude-code
    """
    from hivelore.hooks.client import main

    options = {"--agent": agent, "--event": event, "--project": project}
    main([word for name, value in options.items() if value is not None for word in (name, value)])
