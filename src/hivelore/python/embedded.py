"""A hive inside this process: it owns its data directory and runs its own background work."""

from typing import Any

from hivelore.core.agents import Viewer
from hivelore.core.json_codec import validated
from hivelore.core.operation import Call, Operation
from hivelore.python.argument_checks import NUMBER, check
from hivelore.python.hive import Hive
from hivelore.python.methods import R
from hivelore.runtime.app import Application


class EmbeddedHive(Hive):
    """Speaks as one viewer with the services of an application that it closes in the end."""

    def __init__(self, app: Application, viewer: Viewer) -> None:
        self._app = app
        self._viewer = viewer

    def call(self, operation: Operation[..., R], request: Any) -> R:
        return operation.run(self._app, validated(request), Call(viewer=self._viewer))

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        return self._app.embedding.wait(timeout)

    def close(self) -> None:
        self._app.close()
