"""One space of the keyword index: its documents, their statistics, and the postings of its tail.

One thread writes, any number read without a lock. Each change makes a new version of the space, and each document knows
the versions in which it lives; a reader takes the version first and then sees the documents of that version, whatever
is added, replaced or removed meanwhile. So a document that is being replaced is never missing and never there twice.
Postings are only appended to, and a commit puts new ones in their place.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from typing import TYPE_CHECKING

from memoray.storage.bm25 import NEVER, Bm25, Document

if TYPE_CHECKING:
    from collections.abc import Iterable

TERM_BYTES_MAX = 1024
HASHED = "\x1f"
NO_REPEATS: dict[str, int] = {}


class Space:
    """The documents of one space.

    Attributes:
        prefix: what stands before each of its terms in Tantivy; no prefix is the beginning of another.
        version: of the latest change.
        live: its documents by key.
        frequency: how many live documents have a term.
        length: terms in all live documents, with repeats.
        tail: documents by term that Tantivy does not have yet, dead ones included.
    """

    def __init__(self, number: int) -> None:
        """Make an empty space; its number is used once."""
        self.prefix = f"{number:x}:"
        self.version = 0
        self.live: dict[str, Document] = {}
        self.frequency: dict[str, int] = {}
        self.length = 0
        self.tail: dict[str, list[Document]] = {}
        # Bounds for every document that was ever here.
        self._count_max = 1
        self._length_min = NEVER

    def add(self, key: str, number: int, terms: Iterable[str]) -> tuple[Document, Document | None]:
        """Put a document in; gives it, and the one that it takes the place of."""
        counts = Counter(sys.intern(bounded(term)) for term in terms)
        repeats = {term: count for term, count in counts.items() if count > 1}
        length = counts.total()
        document = Document(key, number, length, tuple(counts), repeats or NO_REPEATS, self.version + 1)
        self._count_max = max((self._count_max, *repeats.values()))
        self._length_min = min(self._length_min, max(length, 1))
        for term in document.terms:
            self.frequency[term] = self.frequency.get(term, 0) + 1
            self.tail.setdefault(term, []).append(document)
        self.length += length
        old = self.live.get(key)
        self.live[key] = document
        if old is not None:
            self._retire(old)
        self.version += 1
        return document, old

    def remove(self, key: str) -> Document | None:
        """Take a document out, if it is there."""
        document = self.live.pop(key, None)
        if document is not None:
            self._retire(document)
            self.version += 1
        return document

    def retire_all(self) -> list[Document]:
        """Mark all documents as dead for those that come; who has taken the space already goes on with it."""
        documents = list(self.live.values())
        for document in documents:
            document.dead = self.version + 1
        return documents

    def bm25(self, terms: Iterable[str]) -> Bm25:
        """The formula for a query's terms, from the live documents of this space alone."""
        frequencies = {term: self.frequency.get(term, 0) for term in map(bounded, terms)}
        return Bm25(frequencies, len(self.live), self.length)

    def part_max(self, bm25: Bm25, weight: float) -> float:
        """A bound for what a term can add to the score of any document here."""
        return bm25.part(weight, self._count_max, self._length_min)

    def _retire(self, document: Document) -> None:
        document.dead = self.version + 1
        self.length -= document.length
        for term in document.terms:
            left = self.frequency[term] - 1
            if left:
                self.frequency[term] = left
            else:
                del self.frequency[term]


def bounded(term: str) -> str:
    """The term, or its hash where Tantivy could not hold it: over-long, or without a UTF-8 form."""
    if term.isascii() and len(term) <= TERM_BYTES_MAX and not term.startswith(HASHED):
        return term
    encoded = term.encode(errors="surrogatepass")
    is_plain = len(encoded) <= TERM_BYTES_MAX and not term.startswith(HASHED)
    if is_plain and encoded.decode(errors="ignore") == term:
        return term
    return HASHED + hashlib.blake2b(encoded, digest_size=16).hexdigest()
