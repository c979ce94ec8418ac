"""Names of actors: the same in every driver, inside one namespace per deployment."""

from __future__ import annotations

NAMESPACE = "memoray"


def shard_name(shard: int) -> str:
    """Name of a shard's owner."""
    return f"shard-{shard}"


def retriever_name(number: int) -> str:
    """Name of a retrieval actor."""
    return f"retriever-{number}"


def extractor_name(number: int) -> str:
    """Name of an extraction worker."""
    return f"extractor-{number}"


EMBEDDER_NAME = "embedder"
