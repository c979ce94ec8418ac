"""Vectors by space: inner-product search over contiguous rows, with FAISS.

A space is any hashable; nothing of one is seen from another. A space has a sealed part, mapped from a file, and a tail
of new rows (`memoray.storage.vector_space`). Search is exact, but for the sealed part of a very large space when next
to nothing of it is filtered out: there an approximate index names candidates, which are scored exactly.

One thread writes, any number search at the same time without a lock, each on one moment of its space, perhaps a moment
old; the caller filters the hits against the state it holds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import faiss
import numpy as np

from memoray.errors import InvalidRequestError
from memoray.storage.near_vectors import near_rows
from memoray.storage.one_thread import on_one_thread
from memoray.storage.spaces import Spaces
from memoray.storage.vector_space import SealedVectors, Space, View

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
    Rows = npt.NDArray[np.int64]
    Marks = npt.NDArray[np.bool_]

OVERFETCH = 8
# Allowed rows up to this part of all (1 in n) are gathered and scanned; above it, all are scanned and the rest skipped.
GATHERED_PART = 8


class VectorBase(Protocol):
    """What an index begins with."""

    def vectors(self, space: Hashable) -> SealedVectors | None:
        """The sealed part of a space, if it has one."""
        ...


class VectorIndex:
    """Search by inner product, which on L2-normalised vectors is cosine similarity."""

    def __init__(self, dimension: int, base: VectorBase | None = None) -> None:
        """Begin with the sealed rows of a base, or empty; vectors have this length."""
        self.dimension = dimension
        self._base = base
        self._spaces = Spaces(self._sealed)

    def is_usable(self, vector: Vectors) -> bool:
        """Whether a vector can be indexed: of the right length, with a length of its own that is finite and not zero.

        Two usable vectors have a finite inner product, so no NaN ever competes with a real hit.
        """
        if vector.shape != (self.dimension,) or vector.dtype != np.float32:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            square = float(np.dot(vector, vector))
        return 0 < square < math.inf

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
        if ids:
            self._spaces.to_change(space).add(ids, vectors)

    def remove(self, space: Hashable, key: str) -> None:
        """Take an id out; one that is not there is left alone."""
        self._spaces.to_change(space).remove(key)

    def drop(self, space: Hashable) -> None:
        """Forget a space, its sealed part too."""
        self._spaces.changed[space] = Space(self.dimension, None)

    def ids(self, space: Hashable) -> set[str]:
        """Ids in a space."""
        return set(self._spaces.to_read(space).view.live_keys())

    def count(self, space: Hashable) -> int:
        """How many ids a space has."""
        return self._spaces.to_read(space).view.live_count

    def changed(self) -> dict[Hashable, View]:
        """The present moment of every space that differs from the base."""
        return {space: home.view for space, home in self._spaces.changed.items()}

    def vector_of(self, space: Hashable, key: str) -> Vectors | None:
        """A row; float32, shape (dimension,), read-only; None if the id has none. For the writer's thread."""
        return self._spaces.to_read(space).row(key)

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
        view = self._spaces.to_read(space).view
        if k < 1 or not view.live_count or not self.is_usable(query):
            return [], []
        pairs: list[tuple[float, str]] = []
        sealed = view.sealed
        wanted = None if allowed is None else frozenset(allowed)
        if sealed is not None and view.sealed_dead_count < len(sealed.matrix):
            found, scores = _search_sealed(view, sealed, query, k, wanted)
            keys = sealed.keys
            pairs += [(-score, keys[row]) for row, score in zip(found.tolist(), scores.tolist(), strict=True)]
        if view.tail_count:
            found, scores = _search_tail(view, query, k, wanted)
            tail_keys = view.keys
            pairs += [(-score, tail_keys[row]) for row, score in zip(found.tolist(), scores.tolist(), strict=True)]
        pairs.sort()
        del pairs[k:]
        return [key for _, key in pairs], [-score for score, _ in pairs]

    def _sealed(self, space: Hashable) -> Space:
        return Space(self.dimension, None if self._base is None else self._base.vectors(space))


def _search_sealed(
    view: View, sealed: SealedVectors, query: Vectors, k: int, wanted: frozenset[str] | None
) -> tuple[Rows, Vectors]:
    if wanted is not None:
        rows = np.array([row for key in wanted if (row := sealed.keys.find(key)) >= 0], np.int64)
        return _filtered(query, sealed.matrix, rows[~view.is_sealed_dead[rows]], k)
    if sealed.near is not None:
        return near_rows(sealed.near, sealed.matrix, query, k, view.is_sealed_dead, view.sealed_dead_count)
    return _scan(query, sealed.matrix, view.is_sealed_dead, view.sealed_dead_count, k)


def _search_tail(view: View, query: Vectors, k: int, wanted: frozenset[str] | None) -> tuple[Rows, Vectors]:
    matrix = view.matrix[: view.tail_count]
    if wanted is not None:
        keys = view.keys
        rows = view.live_tail_rows()
        chosen = [row for row in rows.tolist() if keys[row] in wanted]
        return _filtered(query, matrix, np.array(chosen, np.int64), k)
    dead_count = int(view.is_tail_dead.sum())
    marks = view.tail_marks() if dead_count else view.is_tail_dead
    return _scan(query, matrix, marks, dead_count, k)


def _are_usable(vectors: Vectors) -> Marks:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32, casting="same_kind")
    good: Marks = np.isfinite(squares) & (squares > 0)
    return good


def _filtered(query: Vectors, matrix: Vectors, rows: Rows, k: int) -> tuple[Rows, Vectors]:
    """The best of some rows of a matrix."""
    if len(rows) * GATHERED_PART > len(matrix):
        is_out = np.ones(len(matrix), np.bool_)
        is_out[rows] = False
        return _scan(query, matrix, is_out, len(matrix) - len(rows), k)
    rows.sort()
    found, scores = _scan(query, matrix[rows], np.zeros(0, np.bool_), 0, k)
    return rows[found], scores


def _scan(query: Vectors, matrix: Vectors, is_out: Marks, out_count: int, k: int) -> tuple[Rows, Vectors]:
    """The best rows of a matrix that are not out, highest first: k and perhaps more; `is_out` is read if any is.

    Rows that are out take places among the best, so more are asked for until k others are found, and one that is worse
    than the k-th: then no row that ties with the k-th can be missing.
    """
    count = len(matrix)
    wanted = k + OVERFETCH
    wanted += wanted * out_count // max(count - out_count, 1)
    while True:
        if 4 * wanted > count:
            wanted = count
        found, scores = _best(query, matrix, wanted)
        if out_count:
            is_in = ~is_out[found]
            inside, rows = scores[is_in], found[is_in]
        else:
            inside, rows = scores, found
        if wanted == count or (len(inside) >= k and inside[k - 1] > scores[-1]):
            return rows, inside
        wanted *= 4


def _best(query: Vectors, matrix: Vectors, k: int) -> tuple[Rows, Vectors]:
    """Rows of a matrix with the highest inner products, and those, highest first; -1 is never among them."""
    if not len(matrix):
        return np.empty(0, np.int64), np.empty(0, np.float32)
    scores, found = on_one_thread(faiss.knn, query[None, :], matrix, k, metric=faiss.METRIC_INNER_PRODUCT)
    is_row = found[0] >= 0
    return found[0][is_row], scores[0][is_row]
