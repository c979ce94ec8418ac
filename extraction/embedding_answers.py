"""What is sent to an embeddings endpoint, and what its answer says. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from memoray.extraction.retries import UnreadableAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

TEXTS_PER_REQUEST = 64
BYTES_PER_REQUEST = 256 * 1024


class _Row(msgspec.Struct):
    index: int
    embedding: list[Any]


class _Answer(msgspec.Struct):
    data: list[_Row]


def batches(texts: Sequence[str]) -> Iterator[range]:
    """Which texts go into one request, in order: at most 64 of them, at most 256 KiB unless a single one is longer."""
    start, size = 0, 0
    for position, text in enumerate(texts):
        length = len(text.encode())
        if position > start and (position - start >= TEXTS_PER_REQUEST or size + length > BYTES_PER_REQUEST):
            yield range(start, position)
            start, size = position, 0
        size += length
    if start < len(texts):
        yield range(start, len(texts))


def vectors_of(content: bytes, count: int) -> list[npt.NDArray[np.float32] | None]:
    """Vectors in the body of an answer.

    Args:
        content: JSON of the form that OpenAI documents; NaN is let through, as some servers write it.
        count: how many texts were sent.

    Returns:
        For each text, in order: its vector, L2-normalised, of whatever length; None for one that is not a list of
        finite numbers, or has no direction.

    Raises:
        UnreadableAnswerError: it is no such JSON, or does not have one vector for each text.
    """
    try:
        rows = msgspec.convert(json.loads(content), _Answer).data
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        message = f"{str(error)[:200]}, in {content[:100]!r}"
        raise UnreadableAnswerError(message) from error
    by_index = {row.index: row.embedding for row in rows}
    if len(rows) != count or set(by_index) != set(range(count)):
        message = f"{len(rows)} vectors with indexes {sorted(by_index)[:8]} for {count} texts"
        raise UnreadableAnswerError(message)
    return [normalised(by_index[index]) for index in range(count)]


def normalised(numbers: Sequence[object]) -> npt.NDArray[np.float32] | None:
    """A vector of length 1; None where there is none."""
    if not all(isinstance(number, int | float) for number in numbers):
        return None
    try:
        wide = np.array(numbers, np.float64)
    except (OverflowError, ValueError):
        return None
    largest = float(np.abs(wide).max(initial=0.0))
    if not 0 < largest < float("inf"):
        return None
    wide /= largest  # so that no square overflows or vanishes
    made: npt.NDArray[np.float32] = (wide / np.linalg.norm(wide)).astype(np.float32)
    return made
