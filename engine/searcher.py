"""From a query to an answer, given the legs of the owning shard: embeds and caches queries, fuses, preloads.

Used by retrieval actors and by the embedded store alike. Safe to share between threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from memoray.engine.vector_bytes import from_bytes, to_bytes
from memoray.errors import EmbedderUnavailableError
from memoray.requests import PreloadAnswer, PreloadRequest, ReadAnswer, ReadRequest, SearchAnswer, SearchRequest
from memoray.retrieval.preload import preload
from memoray.retrieval.search import Found, answer
from memoray.validation import TEXT_BYTES_MAX, check_search, check_user_key, clean_text, queries_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoray.entries import Entry
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
        """Find what matters for the queries; keyword legs only where the embedder gives no vectors.

        Messages count for the memories drawn from them where memories alone are asked for, too.
        """
        checked = check_search(request)
        wider = replace(checked, turns=True) if checked.entries else checked
        return answer(checked, self._find(wider, self._query_vectors(queries_of(checked))))

    def preload(self, request: PreloadRequest) -> PreloadAnswer:
        """Memories for a prompt, or none where the store does not answer."""
        user = check_user_key(request.user)
        return preload(
            request.limit,
            clean_text(request.query),
            read=lambda limit: self._read(ReadRequest(user, limit, request.as_of)).entries,
            search=lambda query, limit: self._entries(replace(request, query=query, limit=limit)),
            playbook=request.playbook,
        )

    def _entries(self, request: PreloadRequest) -> tuple[Entry, ...]:
        # A user's message may be longer than a query.
        asked = request.query.encode()[:TEXT_BYTES_MAX].decode(errors="ignore")
        search = SearchRequest(request.user, asked, limit=request.limit, turns=False, as_of=request.as_of)
        found = self.search(search)
        return tuple(hit.entry for hit in found.hits if hit.entry is not None)

    def _query_vectors(self, queries: Sequence[str]) -> bytes | None:
        """Vectors of queries, one after the other; None without queries, and where the embedder gives none."""
        with self._lock:
            known = {query: vector for query in queries if (vector := self._vectors.get(query)) is not None}
        missing = [query for query in queries if query not in known]
        if missing:
            try:
                made = self._embedder.embed(missing, is_query=True)
            except EmbedderUnavailableError:
                return None  # keyword only; the answer says so
            known.update((query, to_bytes(vector)) for query, vector in zip(missing, made, strict=True))
        with self._lock:
            for query in queries:
                if not np.isfinite(from_bytes(known[query])).all():
                    continue  # no vector now, perhaps one the next time
                self._vectors[query] = known[query]
                self._vectors.move_to_end(query)
            while len(self._vectors) > QUERIES_CACHED_MAX:
                self._vectors.popitem(last=False)
        return b"".join(known[query] for query in queries) or None
