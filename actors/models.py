"""The leaf actors, which need no owner and call nobody: extraction workers and the embedder; and how to call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from memoray.actors.handles import Handles, NoActorError
from memoray.actors.naming import EMBEDDER_NAME
from memoray.actors.wire import decode, encode
from memoray.engine.binding import EmbedderCard, build_extractor, card_of
from memoray.engine.embedders import build_embedder
from memoray.engine.vector_bytes import from_bytes, to_bytes
from memoray.errors import EmbedderUnavailableError, ExtractorUnavailableError, InvalidRequestError, MemorayError
from memoray.protocols import Extraction, ExtractionRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

# A few at a time, so that a query is not behind a long job.
TEXTS_PER_CALL_MAX = 64
CHARACTERS_PER_CALL_MAX = 4000
# Shorter than a client's deadline: a memory is kept without a vector, for now, while the embedder hangs.
EMBED_SECONDS_MAX = 20.0


class EmbedderActor:
    """Holds the model once for a cluster, so that shards and retrievers stay small."""

    def __init__(self, name: str) -> None:
        self._embedder = build_embedder(name)

    def name(self) -> bytes:
        """Name of the model; asks nobody."""
        return encode(self._embedder.name)

    def card(self) -> bytes:
        """`EmbedderCard` of the model."""
        return encode(card_of(self._embedder))

    def embed(self, texts: list[str], is_query: bool) -> bytes:  # noqa: FBT001 - Ray passes what it is given by place
        """Vectors of texts: little-endian float32, row after row."""
        return to_bytes(self._embedder.embed(texts, is_query=is_query))


class ExtractionWorker:
    """Runs an extractor; stateless, so any worker may take any delta."""

    def __init__(self, name: str) -> None:
        extractor = build_extractor(name)
        if extractor is None:
            message = f"extractor {name!r} needs no worker"
            raise InvalidRequestError(message)
        self._extractor = extractor

    def extract(self, request: bytes) -> bytes:
        """`ExtractionRequest` in, `Extraction` out."""
        return encode(self._extractor.extract(decode(request, ExtractionRequest)))


class _Remote:
    """A named actor that is asked once, without a resend: what it does can be done later, or by another."""

    def __init__(self, name: str, namespace: str) -> None:
        self._name = name
        self._handles = Handles(namespace)

    def call(self, method: str, *arguments: object, seconds_max: float) -> bytes:
        handle = self._handles.get(self._name)
        try:
            return cast("bytes", ray.get(getattr(handle, method).remote(*arguments), timeout=seconds_max))
        except RayActorError:
            self._handles.forget(self._name)
            raise


class RemoteEmbedder:
    """The embedder actor as an `Embedder`."""

    def __init__(self, card: EmbedderCard, namespace: str) -> None:
        self._card = card
        self._remote = _Remote(EMBEDDER_NAME, namespace)

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
            EmbedderUnavailableError: the actor did not answer.
        """
        parts: list[bytes] = []
        for few in _few_at_a_time(texts):
            try:
                parts.append(self._embed(few, is_query=is_query))
            except EmbedderUnavailableError:
                if not parts:
                    raise
                break  # what was made is kept, so that many texts get their vectors in several goes
        made = from_bytes(b"".join(parts)).reshape(-1, self.dimension)
        if len(made) == len(texts):
            return made
        missing = np.full((len(texts) - len(made), self.dimension), np.nan, np.float32)
        return np.concatenate([made, missing])

    def _embed(self, few: list[str], *, is_query: bool) -> bytes:
        try:
            return self._remote.call("embed", few, is_query, seconds_max=EMBED_SECONDS_MAX)
        except RayTaskError as error:
            if isinstance(error.cause, EmbedderUnavailableError):
                raise error.cause from None
            message = f"the embedder failed: {error.cause!r}"
            raise EmbedderUnavailableError(message) from error
        except (RayError, GetTimeoutError, NoActorError) as error:
            message = f"the embedder does not answer: {error}"
            raise EmbedderUnavailableError(message) from error


class RemoteExtractor:
    """An extraction worker as an `Extractor`."""

    def __init__(self, name: str, namespace: str) -> None:
        self._remote = _Remote(name, namespace)

    def extract(self, request: ExtractionRequest) -> Extraction:
        """As `Extractor.extract`.

        Raises:
            ExtractorUnavailableError: the worker did not answer in time, or failed.
        """
        try:
            answer = self._remote.call("extract", encode(request), seconds_max=request.deadline_seconds)
        except RayTaskError as error:
            if isinstance(error.cause, MemorayError):
                raise error.cause from None
            message = f"the extractor failed: {error.cause!r}"
            raise ExtractorUnavailableError(message) from error
        except (RayError, GetTimeoutError, NoActorError) as error:
            message = f"the extractor does not answer: {error}"
            raise ExtractorUnavailableError(message) from error
        return decode(answer, Extraction)


def _few_at_a_time(texts: Sequence[str]) -> Iterator[list[str]]:
    few: list[str] = []
    size = 0
    for text in texts:
        if few and (len(few) == TEXTS_PER_CALL_MAX or size + len(text) > CHARACTERS_PER_CALL_MAX):
            yield few
            few, size = [], 0
        few.append(text)
        size += len(text)
    if few:
        yield few
