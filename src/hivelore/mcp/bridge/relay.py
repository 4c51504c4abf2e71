"""One message each: to whom it goes, whether again, and what becomes of the answer."""

from _thread import allocate_lock, start_new_thread

from hivelore.errors import HiveloreError, Invalid, Overloaded, TooLarge, Unavailable
from hivelore.mcp.bridge import messages
from hivelore.mcp.bridge.http import Connection, Response, Unanswered, Unsent
from hivelore.mcp.bridge.messages import Message
from hivelore.mcp.bridge.service import Address, Service
from hivelore.mcp.bridge.streams import LARGEST_LINE, Output, say

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hivelore.mcp.bridge.messages import Json

LARGEST_MESSAGE = 16 * 1024 * 1024
"""Bytes that the service takes."""
MOST_AT_ONCE = 32
"""Messages under way; the client has to wait with more."""
MOST_STREAMS = 16
"""Subscriptions besides: they stay as long as the client likes, and must not take the places of the others."""
_TOO_LARGE = f"The message is larger than {LARGEST_MESSAGE // 1024 // 1024} MB. Send it in parts."
_FAULT = "The bridge failed on this message. What it wrote to standard error says why."


class _Call:
    """A message that is under way, or that was refused before it set out."""

    __slots__ = ("connection", "id", "is_cancelled", "is_settled", "message", "refusal", "size")

    def __init__(self, line: bytes) -> None:
        self.size = len(line)
        self.id: Json = None
        self.message: Message | None = None
        self.refusal: HiveloreError | None = None
        self.is_settled = False
        """Whether nobody waits for an answer (any more)."""
        self.is_cancelled = False
        self.connection: Connection | None = None
        try:
            if self.size > LARGEST_LINE:
                raise TooLarge(_TOO_LARGE)
            said = messages.parsed(line)
            self.id = messages.id_of(said)
            self.message = Message(line, said)
            self.is_settled = not self.message.is_request
            if self.size > LARGEST_MESSAGE:
                raise TooLarge(_TOO_LARGE)
        except Invalid as error:
            self.refusal = error


class Relay:
    """Carries messages, each in a thread of its own. ``take``, ``is_full`` and ``finish`` are for one thread."""

    def __init__(self, service: Service, output: Output) -> None:
        self._service = service
        self._output = output
        self._agreed = ""
        self._lock = allocate_lock()
        self._calls: set[_Call] = set()
        self._streams: set[_Call] = set()
        self._busy = allocate_lock()
        """Held as long as there are calls."""

    def is_full(self) -> bool:
        """Whether the next message has to wait: for a place, or because so much is held already."""
        with self._lock:
            return len(self._calls) >= MOST_AT_ONCE or sum(call.size for call in self._calls) > LARGEST_MESSAGE

    def take(self, line: bytes) -> None:
        """Carry what stands in a line, whatever it is."""
        call = _Call(line)
        if call.message is not None and call.message.method == messages.CANCELLED:
            self._cancel(call.message.subject)
            return
        with self._lock:
            if not self._calls:
                self._busy.acquire()
            self._calls.add(call)
        try:
            start_new_thread(self._carry, (call,))
        except RuntimeError:  # This machine has no more threads: then one after the other.
            self._carry(call)

    def finish(self, grace: float) -> None:
        """Wait until nothing is under way, but not longer than ``grace`` seconds."""
        self._busy.acquire(timeout=grace)

    def _cancel(self, subject: "Json") -> None:
        """Over HTTP a request is cancelled by hanging up. Its answer is not wanted any more."""
        with self._lock:
            for call in self._calls | self._streams:
                if not call.is_settled and messages.is_same(call.id, subject):
                    call.is_cancelled = call.is_settled = True
                    if call.connection is not None:
                        call.connection.abort()

    def _carry(self, call: _Call) -> None:
        try:
            if call.refusal is not None:
                raise call.refusal
            if call.message is not None:
                self._deliver(call, call.message, self._asked(call, call.message))
        except HiveloreError as error:
            self._refuse(call, error)
        finally:
            if not call.is_settled:  # A fault of ours, which the interpreter reports on standard error.
                self._settle(call, messages.error(call.id, messages.INTERNAL_ERROR, _FAULT))
            with self._lock:
                self._over(call)
                self._streams.discard(call)
                if call.connection is not None:
                    call.connection.close()

    def _over(self, call: _Call) -> None:
        """It takes no place any more. To be called with the lock."""
        if call in self._calls:
            self._calls.remove(call)
            if not self._calls:
                self._busy.release()

    def _asked(self, call: _Call, message: Message) -> Response:
        """What the service answers, asked a second time where that does no harm."""
        address = self._service.address()
        try:
            response = self._posted(call, message, address)
        except (Unsent, Unanswered) as error:
            if call.is_cancelled or (isinstance(error, Unanswered) and not message.is_repeatable):
                raise
            return self._posted(call, message, self._service.address(failed=address))
        if response.status != 401:
            return response
        # Who is refused was not listened to. The key in the file may be another one by now.
        renewed = self._service.renewed(address)
        return response if renewed is None else self._posted(call, message, renewed)

    def _posted(self, call: _Call, message: Message, address: Address) -> Response:
        connection = address.connection(fresh=not message.is_repeatable)
        with self._lock:
            call.connection = connection
            if call.is_cancelled:
                connection.abort()
        try:
            response = connection.post(address.headers | message.headers(self._agreed), message.body)
        except HiveloreError:
            connection.close()
            raise
        if response.is_over:
            with self._lock:
                call.connection = None
            if not call.is_cancelled:
                address.keep(connection)
        return response

    def _deliver(self, call: _Call, message: Message, response: Response) -> None:
        if response.is_stream:
            self._deliver_stream(call, response)
        elif response.kind == "application/json" and b'"jsonrpc"' in response.body:
            # What went wrong before the service knew which request it was is said without its id.
            answer = response.body if response.status == 200 else messages.addressed(response.body, call.id)
            if answer is None:
                raise _refusal(response)
            if message.method == "initialize":
                self._agreed = messages.agreed_version(answer)
            self._settle(call, answer)
        elif response.status != 202 or message.is_request:
            raise _refusal(response)

    def _deliver_stream(self, call: _Call, response: Response) -> None:
        with self._lock:
            if len(self._streams) >= MOST_STREAMS:
                raise Overloaded(f"{MOST_STREAMS} subscriptions are open. Cancel one of them first.")
            self._streams.add(call)
            self._over(call)
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
        if not call.is_settled:
            call.is_settled = True
            self._output.line(answer)

    def _refuse(self, call: _Call, error: HiveloreError) -> None:
        if call.is_cancelled:
            return
        text = str(error)
        if isinstance(error, Unanswered) and call.message is not None and not call.message.is_repeatable:
            text += " It may have been carried out: look before you ask again."
        say(text)
        self._settle(call, messages.error(call.id, messages.code_of(error), text))


def _refusal(response: Response) -> HiveloreError:
    """Why an answer is none: the service says so itself, or it is no such service."""
    detail = messages.problem(response.body)
    if response.kind == "application/problem+json" and detail:
        return Unavailable(detail)
    return Unavailable(f"What answered (status {response.status}) is not a Hivelore service. Check HIVELORE_URL.")
