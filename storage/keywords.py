"""Keywords by space: BM25 over a sealed part in Tantivy and a tail of new documents that is scored directly.

A space is any hashable, and each has its own terms: a term is indexed with its space's number in front, so no query can
touch another space's postings. Tantivy finds which documents of the sealed part have a term; the score is computed
here, from the live documents of the space alone, sealed and new alike. So a ranking depends neither on other spaces nor
on when a commit happened, and a new document is found at the cost of a search.

One thread writes, commits included; any number search at the same time without a lock. A search answers from one
version of its space (`memoray.storage.keyword_space`), perhaps a moment old; the caller filters the hits against the
state it holds.
"""

from __future__ import annotations

import heapq
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

import tantivy

from memoray.errors import InternalError
from memoray.storage.bm25 import NEVER, Bm25, Document
from memoray.storage.keyword_space import Space

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

WRITER_HEAP_BYTES = 32 * 2**20
# Sums of bounds and sums of parts are rounded differently.
ROUNDING = 1e-9


class _View(NamedTuple):
    """One version of a space, and where to look for its documents."""

    space: Space
    version: int
    tail: dict[str, list[Document]]
    searcher: tantivy.Searcher


class KeywordIndex:
    """BM25 search of documents that are given as terms."""

    def __init__(self) -> None:
        """Make an empty index, in memory."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("term", stored=False, tokenizer_name="raw", index_option="basic")
        builder.add_unsigned_field("number", stored=False, indexed=False, fast=True)
        # The number again, to delete by: with a number as the term tantivy-py 0.27 deletes nothing and says nothing.
        builder.add_text_field("name", stored=False, tokenizer_name="raw", index_option="basic")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema, path=None)
        self._index.config_reader(reload_policy="manual")  # the default policy blocks for 100 ms after a commit
        self._writer = self._index.writer(WRITER_HEAP_BYTES, 1)
        self._searcher = self._index.searcher()
        self._spaces: dict[Hashable, Space] = {}
        self._spaces_count = 0
        self._documents: dict[int, Document] = {}  # those that Tantivy has, dead ones for a commit longer
        self._documents_count = 0
        self._sealed_count = 0
        self._sealed_number = 0  # numbers up to this one were in a tail that has been committed
        self._tail: list[tuple[Space, Document]] = []
        self._gone: list[int] = []
        self._expired: list[int] = []

    @property
    def tail_count(self) -> int:
        """Additions and removals that the next `commit` takes in."""
        return len(self._tail) + len(self._gone)

    def add(self, space: Hashable, key: str, terms: Iterable[str]) -> None:
        """Add a document; one with the same key is replaced, and readers see one or the other.

        Args:
            space: where.
            key: of the document.
            terms: with repeats; any strings. A very long one counts by its hash.
        """
        home = self._spaces.get(space)
        if home is None:
            self._spaces_count += 1
            home = self._spaces[space] = Space(self._spaces_count)
        self._documents_count += 1
        document, old = home.add(key, self._documents_count, terms)
        self._tail.append((home, document))
        if old is not None:
            self._forget(old)

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
            for document in home.retire_all():
                self._forget(document)

    def ids(self, space: Hashable) -> set[str]:
        """Keys of the documents of a space."""
        home = self._spaces.get(space)
        return set() if home is None else set(home.live)

    def count(self, space: Hashable) -> int:
        """How many documents a space has."""
        home = self._spaces.get(space)
        return 0 if home is None else len(home.live)

    def commit(self) -> None:
        """Move the tail into Tantivy and take out what is gone; answers stay the same.

        Raises:
            InternalError: Tantivy holds another number of documents than were given to it.
        """
        if not self._tail and not self._gone:
            return
        for number in self._gone:
            self._writer.delete_documents_by_term("name", f"{number:x}")
        alive = [(home, document) for home, document in self._tail if document.dead == NEVER]
        for home, document in alive:
            made = tantivy.Document()
            made.add_unsigned("number", document.number)
            made.add_text("name", f"{document.number:x}")
            for term in document.terms:
                made.add_text("term", home.prefix + term)
            self._writer.add_document(made)
        self._writer.commit()
        self._index.reload()
        searcher = self._index.searcher()
        self._sealed_count += len(alive) - len(self._gone)
        if searcher.num_docs != self._sealed_count:
            message = f"Tantivy holds {searcher.num_docs} documents after a commit, expected {self._sealed_count}"
            raise InternalError(message)
        self._documents.update((document.number, document) for _, document in alive)
        # The searcher before the tails: a reader takes them in the other order, so it misses nothing in between.
        self._searcher = searcher
        for home, _ in self._tail:
            home.tail = {}
        for number in self._expired:
            del self._documents[number]
        self._expired = self._gone  # a reader may hold the last searcher still
        self._gone = []
        self._tail = []
        self._sealed_number = self._documents_count

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
        if home is None or k < 1:
            return [], []
        view = self._view(home)
        bm25 = home.bm25(terms)  # after the view: its bounds must hold for every document of the view
        passes = allowed if allowed is None or isinstance(allowed, AbstractSet) else frozenset(allowed)
        if passes is not None and len(passes) <= sum(home.frequency.get(term, 0) for term in bm25.weights):
            documents = [document for key in passes if (document := home.live.get(key)) is not None]
            scored = _added_up(dict.fromkeys(documents, 0.0), list(bm25.weights.items()), bm25)
        else:
            scored = self._scored(view, bm25, k, passes)
        if len(scored) > k:
            worst = heapq.nlargest(k, scored.values())[-1]
            scored = {document: score for document, score in scored.items() if score >= worst}
        ranked = sorted((-score, document.key) for document, score in scored.items() if score)[:k]
        return [key for _, key in ranked], [-score for score, _ in ranked]

    def _view(self, home: Space) -> _View:
        """The present version: taken again if a change came in between, so that its parts belong together."""
        while True:
            view = _View(home, home.version, home.tail, self._searcher)
            if home.version == view.version:
                return view

    def _scored(self, view: _View, bm25: Bm25, k: int, passes: AbstractSet[str] | None) -> dict[Document, float]:
        """Scores of all documents that may be among the best k.

        Term by term, the heaviest first. As soon as the terms that are left could not lift a document without any of
        those before them into the best k, their postings (the longest of all) need not be read (Turtle and Flood,
        1995: MaxScore). What is left out is proven not to be among the best: the answer is exact.
        """
        scores: dict[Document, float] = {}
        terms = list(bm25.weights.items())
        bounds = [view.space.part_max(bm25, weight) for _, weight in terms]
        for position, (term, weight) in enumerate(terms):
            if len(scores) > k:
                worst = heapq.nlargest(k, scores.values())[-1] * (1 - ROUNDING)
                rest = sum(bounds[position:])
                if rest < worst:
                    hopeful = {document: score for document, score in scores.items() if score + rest >= worst}
                    return _added_up(hopeful, terms[position:], bm25)
            found = self._postings(view, term)
            if passes is not None:
                found = [document for document in found if document.key in passes]
            bm25.add_parts(scores, found, term, weight)
        return scores

    def _postings(self, view: _View, term: str) -> Iterable[Document]:
        """Documents of a view that have a term, each once."""
        version = view.version
        tail = [document for document in view.tail.get(term, ()) if document.born <= version < document.dead]
        term = view.space.prefix + term
        count = view.searcher.doc_freq("term", term)
        if not count:
            return tail
        query = tantivy.Query.term_query(self._schema, "term", term, "basic")
        hits = view.searcher.search(query, count, count=False, order_by_field="number").hits
        known = self._documents
        found = [
            document
            for number, _ in hits
            if (document := known.get(number)) is not None and document.born <= version < document.dead
        ]
        return dict.fromkeys((*found, *tail)) if tail else found

    def _forget(self, document: Document) -> None:
        if document.number <= self._sealed_number:
            self._gone.append(document.number)


def _added_up(scores: dict[Document, float], terms: Sequence[tuple[str, float]], bm25: Bm25) -> dict[Document, float]:
    """The scores with what further terms add, looked up in the documents."""
    for term, weight in terms:
        bm25.add_parts(scores, [document for document in scores if term in document.terms], term, weight)
    return scores
