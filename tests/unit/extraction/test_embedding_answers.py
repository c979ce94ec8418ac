"""What goes into one request to an embeddings endpoint, and what its answer is worth."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoray.extraction.embedding_answers import BYTES_PER_REQUEST, TEXTS_PER_REQUEST, batches, vectors_of
from memoray.extraction.retries import UnreadableAnswerError


def body(*rows: object, indexes: list[int] | None = None) -> bytes:
    numbers = indexes if indexes is not None else list(range(len(rows)))
    data = [{"index": number, "embedding": row} for number, row in zip(numbers, rows, strict=True)]
    return json.dumps({"data": data}).encode()


@given(st.lists(st.integers(0, 3 * BYTES_PER_REQUEST // 2), max_size=200))
def test_every_text_is_in_one_request_and_none_is_over_the_bounds(lengths: list[int]) -> None:
    texts = ["x" * length for length in lengths]
    made = list(batches(texts))
    assert [position for batch in made for position in batch] == list(range(len(texts)))
    for batch in made:
        assert 1 <= len(batch) <= TEXTS_PER_REQUEST
        assert len(batch) == 1 or sum(lengths[position] for position in batch) <= BYTES_PER_REQUEST


def test_vectors_get_length_one_and_the_order_of_the_texts() -> None:
    first, second = vectors_of(body([0, 5, 0], [3, 0, 4], indexes=[1, 0]), 2)
    assert first is not None and second is not None
    assert first.dtype == np.float32
    assert np.allclose(first, [0.6, 0, 0.8]) and np.allclose(second, [0, 1, 0])


@pytest.mark.parametrize(
    "row",
    [[0, 0], [], [float("nan"), 1], [float("inf"), 1], [None, 1], ["1", 2], [[1], 2], [10**400, 1]],
    ids=["zero", "empty", "nan", "inf", "null", "text", "nested", "beyond float"],
)
def test_a_bad_vector_is_missing_and_its_neighbour_is_not(row: list[object]) -> None:
    bad, good = vectors_of(body(row, [1, 0]), 2)
    assert bad is None and good is not None


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324])
def test_numbers_of_any_size_have_a_direction(size: float) -> None:
    (vector,) = vectors_of(body([size, 0.0]), 1)
    assert vector is not None and np.allclose(vector, [1, 0])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>busy</html>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"{}",
        b"null",
        b'{"data": null}',
        b'{"data": [{"index": 0}]}',
        body([1.0, 0.0]),
        body([1.0], [1.0], [1.0]),
        body([1.0], [1.0], indexes=[0, 0]),
        body([1.0], [1.0], indexes=[1, 2]),
        body("AACAPw==", [1.0]),
    ],
)
def test_what_is_no_answer_for_two_texts_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises(UnreadableAnswerError):
        vectors_of(content, 2)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    try:
        vectors_of(content, 1)
    except UnreadableAnswerError:
        pass
