"""Retrieval actors: from a query to an answer. They own nothing, so any of them may take any query.

One call to the owning shard brings every leg; embedding, fusing and preload are done here.
"""

from __future__ import annotations

from memoray.actors.calls import Caller
from memoray.actors.models import RemoteEmbedder
from memoray.actors.naming import shard_name
from memoray.actors.wire import decode, encode, is_json
from memoray.engine.binding import EmbedderCard
from memoray.engine.searcher import Searcher
from memoray.keys import shard_of
from memoray.requests import PreloadRequest, ReadAnswer, ReadRequest, SearchRequest
from memoray.retrieval.search import Found

CALL_SECONDS_MAX = 30.0


class RetrievalActor:
    """Answers searches and preloads of every user."""

    def __init__(self, shards_count: int, namespace: str, card: bytes) -> None:
        self._shards_count = shards_count
        self._caller = Caller(namespace)
        self._searcher = Searcher(RemoteEmbedder(decode(card, EmbedderCard), namespace), self._find, self._read)

    def search(self, request: bytes) -> bytes:
        """`SearchRequest` in, `SearchAnswer` out."""
        return encode(self._searcher.search(decode(request, SearchRequest)), as_json=is_json(request))

    def preload(self, request: bytes) -> bytes:
        """`PreloadRequest` in, `PreloadAnswer` out: memories for a prompt, or none where the store does not answer."""
        return encode(self._searcher.preload(decode(request, PreloadRequest)), as_json=is_json(request))

    def _find(self, request: SearchRequest, query_vector: bytes | None) -> Found:
        shard = shard_name(shard_of(request.user, self._shards_count))
        found = self._caller.call(shard, "find", (encode(request), query_vector), seconds_max=CALL_SECONDS_MAX)
        return decode(found, Found)

    def _read(self, request: ReadRequest) -> ReadAnswer:
        shard = shard_name(shard_of(request.user, self._shards_count))
        return decode(self._caller.call(shard, "read", (encode(request),), seconds_max=CALL_SECONDS_MAX), ReadAnswer)
