"""What a store is bound to: its manifest, and the embedders and extractors that can be asked for by name."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING

import msgspec

from memoray.errors import InvalidRequestError
from memoray.storage.manifest import Manifest, create_manifest
from memoray.text import check_language

if TYPE_CHECKING:
    from memoray.config import EngineConfig
    from memoray.protocols import Embedder, Extractor
    from memoray.storage.filesystem import FileSystem

DEFAULT_LANGUAGE = "english"
FINGERPRINT_SENTENCE = "The quick brown fox jumps over the lazy dog."


class EmbedderCard(msgspec.Struct, frozen=True):
    """What a store remembers of its embedder; `fingerprint`: little-endian float32 vector of a fixed sentence."""

    name: str
    dimension: int
    fingerprint: bytes


def card_of(embedder: Embedder) -> EmbedderCard:
    """Ask an embedder who it is."""
    vector = embedder.embed([FINGERPRINT_SENTENCE])[0]
    return EmbedderCard(embedder.name, embedder.dimension, vector.astype("<f4").tobytes())


def build_embedder(name: str) -> Embedder:
    """The embedder of that name.

    Raises:
        InvalidRequestError: there is none.
    """
    if name == "minilm":
        from memoray.extraction.minilm import MiniLmEmbedder  # noqa: PLC0415 - 23 MB of model, only where it is used

        return MiniLmEmbedder()
    message = f"no embedder is called {name!r}; there is: 'minilm'"
    raise InvalidRequestError(message)


def build_extractor(name: str) -> Extractor | None:
    """The extractor of that name; None for `none`.

    Raises:
        InvalidRequestError: there is none.
    """
    if name == "offline":
        from memoray.extraction.offline import OfflineExtractor  # noqa: PLC0415 - only who extracts needs it

        return OfflineExtractor()
    if name == "none":
        return None
    message = f"no extractor is called {name!r}; there are: 'offline', 'none'"
    raise InvalidRequestError(message)


def bind_manifest(
    fs: FileSystem, store: str, *, shards_count: int | None, card: EmbedderCard, config: EngineConfig
) -> Manifest:
    """The manifest of a store, which is created if it is new.

    Args:
        fs: where the store is.
        store: its directory.
        shards_count: how many shards are wanted; None: as many as there are, one in a new store.
        card: of the embedder.
        config: bounds that a new store is created with.

    Raises:
        InvalidRequestError: the store has another shard count or was made with another embedder or language, or there
            is no stemmer for the language.
    """
    check_language(config.language or DEFAULT_LANGUAGE)
    wanted = Manifest(
        store_id=secrets.token_hex(8),
        cluster_id=secrets.token_hex(8),
        shards_count=shards_count or 1,
        embedder_name=card.name,
        embedder_dimension=card.dimension,
        embedder_fingerprint=base64.b64encode(card.fingerprint).decode(),
        language=config.language or DEFAULT_LANGUAGE,
        requests_remembered_count_max=config.requests_count_max,
        requests_remembered_age_seconds_max=config.requests_age_seconds_max,
    )
    manifest = create_manifest(fs, store, wanted)
    if shards_count is not None and manifest.shards_count != shards_count:
        message = f"{store} has {manifest.shards_count} shards, not {shards_count}"
        raise InvalidRequestError(message)
    if (manifest.embedder_name, manifest.embedder_dimension) != (card.name, card.dimension):
        message = (
            f"{store} was made with embedder {manifest.embedder_name!r}, dimension {manifest.embedder_dimension}; "
            f"{card.name!r} of dimension {card.dimension} would mix vectors; start it with the same embedder"
        )
        raise InvalidRequestError(message)
    if config.language and manifest.language != config.language:
        message = (
            f"{store} was made with the stemmer for {manifest.language!r}; queries stemmed for {config.language!r} "
            "would miss what is in it; leave the language out, or make a new store"
        )
        raise InvalidRequestError(message)
    return manifest
