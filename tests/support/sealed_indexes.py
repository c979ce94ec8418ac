"""The real indexes over sealed files with what the naive ones hold."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Hashable
from pathlib import Path

import numpy as np

from memoray.storage.columns import Keys
from memoray.storage.keyword_space import SealedDocuments
from memoray.storage.keywords import KeywordIndex
from memoray.storage.near_vectors import build_near
from memoray.storage.sealed_keywords import LongLists, LongPostings, SealedKeywords, bounded, write_keywords
from memoray.storage.vector_space import SealedVectors
from memoray.storage.vectors import VectorIndex
from tests.support.naive_indexes import NaiveKeywords, NaiveVectors

GHOST = "\x7fghost"  # a key behind all others, of a row that was dead when it was sealed


def _sealable(keys: list[str]) -> list[str]:
    """Keys as a sealed part takes them, sorted; the others stay in the tail."""
    return sorted(key for key in keys if key.isascii() and not key.endswith("\0"))


class _Documents:
    def __init__(self, naive: NaiveKeywords, directory: Path) -> None:
        self._parts: dict[Hashable, tuple[str, int, list[str], list[int]]] = {}
        documents: list[tuple[int, str, Counter[str]]] = []
        numbers = itertools.count()
        for place, (space, held) in enumerate(naive.spaces.items()):
            prefix, keys = f"{place:x}:", _sealable(list(held))
            first = next(numbers)
            for number, key in zip(itertools.chain([first], numbers), keys, strict=False):
                counts: Counter[str] = Counter()
                for term, count in held[key].items():
                    counts[bounded(term)] += count
                documents.append((number, prefix, counts))
            self._parts[space] = prefix, first, keys, [held[key].total() for key in keys]
        write_keywords(directory, documents)
        lists = LongLists()
        for document in documents:
            lists.take(*document)
        self._index = SealedKeywords(directory, len(documents), LongPostings(*lists.columns()))

    def documents(self, space: Hashable) -> SealedDocuments | None:
        part = self._parts.get(space)
        if part is None:
            return None
        prefix, first, keys, lengths = part
        column = np.array([*keys, GHOST], np.bytes_)
        is_dead = np.array([*(False for _ in keys), True])
        return SealedDocuments(
            self._index, prefix, first, Keys(column, 0, len(column)), np.array([*lengths, 7], np.int32), is_dead
        )


class _Vectors:
    def __init__(self, naive: NaiveVectors) -> None:
        self._parts: dict[Hashable, SealedVectors] = {}
        for space, rows in naive.spaces.items():
            keys = _sealable(list(rows))
            matrix = np.zeros((len(keys) + 1, naive.dimension), np.float32)
            for row, key in enumerate(keys):
                matrix[row] = rows[key]
            column = np.array([*keys, GHOST], np.bytes_)
            is_dead = np.array([*(False for _ in keys), True])
            self._parts[space] = SealedVectors(Keys(column, 0, len(column)), matrix, is_dead, build_near(matrix))

    def vectors(self, space: Hashable) -> SealedVectors | None:
        return self._parts.get(space)


def sealed_keywords(naive: NaiveKeywords) -> KeywordIndex:
    """An index over a sealed base with what `naive` has now; a second generation of the same content."""
    with tempfile.TemporaryDirectory() as folder:  # Tantivy has its files open, so they may go
        index = KeywordIndex(_Documents(naive, Path(folder)))
    for space, held in naive.spaces.items():
        sealed = set(_sealable(list(held)))
        for key, counts in held.items():
            if key not in sealed:
                index.add(space, key, counts.elements())
    return index


def sealed_vectors(naive: NaiveVectors) -> VectorIndex:
    """The same for vectors."""
    index = VectorIndex(naive.dimension, _Vectors(naive))
    for space, rows in naive.spaces.items():
        sealed = set(_sealable(list(rows)))
        for key, vector in rows.items():
            if key not in sealed:
                index.add(space, [key], vector[None, :])
    return index
