"""An OpenAI-compatible endpoint: sends a request until it is answered, refused, or out of time.

Shell: the only module that knows what the `openai` client raises. Nothing of that gets out.
"""

from __future__ import annotations

import importlib
import random
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import openai

from memoray.extraction.retries import RetryRule, UnreadableAnswerError, is_passing, retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

# While an answer is read, the HTTP library's own errors come through; which one that is depends on openai's version.
_HTTP = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
_FAILURES: tuple[type[Exception], ...] = (
    openai.OpenAIError,
    _HTTP.HTTPError,
    _HTTP.InvalidURL,
    TimeoutError,
    UnreadableAnswerError,
)

T = TypeVar("T")

SHOWN_CHARACTERS_MAX = 300
DOUBLINGS_MAX = 4
ANSWER_BYTES_MAX = 64 * 2**20


class EndpointDownError(Exception):
    """No answer now; the same request may be answered later."""


class EndpointRefusedError(Exception):
    """The request will not be answered as it is.

    Attributes:
        status: of the HTTP answer.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Endpoint:
    """Where requests are sent to. Safe to share between threads, whose requests run side by side.

    After a failure that all attempts shared, or while the service has asked to be left alone, requests fail at once
    for a while: who waits for an answer, such as a search, gets on without.
    """

    def __init__(
        self, base_url: str, key: str, *, rule: RetryRule | None = None, attempt_seconds_max: float, rest_seconds: float
    ) -> None:
        """Nothing is sent yet.

        Args:
            base_url: up to and with the version, such as `https://api.openai.com/v1`.
            key: sent as bearer token.
            rule: of retries.
            attempt_seconds_max: time for one attempt.
            rest_seconds: how long requests fail at once after one has failed; doubles with each further one,
                four times.
        """
        self._client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)
        self._base_url = base_url
        self._rule = rule or RetryRule()
        self._attempt_seconds_max = attempt_seconds_max
        self._rest_seconds = rest_seconds
        self._lock = threading.Lock()
        self._rests_until = 0.0
        self._rests_count = 0
        self._reason = ""

    def ask(
        self,
        open_request: Callable[[openai.OpenAI, float], AbstractContextManager[Any]],
        read: Callable[[bytes], T],
        until: float,
    ) -> T:
        """Send a request, again where that may help.

        Args:
            open_request: opens it with a client, given the seconds that it has, with `with_streaming_response`.
            read: makes something of the body; an `UnreadableAnswerError` counts as no answer.
            until: when to have given up, by `time.monotonic`.

        Returns:
            What `read` makes of the answer.

        Raises:
            EndpointRefusedError: the service will not answer this request.
            EndpointDownError: it does not answer now.
        """
        failures = 0
        while True:
            left = until - time.monotonic()
            self._check_rest(left)
            try:
                made = read(self._attempt(open_request, min(left, self._attempt_seconds_max)))
            except openai.APIStatusError as error:
                if not is_passing(error.status_code):
                    raise EndpointRefusedError(self._shown(error), error.status_code) from error
                reason, retry_after = self._shown(error), _retry_after(error)
            except _FAILURES as error:
                reason, retry_after = self._shown(error), None
            else:
                with self._lock:
                    self._rests_count = 0
                return made
            failures += 1
            wait = self._rule.wait(failures, retry_after, random.random())  # noqa: S311 - jitter
            if failures >= self._rule.attempts_max or time.monotonic() + wait >= until:
                self._rest(retry_after, reason)
                raise EndpointDownError(reason)
            time.sleep(wait)

    def _attempt(
        self, open_request: Callable[[openai.OpenAI, float], AbstractContextManager[Any]], seconds: float
    ) -> bytes:
        until = time.monotonic() + seconds
        body = bytearray()
        with open_request(self._client, seconds) as response:
            # The client's own timeout is for each piece; a service that drips would never be out of time.
            for piece in response.iter_bytes():
                body += piece
                if len(body) > ANSWER_BYTES_MAX:
                    message = f"an answer of more than {ANSWER_BYTES_MAX:,} bytes"
                    raise UnreadableAnswerError(message)
                if time.monotonic() > until:
                    message = f"no whole answer within {seconds:.1f} s"
                    raise TimeoutError(message)
        return bytes(body)

    def _check_rest(self, left: float) -> None:
        with self._lock:
            resting, reason = self._rests_until - time.monotonic(), self._reason
        if resting > 0:
            message = f"{reason}; not asked again for {resting:.1f} s"
            raise EndpointDownError(message)
        if left <= 0:
            message = f"{self._base_url}: out of time"
            raise EndpointDownError(message)

    def _rest(self, retry_after: float | None, reason: str) -> None:
        with self._lock:
            seconds = max(self._rest_seconds * 2.0**self._rests_count, retry_after or 0.0)
            self._rests_until = max(self._rests_until, time.monotonic() + seconds)
            self._rests_count = min(self._rests_count + 1, DOUBLINGS_MAX)
            self._reason = reason

    def _shown(self, error: Exception) -> str:
        return f"{self._base_url}: {type(error).__name__}: {str(error)[:SHOWN_CHARACTERS_MAX]}"


def _retry_after(error: openai.APIStatusError) -> float | None:
    headers = {name.lower(): value for name, value in error.response.headers.items()}
    return retry_after_seconds(headers, datetime.now(UTC))
