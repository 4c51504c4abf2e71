"""A hive behind a service."""

import time
from typing import Any

from hivelore.core.operation import Lane, Operation, encode_request, response_type
from hivelore.core.values import convert
from hivelore.errors import Broken, Invalid
from hivelore.python.argument_checks import NUMBER, check
from hivelore.python.client import Client
from hivelore.python.hive import Hive, R

_LOOK_EVERY = 0.1
_USUAL = 60.0
_LONG = 600.0
"""Seconds for what may be about all memories."""


class RemoteHive(Hive):
    """The same as an embedded one, through ``python.client``, which it closes in the end."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _run(self, operation: Operation[..., R], request: Any) -> R:
        sent = encode_request(operation, request)
        timeout = _LONG if operation.lane is Lane.SLOW else _USUAL
        answer = self._client.call(
            sent.method, sent.path, body=sent.body, query=sent.query, version=sent.version, timeout=timeout
        )
        try:
            return convert(response_type(operation, answer), answer)
        except Invalid as error:
            raise Broken(
                f"The service's answer is not as expected ({error}) Its version of Hivelore is another one than "
                "that of this program: update the older one, and restart the service."
            ) from None

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        for _ in range(max(1, round(timeout / _LOOK_EVERY))):
            status = self._client.call("GET", "/api/status")
            if not status["pendingEmbeddings"] and (status["vectorsReady"] or status["vectors"] is None):
                return True
            time.sleep(_LOOK_EVERY)
        return False

    def close(self) -> None:
        self._client.close()
