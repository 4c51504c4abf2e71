"""Delivers messages to the service and answers to the client, with retries and cancellation."""

from _thread import allocate_lock, start_new_thread

from hivelore.errors import HiveloreError, Invalid, Overloaded, TooLarge, Unavailable
from hivelore.local.transport import Connection, Response, Unanswered, Unsent
from hivelore.mcp.bridge import known_answers, messages
from hivelore.mcp.bridge.messages import Message
from hivelore.mcp.bridge.service import Address, Service
from hivelore.mcp.bridge.streams import LARGEST_LINE, Output, say

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hivelore.mcp.bridge.messages import Json

LARGEST_MESSAGE = 16 * 1024 * 1024
"""Most bytes of a message; the limit of the service."""
MOST_AT_ONCE = 32
"""Most messages in progress; further ones wait."""
MOST_STREAMS = 16
"""Most subscriptions besides these: they may last long, and do not count as messages in progress."""
HANDSHAKE_WAIT = 0.3
"""Seconds until a request of the handshake is answered with what the service answered the last time."""
FIRST_HANDSHAKE_WAIT = 10.0
"""Seconds until it is refused, if the service takes requests and never answered this one before; at most twice as
long."""
_SLOW = "The Hivelore service does not answer. Run 'hivelore doctor'."
_TOO_LARGE = f"The message is larger than {LARGEST_MESSAGE // 1024 // 1024} MB. Send it in parts."
_FAULT = "The bridge failed on this message. See its standard error for the reason."


class _Call:
    """A message in progress, or one that was refused before it was sent."""

    __slots__ = ("connection", "id", "is_cancelled", "is_settled", "message", "refusal", "running", "size")

    def __init__(self, line: bytes) -> None:
        self.size = len(line)
        self.id: Json = None
        self.message: Message | None = None
        self.refusal: HiveloreError | None = None
        self.is_settled = False
        """True if the client does not wait for an answer (any more)."""
        self.is_cancelled = False
        self.connection: Connection | None = None
        self.running = allocate_lock()
        """Held until the service has answered."""
        try:
            if self.size > LARGEST_LINE:
                raise TooLarge(_TOO_LARGE)
            document = messages.parse(line)
            self.id = messages.id_of(document)
            self.message = Message(line, document)
            self.is_settled = not self.message.is_request
            if self.size > LARGEST_MESSAGE:
                raise TooLarge(_TOO_LARGE)
        except Invalid as error:
            self.refusal = error


