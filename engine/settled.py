"""Requests that were answered and left nothing to remember in the log: refused as wrong, skipped, or nothing new.

A request that follows one of them need not wait for it. In memory and bounded: after a restart, or when one has been
forgotten, the request that follows is refused as busy, and its caller, who has the answer to the first by then, sends
it without naming that one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator

COUNT_MAX = 10_000


class Settled(Collection[bytes]):
    """A set of request hashes that forgets the oldest. Safe to share between threads."""

    def __init__(self, count_max: int = COUNT_MAX) -> None:
        self._count_max = count_max
        self._hashes: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def add(self, request: bytes) -> None:
        """Remember a request."""
        with self._lock:
            self._hashes.pop(request, None)
            self._hashes[request] = None
            if len(self._hashes) > self._count_max:
                del self._hashes[next(iter(self._hashes))]

    def __contains__(self, request: object) -> bool:
        return request in self._hashes

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[bytes]:
        with self._lock:
            return iter(list(self._hashes))
