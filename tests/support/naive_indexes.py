"""The indexes written down as their definitions, to compare the real ones with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt


class NaiveVectors:
    """A dictionary and a matrix product."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.spaces: dict[Hashable, dict[str, npt.NDArray[np.float32]]] = {}

    def add(self, space: Hashable, ids: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        self.spaces.setdefault(space, {}).update(zip(ids, vectors, strict=True))

    def remove(self, space: Hashable, key: str) -> None:
        self.spaces.get(space, {}).pop(key, None)

    def drop(self, space: Hashable) -> None:
        self.spaces.pop(space, None)

    def search(
        self, space: Hashable, query: npt.NDArray[np.float32], k: int, allowed: Collection[str] | None = None
    ) -> tuple[list[str], list[float]]:
        rows = self.spaces.get(space, {})
        scored = [(-float(row @ query), key) for key, row in rows.items() if allowed is None or key in allowed]
        best = sorted(scored)[:k]
        return [key for _, key in best], [-score for score, _ in best]


class NaiveKeywords:
    """BM25 by its formula, over everything; more than 15 of a term in a document count as 15."""

    def __init__(self) -> None:
        self.spaces: dict[Hashable, dict[str, Counter[str]]] = {}

    def add(self, space: Hashable, key: str, terms: Iterable[str]) -> None:
        self.spaces.setdefault(space, {})[key] = Counter(terms)

    def remove(self, space: Hashable, key: str) -> None:
        self.spaces.get(space, {}).pop(key, None)

    def drop(self, space: Hashable) -> None:
        self.spaces.pop(space, None)

    def search(
        self, space: Hashable, terms: Sequence[str], k: int, allowed: Collection[str] | None = None
    ) -> tuple[list[str], list[float]]:
        documents = self.spaces.get(space, {})
        if not documents:
            return [], []
        average = sum(counts.total() for counts in documents.values()) / len(documents)
        frequencies = {term: sum(1 for counts in documents.values() if counts[term]) for term in terms}
        scored: list[tuple[float, str]] = []
        for key, counts in documents.items():
            score = 0.0
            for term, frequency in frequencies.items():
                if counts[term]:
                    count = min(counts[term], 15)
                    weight = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
                    norm = 1.2 * (0.25 + 0.75 * counts.total() / average)
                    score += weight * count * 2.2 / (count + norm)
            if score and (allowed is None or key in allowed):
                scored.append((-score, key))
        best = sorted(scored)[:k]
        return [key for _, key in best], [-score for score, _ in best]
