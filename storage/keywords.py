"""Keywords by space: BM25 over a sealed part in Tantivy and a tail of new documents that is scored directly.

A space is any hashable, and each has its own terms: a term is indexed with its space's number in front, so no query can
touch another space's postings. Tantivy finds which documents of the sealed part match; the score is computed here, from
the live documents of the space alone, sealed and new alike (Robertson and Zaragoza, 2009: k1 1.2, b 0.75). So a ranking
depends neither on other spaces nor on when a commit happened, and a new document is found at the cost of a search.

One thread writes; any number search at the same time. A reader may see a change a moment early or late, and filters its
hits against the state it holds.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import TYPE_CHECKING

import tantivy

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

K1 = 1.2
B = 0.75
TERM_BYTES_MAX = 1024
WRITER_HEAP_BYTES = 32 * 2**20


class _Document:
    """What scoring needs to know of a document."""

    __slots__ = ("counts", "key", "length", "number")

    def __init__(self, key: str, number: int, counts: dict[str, int]) -> None:
        self.key = key
        self.number = number
        self.counts = counts
        self.length = sum(counts.values())


class _Space:
    """One space's live documents, their statistics, and the postings of its tail.

    `sealed_count` bounds how many of its documents Tantivy can find; those taken out since still count.
    """

    def __init__(self, number: int) -> None:
        self.prefix = f"{number:x}\x1f"
        self.live: dict[str, _Document] = {}
        self.frequency: dict[str, int] = {}
        self.length = 0
        self.sealed_count = 0
        self.tail: dict[str, dict[str, _Document]] = {}

    def add(self, document: _Document) -> None:
        self.live[document.key] = document
        self.length += document.length
        for term in document.counts:
            self.frequency[term] = self.frequency.get(term, 0) + 1
            self.tail.setdefault(term, {})[document.key] = document

    def remove(self, key: str) -> _Document | None:
        document = self.live.pop(key, None)
        if document is None:
            return None
        self.length -= document.length
        for term in document.counts:
            left = self.frequency[term] - 1
            if left:
                self.frequency[term] = left
            else:
                del self.frequency[term]
            postings = self.tail.get(term)
            if postings is not None:
                postings.pop(key, None)
        return document


class KeywordIndex:
    """BM25 search of documents that are given as terms.

    Attributes:
        tail_count: documents that the next `commit` moves into Tantivy.
    """

    def __init__(self) -> None:
        """Make an empty index, in memory."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("term", stored=False, tokenizer_name="raw", index_option="basic")
        builder.add_unsigned_field("number", stored=False, indexed=True, fast=True)
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema, path=None)
        self._index.config_reader(reload_policy="manual")  # the default policy blocks for 100 ms after a commit
        self._writer = self._index.writer(WRITER_HEAP_BYTES, 1)
        self._searcher = self._index.searcher()
        self._spaces: dict[Hashable, _Space] = {}
        self._sealed: dict[int, _Document] = {}
        self._tail: dict[int, tuple[_Space, _Document]] = {}
        self._gone: list[int] = []
        self._spaces_count = 0
        self._documents_count = 0

    @property
    def tail_count(self) -> int:
        """Documents that the next `commit` moves into Tantivy."""
        return len(self._tail)

    def add(self, space: Hashable, key: str, terms: Iterable[str]) -> None:
        """Add a document; one with the same key is replaced.

        Args:
            space: where.
            key: of the document.
            terms: with repeats; any strings. A very long one counts by its hash.
        """
        self.remove(space, key)
        home = self._spaces.get(space)
        if home is None:
            self._spaces_count += 1
            home = self._spaces[space] = _Space(self._spaces_count)
        self._documents_count += 1
        document = _Document(key, self._documents_count, dict(Counter(_bounded(term) for term in terms)))
        self._tail[document.number] = home, document
        home.add(document)

    def remove(self, space: Hashable, key: str) -> None:
        """Take a document out; a key that is not there is left alone."""
        home = self._spaces.get(space)
        document = None if home is None else home.remove(key)
        if document is not None:
            self._forget(document)

    def drop(self, space: Hashable) -> None:
        """Forget a space."""
        home = self._spaces.pop(space, None)
        if home is not None:
            for document in home.live.values():
                self._forget(document)

    def ids(self, space: Hashable) -> set[str]:
        """Keys of the documents of a space."""
        home = self._spaces.get(space)
        return set() if home is None else set(home.live)

    def commit(self) -> None:
        """Move the tail into Tantivy and take out what is gone; answers stay the same."""
        if not self._tail and not self._gone:
            return
        for number in self._gone:
            self._writer.delete_documents_by_term("number", number)
        for number, (home, document) in self._tail.items():
            made = tantivy.Document()
            made.add_unsigned("number", number)
            for term in document.counts:
                made.add_text("term", home.prefix + term)
            self._writer.add_document(made)
        self._writer.commit()
        self._index.reload()
        # In this order, so that a reader in between finds a document in one part or in both.
        self._sealed.update({number: document for number, (_, document) in self._tail.items()})
        for home, _ in self._tail.values():
            home.sealed_count += 1
        self._searcher = self._index.searcher()
        for home, _ in self._tail.values():
            home.tail = {}
        for number in self._gone:
            self._sealed.pop(number, None)
        self._tail = {}
        self._gone = []

    def search(
        self, space: Hashable, terms: Sequence[str], k: int, allowed: Collection[str] | None = None
    ) -> tuple[list[str], list[float]]:
        """The best documents of a space.

        Args:
            space: where.
            terms: of the query; repeats count once.
            k: most keys to return.
            allowed: only these; None: all. The filter works inside the search.

        Returns:
            Keys and BM25 scores, highest first, ties by key; as many as match any term, at most k.
        """
        home = self._spaces.get(space)
        wanted = list(dict.fromkeys(_bounded(term) for term in terms))
        if home is None or k < 1 or not home.live:
            return [], []
        weights = self._weights(home, wanted)
        if not weights:
            return [], []
        average = max(home.length / max(len(home.live), 1), 1e-9)
        passes = None if allowed is None else frozenset(allowed)
        best: dict[str, float] = {}
        for document in self._matches(home, list(weights)):
            if home.live.get(document.key) is document and (passes is None or document.key in passes):
                best[document.key] = _score(document, weights, average)
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
        return [key for key, _ in ranked], [score for _, score in ranked]

    def _weights(self, home: _Space, terms: Iterable[str]) -> dict[str, float]:
        """Inverse document frequency of each term that the space has, from its own live documents."""
        count = len(home.live)
        weights: dict[str, float] = {}
        for term in terms:
            frequency = home.frequency.get(term, 0)
            if frequency:
                weights[term] = math.log(1 + max(count - frequency + 0.5, 0.5) / (frequency + 0.5))
        return weights

    def _matches(self, home: _Space, terms: list[str]) -> Iterable[_Document]:
        """Documents with any of the terms; perhaps some that are gone, perhaps one twice.

        The tail is looked at first: a commit in between moves documents to where the second look finds them.
        """
        found: dict[int, _Document] = {}
        for term in terms:
            for document in list(home.tail.get(term, {}).values()):
                found[document.number] = document
        searcher = self._searcher
        if home.sealed_count:
            query = tantivy.Query.term_set_query(self._schema, "term", [home.prefix + term for term in terms])
            hits = searcher.search(query, home.sealed_count, count=False).hits
            numbers = searcher.fast_field_values("number", [address for _, address in hits])
            for number in numbers:
                sealed = self._sealed.get(int(number or 0))
                if sealed is not None:
                    found[sealed.number] = sealed
        return found.values()

    def _forget(self, document: _Document) -> None:
        if self._tail.pop(document.number, None) is None:
            self._gone.append(document.number)


def _score(document: _Document, weights: dict[str, float], average: float) -> float:
    norm = K1 * (1 - B + B * document.length / average)
    parts = (
        weight * count * (K1 + 1) / (count + norm)
        for term, weight in weights.items()
        if (count := document.counts.get(term))
    )
    return math.fsum(parts)


def _bounded(term: str) -> str:
    """The term, or its hash where Tantivy could not hold it: over-long, or without a UTF-8 form."""
    try:
        if len(term.encode()) <= TERM_BYTES_MAX:
            return term
    except UnicodeEncodeError:
        pass
    return hashlib.blake2b(term.encode(errors="surrogatepass"), digest_size=16).hexdigest()
