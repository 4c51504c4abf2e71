"""``hivelore mcp``: carries MCP messages between a program that speaks through pipes and the service.

Standard library only, and little of it, because an agent waits for this to start. What stands here and in
``loop`` and ``streams`` is all that is loaded before the first message; the rest comes with it.

    loop      waits for lines, for the end of the client, and ends
    streams   lines in, lines out
    relay     one message each: to whom, whether again, what becomes of the answer
    messages  what a line of JSON-RPC says, and how an error is said in it
    service   where the service is, with which key, over which connections
    http      HTTP/1.1
"""

from hivelore.mcp.bridge.loop import main

__all__ = ["main"]
