from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from memoray.errors import (
    CorruptionError,
    FencedError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    StorageUnavailableError,
)
from memoray.events import Batch, OperationsProposed, encode_batch
from memoray.storage.log import Log, Stamp
from memoray.storage.memory_filesystem import MemoryFileSystem
from memoray.storage.record import RECORD_BYTES_MAX, frame_record
from memoray.storage.recovery import RecoveryReport, read_batches
from memoray.storage.segment import SEGMENT_HEADER_BYTES, SegmentHeader, encode_segment_header, segment_name
from tests.support.faulty_filesystem import FaultyFileSystem
from tests.support.logs import DIRECTORY, SHARD, USER, commit, numbered, numbers, open_log, read_numbers

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


class HandClock:
    def __init__(self, time: datetime) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def fs() -> MemoryFileSystem:
    return MemoryFileSystem()


def open_at(fs: MemoryFileSystem, clock: HandClock) -> Log:
    return Log.open(fs, DIRECTORY, shard=SHARD, owner="cluster", clock=clock)


def write_segment(fs: MemoryFileSystem, epoch: int, *batches: Batch, base: tuple[int, int] = (0, 0)) -> None:
    """A segment with any batches, right or wrong."""
    fs.make_directory(DIRECTORY)
    data = encode_segment_header(SegmentHeader(SHARD, epoch, 0, *base))
    for batch in batches:
        data += frame_record(encode_batch(batch), offset=len(data), durable_offset=len(data))
    fs.create(f"{DIRECTORY}/{segment_name(epoch, 0)}").write(data)


def test_first_opening_finds_nothing(fs: MemoryFileSystem) -> None:
    log = open_log(fs)
    assert (log.epoch, log.last_seq, log.durable_seq, log.next_seq) == (1, 0, 0, 1)
    assert (log.recovered, log.report) == ((), RecoveryReport())


def test_batches_come_back_as_they_were_appended(fs: MemoryFileSystem) -> None:
    log = open_log(fs)
    first = log.append([numbered(1), numbered(2)])
    second = log.append([numbered(3)])
    assert (first.first_seq, second.first_seq, log.last_seq, log.durable_seq) == (1, 3, 3, 0)
    assert log.commit() == log.durable_seq == 3
    again = open_log(fs)
    assert again.recovered == (first, second)
    assert (again.epoch, again.last_seq, again.durable_seq) == (2, 3, 3)
    assert read_batches(fs, DIRECTORY, shard=SHARD).batches == (first, second)


def test_chain_goes_through_epochs_and_parts(fs: MemoryFileSystem) -> None:
    for epoch in range(4):
        log = open_log(fs, segment_bytes_max=300)
        for step in range(5):
            commit(log, [epoch * 10 + step])
    log = open_log(fs)
    assert numbers(log.recovered) == [epoch * 10 + step for epoch in range(4) for step in range(5)]
    assert log.report.head_epoch == 4
    assert log.report.segments_count > 8
    assert log.report.cuts == ()


def test_group_commit_syncs_once() -> None:
    fs = FaultyFileSystem(MemoryFileSystem())
    log = open_log(fs)
    fs.operations.clear()
    commit(log, [1], [2], [3])
    assert fs.operations == ["write", "sync", "list"]


def test_part_is_left_once_it_is_full(fs: MemoryFileSystem) -> None:
    log = open_log(fs, segment_bytes_max=SEGMENT_HEADER_BYTES + 1)
    for number in range(3):
        commit(log, [number])
    names = [name for name in fs.list(DIRECTORY) if name.endswith(".segment")]
    assert names == [segment_name(1, part) for part in range(3)]
    assert read_numbers(fs) == [0, 1, 2]


def test_older_owner_acknowledges_nothing_after_a_newer_claim(fs: MemoryFileSystem) -> None:
    older = open_log(fs)
    commit(older, [1])
    newer = open_log(fs)
    older.append([numbered(2)])
    with pytest.raises(FencedError) as caught:
        older.commit()
    assert (caught.value.epoch, caught.value.newer_epoch) == (1, 2)
    for call in (older.commit, lambda: older.append([numbered(3)])):
        with pytest.raises(FencedError):
            call()
    commit(newer, [4])
    third = open_log(fs)
    assert numbers(third.recovered) == [1, 4]
    assert third.report.cuts == ()


def test_commit_of_nothing_still_looks_for_a_newer_owner(fs: MemoryFileSystem) -> None:
    older = open_log(fs)
    assert older.commit() == 0
    open_log(fs)
    with pytest.raises(FencedError):
        older.commit()


def test_recorded_at_never_goes_backwards_and_keeps_the_clock_beside_it(fs: MemoryFileSystem) -> None:
    clock = HandClock(NOON)
    log = open_at(fs, clock)
    assert log.append([numbered(1)]).clock is None
    early = clock.time = NOON - timedelta(hours=1)
    assert log.stamp() == Stamp(NOON, early)
    clamped = log.append([numbered(2)])
    assert (clamped.recorded_at, clamped.clock) == (NOON, early)
    log.commit()
    reopened = open_at(fs, clock)
    assert reopened.recovered[1] == clamped
    assert reopened.stamp() == Stamp(NOON, early)


def test_stamp_is_used_and_an_outdated_one_is_refused(fs: MemoryFileSystem) -> None:
    clock = HandClock(NOON)
    log = open_at(fs, clock)
    stamp = log.stamp()
    clock.time += timedelta(minutes=1)
    assert log.append([numbered(1)], stamp).recorded_at == NOON
    log.append([numbered(2)])
    with pytest.raises(InternalError, match="older"):
        log.append([numbered(3)], stamp)


