from __future__ import annotations

import json

import msgspec
import pytest

from memoray.errors import CorruptionError, InvalidRequestError, NotFoundError, StorageUnavailableError
from memoray.storage.manifest import (
    Manifest,
    create_manifest,
    read_manifest,
    replace_manifest,
    shard_directory,
)
from memoray.storage.memory_filesystem import MemoryFileSystem
from tests.support.faulty_filesystem import FaultyFileSystem

MANIFEST = Manifest(
    store_id="00ff",
    cluster_id="cluster",
    shards_count=4,
    embedder_name="hashed-1",
    embedder_dimension=2,
    embedder_fingerprint="AACAPwAAAAA=",
)


@pytest.fixture
def fs() -> MemoryFileSystem:
    return MemoryFileSystem()


def put(fs: MemoryFileSystem, content: bytes) -> None:
    fs.make_directory("/store")
    fs.create("/store/manifest.json").write(content)


def test_created_once_and_read_back(fs: MemoryFileSystem) -> None:
    assert create_manifest(fs, "/store", MANIFEST) == MANIFEST
    other = msgspec.structs.replace(MANIFEST, store_id="aa", shards_count=9)
    assert create_manifest(fs, "/store", other) == MANIFEST
    assert read_manifest(fs, "/store") == MANIFEST


def test_file_is_json_with_every_field(fs: MemoryFileSystem) -> None:
    create_manifest(fs, "/store", MANIFEST)
    fields = json.loads(fs.read("/store/manifest.json"))
    assert fields["format_version"] == 1
    assert fields["slots_count"] == 4096
    assert fields["map_version"] == 1
    assert fields["requests_remembered_count_max"] == 100_000
    assert fields["requests_remembered_age_seconds_max"] == 604_800
    assert set(fields) == set(Manifest.__struct_fields__)


def test_replaced_whole(fs: MemoryFileSystem) -> None:
    create_manifest(fs, "/store", MANIFEST)
    moved = msgspec.structs.replace(MANIFEST, map_version=2)
    replace_manifest(fs, "/store", moved)
    assert read_manifest(fs, "/store") == moved
    assert fs.list("/store") == ["manifest.json"]


def test_missing_store_is_told(fs: MemoryFileSystem) -> None:
    with pytest.raises(NotFoundError, match="/store"):
        read_manifest(fs, "/store")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format_version": 1}', b'{"format_version": "x"}']
)
def test_bad_file_is_corruption(fs: MemoryFileSystem, content: bytes) -> None:
    put(fs, content)
    with pytest.raises(CorruptionError, match=r"manifest\.json"):
        read_manifest(fs, "/store")


def test_later_format_is_named_even_with_unknown_fields(fs: MemoryFileSystem) -> None:
    put(fs, b'{"format_version": 2, "regions": []}')
    with pytest.raises(InvalidRequestError, match="format version 2"):
        read_manifest(fs, "/store")


def test_any_failure_leaves_the_old_or_the_new_one(fs: MemoryFileSystem) -> None:
    create_manifest(fs, "/store", MANIFEST)
    moved = msgspec.structs.replace(MANIFEST, map_version=2)
    at = 0
    for at in range(1, 20):
        faulty = FaultyFileSystem(fs, at=at)
        try:
            replace_manifest(faulty, "/store", moved)
        except StorageUnavailableError:
            assert read_manifest(fs, "/store") in (MANIFEST, moved)
        else:
            break
    assert 4 < at < 10
    assert read_manifest(fs, "/store") == moved


def test_shard_directory() -> None:
    assert shard_directory("/store", 7) == "/store/shards/0007"
