"""BM25, the formula (Robertson and Zaragoza, 2009: k1 1.2, b 0.75); knows no index.

A document's score is the sum over the query's terms of `weight * count * (k1 + 1) / (count + k1 * (1 - b + b * length /
average length))`, where `weight = ln(1 + (n - frequency + 0.5) / (frequency + 0.5))` for a term that `frequency` of `n`
documents have. The parts are added in one order, so that equal documents have equal scores to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

K1 = 1.2
B = 0.75


class Bm25:
    """The formula over one set of documents."""

    def __init__(self, documents_count: int, length_total: int) -> None:
        """Take the statistics: how many documents there are, and the terms in all of them, with repeats."""
        self._documents_count = documents_count
        self._floor = K1 * (1 - B)
        self._slope = K1 * B * documents_count / max(length_total, 1)

    def weight(self, frequency: int) -> float:
        """Weight of a term that so many of the documents have; positive."""
        return math.log(1 + (self._documents_count - frequency + 0.5) / (frequency + 0.5))

    def parts(self, weight: float | Floats, counts: Integers, lengths: Integers) -> Floats:
        """What a term, or each its own, adds to the scores of documents that have it `counts` times; float64, (n,)."""
        floor, slope = self._floor, self._slope
        parts: Floats = weight * (K1 + 1) * counts / (counts + (floor + slope * lengths))
        return parts

    def part_max(self, weight: float, count_max: int, length_min: int) -> float:
        """A bound of `parts` for documents with at most this count and at least this length."""
        return weight * (K1 + 1) * count_max / (count_max + (self._floor + self._slope * length_min))
