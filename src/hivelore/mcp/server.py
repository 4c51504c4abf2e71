"""MCP over stateless streamable HTTP at /mcp, for both protocol eras, on the official SDK."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ListedTool
from msgspec import to_builtins
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hivelore import __version__
from hivelore.api.registry import OPERATIONS
from hivelore.core.agents import Interface, Role, Viewer
from hivelore.core.operation import Operation
from hivelore.core.sanitizer import sanitize_values
from hivelore.core.tool import Reply, Tool
from hivelore.errors import HiveloreError, Invalid
from hivelore.http.middleware import LARGEST_BODY, Incident
from hivelore.http.operations import Caller, Context, Waiter, project_of
from hivelore.http.problems import of_error
from hivelore.mcp.schemas import Arguments, output_schema
from hivelore.memories.model import NAME_LENGTH
from hivelore.sessions import agent_instructions

_NO_AGENT = "An operator's key speaks for no agent here: say for which one with the header X-Agent-ID."


class _OfferedTool(NamedTuple):
    """A tool as the server lists it, and the function that answers a call."""

    listed: ListedTool
    roles: frozenset[Role]
    capability: str
    answer: Callable[[Caller, Mapping[str, Any], Waiter], Awaitable[Reply]]


class McpServer:
    """An ASGI application for one path. Run ``manager.run()`` around its lifetime."""

    def __init__(self, context: Context) -> None:
        self._context = context
        offered = [_offered(one) for one in OPERATIONS if one.tool is not None]
        self._tools = {one.listed.name: one for one in offered if one.capability in context.app.settings.capabilities}
        server: Server[Any] = Server(
            "hivelore",
            version=__version__,
            instructions=agent_instructions.short_instructions(),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        # The request guard checks Host and Origin before.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self.manager = StreamableHTTPSessionManager(
            server,
            stateless=True,
            json_response=True,
            security_settings=security,
            # The request guard refuses larger requests before, and says why.
            max_request_body_size=LARGEST_BODY,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._context.incidents.logged(lambda: f"authentication of {scope['path']}"):
                await self._context.authenticator.viewer(Request(scope), Interface.MCP)
        except HiveloreError as error:
            await of_error(error)(scope, receive, send)
            return
        except Incident as incident:
            await _nameless(_failure(incident))(scope, receive, send)
            return
        await self.manager.handle_request(scope, receive, send)

    async def _caller(self, ctx: ServerRequestContext[Any, Any]) -> Caller:
        return Caller(self._context, await self._viewer(ctx), project_of(cast(Request, ctx.request)))

    async def _viewer(self, ctx: ServerRequestContext[Any, Any]) -> Viewer:
        return await self._context.authenticator.viewer(cast(Request, ctx.request), Interface.MCP)

    async def _list(self, ctx: ServerRequestContext[Any, Any], _: PaginatedRequestParams | None) -> ListToolsResult:
        try:
            with self._context.incidents.logged(lambda: "tools/list"):
                caller = await self._caller(ctx)
        except (HiveloreError, Incident) as error:
            raise _failure(error) from None
        return ListToolsResult(tools=[one.listed for one in self._tools.values() if caller.viewer.role in one.roles])

    async def _call(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        tool = self._tools.get(params.name)
        try:
            with self._context.incidents.logged(lambda: "tools/call" if tool is None else tool.listed.name):
                return await self._answer(ctx, tool, params)
        except Incident as incident:
            raise _failure(incident) from None

    async def _answer(
        self, ctx: ServerRequestContext[Any, Any], tool: _OfferedTool | None, params: CallToolRequestParams
    ) -> CallToolResult:
        agent: str | None = None
        try:
            caller = await self._caller(ctx)
            agent = caller.viewer.agent
            if agent is None:
                raise Invalid(_NO_AGENT)
            if tool is None or caller.viewer.role not in tool.roles:
                raise Invalid(
                    f"There is no tool {params.name[:NAME_LENGTH]!r} for you. tools/list names those there are."
                )
            waiter = Waiter(cast(Request, ctx.request).is_disconnected, partial(self._viewer, ctx))
            reply = await tool.answer(caller, params.arguments or {}, waiter)
        except HiveloreError as error:
            return _result(Reply(str(error), {}), agent, success=False)
        return _result(reply, agent, success=True)


def _failure(error: HiveloreError | Incident) -> MCPError:
    """What the protocol says where we have failed."""
    return MCPError(INTERNAL_ERROR, str(error), {"id": error.id} if isinstance(error, Incident) else None)


def _nameless(error: MCPError) -> Response:
    """An error that came before anybody looked which request it is."""
    said = error.error.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Response(orjson.dumps({"jsonrpc": "2.0", "id": None, "error": said}), 500, media_type="application/json")


def _offered(operation: Operation[..., Any]) -> _OfferedTool:
    tool = cast(Tool[Any], operation.tool)
    arguments = Arguments(operation, tool)

    async def answer(caller: Caller, given: Mapping[str, Any], waiter: Waiter) -> Reply:
        request = arguments.read(given)
        return tool.reply(await caller.context.answer(operation, request, caller.viewer, caller.project, waiter))

    listed = ListedTool(
        name=tool.name,
        description=tool.description,
        input_schema=arguments.schema,
        output_schema=output_schema(tool),
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )
    return _OfferedTool(listed, operation.roles, tool.capability, answer)


def _result(reply: Reply, agent: str | None, *, success: bool) -> CallToolResult:
    fields = {"yourAgentId": agent, "success": success, "message": reply.message, **reply.data}
    data = {name: sanitize_values(to_builtins(value)) for name, value in fields.items() if value is not None}
    text = orjson.dumps(data).decode()
    return CallToolResult(content=[TextContent(text=text)], structured_content=data, is_error=not success)
