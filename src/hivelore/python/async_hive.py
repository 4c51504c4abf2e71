"""The asynchronous Python API: the methods of a hive as coroutines."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from hivelore.core.operation import Operation
from hivelore.python.hive import Hive, Method
from hivelore.python.opening import open_hive

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_THREADS = 8
"""Calls of one hive that run at once; others wait for their turn."""


class AsyncMethod(Generic[P, T]):
    """A method of ``Hive`` that runs in a thread and is awaited."""

    def __init__(self, doc: str | None) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, hive: None, owner: type[Any]) -> "AsyncMethod[P, T]": ...

    @overload
    def __get__(self, hive: "AsyncHive", owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(
        self, hive: "AsyncHive | None", owner: type[Any]
    ) -> "AsyncMethod[P, T] | Callable[P, Coroutine[Any, Any, T]]":
        if hive is None:
            return self
        call = getattr(hive.blocking, self._name)

        def method(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            return hive.run(partial(call, *args, **kwargs))

        method.__name__ = method.__qualname__ = self._name
        method.__doc__ = self.__doc__
        return method


@overload
def awaitable(method: Method[P, Any, T]) -> AsyncMethod[P, T]: ...


@overload
def awaitable(method: Callable[Concatenate[Hive, P], T]) -> AsyncMethod[P, T]: ...


def awaitable(method: Any) -> AsyncMethod[Any, Any]:
    """Returns the asynchronous method of the same name, arguments and result."""
    return AsyncMethod(method.__doc__)


class AsyncHive:
    """A store of memories for asynchronous programs; ``hivelore.open_async`` opens one.

    Every method has the arguments, the result and the errors of the method of ``Hive`` with that name. It runs in one
    of eight threads, so the event loop never waits. A call that is cancelled is carried out nevertheless.
    """

    def __init__(self, hive: Hive, threads: ThreadPoolExecutor) -> None:
        self.blocking = hive
        self._threads = threads

    remember = awaitable(Hive.remember)
    remember_many = awaitable(Hive.remember_many)
    recall = awaitable(Hive.recall)
    get = awaitable(Hive.get)
    history = awaitable(Hive.history)
    diff = awaitable(Hive.diff)
    links = awaitable(Hive.links)
    reject_link = awaitable(Hive.reject_link)
    restore_link = awaitable(Hive.restore_link)
    list = awaitable(Hive.list)
    edit = awaitable(Hive.edit)
    forget = awaitable(Hive.forget)
    forget_path = awaitable(Hive.forget_path)
    chunks = awaitable(Hive.chunks)
    index = awaitable(Hive.index)
    rate = awaitable(Hive.rate)
    usefulness = awaitable(Hive.usefulness)
    reset_usefulness = awaitable(Hive.reset_usefulness)
    recalls = awaitable(Hive.recalls)
    stats = awaitable(Hive.stats)
    complete_task = awaitable(Hive.complete_task)
    wait_until_indexed = awaitable(Hive.wait_until_indexed)
    review = awaitable(Hive.review)
    proposal = awaitable(Hive.proposal)
    decide = awaitable(Hive.decide)
    events = awaitable(Hive.events)
    record_event = awaitable(Hive.record_event)
    forget_event = awaitable(Hive.forget_event)
    cooldowns = awaitable(Hive.cooldowns)
    set_cooldown = awaitable(Hive.set_cooldown)
    clear_cooldowns = awaitable(Hive.clear_cooldowns)
    batches = awaitable(Hive.batches)
    batch = awaitable(Hive.batch)
    config = awaitable(Hive.config)
    set_config = awaitable(Hive.set_config)
    delete_config = awaitable(Hive.delete_config)
    resolved_config = awaitable(Hive.resolved_config)
    reveal_config = awaitable(Hive.reveal_config)
    config_history = awaitable(Hive.config_history)
    config_env = awaitable(Hive.config_env)
    check_config = awaitable(Hive.check_config)
    rotate_config_key = awaitable(Hive.rotate_config_key)
    repos = awaitable(Hive.repos)
    repo = awaitable(Hive.repo)
    repo_section = awaitable(Hive.repo_section)
    add_repo = awaitable(Hive.add_repo)
    update_repo = awaitable(Hive.update_repo)
    remove_repo = awaitable(Hive.remove_repo)
    report_clone = awaitable(Hive.report_clone)
    setup_script = awaitable(Hive.setup_script)
    set_setup_script = awaitable(Hive.set_setup_script)
    global_setup_script = awaitable(Hive.global_setup_script)
    set_global_setup_script = awaitable(Hive.set_global_setup_script)
    setup_script_history = awaitable(Hive.setup_script_history)
    diff_setup_script = awaitable(Hive.diff_setup_script)
    restore_setup_script = awaitable(Hive.restore_setup_script)
    undo = awaitable(Hive.undo)
    drop_batch = awaitable(Hive.drop_batch)
    observe = awaitable(Hive.observe)
    context = awaitable(Hive.context)
    operational_memories = awaitable(Hive.operational_memories)
    operational_memory = awaitable(Hive.operational_memory)
    observations = awaitable(Hive.observations)
    change_operational_memory = awaitable(Hive.change_operational_memory)
    forget_operational_memory = awaitable(Hive.forget_operational_memory)
    forget_operational_memories = awaitable(Hive.forget_operational_memories)
    count_decayed = awaitable(Hive.count_decayed)
    maintain = awaitable(Hive.maintain)
    maintenance_job = awaitable(Hive.maintenance_job)
    cancel_maintenance = awaitable(Hive.cancel_maintenance)
    check = awaitable(Hive.check)
    reembed = awaitable(Hive.reembed)
    reembed_job = awaitable(Hive.reembed_job)
    cancel_reembed = awaitable(Hive.cancel_reembed)
    me = awaitable(Hive.me)
    agents = awaitable(Hive.agents)
    add_agent = awaitable(Hive.add_agent)
    join = awaitable(Hive.join)
    profile = awaitable(Hive.profile)
    update_profile = awaitable(Hive.update_profile)
    profile_history = awaitable(Hive.profile_history)
    profile_diff = awaitable(Hive.profile_diff)
    restore_profile = awaitable(Hive.restore_profile)
    reset_agent = awaitable(Hive.reset_agent)
    prompt = awaitable(Hive.prompt)
    revoke_keys = awaitable(Hive.revoke_keys)
    status = awaitable(Hive.status)

    def call(self, operation: Operation[..., R], request: Any) -> Coroutine[Any, Any, R]:
        """Runs a declared operation."""
        return self.run(partial(self.blocking.call, operation, request))

    async def run(self, call: Callable[[], T]) -> T:
        """Runs a function in one of the threads of this hive."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


@asynccontextmanager
async def open_async(
    path_or_url: str | os.PathLike[str] | None = None, *, agent: str | None = None, key: str | None = None
) -> AsyncGenerator[AsyncHive]:
    """Opens a hive for asynchronous code, with the arguments of ``hivelore.open``; closes it at the end.

    Example: ``async with hivelore.open_async() as hive: await hive.recall("why a 403")``
    """
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="hivelore-python") as threads:
        loop = asyncio.get_running_loop()
        hive = await loop.run_in_executor(threads, partial(open_hive, path_or_url, agent=agent, key=key))
        try:
            yield AsyncHive(hive, threads)
        finally:
            # Shielded: a cancelled program closes its data, too.
            await asyncio.shield(loop.run_in_executor(threads, hive.close))
