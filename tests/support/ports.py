"""A port for a service in a separate process, which may stop and start again."""

import random
import socket

_GIVEN_TO_NOBODY = range(20_000, 32_000)
"""Below the ephemeral ports that systems assign to connections: one of them could be taken between
the question which is free and the start of the service."""
_chance = random.SystemRandom()


def free_port() -> int:
    while True:
        port = _chance.choice(_GIVEN_TO_NOBODY)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


def free_url() -> str:
    return f"http://127.0.0.1:{free_port()}"