def test_refused_append_changes_nothing(fs: MemoryFileSystem) -> None:
    log = open_log(fs)
    with pytest.raises(InvalidRequestError, match="at least one"):
        log.append([])
    too_much = OperationsProposed(USER, "job", (), "m" * RECORD_BYTES_MAX)
    with pytest.raises(InvalidRequestError, match=str(RECORD_BYTES_MAX)):
        log.append([too_much])
    commit(log, [1])
    assert read_numbers(fs) == [1]


def test_closed_log_takes_nothing_and_drops_what_was_not_committed(fs: MemoryFileSystem) -> None:
    log = open_log(fs)
    log.append([numbered(1)])
    log.close()
    log.close()
    for call in (log.commit, lambda: log.append([numbered(2)])):
        with pytest.raises(StorageUnavailableError, match="closed"):
            call()
    assert read_numbers(fs) == []


def test_reading_takes_no_epoch_and_writes_nothing() -> None:
    fs = FaultyFileSystem(MemoryFileSystem())
    log = open_log(fs)
    commit(log, [1])
    fs.operations.clear()
    assert read_numbers(fs) == [1]
    assert set(fs.operations) == {"list", "read", "size"}
    commit(log, [2])


def test_reading_a_missing_log_is_told(fs: MemoryFileSystem) -> None:
    with pytest.raises(NotFoundError, match="no log"):
        read_batches(fs, "/nowhere", shard=SHARD)


def test_log_of_another_shard_is_refused(fs: MemoryFileSystem) -> None:
    commit(open_log(fs), [1])
    with pytest.raises(CorruptionError, match="shard"):
        Log.open(fs, DIRECTORY, shard=SHARD + 1, owner="cluster", clock=HandClock(NOON))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (Batch(2, 2, NOON, (numbered(1),)), "epoch 1"),
        (Batch(1, 3, NOON, (numbered(1),)), "seqs from 2"),
        (Batch(1, 1, NOON, (numbered(1),)), "seqs from 2"),
        (Batch(1, 2, NOON - timedelta(1), (numbered(1),)), "recorded_at"),
        (Batch(1, 2, NOON, ()), "at least one event"),
    ],
)
def test_batch_that_does_not_follow_is_corruption(fs: MemoryFileSystem, batch: Batch, message: str) -> None:
    first = Batch(1, 1, NOON, (numbered(0),))
    write_segment(fs, 1, first, batch)
    with pytest.raises(CorruptionError, match=message) as caught:
        open_log(fs)
    record = frame_record(encode_batch(first), offset=SEGMENT_HEADER_BYTES, durable_offset=SEGMENT_HEADER_BYTES)
    assert caught.value.offset == SEGMENT_HEADER_BYTES + len(record)


def test_record_that_is_no_batch_is_corruption(fs: MemoryFileSystem) -> None:
    write_segment(fs, 1)
    frame = frame_record(b"\x93no batch", offset=SEGMENT_HEADER_BYTES, durable_offset=SEGMENT_HEADER_BYTES)
    data = fs.read(f"{DIRECTORY}/{segment_name(1, 0)}") + frame
    fs.remove(f"{DIRECTORY}/{segment_name(1, 0)}")
    fs.create(f"{DIRECTORY}/{segment_name(1, 0)}").write(data)
    with pytest.raises(CorruptionError, match="a batch"):
        open_log(fs)


def test_batch_of_a_later_release_is_named(fs: MemoryFileSystem) -> None:
    write_segment(fs, 1, msgspec.structs.replace(Batch(1, 1, NOON, (numbered(1),)), version=2))
    with pytest.raises(InvalidRequestError, match="version 2"):
        open_log(fs)


def test_base_that_is_gone_or_too_short_is_corruption(fs: MemoryFileSystem) -> None:
    write_segment(fs, 2, Batch(2, 2, NOON, (numbered(2),)), base=(1, 1))
    with pytest.raises(CorruptionError, match="no file"):
        open_log(fs)
    write_segment(fs, 1)
    with pytest.raises(CorruptionError, match="records up to seq 1"):
        open_log(fs)


def test_base_that_is_no_earlier_epoch_is_corruption(fs: MemoryFileSystem) -> None:
    write_segment(fs, 2, base=(2, 0))
    with pytest.raises(CorruptionError, match="earlier epoch"):
        open_log(fs)


def test_missing_part_is_corruption(fs: MemoryFileSystem) -> None:
    log = open_log(fs, segment_bytes_max=1)
    for number in range(3):
        commit(log, [number])
    fs.remove(f"{DIRECTORY}/{segment_name(1, 1)}")
    with pytest.raises(CorruptionError, match="no file") as caught:
        open_log(fs)
    assert caught.value.path.endswith(segment_name(1, 1))


def test_opening_is_fenced_by_a_claim_made_meanwhile() -> None:
    class Overtaken(MemoryFileSystem):
        """Another owner opens the log just before this one writes its header."""

        def size(self, path: str) -> int:
            if not overtaken:
                overtaken.append(path)
                commit(open_log(self), [2])
            return super().size(path)

    overtaken: list[str] = []
    shared = Overtaken()
    commit(open_log(shared), [1])
    with pytest.raises(FencedError):
        open_log(shared)
    assert read_numbers(shared) == [1, 2]
