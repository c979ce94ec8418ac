"""An embedder that has to be the one that a store was made with, before any vector of it counts."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from memoray.engine.binding import FINGERPRINT_SENTENCE, EmbedderCard, difference
from memoray.engine.vector_bytes import to_bytes
from memoray.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from memoray.protocols import Embedder

logger = logging.getLogger(__name__)


class BoundEmbedder:
    """Implements `Embedder`. Looks who answers at first, and again after every outage: it may be another model."""

    def __init__(self, embedder: Embedder, card: EmbedderCard) -> None:
        """Bind an embedder to what a store knows of its own."""
        self._embedder = embedder
        self._card = card
        self._lock = threading.Lock()
        self._is_known = False
        self._was_away = False
        self._is_looking = False

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._card.name

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._card.dimension

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        """As `Embedder.embed`.

        Raises:
            EmbedderUnavailableError: no vectors now, or not those of the store's embedder.
        """
        if is_query and self._was_away:
            self._look_aside()
        try:
            if not self._is_known:
                self._look()
            return self._embedder.embed(texts, is_query=is_query)
        except EmbedderUnavailableError:
            self._is_known, self._was_away = False, True
            raise

    def _look(self) -> None:
        """Compare the vector of the fixed sentence."""
        vector = self._embedder.embed([FINGERPRINT_SENTENCE])[0]
        differing = difference(self._card, EmbedderCard(self._embedder.name, len(vector), to_bytes(vector)))
        if differing is not None:
            message = (
                f"the store was made with {self.name!r}, dimension {self.dimension}, and {differing} answers: "
                "no vectors of it are taken; bring the store's own back"
            )
            raise EmbedderUnavailableError(message)
        self._is_known, self._was_away = True, False

    def _look_aside(self) -> None:
        """Look in a thread of its own: nobody who searches waits for an embedder that was just away.

        Raises:
            EmbedderUnavailableError: always.
        """
        with self._lock:
            is_first, self._is_looking = not self._is_looking, True
        if is_first:
            threading.Thread(target=self._look_quietly, name="memoray-look", daemon=True).start()
        message = f"embedder {self.name!r} was away; it is looked at before it counts again"
        raise EmbedderUnavailableError(message)

    def _look_quietly(self) -> None:
        try:
            self._look()
        except EmbedderUnavailableError as error:
            logger.warning("%s", error)
        finally:
            with self._lock:
                self._is_looking = False
