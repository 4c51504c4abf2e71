"""One message each: to whom it goes, whether again, and what becomes of the answer."""

from _thread import allocate_lock, start_new_thread

from hivelore.bridge import messages
from hivelore.bridge.http import Connection, Response, Unanswered, Unsent
from hivelore.bridge.messages import Message
from hivelore.bridge.service import Address, Service
from hivelore.bridge.streams import LARGEST_LINE, Output, say
from hivelore.errors import Expired, HiveloreError, Invalid, Overloaded, TooLarge, Unavailable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hivelore.bridge.messages import Json

LARGEST_MESSAGE = 16 * 1024 * 1024
"""Bytes that the service takes."""
MOST_AT_ONCE = 32
"""Messages under way; the client has to wait with more."""
MOST_STREAMS = 16
"""Subscriptions besides; they stay as long as the client likes, so they must not take the places of the others."""
_UNSURE = " It may have been carried out: look before you ask again."


class _Call:
    """A message that is under way."""

    __slots__ = (
        "connection",
        "id",
        "is_cancelled",
        "is_request",
        "is_settled",
        "is_stream",
        "message",
        "refusal",
        "size",
    )

    def __init__(self, size: int, message: Message | None, identity: "Json", refusal: HiveloreError | None) -> None:
        self.message = message
        self.refusal = refusal
        self.id = identity
        self.size = size
        self.is_request = message is None or message.is_request
        self.is_settled = not self.is_request
        """Whether nobody waits for an answer (any more)."""
        self.is_stream = False
        self.is_cancelled = False
        self.connection: Connection | None = None


