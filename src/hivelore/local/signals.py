"""Signals that would end this process while a program that it has started still runs."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def exit_on_signals() -> Generator[None]:
    """SIGTERM and SIGHUP raise SystemExit within the block, so that it ends what it has started. An ignored signal
    stays ignored. Has an effect in the main thread only."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    with _handled([one for one in _ENDING[1:] if signal.getsignal(one) is signal.SIG_DFL], leave):
        yield


@contextmanager
def deferred_signals() -> Generator[None]:
    """SIGINT, SIGTERM and SIGHUP wait for the end of the block. Has an effect in the main thread only."""
    held: list[int] = []
    try:
        with _handled(
            [one for one in _ENDING if signal.getsignal(one) is not signal.SIG_IGN], lambda n, _: held.append(n)
        ):
            yield
    finally:
        if held:
            signal.raise_signal(held[0])


@contextmanager
def _handled(numbers: list[signal.Signals], handler: "signal._HANDLER") -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, handler) for one in numbers}
    try:
        yield
    finally:
        for one, former in before.items():
            signal.signal(one, former)
