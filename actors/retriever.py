"""Retrieval actors: from a query to an answer. They own nothing, so any of them may take any query.

One call to the owning shard brings every leg; embedding, fusing and preload are done here.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from memoray.actors.batch import attempt, await_each
from memoray.actors.calls import Caller
from memoray.actors.models import RemoteEmbedder
from memoray.actors.naming import shard_name
from memoray.actors.wire import FindRequest, decode, encode, is_json
from memoray.engine.binding import EmbedderCard
from memoray.engine.bound_embedder import BoundEmbedder
from memoray.engine.searcher import Searcher
from memoray.errors import InvalidRequestError, MemorayError
from memoray.keys import shard_of
from memoray.requests import PreloadAnswer, PreloadRequest, ReadAnswer, ReadRequest, SearchAnswer, SearchRequest
from memoray.retrieval.search import Found

if TYPE_CHECKING:
    from memoray.actors.coalescer import Reply
    from memoray.keys import UserKey

CALL_SECONDS_MAX = 30.0
THREADS_PER_SHARD = 32
METHODS = ("search", "preload")


class RetrievalActor:
    """Answers searches and preloads of every user."""

    def __init__(self, shards_count: int, namespace: str, card: bytes) -> None:
        self._shards_count = shards_count
        self._caller = Caller(namespace)
        known = decode(card, EmbedderCard)
        self._searcher = Searcher(BoundEmbedder(RemoteEmbedder(known, namespace), known), self._find, self._read)
        self._lock = threading.Lock()
        self._pools: dict[int, ThreadPoolExecutor] = {}

    def search(self, request: bytes) -> bytes:
        """`SearchRequest` in, `SearchAnswer` out."""
        return encode(self._searcher.search(decode(request, SearchRequest)), as_json=is_json(request))

    def preload(self, request: bytes) -> bytes:
        """`PreloadRequest` in, `PreloadAnswer` out: memories for a prompt, or none where the store does not answer."""
        return encode(self._searcher.preload(decode(request, PreloadRequest)), as_json=is_json(request))

    def many(self, method: str, requests: list[bytes]) -> list[Reply]:
        """Requests of one of the methods above in, for each its answer, its error, or None: ask again.

        Raises:
            InvalidRequestError: no such method.
        """
        if method not in METHODS:
            message = f"method {method!r}; there are: {', '.join(METHODS)}"
            raise InvalidRequestError(message)
        begun = [attempt(self._begin, method, request) for request in requests]
        replies = await_each(begun, [is_json(request) for request in requests])
        for item in begun:
            if not isinstance(item, MemorayError):
                item.cancel()  # what nobody has begun; whoever asks again begins it
        return replies

    def _begin(self, method: str, request: bytes) -> Future[SearchAnswer] | Future[PreloadAnswer]:
        if method == "search":
            search = decode(request, SearchRequest)
            return self._pool(search.user).submit(self._searcher.search, search)
        preload = decode(request, PreloadRequest)
        return self._pool(preload.user).submit(self._searcher.preload, preload)

    def _pool(self, user: UserKey) -> ThreadPoolExecutor:
        """Threads that wait for the user's shard: one that does not answer holds up no other."""
        shard = shard_of(user, self._shards_count)
        with self._lock:
            if shard not in self._pools:
                self._pools[shard] = ThreadPoolExecutor(THREADS_PER_SHARD, f"memoray-search-{shard}")
            return self._pools[shard]

    def _find(self, request: SearchRequest, query_vector: bytes | None) -> Found:
        return decode(self._ask(request.user, "find", FindRequest(request, query_vector)), Found)

    def _read(self, request: ReadRequest) -> ReadAnswer:
        return decode(self._ask(request.user, "read", request), ReadAnswer)

    def _ask(self, user: UserKey, method: str, request: object) -> bytes:
        shard = shard_name(shard_of(user, self._shards_count))
        return self._caller.ask(shard, method, encode(request), seconds_max=CALL_SECONDS_MAX)