class Relay:
    """Delivers messages, one thread each. Call ``take``, ``is_full`` and ``finish`` from one thread."""

    def __init__(self, service: Service, output: Output) -> None:
        self._service = service
        self._output = output
        self._agreed = ""
        self._lock = allocate_lock()
        self._calls: set[_Call] = set()
        self._streams: set[_Call] = set()
        self._busy = allocate_lock()
        """Held while there are calls."""
        self._is_slow = False
        """True while the service keeps the client waiting."""

    def is_full(self) -> bool:
        """Return True if the next message must wait because of too many or too large ones."""
        with self._lock:
            return len(self._calls) >= MOST_AT_ONCE or sum(call.size for call in self._calls) > LARGEST_MESSAGE

    def take(self, line: bytes) -> None:
        """Deliver the message in a line."""
        call = _Call(line)
        if call.message is not None and call.message.method == messages.CANCELLED:
            self._cancel(call.message.subject)
            return
        with self._lock:
            if not self._calls:
                self._busy.acquire()
            self._calls.add(call)
        try:
            if call.message is not None and known_answers.is_known(call.message):
                call.running.acquire()
                start_new_thread(self._answer_meanwhile, (call, call.message))
            start_new_thread(self._run, (call,))
        except RuntimeError:  # No more threads are available: deliver it in this one.
            self._run(call)

    def finish(self, grace: float) -> None:
        """Wait until no call is in progress, at most ``grace`` seconds."""
        self._busy.acquire(timeout=grace)

    def _cancel(self, subject: "Json") -> None:
        """Cancel a request by closing its connection."""
        with self._lock:
            for call in self._calls | self._streams:
                if not call.is_settled and messages.is_same(call.id, subject):
                    call.is_cancelled = call.is_settled = True
                    if call.connection is not None:
                        call.connection.abort()

    def _answer_meanwhile(self, call: _Call, message: Message) -> None:
        """Answer a request of the handshake for a service that takes too long: a session starts only then."""
        if call.running.acquire(timeout=0.0 if self._is_slow else HANDSHAKE_WAIT):
            return
        self._is_slow = True
        answer = known_answers.read_answer(message, self._agreed)
        if answer is None:
            # The first start of a service may take longer: then nothing was sent yet.
            while not call.running.acquire(timeout=FIRST_HANDSHAKE_WAIT):
                if call.connection is not None:
                    self._refuse(call, Unavailable(_SLOW))
                    return
        else:
            self._note_version(message, answer)
            self._settle(call, answer)

    def _note_version(self, message: Message, answer: bytes) -> None:
        if message.method == "initialize":
            self._agreed = messages.agreed_version(answer)

    def _run(self, call: _Call) -> None:
        try:
            if call.refusal is not None:
                raise call.refusal
            if call.message is not None:
                self._deliver(call, call.message, self._request(call, call.message))
        except HiveloreError as error:
            self._refuse(call, error)
        finally:
            if call.running.locked():
                call.running.release()
            if not call.is_settled:  # A defect of the bridge, which the interpreter reports on standard error.
                self._settle(call, messages.error(call.id, messages.INTERNAL_ERROR, _FAULT))
            with self._lock:
                self._release(call)
                self._streams.discard(call)
                if call.connection is not None:
                    call.connection.close()

    def _release(self, call: _Call) -> None:
        """Remove a call from those in progress. Call with the lock held."""
        if call in self._calls:
            self._calls.remove(call)
            if not self._calls:
                self._busy.release()

    def _request(self, call: _Call, message: Message) -> Response:
        """Return the answer of the service, after a second request if that is harmless."""
        address = self._service.address()
        try:
            response = self._post(call, message, address)
        except (Unsent, Unanswered) as error:
            if call.is_cancelled or (isinstance(error, Unanswered) and not message.is_repeatable):
                raise
            return self._post(call, message, self._service.address(failed=address))
        if response.status != 401:
            return response
        # A refused request was not executed. The key file may have changed.
        renewed = self._service.renewed(address)
        return response if renewed is None else self._post(call, message, renewed)

    def _post(self, call: _Call, message: Message, address: Address) -> Response:
        connection = address.connection(fresh=not message.is_repeatable)
        headers = address.headers | message.headers(self._agreed)
        with self._lock:
            call.connection = connection
            if call.is_cancelled:
                connection.abort()
        try:
            response = connection.request("POST", "/mcp", headers, message.body)
        except HiveloreError:
            with self._lock:
                call.connection = None
            connection.close()
            raise
        if response.is_complete:
            with self._lock:
                call.connection = None
            if not call.is_cancelled:
                address.keep(connection)
        return response

    def _deliver(self, call: _Call, message: Message, response: Response) -> None:
        if response.is_stream:
            self._deliver_stream(call, response)
        elif response.kind == "application/json" and b'"jsonrpc"' in response.body:
            # An error that the service found before it read the id has none.
            answer = response.body if response.status == 200 else messages.with_id(response.body, call.id)
            if answer is None:
                raise _refusal(response)
            self._is_slow = False
            self._note_version(message, answer)
            self._settle(call, answer)
            if known_answers.is_known(message):
                known_answers.keep_answer(message, self._agreed, answer)
        elif response.status != 202 or message.is_request:
            raise _refusal(response)

    def _deliver_stream(self, call: _Call, response: Response) -> None:
        with self._lock:
            if len(self._streams) >= MOST_STREAMS:
                raise Overloaded(f"{MOST_STREAMS} subscriptions are open. Cancel one of them first.")
            self._streams.add(call)
            self._release(call)
        for event in response.events():
            if call.is_settled:
                return
            if messages.is_answer(event):
                self._settle(call, event)
            else:
                self._output.line(event)
        if not call.is_settled:
            raise Unanswered("The service ended the stream without an answer. Subscribe again.")

    def _settle(self, call: _Call, answer: bytes) -> None:
        with self._lock:
            if call.is_settled:
                return
            call.is_settled = True
        self._output.line(answer)

    def _refuse(self, call: _Call, error: HiveloreError) -> None:
        if call.is_cancelled:
            return
        text = str(error)
        if isinstance(error, Unanswered) and call.message is not None and not call.message.is_repeatable:
            text += " It may have been executed: check before you repeat it."
        say(text)
        self._settle(call, messages.error(call.id, messages.code_of(error), text))


def _refusal(response: Response) -> HiveloreError:
    """Return the error for an answer without a JSON-RPC message."""
    detail = messages.problem(response.body)
    if response.kind == "application/problem+json" and detail:
        return Unavailable(detail)
    return Unavailable(f"What answered (status {response.status}) is not a Hivelore service. Check HIVELORE_URL.")
