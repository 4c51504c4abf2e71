"""``hivelore mcp``: a bridge for MCP messages between a program's pipes and the service.

It uses little of the standard library, because an agent waits until it has started. Only ``loop`` and ``streams`` are
imported before the first message.

    loop      waits for lines and for the end of the client
    streams   reads and writes lines
    relay     delivers messages, with retries and cancellation
    messages  reads JSON-RPC and writes its errors
    service   finds the service, its key and its connections
"""

from hivelore.mcp.bridge.loop import main

__all__ = ["main"]
