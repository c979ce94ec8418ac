"""Retrieval actors: from a query to an answer. They own nothing, so any of them may take any query.

One call to the owning shard brings every leg; embedding, fusing and preload are done here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from memoray.actors.calls import Caller
from memoray.actors.models import EmbedderCard, RemoteEmbedder
from memoray.actors.naming import shard_name
from memoray.actors.wire import decode, encode, is_json
from memoray.engine.projections import to_bytes
from memoray.errors import EmbedderUnavailableError
from memoray.keys import shard_of
from memoray.requests import PreloadRequest, ReadAnswer, ReadRequest, SearchAnswer, SearchRequest
from memoray.retrieval.preload import preload
from memoray.retrieval.search import Found, answer
from memoray.validation import check_search, check_user_key, clean_text, is_blank

if TYPE_CHECKING:
    from memoray.entries import Entry
    from memoray.keys import UserKey

QUERIES_CACHED_MAX = 4096
CALL_SECONDS_MAX = 30.0


class RetrievalActor:
    """Answers searches and preloads of every user."""

    def __init__(self, shards_count: int, namespace: str, card: bytes) -> None:
        self._shards_count = shards_count
        self._caller = Caller(namespace)
        self._embedder = RemoteEmbedder(decode(card, EmbedderCard), namespace)
        self._vectors: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def search(self, request: bytes) -> bytes:
        """`SearchRequest` in, `SearchAnswer` out."""
        return encode(self._search(decode(request, SearchRequest)), as_json=is_json(request))

    def preload(self, request: bytes) -> bytes:
        """`PreloadRequest` in, `PreloadAnswer` out: memories for a prompt, or none where the store does not answer."""
        asked = decode(request, PreloadRequest)
        check_user_key(asked.user)
        made = preload(
            asked.limit,
            clean_text(asked.query),
            read=lambda limit: self._read(asked.user, limit),
            search=lambda query, limit: self._entries(asked.user, query, limit),
            playbook=asked.playbook,
        )
        return encode(made, as_json=is_json(request))

    def _search(self, request: SearchRequest) -> SearchAnswer:
        request = check_search(request)
        vector = self._query_vector(request.query)
        found = self._caller.call(
            shard_name(shard_of(request.user, self._shards_count)),
            "find",
            (encode(request), vector),
            seconds_max=CALL_SECONDS_MAX,
        )
        return answer(request, decode(found, Found))

    def _query_vector(self, query: str) -> bytes | None:
        """Vector of a query; None for a blank one and where the embedder gives none."""
        if is_blank(query):
            return None
        with self._lock:
            known = self._vectors.get(query)
            if known is not None:
                self._vectors.move_to_end(query)
                return known
        try:
            made = to_bytes(self._embedder.embed([query])[0])
        except EmbedderUnavailableError:
            return None  # keyword only; the answer says so
        with self._lock:
            self._vectors[query] = made
            if len(self._vectors) > QUERIES_CACHED_MAX:
                self._vectors.popitem(last=False)
        return made

    def _read(self, user: UserKey, limit: int | None) -> tuple[Entry, ...]:
        shard = shard_name(shard_of(user, self._shards_count))
        request = encode(ReadRequest(user, limit))
        return decode(self._caller.call(shard, "read", (request,), seconds_max=CALL_SECONDS_MAX), ReadAnswer).entries

    def _entries(self, user: UserKey, query: str, limit: int) -> tuple[Entry, ...]:
        found = self._search(SearchRequest(user, query, limit=limit, turns=False))
        return tuple(hit.entry for hit in found.hits if hit.entry is not None)
