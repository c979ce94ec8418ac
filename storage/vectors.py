"""Vectors by space: exact inner-product search over contiguous rows, with FAISS.

A space is any hashable; nothing of one is seen from another. One thread writes, any number search at the same time
without a lock: rows are only ever appended, arrays grow by replacement, and what is replaced or removed is marked dead
beside the rows. A new row is published before the old one of its id is marked, and a reader looks at the marks first;
so it sees the one or the other, perhaps both (then the newer counts), never neither. A reader may see a change a moment
early or late, and filters its hits against the state it holds.

A later approximate index for very large spaces belongs behind `VectorIndex.search`, before the exact pass.
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
    Rows = npt.NDArray[np.int64]
    Marks = npt.NDArray[np.bool_]

ROWS_MIN = 4
DEAD_MIN = 64
OVERFETCH = 8
# Allowed rows up to this part of all (1 in n) are gathered and scanned; above it, all are scanned and the rest skipped.
GATHERED_PART = 8


class _Rows:
    """One space's rows; whoever took an array keeps a whole one."""

    def __init__(self, dimension: int, capacity: int) -> None:
        self.matrix = np.empty((max(capacity, ROWS_MIN), dimension), np.float32)
        self.is_dead = np.zeros(len(self.matrix), np.bool_)
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}

    @property
    def dead_count(self) -> int:
        return len(self.ids) - len(self.row_of)

    def append(self, ids: Sequence[str], vectors: Vectors) -> None:
        start = len(self.ids)
        end = start + len(ids)
        if end > len(self.matrix):
            matrix = np.empty((max(end, 2 * len(self.matrix)), self.matrix.shape[1]), np.float32)
            matrix[:start] = self.matrix[:start]
            is_dead = np.zeros(len(matrix), np.bool_)
            is_dead[:start] = self.is_dead[:start]
            self.matrix, self.is_dead = matrix, is_dead
        self.matrix[start:end] = vectors
        self.ids.extend(ids)  # publishes: readers count rows by it
        for row, key in enumerate(ids, start):
            old = self.row_of.get(key)
            self.row_of[key] = row
            if old is not None:
                self.is_dead[old] = True

    def remove(self, key: str) -> None:
        row = self.row_of.pop(key, None)
        if row is not None:
            self.is_dead[row] = True

    def compacted(self) -> _Rows:
        """The live rows in new arrays, with room to grow."""
        rows = np.fromiter(self.row_of.values(), np.int64, len(self.row_of))
        fresh = _Rows(self.matrix.shape[1], len(rows) + len(rows) // 2)
        fresh.append(list(self.row_of), self.matrix[rows])
        return fresh


class VectorIndex:
    """Exact search by inner product, which on L2-normalised vectors is cosine similarity."""

    def __init__(self, dimension: int) -> None:
        """Make an empty index of vectors of this length."""
        self.dimension = dimension
        self._spaces: dict[Hashable, _Rows] = {}

    def is_usable(self, vector: Vectors) -> bool:
        """Whether a vector can be indexed: of the right length, with a length of its own that is finite and not zero.

        Two usable vectors have a finite inner product, so no NaN ever competes with a real hit.
        """
        return vector.shape == (self.dimension,) and bool(_are_usable(vector[None, :])[0])

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
        good = _are_usable(vectors)
        if not good.all():
            message = f"the vector of {ids[int(np.argmin(good))]!r} is zero or not finite"
            raise InvalidRequestError(message)
        if not ids:
            return
        rows = self._spaces.get(space)
        if rows is None:
            rows = _Rows(self.dimension, len(ids))
            rows.append(ids, vectors)
            self._spaces[space] = rows
        else:
            rows.append(ids, vectors)
            self._tidy(space, rows)

    def remove(self, space: Hashable, key: str) -> None:
        """Take an id out; one that is not there is left alone."""
        rows = self._spaces.get(space)
        if rows is not None:
            rows.remove(key)
            self._tidy(space, rows)

    def drop(self, space: Hashable) -> None:
        """Forget a space."""
        self._spaces.pop(space, None)

    def ids(self, space: Hashable) -> set[str]:
        """Ids in a space."""
        rows = self._spaces.get(space)
        return set() if rows is None else set(rows.row_of)

    def count(self, space: Hashable) -> int:
        """How many ids a space has."""
        rows = self._spaces.get(space)
        return 0 if rows is None else len(rows.row_of)

    def vector_of(self, space: Hashable, key: str) -> Vectors | None:
        """A row; float32, shape (dimension,); None if the id has none. Not to be written to."""
        rows = self._spaces.get(space)
        if rows is None:
            return None
        row = rows.row_of.get(key)
        return None if row is None else rows.matrix[row]

    def cosines(self, space: Hashable, ids: Collection[str], query: Vectors) -> dict[str, float]:
        """Inner products of a query with the rows of ids; an id without a row is left out, for a bad query all are."""
        return dict(zip(*self.search(space, query, len(ids), ids), strict=True))

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
        if allowed is None:
            is_out = rows.is_dead.copy()  # marks first, then the count, then the rows: see the module's first lines
            count = len(rows.ids)
            found, scores = _scan(query, rows.matrix[:count], is_out, k)
            return _ranked(rows.ids, found, scores, k)
        row_of = rows.row_of
        chosen = np.array([row for key in set(allowed) if (row := row_of.get(key)) is not None], np.int64)
        count = len(rows.ids)
        matrix = rows.matrix[:count]
        is_out = np.ones(count, np.bool_)
        if len(chosen) * GATHERED_PART > count:
            is_out[chosen] = False
            found, scores = _scan(query, matrix, is_out, k)
        else:
            chosen.sort()
            found, scores = _scan(query, matrix[chosen], is_out[:0], k)
            found = chosen[found]
        return _ranked(rows.ids, found, scores, k)

    def _tidy(self, space: Hashable, rows: _Rows) -> None:
        if not rows.row_of:
            self.drop(space)
        elif rows.dead_count > DEAD_MIN + len(rows.ids) // 4:
            self._spaces[space] = rows.compacted()


def _are_usable(vectors: Vectors) -> Marks:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32, casting="same_kind")
    good: Marks = np.isfinite(squares) & (squares > 0)
    return good


