"""Notices where no other process works on the store."""

from collections.abc import Callable

from hivelore.domain.notice import Notice


class NobodyElse:
    """Implements ``ports.Notices``."""

    def hear(self, notice: Notice, listener: Callable[[], object]) -> None:
        pass

    def run(self) -> None:
        pass

    def tell(self, notice: Notice) -> None:
        pass

    def close(self) -> None:
        pass
