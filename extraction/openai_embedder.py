"""An embedder behind an OpenAI-compatible endpoint: OpenAI itself, or a server that speaks its `/embeddings`."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from memoray.errors import EmbedderUnavailableError
from memoray.extraction.embedding_answers import batches, vectors_of
from memoray.extraction.endpoint import Endpoint, EndpointDownError, EndpointRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    import numpy.typing as npt
    import openai

    from memoray.extraction.openai_settings import OpenAiSettings

    Vector = npt.NDArray[np.float32]

PROBE = "dimension"
# Models take about 8,000 tokens. A token is 4 characters of English but less than one of some scripts: what is refused
# all the same is halved, so that a text of any length costs a bounded number of requests.
CHARACTERS_COUNT_MAX = 16_384
HALVINGS_MAX = 5
TOO_LONG_STATUSES = frozenset({400, 413, 422})

logger = logging.getLogger(__name__)


class OpenAiEmbedder:
    """Implements `Embedder`. Calls of several threads run side by side."""

    def __init__(self, settings: OpenAiSettings, key: str) -> None:
        """Nothing is sent yet.

        Args:
            settings: see there.
            key: of the endpoint; kept in memory only.
        """
        self._settings = settings
        self._endpoint = Endpoint(
            settings.base_url, key, attempt_seconds_max=settings.timeout, rest_seconds=settings.rest_seconds
        )
        self._lock = threading.Lock()
        self._dimension = settings.dimension

    @property
    def name(self) -> str:
        """Name of the model; `openai:` tells whose interface, not whose model."""
        return f"openai:{self._settings.model}"

    @property
    def dimension(self) -> int:
        """Length of every vector; asks the endpoint the first time, if it was not set.

        Raises:
            EmbedderUnavailableError: it does not tell.
        """
        with self._lock:
            known = self._dimension
        if known is None:
            self.embed([PROBE])
            known = self._dimension
        assert known is not None, "embed returned without a vector"
        return known

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vector:
        """As `Embedder.embed`. A text that the endpoint refuses is halved until it is taken, five times at most.

        Raises:
            EmbedderUnavailableError: not one text got a vector.
        """
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        settings = self._settings
        until = time.monotonic() + (settings.query_seconds_max if is_query else settings.seconds_max)
        readable = [_readable(text) for text in texts]
        made: list[Vector | None] = []
        reason = ""
        for batch in batches(readable):
            try:
                self._embed([readable[position] for position in batch], until, made)
            except EndpointDownError as error:
                # What has been made is kept: a slow endpoint takes many texts in several calls, and never none.
                reason = str(error)
                break
        made += [None] * (len(texts) - len(made))
        rows = [None if vector is None else self._checked(vector) for vector in made]
        found = sum(row is not None for row in rows)
        if not found:
            message = f"{self.name}: {reason or 'no usable vector'}; asked for {len(texts)}"
            raise EmbedderUnavailableError(message)
        if found < len(rows):
            logger.warning("%s: %d of %d texts got no vector: %s", self.name, len(rows) - found, len(rows), reason)
        missing = np.full(self.dimension, np.nan, np.float32)
        return np.stack([missing if row is None else row for row in rows])

    def _embed(self, texts: list[str], until: float, made: list[Vector | None]) -> None:
        """Append the vectors of one batch; halves it where the endpoint refuses it, until one text alone is refused."""
        try:
            made += self._ask(texts, until)
        except EndpointRefusedError as error:
            if error.status not in TOO_LONG_STATUSES:
                raise EndpointDownError(str(error)) from error  # a wrong key or model is the same for every text
            if len(texts) == 1:
                made.append(self._embed_refused(texts[0], until))
                return
            middle = len(texts) // 2
            self._embed(texts[:middle], until, made)
            self._embed(texts[middle:], until, made)

    def _embed_refused(self, text: str, until: float) -> Vector | None:
        refusal = ""
        for _ in range(HALVINGS_MAX):
            text = text[: len(text) // 2].strip()
            if not text:
                break
            try:
                return self._ask([text], until)[0]
            except EndpointRefusedError as error:
                refusal = str(error)
                if error.status not in TOO_LONG_STATUSES:
                    break
        logger.warning("%s: a text is given up: %s", self.name, refusal)
        return None

    def _ask(self, texts: list[str], until: float) -> list[Vector | None]:
        dimensions: dict[str, Any] = {}
        if self._settings.dimension is not None:
            dimensions["dimensions"] = self._settings.dimension

        def open_request(client: openai.OpenAI, seconds: float) -> AbstractContextManager[Any]:
            return client.embeddings.with_streaming_response.create(
                input=texts, model=self._settings.model, encoding_format="float", timeout=seconds, **dimensions
            )

        def read(content: bytes) -> list[Vector | None]:
            return vectors_of(content, len(texts))

        return self._endpoint.ask(open_request, read, until)

    def _checked(self, vector: Vector) -> Vector | None:
        """The vector if it has the length that all have; the first one tells which."""
        with self._lock:
            if self._dimension is None:
                self._dimension = len(vector)
            if len(vector) == self._dimension:
                return vector
            logger.warning("%s: a vector of %d numbers, expected %d", self.name, len(vector), self._dimension)
            return None


def _readable(text: str) -> str:
    """What can be sent: no lone surrogates, no more than counts, and never empty, which endpoints refuse."""
    return text[:CHARACTERS_COUNT_MAX].encode(errors="replace").decode() if text.strip() else "-"
