"""One space of the vector index: a sealed part that never changes, a tail of new rows, and what of both is alive.

One thread writes, any number read without a lock. Each change publishes a new `View`; whoever took one goes on with it
and sees exactly the rows of that moment: rows are only appended, marks of the dead are replaced and not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import faiss
    import numpy.typing as npt

    from memoray.storage.columns import Keys

    Vectors = npt.NDArray[np.float32]
    Marks = npt.NDArray[np.bool_]
    Rows = npt.NDArray[np.int64]

ROWS_MIN = 4
DEAD_MIN = 64
NO_MARKS = np.zeros(0, np.bool_)


class SealedVectors(NamedTuple):
    """A space's rows in a sealed file, sorted by key.

    Attributes:
        keys: by row.
        matrix: float32, shape (n, dimension); mapped, not to be written to.
        is_dead: rows that were dead, or had no vector, when this was sealed; bool, shape (n,).
        near: approximate index over all rows, which answers with row numbers; None where the space is small.
    """

    keys: Keys
    matrix: Vectors
    is_dead: Marks
    near: faiss.Index | None = None


class Tail:
    """Rows that the sealed part does not have; arrays grow by replacement."""

    def __init__(self, dimension: int, capacity: int) -> None:
        """Make an empty one with room for so many rows."""
        self.matrix = np.empty((max(capacity, ROWS_MIN), dimension), np.float32)
        self.keys: list[str] = []

    def append(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Add rows behind those that are there."""
        start = len(self.keys)
        end = start + len(keys)
        if end > len(self.matrix):
            matrix = np.empty((max(end, 2 * len(self.matrix)), self.matrix.shape[1]), np.float32)
            matrix[:start] = self.matrix[:start]
            self.matrix = matrix
        self.matrix[start:end] = vectors
        self.keys.extend(keys)


class View(NamedTuple):
    """One moment of a space.

    Attributes:
        sealed: the sealed part, if there is one.
        is_sealed_dead: which of its rows are dead; bool, shape (n,).
        sealed_dead_count: how many those are.
        keys: of the tail; only the first `tail_count` belong to this moment.
        matrix: of the tail; float32, with room at the end.
        tail_count: see `keys`.
        is_tail_dead: marks of the first rows of the tail; rows behind them are alive.
        live_count: rows alive in both parts.
    """

    sealed: SealedVectors | None
    is_sealed_dead: Marks
    sealed_dead_count: int
    keys: list[str]
    matrix: Vectors
    tail_count: int = 0
    is_tail_dead: Marks = NO_MARKS
    live_count: int = 0

    def tail_marks(self) -> Marks:
        """Which rows of the tail are dead; bool, shape (tail_count,)."""
        marks = np.zeros(self.tail_count, np.bool_)
        marks[: len(self.is_tail_dead)] = self.is_tail_dead
        return marks

    def live_tail_rows(self) -> Rows:
        """Rows of the tail that are alive, ascending."""
        return (~self.tail_marks()).nonzero()[0]

    def live_keys(self) -> Iterator[str]:
        """Keys of all live rows."""
        if self.sealed is not None:
            yield from (self.sealed.keys[row] for row in (~self.is_sealed_dead).nonzero()[0].tolist())
        yield from (self.keys[row] for row in self.live_tail_rows().tolist())


class Space:
    """The writer's hold on one space.

    Attributes:
        view: the present moment; replaced as a whole.
    """

    def __init__(self, dimension: int, sealed: SealedVectors | None) -> None:
        """Begin with a sealed part, or with nothing."""
        self._dimension = dimension
        self._tail = Tail(dimension, 0)
        self._row_of: dict[str, int] = {}
        dead = NO_MARKS if sealed is None else sealed.is_dead
        dead_count = int(dead.sum())
        live_count = len(dead) - dead_count
        self.view = View(sealed, dead, dead_count, self._tail.keys, self._tail.matrix, live_count=live_count)

    def row(self, key: str) -> Vectors | None:
        """Vector of a key that is alive; for the writer's thread."""
        row = self._row_of.get(key)
        if row is not None:
            found: Vectors = self._tail.matrix[row]
            return found
        row = self._sealed_row(self.view, key)
        vector: Vectors | None = None if self.view.sealed is None or row < 0 else self.view.sealed.matrix[row]
        return vector

    def add(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Put rows in, in place of those with the same keys; readers see the one or the other."""
        view, start = self.view, len(self._tail.keys)
        self._tail.append(keys, vectors)
        view = self._without(view, keys)
        self._row_of.update(zip(keys, range(start, start + len(keys)), strict=True))
        self.view = view._replace(
            keys=self._tail.keys,
            matrix=self._tail.matrix,
            tail_count=start + len(keys),
            live_count=view.live_count + len(keys),
        )
        self._tidy()

    def remove(self, key: str) -> None:
        """Take a row out; a key that is not there is left alone."""
        view = self._without(self.view, [key])
        self._row_of.pop(key, None)
        self.view = view
        self._tidy()

    def _without(self, view: View, keys: Sequence[str]) -> View:
        tail_rows = [row for key in keys if (row := self._row_of.get(key)) is not None]
        sealed_rows = [row for key in keys if (row := self._sealed_row(view, key)) >= 0] if view.sealed else []
        if tail_rows:
            marks = view.tail_marks()
            marks[tail_rows] = True
            view = view._replace(is_tail_dead=marks)
        if sealed_rows:
            marks = view.is_sealed_dead.copy()
            marks[sealed_rows] = True
            dead_count = view.sealed_dead_count + len(sealed_rows)
            view = view._replace(is_sealed_dead=marks, sealed_dead_count=dead_count)
        return view._replace(live_count=view.live_count - len(tail_rows) - len(sealed_rows))

    def _sealed_row(self, view: View, key: str) -> int:
        """Row of a key in the sealed part; -1 if it is not alive there."""
        row = -1 if view.sealed is None else view.sealed.keys.find(key)
        return -1 if row < 0 or view.is_sealed_dead[row] else row

    def _tidy(self) -> None:
        """Copy the living of a tail that is mostly dead."""
        view = self.view
        if view.tail_count - len(self._row_of) <= DEAD_MIN + view.tail_count // 4:
            return
        rows = np.fromiter(self._row_of.values(), np.int64, len(self._row_of))
        keys = list(self._row_of)
        self._tail = Tail(self._dimension, len(rows) + len(rows) // 2)
        self._tail.append(keys, view.matrix[rows])
        self._row_of = {key: row for row, key in enumerate(keys)}
        self.view = view._replace(
            keys=self._tail.keys, matrix=self._tail.matrix, tail_count=len(keys), is_tail_dead=NO_MARKS
        )
