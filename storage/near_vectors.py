"""Approximate search for spaces that are too large to scan: candidates by one bit a dimension, scored exactly.

RaBitQ codes (Gao and Long, SIGMOD 2024), all of them scanned, in blocks, by FAISS. They name candidates; the scores,
and the order, come from the vectors themselves. Lists of neighbours (IVF) would be scanned in half the time, and lose
half of the hits where vectors form no clusters. An index is built once, over the rows of a sealed file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import faiss
import numpy as np

from memoray.errors import CorruptionError
from memoray.storage.one_thread import on_one_thread

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
    Rows = npt.NDArray[np.int64]
    Marks = npt.NDArray[np.bool_]

# Below this a scan of all rows takes about a millisecond.
ROWS_MIN = 20_000
CANDIDATES_COUNT = 1000


def build_near(matrix: Vectors) -> faiss.Index | None:
    """Index the rows of a matrix (float32, shape (n, dimension), L2-normalised); None where a scan is quick enough."""
    rows_count, dimension = matrix.shape
    if rows_count < ROWS_MIN:
        return None
    index = faiss.IndexRaBitQFastScan(dimension, faiss.METRIC_INNER_PRODUCT)
    on_one_thread(index.train, matrix)
    on_one_thread(index.add, matrix)
    return index


def write_near(index: faiss.Index, path: Path) -> None:
    """Write an index to a file. Not synced."""
    faiss.write_index(index, str(path))


def read_near(path: Path, rows_count: int) -> faiss.Index:
    """Read what `write_near` wrote.

    Raises:
        CorruptionError: it is no index of so many rows.
    """
    try:
        index = faiss.read_index(str(path))
    except RuntimeError as error:
        raise CorruptionError(str(path), 0, expected="a FAISS index", found=str(error)) from error
    if index.ntotal != rows_count:
        raise CorruptionError(str(path), 0, expected=f"an index of {rows_count} rows", found=f"{index.ntotal}")
    return index


def near_rows(
    index: faiss.Index, matrix: Vectors, query: Vectors, k: int, is_out: Marks, out_count: int
) -> tuple[Rows, Vectors]:
    """About the best rows of a matrix that are not out, and their exact inner products, highest first.

    Args:
        index: over the matrix.
        matrix: float32, shape (n, dimension).
        query: float32, shape (dimension,).
        k: most rows to return.
        is_out: bool, shape (n,); read if `out_count` is not 0.
        out_count: how many are out; the more there are, the more candidates are looked at.
    """
    count = len(matrix)
    wanted = max(CANDIDATES_COUNT, 10 * k)
    wanted = min(count, wanted * count // max(count - out_count, 1))
    found = on_one_thread(index.search, query[None, :], wanted)[1][0]
    found = found[found >= 0]
    if out_count:
        found = found[~is_out[found]]
    scores = matrix[found] @ query
    best = np.argsort(-scores, kind="stable")[:k]
    return found[best], scores[best]
