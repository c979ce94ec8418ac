"""An embedder with moods: well, down (an outage) or bad (vectors that cannot be used)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memoray.errors import EmbedderUnavailableError
from memoray.protocols import Embedder
from tests.support.fake_embedder import FakeEmbedder


class MoodyEmbedder:
    """Implements `Embedder`."""

    def __init__(self, inner: Embedder | None = None) -> None:
        self._inner = inner or FakeEmbedder()
        self.mood = "well"

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        if self.mood == "down":
            raise EmbedderUnavailableError("no embedder")
        vectors = self._inner.embed(texts, is_query=is_query)
        return vectors * np.float32("nan") if self.mood == "bad" else vectors
