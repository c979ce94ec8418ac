"""Texts to vectors as events carry them; an outage or a bad vector gives None, never an error."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from memoray.engine.vector_bytes import to_bytes
from memoray.errors import EmbedderUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.protocols import Embedder
    from memoray.storage.vectors import VectorIndex

logger = logging.getLogger(__name__)


def embed_texts(
    embedder: Embedder, texts: Sequence[str | None], index: VectorIndex, *, is_query: bool = False
) -> list[bytes | None]:
    """Embed what has a text.

    Args:
        embedder: asked once, for all texts.
        texts: None gives None.
        index: says which vectors it can hold.
        is_query: they are what is searched for, not what is kept.

    Returns:
        One item for each text: little-endian float32 bytes, or None where there is no vector now. What is kept
        without one stays searchable by keyword, and is tried again between jobs until it has one.
    """
    wanted = [text for text in texts if text is not None]
    if not wanted:
        return [None] * len(texts)
    try:
        vectors = embedder.embed(wanted, is_query=is_query)
    except EmbedderUnavailableError as error:
        logger.warning("no vectors for %d texts: %s", len(wanted), error)
        return [None] * len(texts)
    made = iter(vectors)
    result: list[bytes | None] = []
    for text in texts:
        vector = None if text is None else next(made)
        result.append(None if vector is None or not index.is_usable(vector) else to_bytes(vector))
    return result
