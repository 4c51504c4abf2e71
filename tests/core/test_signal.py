"""Signals that wake those who wait."""

from threading import Thread

from hivelore.core.signal import Signal


def test_a_waiter_misses_no_change_since_it_began() -> None:
    signal = Signal()
    waiter = signal.waiter()
    signal.notify()
    waiter.wait(60)
    waiting = Thread(target=waiter.wait, args=(60,))
    waiting.start()
    signal.notify()
    waiting.join()
    waiter.close()


def test_a_listener_is_called_until_it_ends_that() -> None:
    signal, heard = Signal(), list[int]()
    ends = [signal.subscribe(lambda number=number: heard.append(number)) for number in range(2)]
    signal.notify()
    ends[0]()
    ends[0]()
    signal.close()
    assert heard == [0, 1, 1]
    assert signal.is_closed
