"""HTTP connections to a model server, with pooling, time limits and a few quick retries."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import httpx2
import stamina

from hivelore.core.clock import Clock
from hivelore.models.openai.protocol import Fault, fault_of, message_in

T = TypeVar("T")

ATTEMPTS = 3
FIRST_PAUSE = 0.1
LONGEST_OWN_PAUSE = 1.0
LONGEST_PAUSE = 5.0
"""Seconds, if the server asks for a pause. Longer pauses are left to the embedding queue, which blocks no thread."""

NO_HEADERS: Mapping[str, str] = {}
CONNECT_TIMEOUT = 5.0
MOST_ERROR_BYTES = 65_536
LONGEST_QUOTE = 300


class Connection:
    """Posts to one URL. Thread-safe. Ignores proxies, certificates and passwords of the environment."""

    def __init__(
        self,
        url: httpx2.URL,
        api_key: str | None,
        clock: Clock,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        attempts: int = ATTEMPTS,
        key_setting: str = "OPENAI_API_KEY",
    ) -> None:
        """``headers`` contain the key if it is not sent as a bearer token."""
        # Compressed responses are not accepted, because a small one could expand to gigabytes.
        always = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "hivelore"}
        if api_key is not None and not headers:
            always["Authorization"] = f"Bearer {api_key}"
        self._attempts = attempts
        self._key_setting = key_setting
        self._url = url
        self._api_key = api_key
        self._clock = clock
        self._client = httpx2.Client(
            headers={**always, **headers},
            trust_env=False,
            verify=url.scheme == "https",  # Loading certificates takes 50 ms; plain HTTP does not need them.
            limits=httpx2.Limits(max_connections=16, max_keepalive_connections=4, keepalive_expiry=60.0),
        )

    def ask(self, body: bytes, read: Callable[[bytes], T], *, most_bytes: int, timeout: float) -> T:
        """Returns the result of ``read`` on the response. Raises Fault.

        ``timeout`` limits all attempts, pauses and reads together. It is checked between reads, so the last read may
        take as long again; for the header of a response it limits each read.
        """
        deadline = self._clock.monotonic() + timeout

        def pause(error: Exception) -> bool | float:
            """Returns True to retry, or the pause in seconds that the server asked for."""
            if not isinstance(error, Fault) or not error.passing:
                return False
            wait = LONGEST_OWN_PAUSE if error.retry_after is None else error.retry_after
            if wait > LONGEST_PAUSE or self._clock.monotonic() + wait >= deadline:
                return False
            return True if error.retry_after is None else error.retry_after

        for attempt in stamina.retry_context(
            on=pause,
            attempts=self._attempts,
            timeout=None,
            wait_initial=FIRST_PAUSE,
            wait_jitter=FIRST_PAUSE,
            wait_max=LONGEST_OWN_PAUSE,
        ):
            with attempt:
                return read(self._post(body, most_bytes, deadline))
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        self._client.close()

    def _post(self, body: bytes, most_bytes: int, deadline: float) -> bytes:
        left = max(deadline - self._clock.monotonic(), 0.001)
        timeout = httpx2.Timeout(left, connect=min(left, CONNECT_TIMEOUT))
        try:
            with self._client.stream("POST", self._url, content=body, timeout=timeout) as response:
                if response.status_code != 200:
                    raise self._refusal(response, deadline)
                return self._body(response, most_bytes, deadline)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise Fault(f"cannot be reached ({self._quoted(str(error))})", passing=True, in_vain=True) from None
        except httpx2.TimeoutException as error:
            raise Fault("did not answer in time", passing=True) from error
        except httpx2.HTTPError as error:
            # Not chained: the message of the library may quote the server's response, and that the key.
            raise Fault(f"broke off ({self._quoted(str(error))})", passing=True) from None
        except RuntimeError as error:
            if not self._client.is_closed:
                raise
            raise Fault("cannot be called, because the connection is closed") from error

    def _body(self, response: httpx2.Response, most_bytes: int, deadline: float) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise Fault("sent a compressed response, which was not accepted")
        body = bytearray()
        for piece in response.iter_raw():
            body += piece
            if len(body) > most_bytes:
                raise Fault(f"answered with more than {most_bytes:,} bytes")
            if self._clock.monotonic() >= deadline:
                raise Fault("did not finish its answer in time", passing=True)
        return bytes(body)

    def _refusal(self, response: httpx2.Response, deadline: float) -> Fault:
        try:
            said = self._quoted(message_in(self._body(response, MOST_ERROR_BYTES, deadline)))
        except (httpx2.HTTPError, Fault):
            said = ""  # The status is sufficient.
        return fault_of(response.status_code, response.headers, said, self._clock.now(), self._key_setting)

    def _quoted(self, words: str) -> str:
        """Shortens a message of the server and removes the key."""
        return (words if self._api_key is None else words.replace(self._api_key, "[key]"))[:LONGEST_QUOTE]
