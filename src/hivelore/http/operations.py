"""Declared operations as HTTP routes: authentication, thread pools, and the run of an operation.

Blocking calls run in bounded thread pools, one for each lane. A full pool refuses calls at once, so that a flood does
not become an endless queue. Callers are served round-robin: one with many calls does not delay one with few.
"""

import asyncio
import logging
import os
import re
import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from urllib.parse import unquote

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from hivelore.core.agents import Interface, Viewer
from hivelore.core.clock import Clock
from hivelore.core.operation import Call, Lane, Operation, Waiting
from hivelore.core.values import convert, decode, from_text, is_shown, list_fields
from hivelore.errors import Invalid, Overloaded, Unavailable
from hivelore.health.model import Cause
from hivelore.health.state import HealthState
from hivelore.http.metrics import Metrics
from hivelore.http.middleware import Incidents
from hivelore.http.problems import UnsupportedMediaType
from hivelore.identity.service import Agents
from hivelore.runtime.app import Application
from hivelore.runtime.logs import SLOW_REQUEST, log_event

R = TypeVar("R")
T = TypeVar("T")

LOCAL_RECALLS = 2
"""Concurrent recalls if database and model are in this process. A recall is mostly Python, and more threads wait for
each other: eight clients got 69 answers a second with two threads, 54 with four."""
REMOTE_RECALLS = (os.cpu_count() or 2) + 2
"""Concurrent recalls if they wait for a database or embedding server."""
LOCAL_WRITES = 2
"""Concurrent writes if the database is in this process. A write is mostly Python too. With 32 writing clients and
20,000 memories, a recall took 3.7 times as long as alone with 8 threads, 3.3 with 3, and 2.6 with 2; the clients wrote
296, 215 and 203 memories a second."""
REMOTE_WRITES = 64

_THREADS = {Lane.READ: (os.cpu_count() or 2) + 2, Lane.SLOW: 2}
_WAITING = {Lane.RECALL: 256, Lane.READ: 256, Lane.WRITE: 512, Lane.SLOW: 8}
_RETRY_AFTER = 1.0
_ID = re.compile(r"[0-9A-Fa-f-]{6,36}")
"""An id or its beginning."""
FRESH_SECONDS = 1.0
"""Time for which a checked key stays valid. Revoking a key ends that at once."""
OUTAGE_SECONDS = 300.0
"""Time after that for which it may read the status of a service whose database fails."""
_MAX_CHECKED = 4_096
_INTERFACES = {"python": Interface.PYTHON, "cli": Interface.CLI}
DEADLINES = {Lane.RECALL: 10.0, Lane.READ: 10.0, Lane.WRITE: 30.0, Lane.SLOW: 600.0}
"""Maximum seconds for a call."""
_VERSION_DIGITS = 18
"""Maximum digits of a version in If-Match."""


