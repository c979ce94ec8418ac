"""Whatever is added, replaced, removed, dropped and committed: the indexes answer as their definitions do."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memoray.keys import UserKey
from memoray.storage.keywords import KeywordIndex
from memoray.storage.vectors import VectorIndex
from tests.support.naive_indexes import NaiveKeywords, NaiveVectors
from tests.support.sealed_indexes import sealed_keywords, sealed_vectors

# Users whose keys read the same when they are joined, and the two spaces of one.
SPACES: list[Hashable] = [
    (UserKey("a", "b:c"), "entries"),
    (UserKey("a:b", "c"), "entries"),
    (UserKey("a", "b:c"), "turns"),
]
spaces = st.sampled_from(SPACES)
keys = st.sampled_from(["a", "b", "c-1", "C-1", "d_2", "用户", "\ud800", ""])
terms = st.sampled_from(["tea", "teas", "t", "", "1:", "中文", "\ud800", "x" * 2000, "x" * 2001, "AND", "\x1f"])
filters = st.none() | st.frozensets(keys) | st.lists(keys)
# Few directions: replaced vectors, ties and equal ids in other spaces come often.
DIRECTIONS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [-1, 0, 0]], np.float32)
directions = st.integers(0, len(DIRECTIONS) - 1)


class KeywordMachine(RuleBasedStateMachine):
    """`KeywordIndex` beside `NaiveKeywords`."""

    def __init__(self) -> None:
        super().__init__()
        self.real = KeywordIndex()
        self.naive = NaiveKeywords()

    @rule(space=spaces, key=keys, words=st.lists(terms, max_size=6))
    def add(self, space: Hashable, key: str, words: list[str]) -> None:
        self.real.add(space, key, words)
        self.naive.add(space, key, words)

    @rule(space=spaces, key=keys)
    def remove(self, space: Hashable, key: str) -> None:
        self.real.remove(space, key)
        self.naive.remove(space, key)

    @rule(space=spaces)
    def drop(self, space: Hashable) -> None:
        self.real.drop(space)
        self.naive.drop(space)

    @rule()
    def seal(self) -> None:
        self.real = sealed_keywords(self.naive)

    @rule(space=spaces, query=st.lists(terms, max_size=4), k=st.integers(0, 9), allowed=filters)
    def search(self, space: Hashable, query: list[str], k: int, allowed: frozenset[str] | list[str] | None) -> None:
        found, scores = self.real.search(space, query, k, allowed)
        expected, expected_scores = self.naive.search(space, query, len(SPACES) * 9, allowed)
        assert scores == pytest.approx(expected_scores[:k], rel=1e-9)
        by_key = dict(zip(expected, expected_scores, strict=True))
        assert [by_key[key] for key in found] == pytest.approx(scores, rel=1e-9)
        assert len(set(found)) == len(found)

    @invariant()
    def the_same_documents_are_there(self) -> None:
        for space in SPACES:
            assert self.real.ids(space) == set(self.naive.spaces.get(space, {}))
            assert self.real.count(space) == len(self.real.ids(space))


class VectorMachine(RuleBasedStateMachine):
    """`VectorIndex` beside `NaiveVectors`."""

    def __init__(self) -> None:
        super().__init__()
        self.real = VectorIndex(3)
        self.naive = NaiveVectors(3)

    @rule(space=spaces, rows=st.dictionaries(keys, directions))
    def add(self, space: Hashable, rows: dict[str, int]) -> None:
        vectors: npt.NDArray[np.float32] = DIRECTIONS[list(rows.values())].reshape(-1, 3)
        self.real.add(space, list(rows), vectors)
        self.naive.add(space, list(rows), vectors)

    @rule(space=spaces, key=keys, direction=directions)
    def replace_often(self, space: Hashable, key: str, direction: int) -> None:
        for row in (0, 1, direction) * 30:
            self.add(space, {key: row})

    @rule(space=spaces, key=keys)
    def remove(self, space: Hashable, key: str) -> None:
        self.real.remove(space, key)
        self.naive.remove(space, key)

    @rule(space=spaces)
    def drop(self, space: Hashable) -> None:
        self.real.drop(space)
        self.naive.drop(space)

    @rule()
    def seal(self) -> None:
        self.real = sealed_vectors(self.naive)

    @rule(space=spaces, direction=directions, k=st.integers(0, 9), allowed=filters)
    def search(self, space: Hashable, direction: int, k: int, allowed: frozenset[str] | list[str] | None) -> None:
        query = DIRECTIONS[direction]
        found, scores = self.real.search(space, query, k, allowed)
        expected, expected_scores = self.naive.search(space, query, k, allowed)
        assert scores == pytest.approx(expected_scores, abs=1e-6)
        assert found == expected

    @invariant()
    def the_same_rows_are_there(self) -> None:
        for space in SPACES:
            rows = self.naive.spaces.get(space, {})
            assert self.real.ids(space) == set(rows)
            assert self.real.count(space) == len(rows)
            for key, row in rows.items():
                known = self.real.vector_of(space, key)
                assert known is not None
                assert np.array_equal(known, row)


TestKeywords = KeywordMachine.TestCase
TestKeywords.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestVectors = VectorMachine.TestCase
TestVectors.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
