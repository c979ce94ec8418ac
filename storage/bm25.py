"""BM25, the formula and what it reads of a document (Robertson and Zaragoza, 2009: k1 1.2, b 0.75); knows no index.

A document's score is the sum over the query's terms of `weight * count * (k1 + 1) / (count + k1 * (1 - b + b * length /
average length))`, where `weight = ln(1 + (n - frequency + 0.5) / (frequency + 0.5))` for a term that `frequency` of `n`
documents have. The parts are added in one order, so that equal documents have equal scores to the last bit.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

K1 = 1.2
B = 0.75
NEVER = sys.maxsize


class Document(msgspec.Struct, gc=False, eq=False):
    """What scoring needs to know of a document. Small, and no work for the garbage collector.

    Attributes:
        key: the caller's name of it.
        number: its number in the whole index; never used again.
        length: its terms, with repeats.
        terms: each of its terms once.
        repeats: how often it has those that it has more than once.
        born: first version of its space in which it lives.
        dead: first version in which it no longer does.
    """

    key: str
    number: int
    length: int
    terms: tuple[str, ...]
    repeats: dict[str, int]
    born: int
    dead: int = NEVER


class Bm25:
    """The formula for one query over one set of documents.

    Attributes:
        weights: weight of each term, the heaviest first, ties by term.
        floor: what the denominator has besides the count, for a document of no length.
        slope: and for each term of its length.
    """

    def __init__(self, frequencies: Mapping[str, int], documents_count: int, length_total: int) -> None:
        """Take the statistics.

        Args:
            frequencies: how many documents have each term of the query; terms that none has are left out.
            documents_count: how many documents there are.
            length_total: terms in all documents, with repeats.
        """
        weights = {term: _weight(documents_count, frequency) for term, frequency in frequencies.items() if frequency}
        self.weights = dict(sorted(weights.items(), key=lambda item: (-item[1], item[0])))
        self.floor = K1 * (1 - B)
        self.slope = K1 * B * documents_count / max(length_total, 1)

    def add_parts(self, scores: dict[Document, float], documents: Iterable[Document], term: str, weight: float) -> None:
        """Add to the scores what a term gives the documents that have it. The inner loop of every search."""
        floor, slope, factor = self.floor, self.slope, weight * (K1 + 1)
        for document in documents:
            count = document.repeats.get(term, 1)
            scores[document] = scores.get(document, 0.0) + factor * count / (count + floor + slope * document.length)

    def part(self, weight: float, count: int, length: int) -> float:
        """What a term that a document of this length has `count` times adds to its score."""
        return weight * (K1 + 1) * count / (count + self.floor + self.slope * length)


def _weight(documents_count: int, frequency: int) -> float:
    # A reader beside the writer may see a frequency that is ahead of the count; a weight is positive all the same.
    return math.log(1 + (max(documents_count - frequency, 0) + 0.5) / (frequency + 0.5))