class Pool:
    """Runs at most ``threads`` calls while ``waiting`` more wait. One caller may have three quarters of all places."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"hivelore-{name}")
        self._lock = threading.Lock()
        self._places = threads + waiting
        self._places_of_one = max(threads, self._places * 3 // 4)
        self._taken: Counter[Hashable] = Counter()
        self._lines: OrderedDict[Hashable, deque[tuple[Callable[[], Any], Future[Any]]]] = OrderedDict()
        """Waiting calls by caller. The first caller is served next."""

    async def run(self, call: Callable[[], T], who: Hashable = None) -> T:
        """Runs ``call`` for the caller ``who``. Raises Overloaded if all places, or all places of one caller, are
        taken."""
        future: Future[T] = Future()
        with self._lock:
            if self._taken.total() >= self._places or self._taken[who] >= self._places_of_one:
                raise Overloaded(
                    "The service has too many calls at once. Try again in a second.", retry_after=_RETRY_AFTER
                )
            self._executor.submit(self._work)
            self._taken[who] += 1
            self._lines.setdefault(who, deque()).append((call, future))
        future.add_done_callback(lambda _: self._leave(who))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        """Runs a call of the caller who has waited longest for a turn."""
        with self._lock:
            who, line = next(iter(self._lines.items()))
            call, future = line.popleft()
            self._lines.move_to_end(who)
            if not line:
                del self._lines[who]
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(call())
        finally:
            if not future.done():  # The error belongs to the waiting caller.
                future.set_exception(sys.exc_info()[1])

    def _leave(self, who: Hashable) -> None:
        with self._lock:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
        for line in self._lines.values():
            for _, future in line:
                future.cancel()


class Pools:
    def __init__(self, recalls: int = REMOTE_RECALLS, writes: int = REMOTE_WRITES) -> None:
        """``recalls``, ``writes``: how many run concurrently."""
        threads = {**_THREADS, Lane.RECALL: recalls, Lane.WRITE: writes}
        self._pools = {lane: Pool(lane.value, threads[lane], _WAITING[lane]) for lane in Lane}

    async def run(self, lane: Lane, call: Callable[[], T], who: Hashable = None) -> T:
        return await self._pools[lane].run(call, who)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()


@dataclass(frozen=True, slots=True)
class _CheckedKey:
    viewer: Viewer
    until: float


class Authenticator:
    """Finds the viewer for the key of a request, and keeps the answer for a second."""

    def __init__(self, agents: Agents, pools: Pools, clock: Clock, health: HealthState) -> None:
        self._agents = agents
        self._pools = pools
        self._clock = clock
        self._health = health
        self._checked: dict[tuple[str | None, str | None, Interface], _CheckedKey] = {}
        """Replaced, not cleared, when keys change: a check that is still running then fills the old one."""
        agents.on_change(self.forget)

    async def viewer(self, request: Request, interface: Interface = Interface.REST) -> Viewer:
        """Returns the viewer. Raises Unauthenticated or Forbidden."""
        named = _interface_of(request) if interface is Interface.REST else interface
        return await self.viewer_of_key(_key_of(request), _agent_of(request), named)

    async def viewer_during_outage(self, request: Request) -> Viewer:
        """Returns the viewer; while the database fails, also one whose key was checked a short while ago."""
        found = self._checked.get((_key_of(request), _agent_of(request), _interface_of(request)))
        if found is None or self._clock.monotonic() - found.until > OUTAGE_SECONDS:
            return await self.viewer(request)
        if self._health.has_failure(Cause.SERVER):  # A check would wait for the database server.
            return found.viewer
        try:
            return await self.viewer(request)
        except Unavailable:
            return found.viewer

    async def viewer_of_key(self, key: str | None, agent: str | None, interface: Interface) -> Viewer:
        caller, now, checked = (key, agent, interface), self._clock.monotonic(), self._checked
        found = checked.get(caller)
        if found is not None and found.until > now:
            return found.viewer
        viewer = await self._pools.run(Lane.READ, lambda: self._agents.viewer(key, interface, agent))
        if len(checked) >= _MAX_CHECKED:
            checked.clear()
        checked[caller] = _CheckedKey(viewer, now + FRESH_SECONDS)
        return viewer

    def forget(self) -> None:
        self._checked = {}


def _interface_of(request: Request) -> Interface:
    return _INTERFACES.get(request.headers.get("x-hivelore-interface", ""), Interface.REST)


def _key_of(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def _agent_of(request: Request) -> str | None:
    given = request.headers.get("x-agent-id")
    return unquote(given).strip() if given else None


def project_of(request: Request) -> str | None:
    given = request.headers.get("x-hivelore-project")
    return unquote(given) if given else None


@dataclass(frozen=True, slots=True)
class Waiter:
    """A caller that may wait for an answer."""

    is_gone: Callable[[], Awaitable[bool]]
    """Returns True if it does not wait any more."""
    authenticate: Callable[[], Awaitable[Viewer]]
    """Returns its viewer, whose key may have been revoked meanwhile. Raises Unauthenticated or Forbidden."""


@dataclass(frozen=True, slots=True)
class Context:
    app: Application
    pools: Pools
    authenticator: Authenticator
    metrics: Metrics
    incidents: Incidents

    def deadline(self, lane: Lane) -> float:
        """Returns the deadline of a call that begins now, on the application's clock."""
        return self.app.clock.monotonic() + DEADLINES[lane]

    async def answer(
        self,
        operation: Operation[..., R],
        request: Any,
        viewer: Viewer,
        project: str | None,
        waiter: Waiter,
    ) -> R:
        """Runs a declared operation in the pool of its lane, counts it, and logs it if it was slow."""
        result = await self._answer_once(operation, request, viewer, project)
        if operation.waiting is not None and (left := operation.waiting.seconds(request)):

            async def again() -> R:
                return await self._answer_once(operation, request, await waiter.authenticate(), project)

            result = await self._await_final(operation.waiting, again, result, left, waiter.is_gone)
        if operation.stored is not None:
            self.metrics.writes.inc(operation.stored(result))
        if operation.retrieval_mode is not None:
            self.metrics.recalls.labels(operation.retrieval_mode(result)).inc()
        return result

    async def _answer_once(self, operation: Operation[..., R], request: Any, viewer: Viewer, project: str | None) -> R:
        began = self.app.clock.monotonic()
        call = Call(viewer=viewer, project=project, deadline=began + DEADLINES[operation.lane])
        try:
            return await self.pools.run(operation.lane, lambda: operation.run(self.app, request, call), viewer.agent)
        finally:
            self._log_if_slow(operation, request, viewer, self.app.clock.monotonic() - began)

    async def _await_final(
        self,
        waiting: Waiting[R],
        again: Callable[[], Awaitable[R]],
        result: R,
        seconds: float,
        is_gone: Callable[[], Awaitable[bool]],
    ) -> R:
        """Runs an operation again after each change until its answer is final or the time is over. No thread waits."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        until = self.app.clock.monotonic() + seconds

        def wake() -> None:
            with suppress(RuntimeError):  # The loop was closed.
                loop.call_soon_threadsafe(changed.set)

        signal = waiting.signal(self.app)
        unsubscribe = signal.subscribe(wake)
        pause = 0.0 if waiting.pause(result) is not None else None
        try:
            while pause is not None and (left := until - self.app.clock.monotonic()) > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), min(pause, left))
                changed.clear()
                if signal.is_closed or await is_gone():
                    break
                result = await again()
                pause = waiting.pause(result)
        finally:
            unsubscribe()
        return result

    def _log_if_slow(self, operation: Operation[..., Any], request: Any, viewer: Viewer, seconds: float) -> None:
        """Logs the operation, its time, the agent, and the ids in the path: no contents."""
        if seconds < SLOW_REQUEST or operation.lane is Lane.SLOW:
            return
        in_path = () if operation.http is None else operation.http.in_path
        ids = {
            field.encode_name: value
            for field in structs.fields(request)
            if field.encode_name in in_path and _ID.fullmatch(value := str(getattr(request, field.name)))
        }
        log_event(
            "Slow request.",
            logging.WARNING,
            operation=operation.name,
            seconds=round(seconds, 3),
            agent=viewer.agent,
            **ids,
        )


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool."""

    context: Context
    viewer: Viewer
    project: str | None


