"""From a query to an answer, given the legs of the owning shard: embeds and caches queries, fuses, preloads.

Used by retrieval actors and by the embedded store alike. Safe to share between threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from memoray.engine.projections import to_bytes
from memoray.errors import EmbedderUnavailableError
from memoray.requests import PreloadAnswer, PreloadRequest, ReadAnswer, ReadRequest, SearchAnswer, SearchRequest
from memoray.retrieval.preload import preload
from memoray.retrieval.search import Found, answer
from memoray.validation import check_search, check_user_key, clean_text, is_blank

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.entries import Entry
    from memoray.keys import UserKey
    from memoray.protocols import Embedder

QUERIES_CACHED_MAX = 4096


class Searcher:
    """Answers searches and preloads of every user."""

    def __init__(
        self,
        embedder: Embedder,
        find: Callable[[SearchRequest, bytes | None], Found],
        read: Callable[[ReadRequest], ReadAnswer],
    ) -> None:
        """Answer from what `find` and `read` of the owning shard give."""
        self._embedder = embedder
        self._find = find
        self._read = read
        self._vectors: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Find what matters for a query; keyword legs only where the embedder gives no vector."""
        checked = check_search(request)
        return answer(checked, self._find(checked, self._query_vector(checked.query)))

    def preload(self, request: PreloadRequest) -> PreloadAnswer:
        """Memories for a prompt, or none where the store does not answer."""
        user = check_user_key(request.user)
        return preload(
            request.limit,
            clean_text(request.query),
            read=lambda limit: self._read(ReadRequest(user, limit)).entries,
            search=lambda query, limit: self._entries(user, query, limit),
            playbook=request.playbook,
        )

    def _entries(self, user: UserKey, query: str, limit: int) -> tuple[Entry, ...]:
        found = self.search(SearchRequest(user, query, limit=limit, turns=False))
        return tuple(hit.entry for hit in found.hits if hit.entry is not None)

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
