"""What a store is bound to: its manifest, its embedder, and the extractors that can be asked for by name."""

from __future__ import annotations

import base64
import logging
import secrets
from typing import TYPE_CHECKING

import msgspec

from memoray.engine.vector_bytes import from_bytes, to_bytes
from memoray.errors import EmbedderUnavailableError, InvalidRequestError, NotFoundError
from memoray.storage.manifest import Manifest, create_manifest, read_manifest
from memoray.text import check_language

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.config import EngineConfig
    from memoray.protocols import Embedder, Extractor
    from memoray.storage.filesystem import FileSystem

DEFAULT_LANGUAGE = "english"
FINGERPRINT_SENTENCE = "The quick brown fox jumps over the lazy dog."
# The same weights give nearly the same vector on any machine; others, even of the same model, do not come near.
FINGERPRINT_COSINE_MIN = 0.999

logger = logging.getLogger(__name__)


class EmbedderCard(msgspec.Struct, frozen=True):
    """What a store remembers of its embedder; `fingerprint`: little-endian float32 vector of a fixed sentence."""

    name: str
    dimension: int
    fingerprint: bytes


def card_of(embedder: Embedder) -> EmbedderCard:
    """Ask an embedder who it is.

    Raises:
        EmbedderUnavailableError: it does not tell.
    """
    vector = embedder.embed([FINGERPRINT_SENTENCE])[0]
    return EmbedderCard(embedder.name, embedder.dimension, to_bytes(vector))


def card_for(name: str, ask: Callable[[], EmbedderCard], fs: FileSystem, store: str) -> EmbedderCard:
    """Ask an embedder of that name who it is; one that cannot tell now is taken at its name where the store knows it.

    Use it behind a `BoundEmbedder` then, which looks again before any of its vectors counts.

    Raises:
        EmbedderUnavailableError: it does not tell, and the store is new or was made with one of another name.
    """
    try:
        return ask()
    except EmbedderUnavailableError as error:
        try:
            known = card_in(read_manifest(fs, store))
        except NotFoundError:
            raise error from None
        if known.name != name:
            raise
        logger.warning("the store opens without its embedder, with keywords alone for now: %s", error)
        return known


def card_in(manifest: Manifest) -> EmbedderCard:
    """The embedder that a store is bound to."""
    fingerprint = base64.b64decode(manifest.embedder_fingerprint)
    return EmbedderCard(manifest.embedder_name, manifest.embedder_dimension, fingerprint)


def difference(known: EmbedderCard, card: EmbedderCard) -> str | None:
    """In what an embedder differs from the one that a store is bound to; None: in nothing that mixes vectors.

    The same name and dimension may stand for other weights: so the vectors of one sentence are compared, too. A card
    without a fingerprint tells nothing about weights.
    """
    if (known.name, known.dimension) != (card.name, card.dimension):
        return f"{card.name!r} of dimension {card.dimension}"
    if not known.fingerprint or not card.fingerprint:
        return None
    cosine = float(from_bytes(known.fingerprint) @ from_bytes(card.fingerprint))
    if cosine >= FINGERPRINT_COSINE_MIN:
        return None
    return f"{card.name!r} of dimension {card.dimension} with other weights (cosine {cosine:.4f} on a fixed sentence)"


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
    differing = difference(card_in(manifest), card)
    if differing is not None:
        message = (
            f"{store} was made with embedder {manifest.embedder_name!r}, dimension {manifest.embedder_dimension}; "
            f"{differing} would mix vectors; start it with the same embedder"
        )
        raise InvalidRequestError(message)
    if config.language and manifest.language != config.language:
        message = (
            f"{store} was made with the stemmer for {manifest.language!r}; queries stemmed for {config.language!r} "
            "would miss what is in it; leave the language out, or make a new store"
        )
        raise InvalidRequestError(message)
    return manifest
