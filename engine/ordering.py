"""Which request of a session comes before which, among those of one client that are not answered for good.

A client that hands over more while something is under way, or does not know what became of it, names the request
before, and the shard takes the later one only after that (`SubmitRequest.follows`). After a refusal the later ones are
refused here, at once, until the refused one has been made again. Bounded in number and in age: a request that its
caller has not repeated for ten minutes counts as given up.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from memoray.errors import BusyError

if TYPE_CHECKING:
    from memoray.keys import UserKey

PENDING_SECONDS_MAX = 600.0
SESSIONS_COUNT_MAX = 10_000
BUSY_SECONDS = 1.0

Session = tuple["UserKey", str]


class _Try(msgspec.Struct):
    """A request that is not answered for good: when it was last made, and whether that was refused."""

    made_at: float
    is_refused: bool = False


class SessionOrder:
    """Requests by session, in the order in which they were first made. Safe to share between threads."""

    def __init__(self, *, sessions_count_max: int = SESSIONS_COUNT_MAX) -> None:
        self._sessions_count_max = sessions_count_max
        self._lines: dict[Session, dict[str, _Try]] = {}
        self._lock = threading.Lock()

    def join(self, session: Session, request_id: str, now: float, *, is_whole: bool = False) -> str | None:
        """Put a request into its session's line, where it keeps its place when it is made again.

        Args:
            session: user key and session id.
            request_id: of the request.
            now: seconds on a clock that does not step back.
            is_whole: it hands over the whole session, so it comes after nothing; but others come after it.

        Returns:
            Request id of the one before it; None if it is the first.

        Raises:
            BusyError: the one before was refused and not made again since.
        """
        with self._lock:
            line = self._lines.pop(session, {})
            line = {name: made for name, made in line.items() if now - made.made_at <= PENDING_SECONDS_MAX}
            line[request_id] = _Try(now)
            self._lines[session] = line
            if len(self._lines) > self._sessions_count_max:
                del self._lines[next(iter(self._lines))]
            names = list(line)
            place = names.index(request_id)
            if place == 0 or is_whole:
                return None
            before = names[place - 1]
            if not line[before].is_refused:
                return before
            line[request_id].is_refused = True
        message = (
            f"request {before!r} of session {session[1]!r} was refused: repeat that one first, under this id, "
            "or hand over the whole session; nothing was accepted"
        )
        raise BusyError(message, retry_after=BUSY_SECONDS)

    def refuse(self, session: Session, request_id: str) -> None:
        """A request was refused: nothing of it was accepted."""
        with self._lock:
            made = self._lines.get(session, {}).get(request_id)
            if made is not None:
                made.is_refused = True

    def leave(self, session: Session, request_id: str) -> None:
        """A request is answered for good: what comes after it need not wait for it any more."""
        with self._lock:
            line = self._lines.get(session, {})
            line.pop(request_id, None)
            if not line:
                self._lines.pop(session, None)

    def forget(self, session: Session) -> None:
        """All of a session was handed over, so nothing of it is missing."""
        with self._lock:
            self._lines.pop(session, None)
