"""Stores written by released versions replay to the recorded state for ever."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from memoray.engine.fold import fold
from memoray.engine.state import empty_state
from memoray.events import AnyEvent
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import shard_directory
from memoray.storage.recovery import read_batches
from tests.golden.make import summary
from tests.support.fake_embedder import FakeEmbedder
from tests.support.shards import ShardBench

VERSIONS = sorted(path.parent for path in Path(__file__).parent.glob("*/expected.json"))


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, object]]:
    """A copy of the store, and what must be read from it."""
    shutil.copytree(request.param / "store", tmp_path / "store")
    return str(tmp_path / "store"), json.loads((request.param / "expected.json").read_text(encoding="utf-8"))


def test_there_is_one_for_each_release() -> None:
    assert [path.name for path in VERSIONS] == ["0.1", "0.1-undo"]


def test_it_replays_to_the_recorded_state(golden: tuple[str, dict[str, object]]) -> None:
    root, expected = golden
    state = empty_state("store/0", requests_count_max=100_000, requests_age_seconds_max=1e9)
    for batch in read_batches(LocalFileSystem(), shard_directory(root, 0), shard=0).batches:
        state = fold(state, batch)
    assert json.loads(json.dumps(summary(state))) == expected


def test_a_shard_goes_on_from_it(golden: tuple[str, dict[str, object]]) -> None:
    root, _ = golden
    bench = ShardBench(LocalFileSystem(), root=root, embedder=FakeEmbedder(8))
    bench.submit("Something new", session="s9", request_id="after the release")
    bench.check()
    bench.shard.close(10.0)


def test_every_event_type_is_in_one(tmp_path: Path) -> None:
    assert tmp_path.exists()
    seen: set[type] = set()
    for version in VERSIONS:
        directory = shard_directory(str(version / "store"), 0)
        for batch in read_batches(LocalFileSystem(), directory, shard=0).batches:
            seen |= {type(event) for event in batch.events}
    assert seen == set(AnyEvent.__args__)