class Relay:
    """Carries messages, each in a thread of its own. ``take``, ``is_full`` and ``finish`` belong to the main one."""

    def __init__(self, service: Service, output: Output) -> None:
        self._service = service
        self._output = output
        self._agreed = ""
        self._lock = allocate_lock()
        self._idle = allocate_lock()
        """Held as long as anything but streams is under way."""
        self._calls: dict[int, _Call] = {}
        self._streams: dict[int, _Call] = {}

    def is_full(self) -> bool:
        """Whether the next message has to wait: for a place, or because so much is held already."""
        with self._lock:
            calls = self._calls.values()
            return len(calls) >= MOST_AT_ONCE or sum(call.size for call in calls) > LARGEST_MESSAGE

    def take(self, line: bytes) -> None:
        """Carry what stands in a line, whatever it is."""
        call = _read(line)
        if call.message is not None and call.message.method == messages.CANCELLED:
            self._cancel(call.message.subject)
            return
        with self._lock:
            if not self._calls:
                self._idle.acquire()
            self._calls[id(call)] = call
        try:
            start_new_thread(self._carry, (call,))
        except RuntimeError:  # No more threads on this machine: then one after the other.
            self._carry(call)

    def finish(self, grace: float) -> None:
        """Wait until nothing is under way, but not longer than ``grace`` seconds."""
        self._idle.acquire(timeout=grace)

    def _cancel(self, subject: "Json") -> None:
        """Over HTTP a request is cancelled by hanging up; nobody wants its answer."""
        key = messages.key_of(subject)
        with self._lock:
            for call in (*self._calls.values(), *self._streams.values()):
                if call.message is not None and call.message.is_request and messages.key_of(call.id) == key:
                    call.is_cancelled = call.is_settled = True
                    if call.connection is not None:
                        call.connection.abort()

    def _carry(self, call: _Call) -> None:
        try:
            if call.refusal is not None:
                raise call.refusal
            if call.message is not None:
                self._deliver(call, self._asked(call, call.message))
        except HiveloreError as error:
            self._refuse(call, error)
        finally:
            if not call.is_settled:  # A fault of ours, which the interpreter reports on standard error.
                self._settle(
                    call, messages.error(call.id, messages.INTERNAL_ERROR, "The bridge failed on this message.")
                )
            self._leave(call)

    def _leave(self, call: _Call) -> None:
        with self._lock:
            self._streams.pop(id(call), None)
            if self._calls.pop(id(call), None) is not None and not self._calls:
                self._idle.release()

    def _asked(self, call: _Call, message: Message) -> Response:
        """What the service answers, asked a second time where that does no harm."""
        address = self._service.address()
        try:
            response = self._posted(call, message, address)
        except (Unsent, Unanswered) as error:
            if call.is_cancelled or (isinstance(error, Unanswered) and not message.is_repeatable):
                raise
            address = self._service.address(failed=address)
            return self._posted(call, message, address)
        if response.status == 401:
            # The key in the file may have been replaced. Who is refused has not been listened to.
            renewed = self._service.renewed(address)
            if renewed is not None:
                return self._posted(call, message, renewed)
        return response

    def _posted(self, call: _Call, message: Message, address: Address) -> Response:
        connection = address.connection()
        with self._lock:
            call.connection = connection
            if call.is_cancelled:
                connection.abort()
        try:
            response = connection.post(address.headers | message.headers(self._agreed), message.body)
        except HiveloreError:
            connection.close()
            raise
        if not response.is_stream:
            with self._lock:
                call.connection = None
            if response.is_over and not call.is_cancelled:
                address.keep(connection)
            else:
                connection.close()
        return response

    def _deliver(self, call: _Call, response: Response) -> None:
        if response.is_stream:
            self._deliver_stream(call, response)
        elif response.kind == "application/json" and b'"jsonrpc"' in response.body:
            answer: bytes | None = response.body
            if response.status != 200 and call.message is not None and isinstance(call.id, str | int):
                answer = messages.addressed(response.body, call.id)
            if answer is None:
                raise _refusal(response)
            if call.message is not None and call.message.method == "initialize":
                self._agreed = messages.agreed_version(answer) or self._agreed
            self._settle(call, answer)
        elif response.status != 202 or call.is_request:
            raise _refusal(response)

    def _deliver_stream(self, call: _Call, response: Response) -> None:
        with self._lock:
            if len(self._streams) >= MOST_STREAMS:
                raise Overloaded(f"There are {MOST_STREAMS} subscriptions open. Cancel one of them first.")
            self._streams[id(call)] = call
            if self._calls.pop(id(call), None) is not None and not self._calls:
                self._idle.release()
        for event in response.events():
            if call.is_cancelled:
                return
            if messages.answers(event):
                self._settle(call, event)
            else:
                self._output.line(event)
        if not call.is_settled:
            raise Unanswered("The service ended the stream without an answer.")

    def _settle(self, call: _Call, answer: bytes) -> None:
        if not call.is_settled:
            call.is_settled = True
            self._output.line(answer)

    def _refuse(self, call: _Call, error: HiveloreError) -> None:
        if call.is_cancelled:
            return
        code = messages.NO_SERVICE
        text = str(error)
        if isinstance(error, Invalid):
            code = messages.PARSE_ERROR if call.message is None and call.id is None else messages.INVALID_REQUEST
        elif isinstance(error, Expired):
            code = messages.TIMED_OUT
        elif isinstance(error, Unanswered) and call.message is not None and not call.message.is_repeatable:
            text += _UNSURE
        say(text)
        self._settle(call, messages.error(call.id, code, text))


def _read(line: bytes) -> _Call:
    if len(line) > LARGEST_LINE:
        return _Call(len(line), None, None, TooLarge(_TOO_LARGE))
    identity: Json = None
    try:
        said = messages.parsed(line)
        identity = messages.id_of(said)
        message = Message(line, said)
    except Invalid as error:
        return _Call(len(line), None, identity, error)
    refusal = TooLarge(_TOO_LARGE) if len(line) > LARGEST_MESSAGE else None
    return _Call(len(line), message, identity, refusal)


_TOO_LARGE = f"The message is larger than {LARGEST_MESSAGE // 1024 // 1024} MB. Send it in parts."


def _refusal(response: Response) -> HiveloreError:
    """Why an answer is none: the service says so itself, or it is no such service."""
    detail, _ = messages.problem(response.body)
    if response.kind == "application/problem+json" and detail:
        return Unavailable(detail)
    return Unavailable(f"What answered (status {response.status}) is not a Hivelore service. Check HIVELORE_URL.")
