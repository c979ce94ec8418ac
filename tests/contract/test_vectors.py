"""The vector index beside its definition."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from memoray.errors import InvalidRequestError
from memoray.storage.vectors import VectorIndex
from tests.support.naive_indexes import NaiveVectors

DIMENSION = 8


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads change places after every few instructions, not every 5 ms."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def unit(generator: np.random.Generator, count: int) -> npt.NDArray[np.float32]:
    vectors = generator.standard_normal((count, DIMENSION)).astype(np.float32)
    lengths: npt.NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


def assert_same(found: tuple[list[str], list[float]], expected: tuple[list[str], list[float]]) -> None:
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], abs=1e-5)


def test_searches_equal_the_definition_through_replacements_and_removals() -> None:
    generator = np.random.default_rng(1)
    real, naive = VectorIndex(DIMENSION), NaiveVectors(DIMENSION)
    for step in range(400):
        key = f"k{generator.integers(80)}"
        if generator.random() < 0.3:
            real.remove("s", key)
            naive.remove("s", key)
        else:
            vectors = unit(generator, 1)
            real.add("s", [key], vectors)
            naive.add("s", [key], vectors)
        if step % 20 == 0:
            query = unit(generator, 1)[0]
            allowed = {f"k{number}" for number in generator.integers(80, size=10)}
            for chosen in (None, allowed, set[str]()):
                assert_same(real.search("s", query, 7, chosen), naive.search("s", query, 7, chosen))
    assert real.ids("s") == set(naive.spaces["s"])


def test_many_replacements_of_one_id_do_not_hide_the_others() -> None:
    generator = np.random.default_rng(2)
    index = VectorIndex(DIMENSION)
    index.add("s", ["far", "near"], unit(generator, 2))
    query = unit(generator, 1)[0]
    for _ in range(500):
        index.add("s", ["near"], query[None, :])
    assert index.search("s", query, 5)[0] == ["near", "far"]


def test_more_than_there_are_and_none_at_all() -> None:
    generator = np.random.default_rng(3)
    index = VectorIndex(DIMENSION)
    query = unit(generator, 1)[0]
    assert index.search("s", query, 5) == ([], [])
    index.add("s", ["a", "b", "c"], unit(generator, 3))
    assert len(index.search("s", query, 50)[0]) == 3
    assert index.search("s", query, 0) == ([], [])
    index.drop("s")
    assert index.search("s", query, 5) == ([], [])
    assert index.vector_of("s", "a") is None


def test_equal_vectors_are_ordered_by_id_however_many_there_are() -> None:
    index = VectorIndex(DIMENSION)
    query = unit(np.random.default_rng(8), 1)[0]
    for number in reversed(range(300)):
        index.add("s", [f"k{number:03}"], query[None, :])
    first = [f"k{number:03}" for number in range(4)]
    assert index.search("s", query, 4)[0] == first
    assert index.search("s", query, 4, index.ids("s"))[0] == first
    assert index.search("s", query, 4, [*first, *first, "k300"])[0] == first


def test_a_filter_finds_what_is_far_behind_what_it_leaves_out() -> None:
    generator = np.random.default_rng(9)
    index, query = VectorIndex(DIMENSION), unit(generator, 1)[0]
    near: npt.NDArray[np.float32] = query + unit(generator, 900) * np.float32(0.01)
    index.add("s", [f"near{number}" for number in range(900)], near)
    index.add("s", [f"far{number}" for number in range(300)], -unit(generator, 300) - query)
    far = {f"far{number}" for number in range(300)}
    for allowed in (far, {"far1", "far2"}):
        found, _ = index.search("s", query, 5, allowed)
        assert len(found) == min(5, len(allowed))
        assert set(found) <= allowed


def test_an_answer_does_not_depend_on_the_order_of_the_rows() -> None:
    generator = np.random.default_rng(10)
    vectors, query = unit(generator, 500), unit(generator, 1)[0]
    ids = [f"k{number}" for number in range(500)]
    one, other = VectorIndex(DIMENSION), VectorIndex(DIMENSION)
    one.add("s", ids, vectors)
    for row in generator.permutation(500).tolist():
        other.add("s", [ids[row]], -vectors[row : row + 1])
        other.add("s", [ids[row]], vectors[row : row + 1])
    assert one.search("s", query, 50) == other.search("s", query, 50)
    assert one.search("s", query, 9, ids[:20]) == other.search("s", query, 9, ids[:20])


def test_ids_that_stand_twice_in_a_filter_take_no_places() -> None:
    generator = np.random.default_rng(13)
    index, query = VectorIndex(DIMENSION), unit(generator, 1)[0]
    index.add("s", [f"k{number}" for number in range(900)], unit(generator, 900))
    ranked = index.search("s", query, 60)[0]
    assert index.search("s", query, 4, ranked[:1] * 10 + ranked[1:])[0] == ranked[:4]


def test_cosines_of_chosen_ids() -> None:
    generator = np.random.default_rng(11)
    index, vectors, query = VectorIndex(DIMENSION), unit(generator, 3), unit(generator, 1)[0]
    index.add("s", ["a", "b", "c"], vectors)
    expected: npt.NDArray[np.float32] = vectors @ query
    found = index.cosines("s", ["c", "a", "a", "no"], query)
    assert found == pytest.approx({"a": float(expected[0]), "c": float(expected[2])}, abs=1e-6)
    assert index.cosines("s", [], query) == {}
    assert index.cosines("s", ["a"], query * 0) == {}
    assert index.count("s") == 3


def test_spaces_do_not_see_each_other() -> None:
    generator = np.random.default_rng(4)
    index = VectorIndex(DIMENSION)
    vectors = unit(generator, 1)
    index.add("one", ["a"], vectors)
    index.add("two", ["a"], -vectors)
    index.remove("one", "a")
    assert index.search("one", vectors[0], 5) == ([], [])
    assert index.search("two", vectors[0], 5)[1] == pytest.approx([-1.0])
    assert index.search("two", vectors[0], 5, {"b"}) == ([], [])


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(DIMENSION),
        np.full(DIMENSION, np.nan),
        np.full(DIMENSION, np.inf),
        np.full(DIMENSION, 1e30),  # finite, but its products are not
        np.ones(DIMENSION + 1),
    ],
)
def test_bad_vectors_are_refused_whole_and_bad_queries_find_nothing(bad: npt.NDArray[np.float64]) -> None:
    index = VectorIndex(DIMENSION)
    vector = bad.astype(np.float32)
    assert not index.is_usable(vector)
    good = unit(np.random.default_rng(5), 1)
    index.add("s", ["good"], good)
    with pytest.raises(InvalidRequestError):
        index.add("s", ["bad"], vector[None, :])
    assert index.ids("s") == {"good"}
    assert index.search("s", vector, 5) == ([], [])


def test_an_id_twice_in_one_add_is_refused() -> None:
    index = VectorIndex(DIMENSION)
    with pytest.raises(InvalidRequestError, match="stands twice"):
        index.add("s", ["a", "a"], unit(np.random.default_rng(6), 2))


@pytest.mark.usefixtures("busy_threads")
def test_ids_that_are_replaced_are_never_missing_and_never_there_twice() -> None:
    generator = np.random.default_rng(12)
    index, query = VectorIndex(DIMENSION), unit(generator, 1)[0]
    moving = [f"k{number}" for number in range(100)]
    index.add("s", moving, unit(generator, 100))
    is_done = threading.Event()
    wrong: list[object] = []

    def read(allowed: set[str] | None) -> None:
        while not is_done.is_set():
            ids, _ = index.search("s", query, 300, allowed)
            if sorted(ids) != sorted(moving):
                wrong.append(ids)

    readers = [threading.Thread(target=read, args=(allowed,)) for allowed in (None, None, set(moving))]
    for reader in readers:
        reader.start()
    for _ in range(1000):
        index.add("s", moving, unit(generator, 100))
    is_done.set()
    for reader in readers:
        reader.join()
    assert not wrong


@pytest.mark.usefixtures("busy_threads")
def test_readers_beside_the_writer_see_no_half_written_row() -> None:
    generator = np.random.default_rng(7)
    index = VectorIndex(DIMENSION)
    query = unit(generator, 1)[0]
    index.add("s", ["stays"], query[None, :])
    is_done = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not is_done.is_set():
            ids, scores = index.search("s", query, 3)
            if ids[:1] != ["stays"] or not all(np.isfinite(scores)) or len(set(ids)) != len(ids):
                wrong.append((ids, scores))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(3000):
        index.add("s", [f"k{number % 50}"], unit(generator, 1) * np.float32(0.5))
        if number % 3 == 0:
            index.remove("s", f"k{number % 49}")
    is_done.set()
    for reader in readers:
        reader.join()
    assert not wrong