def _scan(query: Vectors, matrix: Vectors, is_out: Marks, k: int) -> tuple[Rows, Vectors]:
    """The best rows of a matrix that are not out, highest first: k and perhaps more; rows beyond the marks are in.

    Rows that are out take places among the best, so more are asked for until k others are found, and one that is worse
    than the k-th: then no row that ties with the k-th can be missing.
    """
    count = len(matrix)
    out_count = int(np.count_nonzero(is_out[:count]))
    wanted = k + OVERFETCH
    wanted += wanted * out_count // max(count - out_count, 1)
    while True:
        if 4 * wanted > count:
            wanted = count
        found, scores = _best(query, matrix, wanted)
        is_in = np.ones(len(found), np.bool_)
        marked = found < len(is_out)
        is_in[marked] = ~is_out[found[marked]]
        inside = scores[is_in]
        if wanted == count or (len(inside) >= k and inside[k - 1] > scores[-1]):
            return found[is_in], inside
        wanted *= 4


def _best(query: Vectors, matrix: Vectors, k: int) -> tuple[Rows, Vectors]:
    """Rows of a matrix with the highest inner products, and those, highest first; -1 is never among them."""
    if not len(matrix):
        return np.empty(0, np.int64), np.empty(0, np.float32)
    scores, found = faiss.knn(query[None, :], matrix, k, metric=faiss.METRIC_INNER_PRODUCT)
    is_row = found[0] >= 0
    return found[0][is_row], scores[0][is_row]


def _ranked(ids: list[str], rows: Rows, scores: Vectors, k: int) -> tuple[list[str], list[float]]:
    """The first k ids, ties by id; of two rows of one id the newer counts."""
    newest: dict[str, tuple[int, float]] = {}
    for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
        key = ids[row]
        known = newest.get(key)
        if known is None or known[0] < row:
            newest[key] = row, score
    ranked = sorted((-score, key) for key, (_, score) in newest.items())[:k]
    return [key for _, key in ranked], [-score for score, _ in ranked]
