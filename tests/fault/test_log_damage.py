"""Every byte of a small log changed, and its end cut at every byte."""

from __future__ import annotations

import pytest

from memoray.errors import CorruptionError
from memoray.storage import record, segment
from memoray.storage.memory_filesystem import MemoryFileSystem
from memoray.storage.recovery import Cut, read_batches
from tests.support.logs import DIRECTORY, SHARD, commit, numbers, open_log, read_numbers


def make_log() -> MemoryFileSystem:
    """Two epochs, the second in three parts, with groups of several batches."""
    fs = MemoryFileSystem()
    commit(open_log(fs), [1], [2, 3])
    log = open_log(fs, segment_bytes_max=400)
    commit(log, [4], [5, 6])
    commit(log, [7])
    commit(log, [8])
    commit(log, [9], [10])
    commit(log, [11])
    commit(log, [12], [13, 14])
    return fs


def segments(fs: MemoryFileSystem) -> list[str]:
    return [f"{DIRECTORY}/{name}" for name in fs.list(DIRECTORY) if name.endswith(".segment")]


def put(fs: MemoryFileSystem, path: str, content: bytes) -> None:
    fs.remove(path)
    fs.create(path).write(content)


def record_starts(data: bytes) -> list[int]:
    """0 for the header, then where each record starts."""
    starts = [0, segment.SEGMENT_HEADER_BYTES]
    while starts[-1] < len(data):
        found = record.read_record(data, starts[-1])
        assert isinstance(found, record.Record)
        starts.append(found.end)
    return starts[:-1]


def no_checksum(_: object) -> int:
    return 0


def check_that_every_changed_byte_is_found(change: int) -> None:
    fs = make_log()
    for path in segments(fs):
        data = fs.read(path)
        starts = record_starts(data)
        for place in range(len(data)):
            damaged = bytearray(data)
            damaged[place] ^= change
            put(fs, path, bytes(damaged))
            with pytest.raises(CorruptionError) as caught:
                read_batches(fs, DIRECTORY, shard=SHARD)
            assert caught.value.path == path
            assert caught.value.offset == max(start for start in starts if start <= place)
        put(fs, path, data)
    assert read_numbers(fs) == list(range(1, 15))


def test_log_has_several_epochs_parts_and_groups() -> None:
    fs = make_log()
    assert [len(record_starts(fs.read(path))) - 1 for path in segments(fs)] == [2, 3, 3, 3]


@pytest.mark.parametrize("change", [0x01, 0x80, 0xFF])
def test_every_changed_byte_is_corruption_with_file_and_offset(change: int) -> None:
    check_that_every_changed_byte_is_found(change)


def test_without_checksums_a_changed_byte_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "crc32", no_checksum)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_that_every_changed_byte_is_found(0x01)


def test_owner_that_meets_corruption_writes_no_segment() -> None:
    fs = make_log()
    path = segments(fs)[1]
    put(fs, path, fs.read(path)[:-1] + b"?")
    before = segments(fs)
    for _ in range(2):
        with pytest.raises(CorruptionError):
            open_log(fs)
    assert segments(fs) == before


def test_every_cut_of_the_end_keeps_all_whole_batches_and_is_counted() -> None:
    whole = make_log()
    path = segments(whole)[-1]
    data = whole.read(path)
    starts = [*record_starts(data), len(data)]
    batches = read_batches(whole, DIRECTORY, shard=SHARD).batches
    batches_before = len(batches) - (len(starts) - 2)
    for end in range(len(data) + 1):
        fs = make_log()
        put(fs, path, data[:end])
        kept = max(start for start in starts if start <= end)
        log = open_log(fs)
        assert log.recovered == batches[: batches_before + max(0, starts.index(kept) - 1)]
        assert log.report.cuts == (() if kept == end else (Cut(path, kept, end - kept),))
        assert log.report.cut_bytes == end - kept
        # What was cut stays where it is, and is void from now on.
        commit(log, [100])
        again = open_log(fs)
        assert numbers(again.recovered) == [*numbers(log.recovered), 100]
        assert again.report.cuts == ()


def test_cut_of_any_earlier_file_is_corruption() -> None:
    whole = make_log()
    for path in segments(whole)[:-1]:
        data = whole.read(path)
        for end in range(len(data)):
            put(whole, path, data[:end])
            with pytest.raises(CorruptionError) as caught:
                read_batches(whole, DIRECTORY, shard=SHARD)
            assert caught.value.path.startswith(path[:-12])
        put(whole, path, data)


def test_part_before_one_without_a_header_is_no_tail() -> None:
    fs = make_log()
    *_, before, last = segments(fs)
    put(fs, last, fs.read(last)[:10])
    assert numbers(read_batches(fs, DIRECTORY, shard=SHARD).batches) == list(range(1, 11))
    put(fs, before, fs.read(before)[:-1])
    with pytest.raises(CorruptionError) as caught:
        read_batches(fs, DIRECTORY, shard=SHARD)
    assert caught.value.path == before


def test_torn_member_of_a_group_cuts_the_rest_of_the_group_only() -> None:
    fs = MemoryFileSystem()
    log = open_log(fs)
    commit(log, [1])
    start = fs.size(segments(fs)[0])
    commit(log, *([number] * 20 for number in (2, 3, 4)))
    path = segments(fs)[0]
    data = fs.read(path)
    sector = -(-record_starts(data)[3] // 512) * 512
    assert start < sector < len(data) - 512
    put(fs, path, data[:sector] + bytes(512) + data[sector + 512 :])
    kept = open_log(fs)
    assert numbers(kept.recovered) == [1] + [2] * 20
    # The same after a further commit, which says that the group had been synced.
    fs = MemoryFileSystem()
    fs.make_directory(DIRECTORY)
    fs.create(path).write(data[:sector] + bytes(512) + data[sector + 512 :])
    frame = record.frame_record(b"\x90", offset=len(data), durable_offset=len(data))
    put(fs, path, fs.read(path) + frame)
    with pytest.raises(CorruptionError):
        open_log(fs)