class OperationRoute(Route):
    """A route that names itself in the scope, for metrics and logs. It does not answer HEAD."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        if self.methods:
            self.methods.discard("HEAD")

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        await super().handle(scope, receive, send)


def routes(operations: Sequence[Operation[..., Any]]) -> list[Route]:
    """Returns one route for each operation. Fixed paths come before those with parameters."""
    ordered = sorted(
        (one for one in operations if one.http),
        key=lambda one: [part.startswith("{") for part in one.route.path.split("/")],
    )
    return [
        OperationRoute(one.route.path, _endpoint(one), methods=[one.route.method], name=one.name) for one in ordered
    ]


def _endpoint(operation: Operation[..., Any]) -> Any:
    route = operation.route

    async def endpoint(http: Request) -> Response:
        context: Context = http.app.state.context
        checks = context.authenticator
        viewer = await (checks.viewer_during_outage(http) if operation.during_outage else checks.viewer(http))
        request = await _request(operation, http)
        waiter = Waiter(http.is_disconnected, lambda: checks.viewer(http))
        result = await context.answer(operation, request, viewer, project_of(http), waiter)
        headers = dict(route.headers)
        if result is None:
            return Response(status_code=204, headers=headers)
        if route.etag is not None:
            headers["ETag"] = f'"{route.etag(result)}"'
        other = next((status for status, kind in operation.alternatives.items() if type(result) is kind), None)
        status = other or (route.status if isinstance(route.status, int) else route.status(result))
        return Response(msgspec.json.encode(result), status, headers, media_type="application/json")

    return endpoint


async def _request(operation: Operation[..., Any], http: Request) -> Any:
    route, kind = operation.route, cast(type[Any], operation.request)
    elsewhere: dict[str, Any] = http.path_params
    if route.if_match is not None:
        elsewhere = {**elsewhere, route.if_match: version_of(http.headers.get("if-match"))}
    if not route.takes_body:
        query = _query(kind, http) if http.scope["query_string"] else {}
        return from_text(kind, _merged(query, elsewhere))
    query: dict[str, Any] = {}
    if http.scope["query_string"]:
        if not route.takes_query:
            name = next(iter(http.query_params))
            shown = f" {name!r}" if is_shown(name) else ""
            raise Invalid(f"Unknown parameter{shown}. Send the arguments as JSON in the body.", field="query")
        query = _query(kind, http)
    body = await http.body() or b"{}"
    if body != b"{}" and "json" not in http.headers.get("content-type", ""):
        raise UnsupportedMediaType("Send JSON, and say so: Content-Type: application/json.")
    if not elsewhere and not query:
        return decode(kind, body)
    return convert(kind, _merged(decode(dict[str, Any], body), query | elsewhere))


def _merged(given: dict[str, Any], elsewhere: Mapping[str, Any]) -> dict[str, Any]:
    """Adds the arguments from the path and the headers. Raises Invalid for an argument that comes twice."""
    for name in given.keys() & elsewhere.keys():
        raise Invalid(f"{name} cannot be given here: it comes from the path, the query or a header.", field=name)
    return {**given, **elsewhere}


def version_of(if_match: str | None) -> int | None:
    """Returns the version in a header If-Match, None for no header and for any version. Raises Invalid."""
    if if_match is None or if_match.strip() == "*":
        return None
    number = if_match.strip().removeprefix("W/").strip('"')
    if not (number.isascii() and number.isdigit() and len(number) <= _VERSION_DIGITS):
        raise Invalid('If-Match holds the version, like "3".', field="If-Match")
    return int(number)


def _query(kind: type[Any], http: Request) -> dict[str, Any]:
    lists = list_fields(kind)
    given: dict[str, Any] = {}
    for name, value in http.query_params.multi_items():
        if name in lists:
            given.setdefault(name, []).append(value)
        elif name in given:
            shown = is_shown(name)
            raise Invalid(
                f"{name if shown else 'A parameter'} is given twice. Send it once.", field=name if shown else "query"
            )
        else:
            given[name] = value
    return given
