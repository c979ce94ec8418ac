"""What the engine and the bare floor are both given: texts, vectors and queries, the same in every run.

Texts of 22 words out of 8,000, the common ones more often, and a number; vectors around 64 centres; a query is some
words of an entry that is there, and its vector with noise.
"""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

DIMENSION = 384
WORDS_COUNT = 8000
WORDS_PER_TEXT = 22
WORDS_PER_QUERY = 6
CENTRES_COUNT = 64


class Query(NamedTuple):
    """A query and the place of the entry that it was made of."""

    text: str
    vector: Vectors
    planted: int


class Workload:
    """Draws texts and vectors; remembers none of them."""

    def __init__(self, seed: int = 7) -> None:
        """Begin with a seed."""
        self._chance = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._words = [f"w{number}" for number in range(WORDS_COUNT)]
        self._shares = list(itertools.accumulate(1 / (number + 5) for number in range(WORDS_COUNT)))
        self._centres = self._numbers.standard_normal((CENTRES_COUNT, DIMENSION)).astype(np.float32)
        self._count = 0

    def texts(self, count: int) -> list[str]:
        """So many texts, each with a number of its own."""
        made: list[str] = []
        for _ in range(count):
            words = self._chance.choices(self._words, cum_weights=self._shares, k=WORDS_PER_TEXT)
            made.append(f"{' '.join(words)} #{self._count}")
            self._count += 1
        return made

    def vectors(self, count: int) -> Vectors:
        """So many unit vectors; float32, shape (count, 384)."""
        centres = self._centres[self._numbers.integers(0, CENTRES_COUNT, count)]
        return _unit(centres + np.float32(0.8) * self._noise(count))

    def query(self, texts: list[str], vectors: Vectors) -> Query:
        """A query for one of these entries."""
        planted = self._chance.randrange(len(texts))
        words = texts[planted].split()[:-1]
        text = " ".join(self._chance.sample(words, min(WORDS_PER_QUERY, len(words))))
        # Of the length that the vector had before it was normalised, so that the noise weighs as it does there.
        length = np.float32(np.sqrt(DIMENSION * (1 + 0.8**2)))
        near = vectors[planted : planted + 1] * length + np.float32(0.6) * self._noise(1)
        return Query(text, _unit(near)[0], planted)

    def _noise(self, count: int) -> Vectors:
        return self._numbers.standard_normal((count, DIMENSION)).astype(np.float32)


def _unit(vectors: npt.NDArray[np.floating[Any]]) -> Vectors:
    return np.ascontiguousarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
