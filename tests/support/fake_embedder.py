"""An embedder without a model: hashed words, so that texts with shared words are near. Deterministic."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class FakeEmbedder:
    """Implements `Embedder`."""

    def __init__(self, dimension: int = 64, name: str = "fake") -> None:
        self._dimension = dimension
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in enumerate(texts):
            for word in ["", *text.lower().split()]:
                digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest()
                generator = np.random.default_rng(int.from_bytes(digest, "big"))
                vectors[row] += generator.standard_normal(self._dimension).astype(np.float32)
        lengths: npt.NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / lengths
