"""Metrics in Prometheus' text format."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hivelore.health.model import Cause
from hivelore.health.state import HealthState
from hivelore.sessions.missed_answers import MissedAnswers
from hivelore.tasks.model import MICROS, AgentUsage, TaskCounts

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_TOKENS = ("input", "output", "cache_read", "cache_write")
_LONGEST_LABEL = 100
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.of_all_tasks = CollectorRegistry()
        """What workers do not see: work and costs of others."""
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

    def gauge(self, name: str, text: str, value: Callable[[], float | None]) -> None:
        """Adds a gauge that is read on each scrape; None means that it is unknown now."""

        def read() -> float:
            found = value()
            return math.nan if found is None else found

        Gauge(name, text, registry=self.registry).set_function(read)

    def text(self, usage: Sequence[AgentUsage] = (), *, with_all_tasks: bool = True) -> bytes:
        """``usage``: what the caller may see of the costs of today by agent. ``with_all_tasks``: with the numbers and
        costs of all tasks."""
        by_agent = CollectorRegistry()
        by_agent.register(AgentMetrics(usage))
        registries = (self.registry, *((self.of_all_tasks,) if with_all_tasks else ()), by_agent)
        return b"".join(map(generate_latest, registries))


class HealthMetrics(Collector):
    """Metrics of problems and background workers."""

    def __init__(self, state: HealthState) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        health = self._state.health()
        yield GaugeMetricFamily("hivelore_ready", "Whether the service can do its work.", float(health.is_ready))
        standing = {problem.cause for problem in health.problems}
        problems = GaugeMetricFamily("hivelore_problem", "Problems that stand now.", labels=("cause",))
        failures = CounterMetricFamily("hivelore_failures", "Failures, passing ones included.", labels=("cause",))
        counts = self._state.counts
        for cause in Cause:
            problems.add_metric((cause.value,), float(cause in standing))
            failures.add_metric((cause.value,), counts.get(cause, 0))
        yield problems
        yield failures
        failed = CounterMetricFamily("hivelore_worker_failures", "Failures of background workers.", labels=("worker",))
        streak = GaugeMetricFamily("hivelore_worker_failures_in_a_row", "Since the last success.", labels=("worker",))
        last = GaugeMetricFamily(
            "hivelore_worker_last_success_timestamp_seconds", "0 where there was none.", labels=("worker",)
        )
        for worker in health.workers:
            failed.add_metric((worker.name,), worker.failures)
            streak.add_metric((worker.name,), worker.failures_in_a_row)
            last.add_metric((worker.name,), 0.0 if worker.last_success is None else worker.last_success.timestamp())
        yield from (failed, streak, last)


class TaskMetrics(Collector):
    """Unfinished tasks, and what all tasks used today."""

    def __init__(self, read: Callable[[], TaskCounts | None]) -> None:
        """``read`` returns None while the database is unavailable."""
        self._read = read

    def collect(self) -> Iterator[Metric]:
        counts = self._read()
        tasks = GaugeMetricFamily("hivelore_tasks", "Unfinished tasks.", labels=("state",))
        tokens = GaugeMetricFamily("hivelore_task_tokens", "Tokens of tasks today (UTC).", labels=("kind",))
        money = GaugeMetricFamily("hivelore_task_cost_dollars", "US dollars of tasks today (UTC).")
        if counts is not None:
            for state, count in counts.unfinished.items():
                tasks.add_metric((state.value,), count)
            for kind in _TOKENS:
                tokens.add_metric((kind,), getattr(counts.today, f"{kind}_tokens"))
            money.add_metric((), counts.today.cost_micros / MICROS)
        yield from (tasks, tokens, money)


class AgentMetrics(Collector):
    """What tasks used today, by agent."""

    def __init__(self, usage: Sequence[AgentUsage]) -> None:
        self._usage = usage

    def collect(self) -> Iterator[Metric]:
        tokens = GaugeMetricFamily(
            "hivelore_agent_task_tokens", "Tokens of tasks today (UTC), by agent.", labels=("agent", "name", "kind")
        )
        money = GaugeMetricFamily(
            "hivelore_agent_task_cost_dollars", "US dollars of tasks today (UTC), by agent.", labels=("agent", "name")
        )
        for one in self._usage:
            labels = ("others" if one.agent is None else one.agent, one.name[:_LONGEST_LABEL])
            for kind in _TOKENS:
                tokens.add_metric((*labels, kind), getattr(one.usage, f"{kind}_tokens"))
            money.add_metric(labels, one.usage.cost_micros / MICROS)
        yield from (tokens, money)


class MissedAnswerMetrics(Collector):
    """Answers to hooks that reached no agent program."""

    def __init__(self, read: Callable[[], Iterable[MissedAnswers] | None]) -> None:
        """``read`` returns None while the database is unavailable."""
        self._read = read

    def collect(self) -> Iterator[Metric]:
        missed = GaugeMetricFamily(
            "hivelore_hook_answers_missed",
            "Answers of the last days that reached no agent program.",
            labels=("program", "reason"),
        )
        for one in self._read() or ():
            for reason, count in one.by_reason.items():
                missed.add_metric((one.program, reason.value), count)
        yield missed
