"""One space of the keyword index: a sealed part that never changes, a tail of new documents, and what of both is alive.

One thread writes, any number read without a lock. Each change publishes a new `View`; whoever took one goes on with it
and sees exactly the documents of that moment: rows are only appended, marks of the dead are replaced and not changed.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memoray.storage.sealed_keywords import COUNT_BITS, COUNT_MAX, NOTHING, posting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from memoray.storage.columns import Keys
    from memoray.storage.sealed_keywords import SealedKeywords

    Marks = npt.NDArray[np.bool_]
    Integers = npt.NDArray[np.int64]

LENGTH_MAX = 2**31 - 1
DEAD_MIN = 64
NO_MARKS = np.zeros(0, np.bool_)


class SealedDocuments(NamedTuple):
    """A space's documents in the sealed index: n rows, sorted by key.

    Attributes:
        postings: of all spaces.
        prefix: of the space's terms.
        first: number of row 0 in the index.
        keys: by row.
        lengths: terms of each, with repeats; integers, shape (n,).
        is_dead: rows that were dead when this was sealed; bool, shape (n,).
    """

    postings: SealedKeywords
    prefix: str
    first: int
    keys: Keys
    lengths: npt.NDArray[np.int32]
    is_dead: Marks


class Tail:
    """Documents that the sealed index does not have, by row.

    Attributes:
        keys: by row.
        counts: terms by row.
        lengths: terms with repeats by row; int32, with room at the end.
        postings: ascending postings by term.
        count_max: of terms that a document has more than once, the highest count.
    """

    def __init__(self) -> None:
        """Make an empty one."""
        self.keys: list[str] = []
        self.counts: list[Mapping[str, int]] = []
        self.lengths = np.empty(4, np.int32)
        self.postings: dict[str, list[int]] = {}
        self.count_max: dict[str, int] = {}
        self._arrays: dict[str, Integers] = {}

    def append(self, key: str, counts: Mapping[str, int]) -> int:
        """Add a document; its row."""
        row = len(self.keys)
        if row == len(self.lengths):
            self.lengths = np.concatenate([self.lengths, np.empty(row, np.int32)])
        postings, once = self.postings, posting(row, 1)
        length = 0
        for term, count in counts.items():
            length += count
            item = once
            if count > 1:
                item = posting(row, count)
                self.count_max[term] = max(self.count_max.get(term, 1), min(count, COUNT_MAX))
            known = postings.get(term)
            if known is None:
                postings[term] = [item]
            else:
                known.append(item)
        self.lengths[row] = length
        self.keys.append(key)
        self.counts.append(counts)
        return row

    def up_to(self, rows_count: int, term: str) -> Integers:
        """Postings of a term in the rows below `rows_count`; not to be written to."""
        waiting = self.postings.get(term)
        if waiting is None:
            return NOTHING
        array = self._arrays.get(term, NOTHING)
        wanted = bisect_left(waiting, rows_count << COUNT_BITS)
        if wanted > len(array):
            # Two readers may do this at once, to the same end.
            new = np.array(waiting[len(array) : wanted], np.int64)
            self._arrays[term] = array = np.concatenate([array, new]) if len(array) else new
        return array[:wanted]


class View(NamedTuple):
    """One moment of a space.

    Attributes:
        sealed: the sealed part, if there is one.
        is_sealed_dead: which of its rows are dead; bool, shape (n,).
        has_sealed_dead: whether any is.
        tail: the tail; only its first `tail_count` rows belong to this moment.
        tail_count: see `tail`.
        is_tail_dead: marks of the first rows of the tail; rows behind them are alive.
        live_count: documents alive in both parts.
        length_total: terms in those, with repeats.
        length_min: no live document is shorter.
    """

    sealed: SealedDocuments | None
    is_sealed_dead: Marks
    has_sealed_dead: bool
    tail: Tail
    tail_count: int = 0
    is_tail_dead: Marks = NO_MARKS
    live_count: int = 0
    length_total: int = 0
    length_min: int = LENGTH_MAX

    @property
    def sealed_count(self) -> int:
        """Rows of the sealed part, dead ones included."""
        return len(self.is_sealed_dead)

    def live_tail_rows(self) -> Integers:
        """Rows of the tail that are alive, ascending."""
        is_alive = np.ones(self.tail_count, np.bool_)
        is_alive[: len(self.is_tail_dead)] = ~self.is_tail_dead
        return np.flatnonzero(is_alive)

    def keys(self, rows: Integers) -> list[str]:
        """Keys of rows; those of the tail come behind the sealed ones."""
        sealed_count, tail_keys = self.sealed_count, self.tail.keys
        if self.sealed is None:
            return [tail_keys[row] for row in rows.tolist()]
        keys = self.sealed.keys
        return [keys[row] if row < sealed_count else tail_keys[row - sealed_count] for row in rows.tolist()]

    def live_keys(self) -> Iterator[str]:
        """Keys of all live documents."""
        if self.sealed is not None:
            yield from (self.sealed.keys[row] for row in np.flatnonzero(~self.is_sealed_dead).tolist())
        yield from (self.tail.keys[row] for row in self.live_tail_rows().tolist())

    def sealed_postings(self, term: str) -> tuple[Integers, int]:
        """Postings of a term in live rows of the sealed part, ascending; and the highest count among them or more."""
        if self.sealed is None:
            return NOTHING, 1
        found, count_max = self.sealed.postings.of_term(self.sealed.prefix, term)
        if self.has_sealed_dead:
            found = found[~self.is_sealed_dead[(found >> COUNT_BITS) - self.sealed.first]]
        return found, count_max

    def tail_postings(self, term: str) -> tuple[Integers, int]:
        """The same of the tail."""
        found = self.tail.up_to(self.tail_count, term)
        if len(self.is_tail_dead):
            rows = found >> COUNT_BITS
            is_alive = np.ones(len(found), np.bool_)
            is_marked = rows < len(self.is_tail_dead)
            is_alive[is_marked] = ~self.is_tail_dead[rows[is_marked]]
            found = found[is_alive]
        return found, self.tail.count_max.get(term, 1)

    def lengths(self, rows: Integers) -> Integers:
        """Lengths of the documents in these rows, which are ascending."""
        split = int(rows.searchsorted(self.sealed_count))
        if not split:
            return self.tail.lengths[rows - self.sealed_count].astype(np.int64)
        assert self.sealed is not None, "a sealed row has a sealed part"
        if split == len(rows):
            return self.sealed.lengths[rows].astype(np.int64)
        parts = (self.sealed.lengths[rows[:split]], self.tail.lengths[rows[split:] - self.sealed_count])
        return np.concatenate(parts).astype(np.int64)


class Space:
    """The writer's hold on one space.

    Attributes:
        view: the present moment; replaced as a whole.
    """

    def __init__(self, sealed: SealedDocuments | None) -> None:
        """Begin with a sealed part, or with nothing."""
        self._row_of: dict[str, int] = {}
        if sealed is None:
            self.view = View(None, NO_MARKS, has_sealed_dead=False, tail=Tail())
            return
        has_dead = bool(sealed.is_dead.any())
        lengths = sealed.lengths[~sealed.is_dead] if has_dead else sealed.lengths
        self.view = View(
            sealed,
            sealed.is_dead,
            has_sealed_dead=has_dead,
            tail=Tail(),
            live_count=len(lengths),
            length_total=int(lengths.sum(dtype=np.int64)),
            length_min=int(lengths.min()) if len(lengths) else LENGTH_MAX,
        )

    def add(self, key: str, counts: Mapping[str, int]) -> None:
        """Put a document in, in place of one with the same key if there is one; readers see the one or the other."""
        view = self.view
        row = view.tail.append(key, counts)
        old_row = self._row_of.get(key)
        view = self._without(view, key, old_row)
        self._row_of[key] = row
        length = int(view.tail.lengths[row])
        self.view = view._replace(
            tail_count=row + 1,
            live_count=view.live_count + 1,
            length_total=view.length_total + length,
            length_min=min(view.length_min, length),
        )
        if old_row is not None:
            self._tidy()

    def remove(self, key: str) -> None:
        """Take a document out; a key that is not there is left alone."""
        self.view = self._without(self.view, key, self._row_of.pop(key, None))
        self._tidy()

    def _without(self, view: View, key: str, tail_row: int | None) -> View:
        if tail_row is not None:
            is_dead = np.zeros(view.tail_count, np.bool_)
            is_dead[: len(view.is_tail_dead)] = view.is_tail_dead
            is_dead[tail_row] = True
            length = int(view.tail.lengths[tail_row])
            view = view._replace(is_tail_dead=is_dead)
        else:
            row = -1 if view.sealed is None else view.sealed.keys.find(key)
            if view.sealed is None or row < 0 or view.is_sealed_dead[row]:
                return view
            is_dead = view.is_sealed_dead.copy()
            is_dead[row] = True
            length = int(view.sealed.lengths[row])
            view = view._replace(is_sealed_dead=is_dead, has_sealed_dead=True)
        return view._replace(live_count=view.live_count - 1, length_total=view.length_total - length)

    def _tidy(self) -> None:
        """Copy the living of a tail that is mostly dead."""
        view = self.view
        if view.tail_count - len(self._row_of) <= DEAD_MIN + view.tail_count // 4:
            return
        tail = Tail()
        self._row_of = {key: tail.append(key, view.tail.counts[row]) for key, row in self._row_of.items()}
        self.view = view._replace(tail=tail, tail_count=len(tail.keys), is_tail_dead=NO_MARKS)
