"""While one call is under way, the next requests are gathered into one: a call costs the same for one and for many.

No thread of its own: of those who wait, one at a time leads. It sends what has gathered, waits for the replies, hands
them out, and passes the lead on. Whoever is alone pays nothing; whoever gives up harms nobody.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

from memoray.errors import InternalError, MemorayError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What a request is answered with: bytes, its error, or None: not this time, ask again.
Reply = bytes | MemorayError | None


class Flight(Protocol):
    """A call that is under way."""

    def replies(self, timeout: float) -> Sequence[Reply]:
        """One reply for each request, in order.

        Raises:
            TimeoutError: there are none yet; ask again.
            Exception: the call failed, and with it every request in it.
        """
        ...


class NoReplyError(Exception):
    """A request was not answered in time, or the call that carried it failed, which is the cause then.

    Attributes:
        was_sent: it may have been received.
    """

    def __init__(self, *, was_sent: bool) -> None:
        super().__init__("no answer in time")
        self.was_sent = was_sent


class _Asked:
    """One request and who waits for it. `wake` is set once there is something to do: see the reply, or lead."""

    __slots__ = ("failure", "is_over", "reply", "request", "wake", "was_sent")

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.reply: Reply = None
        self.failure: Exception | None = None
        self.is_over = False
        self.was_sent = False
        self.wake = threading.Event()


class Coalescer:
    """Requests of one kind to one receiver, in the order in which they were asked. Safe to share between threads."""

    def __init__(
        self, send: Callable[[list[bytes]], Flight], *, count_max: int, bytes_max: int, seconds_max: float
    ) -> None:
        """Gather requests for `send`, which is never called while its last call is under way.

        Args:
            send: starts a call; what it raises fails the requests that it was given.
            count_max: requests in one call at most.
            bytes_max: bytes in one call at most, unless a single request has more.
            seconds_max: a call that takes longer has failed.
        """
        self._send = send
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._seconds_max = seconds_max
        self._lock = threading.Lock()
        self._waiting: deque[_Asked] = deque()
        self._leader: _Asked | None = None
        # Touched by the leader alone.
        self._flight: Flight | None = None
        self._aboard: list[_Asked] = []
        self._overdue_at = 0.0

    @property
    def waiting_count(self) -> int:
        """Requests that wait for the next call."""
        return len(self._waiting)

    def ask(self, request: bytes, timeout: float) -> bytes:
        """The answer to a request.

        Raises:
            MemorayError: the request's own error.
            NoReplyError: there was none within `timeout` seconds, or the call failed.
        """
        deadline = time.monotonic() + timeout
        asked = _Asked(request)
        with self._lock:
            self._waiting.append(asked)
            if self._leader is None:
                self._leader = asked
        try:
            while not asked.is_over and (left := deadline - time.monotonic()) > 0:
                if self._leader is asked:
                    self._lead(left)
                else:
                    asked.wake.wait(left)
                    asked.wake.clear()
        finally:
            self._leave(asked)
        if isinstance(asked.reply, MemorayError):
            raise asked.reply
        if asked.reply is None:
            raise NoReplyError(was_sent=asked.was_sent) from asked.failure
        return asked.reply

    def _lead(self, seconds_max: float) -> None:
        """Send what waits, unless a call is under way; then wait for that call."""
        if self._flight is None:
            self._take_off()
        if self._flight is None:
            return
        left = self._overdue_at - time.monotonic()
        try:
            replies = self._flight.replies(max(0.0, min(left, seconds_max)))
        except TimeoutError as error:
            if time.monotonic() >= self._overdue_at:
                self._land([], error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what those who wait are told
            self._land([], error)
        else:
            self._land(replies, None)

    def _take_off(self) -> None:
        """Start a call with what waits."""
        self._board()
        try:
            self._flight = self._send([asked.request for asked in self._aboard])
        except Exception as error:  # noqa: BLE001 - likewise
            self._land([], error)
            return
        for asked in self._aboard:
            asked.was_sent = True
        self._overdue_at = time.monotonic() + self._seconds_max

    def _board(self) -> None:
        with self._lock:
            # Nobody, unless an interrupt took the lead from somebody who was about to send.
            self._waiting.extendleft(reversed(self._aboard))
            self._aboard = []
            size = 0
            while self._waiting and len(self._aboard) < self._count_max:
                size += len(self._waiting[0].request)
                if self._aboard and size > self._bytes_max:
                    break
                self._aboard.append(self._waiting.popleft())

    def _land(self, replies: Sequence[Reply], failure: Exception | None) -> None:
        """Hand out what came of a call."""
        aboard, self._aboard, self._flight = self._aboard, [], None
        if failure is None and len(replies) != len(aboard):
            failure = InternalError(f"{len(replies)} replies to {len(aboard)} requests")
        if failure is not None:
            replies = [None] * len(aboard)
        again: list[_Asked] = []
        for asked, reply in zip(aboard, replies, strict=True):
            if asked.is_over:
                continue  # gave up meanwhile
            if reply is None and failure is None:
                again.append(asked)
                continue
            asked.reply, asked.failure, asked.is_over = reply, failure, True
            asked.wake.set()
        if again:
            with self._lock:
                self._waiting.extendleft(asked for asked in reversed(again) if not asked.is_over)

    def _leave(self, asked: _Asked) -> None:
        """Stop waiting; pass the lead on if it is one's own, to somebody who still waits."""
        with self._lock:
            if not asked.is_over:
                asked.is_over = True
                with contextlib.suppress(ValueError):
                    self._waiting.remove(asked)
            if self._leader is asked:
                ahead = (other for other in (*self._aboard, *self._waiting) if not other.is_over)
                self._leader = next(ahead, None)
                if self._leader is not None:
                    self._leader.wake.set()
