"""A signal that wakes callers who wait for a change."""

from collections.abc import Callable
from threading import Event, RLock


class Signal:
    """Whoever subscribes before looking misses no change."""

    def __init__(self) -> None:
        self.is_closed = False
        """True once nobody is to wait any more."""
        self._lock = RLock()  # A signal handler of the process may notify while its thread subscribes.
        self._listeners: dict[int, Callable[[], object]] = {}
        self._next = 0

    def subscribe(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls ``listener`` at each change, on the thread of the change. Returns the function that ends that."""
        with self._lock:
            self._next += 1
            number = self._next
            self._listeners[number] = listener

        def unsubscribe() -> None:
            with self._lock:
                self._listeners.pop(number, None)

        return unsubscribe

    def notify(self) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    def close(self) -> None:
        """Wakes all, who then wait no more."""
        self.is_closed = True
        self.notify()

    def waiter(self) -> "Waiter":
        return Waiter(self)


class Waiter:
    """Waits for changes since the last wait, on a blocked thread."""

    def __init__(self, signal: Signal) -> None:
        self._changed = Event()
        self._unsubscribe = signal.subscribe(self._changed.set)

    def wait(self, seconds: float) -> None:
        self._changed.wait(seconds)
        self._changed.clear()

    def close(self) -> None:
        self._unsubscribe()
