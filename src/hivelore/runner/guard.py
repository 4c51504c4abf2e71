"""The process between the runner and an agent program. It ends with everything that the program started.

    python -I -S guard.py CONTROL GRACE MARK PROGRAM [ARGUMENT...]

The runner is at the other end of the socket CONTROL. It sends ``t`` to end the program, ``k`` to end it at once; if the
runner dies, the socket closes, which means ``t``. The guard adopts processes that leave the program (on Linux), so that
none is left: after the program has ended, others have a moment to end by themselves. At last the guard reports one line
of JSON: ``{"code": 0}``, the exit code or minus the signal, or ``{"error": "..."}`` for a program that does not start.
MARK is a limit that all processes of the run inherit, by which they are found if the guard itself was killed.

Uses the standard library only, and imports little: one of it runs beside every agent program.
"""

import fcntl
import os
import select
import sys
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # Its C part: the module itself is slower to import than everything else here.

REST = 3.0
"""Seconds for processes that outlive the program: hooks deliver their last event."""
LAST_REST = 1.0
"""Seconds between the request to end and the end of such processes."""
_LONGEST_KILL = 5.0
"""Seconds after which processes that cannot be killed are left."""
_POLL = 0.05
_SUBREAPER = 36
_EMPTY_LOOKS = 5
"""Looks in a row that must find no process: one that goes on in new processes all the time may escape some."""
_BETWEEN_LOOKS = 0.01
_LOCK = "hivelore.lock"
"""Lock of a home folder, which holds the process id of its service. See ``hivelore.local.lock``."""
_DEFAULT_AGAIN = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    control, grace, mark, command = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    os.set_inheritable(control, False)
    wakes = _wake_on_signals()
    _adopt_orphans()
    _mark(mark)
    try:
        agent = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=_DEFAULT_AGAIN)
    except OSError as error:
        why = _quoted(f"{command[0]}: {error.strerror}")
        _report(control, f'{{"error": "{why}"}}')
        return
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    code = _watch(agent, control, wakes, grace)
    _end_others(agent)
    _report(control, f'{{"code": {code}}}')


def _wake_on_signals() -> int:
    """Returns what becomes readable when a child ends, or when somebody wants to end the guard."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(read, False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _ignore)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


def _ignore(_: int, __: object) -> None:
    """Handles a signal, so that it wakes the guard."""


def _adopt_orphans() -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # Not Linux: only the process group is ended.


def _mark(mark: int) -> None:
    """Sets a limit that has no effect otherwise. It is inherited, also without the environment."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_RTTIME, (mark, mark))
    except (ImportError, OSError, AttributeError, ValueError):
        pass  # Not Linux, or a lower limit is set: the environment has the id of the run, too.


def _watch(agent: int, control: int, wakes: int, grace: float) -> int:
    """Returns the exit code of the program, after ending it if that was asked for."""
    end = None
    waiting = [control, wakes]
    while True:
        code = _reap(agent)
        if code is not None:
            return code
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            code = _kill_all(agent)
            if code is not None:
                return code
            _send(agent, signal.SIGKILL)
            left = _POLL
        ready = select.select(waiting, [], [], left)[0]
        wanted = b""
        if wakes in ready and any(number != signal.SIGCHLD for number in os.read(wakes, 4_096)):
            wanted = b"t"
        if control in ready:
            wanted = os.read(control, 16)
            if not wanted:
                wanted = b"t"
                waiting.remove(control)
        if b"k" in wanted:
            end = 0.0
        elif wanted and end is None:
            end = time.monotonic() + grace
            _send(agent, signal.SIGTERM)


def _reap(agent: int) -> "int | None":
    """Reaps all ended children. Returns the exit code of the agent program if it is one of them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == agent:
            code = os.waitstatus_to_exitcode(status)


def _end_others(agent: int) -> None:
    """Waits for the processes that the program has left, then ends them."""
    begun = time.monotonic()
    asked = False
    empty = 0
    while empty < _EMPTY_LOOKS:
        _reap(agent)
        left = _descendants()
        empty = 0 if left else empty + 1
        passed = time.monotonic() - begun
        if passed > REST + LAST_REST:
            _kill_all(agent)
            break
        if passed > REST and not asked:
            asked = True
            for pid in left:
                _send(pid, signal.SIGTERM)
        time.sleep(_POLL if left else _BETWEEN_LOOKS)
    try:
        os.killpg(agent, signal.SIGKILL)
    except OSError:
        pass


def _kill_all(agent: int) -> "int | None":
    """Kills all processes below this one. All are stopped first, so that none starts another one meanwhile. Returns the
    exit code of the agent program if that has ended."""
    end = time.monotonic() + _LONGEST_KILL
    stopped: set[int] = set()
    code = None
    empty = 0
    while empty < _EMPTY_LOOKS and time.monotonic() < end:
        ended = _reap(agent)
        code = ended if code is None else code
        left = _descendants()
        new = [pid for pid in left if pid not in stopped]
        for pid in new:
            _send(pid, signal.SIGSTOP)
        stopped.update(new)
        if new:
            empty = 0
        elif left:
            empty = 0
            for pid in left:
                _send(pid, signal.SIGKILL)
            time.sleep(_BETWEEN_LOOKS)
        else:
            empty += 1
            time.sleep(_BETWEEN_LOOKS)
    for pid in _descendants():  # There was no moment without a new one.
        _send(pid, signal.SIGKILL)
    ended = _reap(agent)
    return ended if code is None else code


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def _descendants() -> "list[int]":
    """Returns the processes below this one, without the service and what is below it. None without /proc."""
    service = _service()
    found: list[int] = []
    left = _children(os.getpid())
    while left:
        pid = left.pop()
        if pid == service:
            continue
        if not _has_ended(pid):
            found.append(pid)
        left += _children(pid)
    return found


def _children(pid: int) -> "list[int]":
    """Returns the children of a process. Much faster than a look at all processes, which short-lived ones escape."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def _has_ended(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return True


def _service() -> int:
    """Returns the process id of the service of this home folder, which a hook may have started; 0 if there is none.
    Others use it, so it stays. It holds the lock, so that its id is that of no other process."""
    try:
        descriptor = os.open(f"{os.environ.get('HIVELORE_HOME', '')}/{_LOCK}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            data = os.pread(descriptor, 4_096, 0)
            pid = data.partition(b'"pid": ')[2].partition(b",")[0]
            return int(pid) if b'"kind": "service"' in data and pid.isdigit() else 0
        return 0
    except OSError:
        return 0
    finally:
        os.close(descriptor)


def _quoted(text: str) -> str:
    return "".join(char if char.isprintable() and char not in '"\\' and char.isascii() else "?" for char in text)


def _report(control: int, line: str) -> None:
    try:
        os.write(control, line.encode() + b"\n")
    except OSError:
        pass  # The runner has died.


if __name__ == "__main__":
    main()
