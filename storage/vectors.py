"""Vectors by space: exact inner-product search over contiguous rows, with FAISS.

A space is any hashable; nothing of one is seen from another. One thread writes, any number search at the same time
without a lock: rows are only ever appended, a reader takes the arrays and the row count once, and what is replaced or
removed is marked dead beside the rows. So a reader may see a change a moment early or late, and filters its hits
against the state it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import faiss
import numpy as np

from memoray.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

ROWS_MIN = 16
DEAD_MIN = 64
OVERFETCH = 8


class _Rows:
    """One space's rows. Arrays grow by replacement, so a reader that took one keeps a whole one."""

    def __init__(self, dimension: int, capacity: int = ROWS_MIN) -> None:
        self.matrix = np.empty((capacity, dimension), np.float32)
        self.is_live = np.zeros(capacity, np.bool_)
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}

    @property
    def dead_count(self) -> int:
        return len(self.ids) - len(self.row_of)

    def append(self, ids: Sequence[str], vectors: Vectors) -> None:
        start = len(self.ids)
        end = start + len(ids)
        if end > len(self.matrix):
            capacity = max(end, 2 * len(self.matrix))
            matrix = np.empty((capacity, self.matrix.shape[1]), np.float32)
            matrix[:start] = self.matrix[:start]
            is_live = np.zeros(capacity, np.bool_)
            is_live[:start] = self.is_live[:start]
            self.matrix, self.is_live = matrix, is_live
        self.matrix[start:end] = vectors
        for row, key in enumerate(ids, start):
            old = self.row_of.get(key)
            self.row_of[key] = row
            self.is_live[row] = True
            if old is not None:
                self.is_live[old] = False
        self.ids.extend(ids)  # last: a reader counts rows by it, and by now they are filled

    def remove(self, key: str) -> None:
        row = self.row_of.pop(key, None)
        if row is not None:
            self.is_live[row] = False

    def compacted(self) -> _Rows:
        """The live rows in new arrays."""
        rows = np.fromiter(self.row_of.values(), np.int64, len(self.row_of))
        ids = list(self.row_of)
        fresh = _Rows(self.matrix.shape[1], max(ROWS_MIN, 2 * len(ids)))
        fresh.append(ids, self.matrix[rows])
        return fresh


class VectorIndex:
    """Exact search by inner product, which on L2-normalised vectors is cosine similarity."""

    def __init__(self, dimension: int) -> None:
        """Make an empty index of vectors of this length."""
        self.dimension = dimension
        self._spaces: dict[Hashable, _Rows] = {}

    def is_usable(self, vector: Vectors) -> bool:
        """Whether a vector can be indexed: of the right length, finite, and not zero."""
        return vector.shape == (self.dimension,) and bool(np.isfinite(vector).all()) and bool(vector.any())

    def add(self, space: Hashable, ids: Sequence[str], vectors: Vectors) -> None:
        """Add rows; an id that is known gets the new row in place of its old one.

        Args:
            space: where.
            ids: n of them, none twice.
            vectors: float32, shape (n, dimension), L2-normalised.

        Raises:
            InvalidRequestError: wrong shape, an id twice, or a vector that is not usable; nothing was added.
        """
        if vectors.shape != (len(ids), self.dimension):
            message = f"vectors of shape {vectors.shape}, expected {(len(ids), self.dimension)}"
            raise InvalidRequestError(message)
        if len(set(ids)) != len(ids):
            message = "an id stands twice among those to add"
            raise InvalidRequestError(message)
        good = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
        if not good.all():
            message = f"the vector of {ids[int(np.argmin(good))]!r} is zero or not finite"
            raise InvalidRequestError(message)
        rows = self._spaces.get(space)
        if rows is None:
            rows = _Rows(self.dimension, max(ROWS_MIN, len(ids)))
            rows.append(ids, vectors)
            self._spaces[space] = rows
            return
        rows.append(ids, vectors)
        self._compact(space, rows)

    def remove(self, space: Hashable, key: str) -> None:
        """Take an id out; one that is not there is left alone."""
        rows = self._spaces.get(space)
        if rows is not None:
            rows.remove(key)
            self._compact(space, rows)

    def drop(self, space: Hashable) -> None:
        """Forget a space."""
        self._spaces.pop(space, None)

    def ids(self, space: Hashable) -> set[str]:
        """Ids in a space."""
        rows = self._spaces.get(space)
        return set() if rows is None else set(rows.row_of)

    def vector_of(self, space: Hashable, key: str) -> Vectors | None:
        """A row; float32, shape (dimension,); None if the id has none."""
        rows = self._spaces.get(space)
        if rows is None:
            return None
        row = rows.row_of.get(key)
        return None if row is None else rows.matrix[row]

    def search(
        self, space: Hashable, query: Vectors, k: int, allowed: Collection[str] | None = None
    ) -> tuple[list[str], list[float]]:
        """The nearest ids.

        Args:
            space: where.
            query: float32, shape (dimension,), L2-normalised; one that is not usable finds nothing.
            k: most ids to return.
            allowed: only these; None: all. The filter works inside the search, so `k` of them are found if there are.

        Returns:
            Ids and their inner products, highest first, ties by id; as many as there are, at most k.
        """
        rows = self._spaces.get(space)
        if rows is None or k < 1 or not self.is_usable(query):
            return [], []
        count = len(rows.ids)
        matrix, is_live = rows.matrix, rows.is_live
        if allowed is not None:
            chosen = [row for key in allowed if (row := rows.row_of.get(key)) is not None and row < count]
            picked = np.array(chosen, np.int64)
            found = _nearest(query, matrix[picked], k)
            return _named(rows.ids, [(int(picked[row]), score) for row, score in found], k)
        # Dead rows hold places in the list, so ask for more until enough live ones are in it.
        wanted = k + OVERFETCH
        while True:
            found = [(row, score) for row, score in _nearest(query, matrix[:count], wanted) if is_live[row]]
            if len(found) >= k or wanted >= count:
                return _named(rows.ids, found, k)
            wanted *= 4

    def _compact(self, space: Hashable, rows: _Rows) -> None:
        if rows.dead_count > DEAD_MIN + len(rows.ids) // 4:
            self._spaces[space] = rows.compacted()


def _nearest(query: Vectors, matrix: Vectors, k: int) -> list[tuple[int, float]]:
    """Rows of a matrix with the highest inner products, and those; -1 is never among them."""
    if not len(matrix):
        return []
    scores, found = faiss.knn(query[None, :], matrix, min(k, len(matrix)), metric=faiss.METRIC_INNER_PRODUCT)
    return [(int(row), float(score)) for row, score in zip(found[0], scores[0], strict=True) if row >= 0]


def _named(ids: list[str], found: list[tuple[int, float]], k: int) -> tuple[list[str], list[float]]:
    best: dict[str, float] = {}
    for row, score in found:
        key = ids[row]
        best[key] = max(score, best.get(key, score))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
    return [key for key, _ in ranked], [score for _, score in ranked]
