"""Loads the MCP interface in the background: its library takes nearly as long to import as everything else together."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from hivelore.http.operations import Context

if TYPE_CHECKING:
    from hivelore.mcp.server import McpServer

PATH = "/mcp"
_QUIET = 3.0
"""Seconds after the start in which the first requests and the loading of vectors have priority."""


class LazyMcpServer:
    """ASGI application for one path; ``opened`` spans its lifetime.

    It loads shortly after the start, or with the first request, which waits for it. Other requests run meanwhile.
    """

    def __init__(self, context: Context, loaded: Callable[[], None]) -> None:
        """``loaded`` is called when the library is loaded."""
        self._context = context
        self._loaded = loaded
        self._asked = asyncio.Event()
        self._loading: asyncio.Task[McpServer] | None = None
        self._open = asyncio.Event()

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        self._loading = asyncio.create_task(self._load())
        over = asyncio.Event()
        journal = asyncio.create_task(self._keep(self._loading, over))
        try:
            yield
        finally:
            over.set()
            if not self._open.is_set():
                journal.cancel()
            with suppress(asyncio.CancelledError):
                await journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._loading is not None, "opened() is not active"
        self._asked.set()
        # A cancelled request stops only its own wait. If loading failed, every request gets the error.
        interface = await asyncio.shield(self._loading)
        await self._open.wait()
        await interface(scope, receive, send)

    async def _keep(self, loading: "asyncio.Task[McpServer]", over: asyncio.Event) -> None:
        """Open the interface and close it at the end: the same task has to do both."""
        interface = await loading
        async with interface.manager.run():
            self._open.set()
            await over.wait()

    async def _load(self) -> "McpServer":
        with suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), _QUIET)
        interface = await asyncio.to_thread(_imported, self._context)
        self._loaded()
        return interface


def _imported(context: Context) -> "McpServer":
    from hivelore.mcp.server import McpServer

    return McpServer(context)
