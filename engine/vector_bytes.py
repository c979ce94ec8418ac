"""Vectors as they travel, in events and between processes: little-endian float32, row after row. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def to_bytes(vectors: npt.NDArray[np.float32]) -> bytes:
    """Bytes of a vector, shape (d,), or of several, shape (n, d)."""
    return vectors.astype("<f4", copy=False).tobytes()


def from_bytes(vector: bytes) -> npt.NDArray[np.float32]:
    """The numbers that `to_bytes` made these bytes from; float32, shape (d,) or, of n vectors, (n * d,); read-only."""
    return np.frombuffer(vector, "<f4")
