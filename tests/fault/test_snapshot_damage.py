"""A snapshot is a cache: damaged, missing or old, it costs time and no memory."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoray.engine import sealer
from memoray.engine.checker import different
from memoray.engine.state import ShardState
from memoray.engine.verify import ShardReport, verify_store
from memoray.errors import CorruptionError
from memoray.operations import Add
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.generations import Generation, generations
from tests.support.driver import Driver, state_of_files

FILES = ("base.arrow", "checksums.json", "keywords/meta.json", "keywords/*.term", "keywords/*.idx", "keywords/*.fast")
ENTRIES_COUNT = 12


def filled(store: Path) -> ShardState:
    """A store with one snapshot and a tail of two batches; its state."""
    driver = Driver(str(store), seal_rows_min=2 * ENTRIES_COUNT - 4)  # an entry changes both indexes
    for number in range(ENTRIES_COUNT):
        driver.bench.apply(Add(f"crate{number} holds maple{number}"))
    assert driver.bench.shard.seal(20.0)
    for number in range(2):
        driver.bench.apply(Add(f"later{number} alder{number}"))
    assert driver.bench.shard.close(10.0)
    state, _ = state_of_files(str(store))  # not the shard's: that one lies over the snapshot's files
    assert snapshot(store).seq < state.last_seq
    return state


def snapshot(store: Path) -> Generation:
    (newest, *_) = generations(store / "shards" / "0000" / "snapshots")
    return newest


def report(store: Path) -> ShardReport:
    (found,) = verify_store(LocalFileSystem(), str(store))
    return found


def opened(store: Path, seal_rows_min: int = 10_000) -> Driver:
    return Driver(str(store), seal_rows_min=seal_rows_min)


def assert_same(store: Path, before: ShardState) -> None:
    driver = opened(store)
    assert different(before, driver.bench.shard.state()) == []
    driver.check()


def test_only_the_tail_is_read_when_there_is_a_snapshot(tmp_path: Path) -> None:
    before = filled(tmp_path)
    assert report(tmp_path).problems == ()
    assert report(tmp_path).snapshot_seq == snapshot(tmp_path).seq
    driver = opened(tmp_path)
    tail = [batch for batch in driver.bench.batches() if batch.first_seq > snapshot(tmp_path).seq]
    assert 0 < len(tail) < ENTRIES_COUNT
    assert driver.bench.shard.recovery.batches_count == len(tail)
    assert different(before, driver.bench.shard.state()) == []
    driver.check()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("pattern", FILES)
@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_a_file_that_is_cut_or_missing_is_noticed_at_once(
    tmp_path: Path, pattern: str, damage: Callable[[Path], None]
) -> None:
    before = filled(tmp_path)
    for file in snapshot(tmp_path).path.glob(pattern):
        damage(file)
    assert len(report(tmp_path).problems) == 1
    assert_same(tmp_path, before)


@pytest.mark.parametrize("pattern", [*FILES[:1], *FILES[2:]])
def test_a_changed_byte_is_found_by_verify_and_by_the_owner(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = filled(tmp_path)
    (file, *_) = snapshot(tmp_path).path.glob(pattern)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)
    assert "CRC-32" in report(tmp_path).problems[0]
    monkeypatch.setattr(sealer, "DEEP_CHECK_AFTER_SECONDS", 0.0)
    driver = opened(tmp_path)
    if driver.bench.shard.recovery.batches_count < ENTRIES_COUNT:  # it was taken for whole, for now
        deadline = time.monotonic() + 20
        while driver.bench.shard.failure is None:
            assert time.monotonic() < deadline, "nobody notices"
            time.sleep(0.01)
        assert isinstance(driver.bench.shard.failure, CorruptionError)
    driver.bench.shard.close(10.0)
    assert_same(tmp_path, before)


def test_an_older_snapshot_that_was_put_back_only_means_a_longer_tail(tmp_path: Path) -> None:
    filled(tmp_path)
    older = snapshot(tmp_path)
    shutil.copytree(older.path, tmp_path / "kept")
    driver = opened(tmp_path, seal_rows_min=4)
    for number in range(20):
        driver.bench.apply(Add(f"newer{number} cedar{number}"), request_id=f"newer{number}")
    assert driver.bench.shard.seal(20.0)
    driver.bench.shard.close(10.0)
    state, _ = state_of_files(str(tmp_path))
    newer = snapshot(tmp_path)
    assert newer.seq > older.seq
    shutil.rmtree(newer.path)
    shutil.move(tmp_path / "kept", older.path)
    assert report(tmp_path).problems == ()
    assert_same(tmp_path, state)


def test_a_log_that_is_shorter_than_the_snapshot_is_damage(tmp_path: Path) -> None:
    filled(tmp_path)
    for file in (tmp_path / "shards" / "0000").glob("*.segment"):
        file.unlink()
    with pytest.raises(CorruptionError, match="remove the snapshot"):
        opened(tmp_path)


def test_what_a_killed_owner_left_unfinished_goes_with_the_next_snapshot(tmp_path: Path) -> None:
    filled(tmp_path)
    made = snapshot(tmp_path)
    left = made.path.with_name(f"{made.seq + 1:012d}-{made.epoch:08d}.new")
    shutil.copytree(made.path, left)
    driver = opened(tmp_path, seal_rows_min=4)
    for number in range(20):
        driver.bench.apply(Add(f"newer{number} cedar{number}"), request_id=f"newer{number}")
    assert driver.bench.shard.seal(20.0)
    assert not left.exists()
    assert not made.path.exists()
    driver.check()
