"""Keywords by space: BM25 over a sealed part in Tantivy and a tail of new documents, scored by the same formula.

A space is any hashable, and each has its own terms: a term is indexed with its space's prefix in front, so no query can
touch another space's postings. Tantivy finds which documents of the sealed part have a term; the score is computed
here, from the live documents of the space alone, sealed and new alike. So a ranking depends neither on other spaces nor
on when documents were sealed, and a new document is found at the cost of a search.

One thread writes; any number search at the same time without a lock. A search answers from one moment of its space
(`memoray.storage.keyword_space`), perhaps a moment old; the caller filters the hits against the state it holds.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from memoray.storage.bm25 import Bm25
from memoray.storage.keyword_space import SealedDocuments, Space, View
from memoray.storage.sealed_keywords import COUNT_BITS, COUNT_MAX, NOTHING, bounded
from memoray.storage.spaces import Spaces

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    Marks = npt.NDArray[np.bool_]
    Integers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

# Sums of bounds and sums of parts are rounded differently.
ROUNDING = 1e-9
# Terms that are kept ready for writing.
TERMS_KNOWN_MAX = 200_000
# Up to so many postings of a query's terms all of them are scored in one pass.
ONE_PASS_POSTINGS_MAX = 20_000


class KeywordBase(Protocol):
    """What an index begins with."""

    def documents(self, space: Hashable) -> SealedDocuments | None:
        """The sealed part of a space, if it has one."""
        ...


class KeywordIndex:
    """BM25 search of documents that are given as terms."""

    def __init__(self, base: KeywordBase | None = None) -> None:
        """Begin with the sealed documents of a base, or empty."""
        self._base = base
        self._spaces = Spaces(self._sealed)
        self._terms = _Terms()

    def add(self, space: Hashable, key: str, terms: Iterable[str]) -> None:
        """Add a document; one with the same key is replaced, and readers see one or the other.

        Args:
            space: where.
            key: of the document.
            terms: with repeats; any strings. A very long one counts by its hash.
        """
        if len(self._terms) > TERMS_KNOWN_MAX:
            self._terms.clear()
        # A plain dictionary: one of a subclass is work for the garbage collector for as long as it lives.
        self._spaces.to_change(space).add(key, dict(Counter(map(self._terms.__getitem__, terms))))

    def remove(self, space: Hashable, key: str) -> None:
        """Take a document out; a key that is not there is left alone."""
        self._spaces.to_change(space).remove(key)

    def drop(self, space: Hashable) -> None:
        """Forget a space, its sealed part too."""
        self._spaces.changed[space] = Space(None)

    def ids(self, space: Hashable) -> set[str]:
        """Keys of the documents of a space."""
        return set(self._spaces.to_read(space).view.live_keys())

    def count(self, space: Hashable) -> int:
        """How many documents a space has."""
        return self._spaces.to_read(space).view.live_count

    def changed(self) -> dict[Hashable, View]:
        """The present moment of every space that differs from the base."""
        return {space: home.view for space, home in self._spaces.changed.items()}

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
        view = self._spaces.to_read(space).view
        if k < 1 or not view.live_count:
            return [], []
        is_allowed = None if allowed is None else _marks(view, allowed)
        rows, scores = _Scoring(view, terms, k, is_allowed).best()
        ranked = sorted(zip((-scores).tolist(), view.keys(rows), strict=True))[:k]
        return [key for _, key in ranked], [-score for score, _ in ranked]

    def _sealed(self, space: Hashable) -> Space:
        return Space(None if self._base is None else self._base.documents(space))


class _Terms(dict[str, str]):
    """Terms as they are indexed, each as one object, by the term as it is given."""

    def __missing__(self, term: str) -> str:
        known = self[term] = sys.intern(bounded(term))
        return known


def _marks(view: View, allowed: Collection[str]) -> Marks:
    """Which rows of a view have one of these keys."""
    wanted = frozenset(allowed)
    marks = np.zeros(view.sealed_count + view.tail_count, np.bool_)
    if view.sealed is not None:
        rows = (view.sealed.keys.find(key) for key in wanted)
        marks[[row for row in rows if row >= 0]] = True
    keys = view.tail.keys
    marks[[view.sealed_count + row for row in view.live_tail_rows().tolist() if keys[row] in wanted]] = True
    return marks


class _Part(NamedTuple):
    """A term's postings in one part of a view.

    Attributes:
        postings: ascending.
        first: number of the part's first row.
        behind: rows of the view before the part.
        lengths: of the part's documents, by row of the part.
    """

    postings: Integers
    first: int
    behind: int
    lengths: npt.NDArray[np.int32]

    def documents(self) -> tuple[Integers, Integers, Integers]:
        """Rows of the view that have the term, how often, and how long they are."""
        own = (self.postings >> COUNT_BITS) - self.first
        return own + self.behind, self.postings & COUNT_MAX, self.lengths[own].astype(np.int64)


class _Term:
    """A term of a query: its live postings in both parts of a view, its weight, and what it can add to a score."""

    def __init__(self, text: str, view: View, bm25: Bm25) -> None:
        self.text = text
        self._view = view
        self._bm25 = bm25
        self._sealed, sealed_max = view.sealed_postings(text)
        self._tail, tail_max = view.tail_postings(text)
        self._count_max = max(sealed_max, tail_max)
        self.frequency = len(self._sealed) + len(self._tail)
        self.weight = bm25.weight(self.frequency)

    @property
    def bound(self) -> float:
        """What it can add to a score at most."""
        return self._bm25.part_max(self.weight, self._count_max, self._view.length_min)

    def add_all(self, scores: Floats, is_found: Marks, is_allowed: Marks | None) -> None:
        """Add what the term gives to every row that has it and is allowed, and mark the row."""
        for part in self.parts():
            rows, counts, lengths = part.documents()
            if is_allowed is not None:
                is_in = is_allowed[rows]
                rows, counts, lengths = rows[is_in], counts[is_in], lengths[is_in]
            scores[rows] += self._bm25.parts(self.weight, counts, lengths)
            is_found[rows] = True

    def add_to(self, scores: Floats, rows: Integers, lengths: Integers) -> None:
        """Add what the term gives to those of some rows that have it."""
        for part in self.parts():
            numbers = rows - part.behind + part.first
            places = part.postings.searchsorted(numbers << COUNT_BITS)
            places[places == len(part.postings)] = 0
            postings = part.postings[places]
            has = postings >> COUNT_BITS == numbers
            scores[rows[has]] += self._bm25.parts(self.weight, postings[has] & COUNT_MAX, lengths[has])

    def parts(self) -> Iterator[_Part]:
        """The parts of the view in which any document has it."""
        view = self._view
        if len(self._sealed) and view.sealed is not None:
            yield _Part(self._sealed, view.sealed.first, 0, view.sealed.lengths)
        if len(self._tail):
            yield _Part(self._tail, 0, view.sealed_count, view.tail.lengths)


class _Scoring:
    """One search of one view."""

    def __init__(self, view: View, terms: Iterable[str], k: int, is_allowed: Marks | None) -> None:
        self._view = view
        self._k = k
        self._is_allowed = is_allowed
        self._bm25 = bm25 = Bm25(view.live_count, view.length_total)
        found = (_Term(term, view, bm25) for term in {bounded(term) for term in terms})
        # One order, so that equal documents have equal scores; the heaviest first.
        self._terms = sorted((term for term in found if term.frequency), key=lambda term: (-term.weight, term.text))
        self._rows_count = view.sealed_count + view.tail_count
        self._scores: Floats = np.empty(0)

    def best(self) -> tuple[Integers, Floats]:
        """Rows and scores of all documents that are among the best k, those that tie with the last included.

        Term by term, the heaviest first. As soon as the terms that are left could not lift a document without any of
        those before them into the best k, their postings (the longest of all) are looked up for those that could make
        it only (Turtle and Flood, 1995: MaxScore). What is left out is proven not to be among the best: the answer is
        exact.
        """
        if sum(term.frequency for term in self._terms) <= ONE_PASS_POSTINGS_MAX:
            return self._in_one_pass()
        self._scores = scores = np.zeros(self._rows_count)
        is_found = np.zeros(self._rows_count, np.bool_)
        rest = sum(term.bound for term in self._terms)
        # The first rows that were enough; the k-th best of them is a bound for that of all.
        first: Integers | None = None
        for position, term in enumerate(self._terms, 1):
            term.add_all(scores, is_found, self._is_allowed)
            rest -= term.bound
            left = self._terms[position:]
            if first is None:
                found = is_found.nonzero()[0]
                first = found if len(found) > self._k else None
            if left and first is not None:
                worst = _kth(scores[first], self._k) * (1 - ROUNDING)
                if rest < worst:
                    found = is_found.nonzero()[0]
                    hopeful = found[scores[found] + rest >= worst]
                    lengths = self._view.lengths(hopeful)
                    for other in left:
                        other.add_to(scores, hopeful, lengths)
                    return self._cut(hopeful)
        return self._cut(is_found.nonzero()[0])

    def _in_one_pass(self) -> tuple[Integers, Floats]:
        """The same, where there is little to read: the parts of all terms, added row by row in the terms' order."""
        parts = [(term.weight, *part.documents()) for term in self._terms for part in term.parts()]
        if not parts:
            return NOTHING, self._scores
        each_weight, each_rows, each_counts, each_lengths = zip(*parts, strict=True)
        rows, counts, lengths = (np.concatenate(each) for each in (each_rows, each_counts, each_lengths))
        weights = np.repeat(each_weight, [len(each) for each in each_rows])
        added = self._bm25.parts(weights, counts, lengths)
        self._scores = np.bincount(rows, added, self._rows_count).astype(np.float64, copy=False)
        if self._is_allowed is not None:
            self._scores[~self._is_allowed] = 0
        return self._cut(self._scores.nonzero()[0])

    def _cut(self, rows: Integers) -> tuple[Integers, Floats]:
        scores = self._scores[rows]
        if len(rows) <= self._k:
            return rows, scores
        worst = _kth(scores, self._k)
        is_better = scores > worst
        ties = rows[scores == worst]
        # Sealed rows are sorted by key, so of those that tie the first ones win; the tail's rows are not.
        sealed = ties[ties < self._view.sealed_count][: self._k]
        kept = np.concatenate([rows[is_better], sealed, ties[ties >= self._view.sealed_count]])
        return kept, self._scores[kept]


def _kth(scores: Floats, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
