"""What an operator watches, in Prometheus' text format."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One registry per application: two of them in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "hivelore_requests", "Requests by route and status.", ("method", "route", "status"), registry=self.registry
        )
        self.latency = Histogram(
            "hivelore_request_seconds", "Time to answer.", ("route",), registry=self.registry, buckets=_BUCKETS
        )
        self.writes = Counter("hivelore_writes", "Memories stored.", registry=self.registry)
        self.recalls = Counter(
            "hivelore_recalls", "Recalls by the path that answered.", ("path",), registry=self.registry
        )

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """A figure that is looked up whenever somebody asks."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Measured:
    """Pure ASGI: counts and times every request by the route it took."""

    def __init__(self, app: ASGIApp, metrics: Metrics, monotonic: Callable[[], float]) -> None:
        self._app = app
        self._metrics = metrics
        self._monotonic = monotonic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = self._monotonic()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            self._metrics.requests.labels(scope["method"], route, str(status)).inc()
            self._metrics.latency.labels(route).observe(self._monotonic() - began)
