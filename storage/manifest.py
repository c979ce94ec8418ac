"""The manifest: what a store is bound to for its life, in one JSON file at its root."""

from __future__ import annotations

import posixpath

import msgspec

from memoray.errors import CorruptionError, InvalidRequestError, NotFoundError, StorageUnavailableError
from memoray.keys import SLOTS_COUNT
from memoray.storage.filesystem import FileSystem, publish, publish_new

FORMAT_VERSION = 1
MANIFEST_NAME = "manifest.json"


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a store is bound to.

    Attributes:
        store_id: random hex; tells a store from another that was created in its place.
        cluster_id: who owns it; the owner of its claims.
        shards_count: number of shards.
        embedder_name: model and version that made its vectors.
        embedder_dimension: length of every vector.
        embedder_fingerprint: base64 of the little-endian float32 bytes of a fixed sentence's vector.
        language: of the stemmer that its keywords were made with.
        slots_count: hash slots that the shards divide among themselves.
        map_version: grows whenever slots move between shards.
        requests_remembered_count_max: request ids remembered in a shard.
        requests_remembered_age_seconds_max: how long a request id is remembered.
        format_version: of this file and of the folders beside it.
    """

    store_id: str
    cluster_id: str
    shards_count: int
    embedder_name: str
    embedder_dimension: int
    embedder_fingerprint: str
    language: str = "english"
    slots_count: int = SLOTS_COUNT
    map_version: int = 1
    requests_remembered_count_max: int = 100_000
    requests_remembered_age_seconds_max: float = 7 * 24 * 3600.0
    format_version: int = FORMAT_VERSION


class _Versioned(msgspec.Struct):
    format_version: int


def shard_directory(root: str, shard: int) -> str:
    """Directory of a shard's log."""
    return posixpath.join(root, "shards", f"{shard:04d}")


def create_manifest(fs: FileSystem, root: str, manifest: Manifest) -> Manifest:
    """Create a store, durably, unless it exists.

    Returns:
        The manifest that the store has now: of several callers that create it at once, all get the first one's.

    Raises:
        CorruptionError: the one that exists is not a manifest.
        InvalidRequestError: a later release created it.
        StorageUnavailableError: the file system refused.
    """
    try:
        fs.make_directory(root)
        publish_new(fs, _path(root), _encode(manifest))
    except FileExistsError:
        return read_manifest(fs, root)
    except OSError as error:
        message = f"{root}: cannot create a store: {error}"
        raise StorageUnavailableError(message) from error
    return manifest


def read_manifest(fs: FileSystem, root: str) -> Manifest:
    """Read what a store is bound to.

    Raises:
        NotFoundError: there is no store.
        CorruptionError: the file is not a manifest.
        InvalidRequestError: a later release wrote it.
        StorageUnavailableError: the file system refused.
    """
    path = _path(root)
    try:
        content = fs.read(path)
    except FileNotFoundError as error:
        message = f"{root}: there is no store here"
        raise NotFoundError(message) from error
    except OSError as error:
        message = f"{path}: cannot read the manifest: {error}"
        raise StorageUnavailableError(message) from error
    try:
        # The version first: a later format may have fields that this release refuses.
        version = msgspec.json.decode(content, type=_Versioned).format_version
        if version > FORMAT_VERSION:
            message = f"{path} has format version {version}, this release reads {FORMAT_VERSION}: use a later release"
            raise InvalidRequestError(message)
        return msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptionError(path, 0, expected="a manifest in JSON", found=str(error)) from error


def replace_manifest(fs: FileSystem, root: str, manifest: Manifest) -> None:
    """Replace the manifest of a store; durable on return. A crash at any moment leaves the old or the new one.

    Raises:
        StorageUnavailableError: the file system refused; which of the two is there shows when it is read anew.
    """
    try:
        publish(fs, _path(root), _encode(manifest))
    except OSError as error:
        message = f"{root}: cannot replace the manifest: {error}"
        raise StorageUnavailableError(message) from error


def _path(root: str) -> str:
    return posixpath.join(root, MANIFEST_NAME)


def _encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
