"""Every operation of the file system fails once, kills the process, or is the last before the power goes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from memoray.errors import CorruptionError, StorageUnavailableError
from memoray.storage.log import Log
from memoray.storage.memory_filesystem import MemoryFileSystem
from tests.support.faulty_filesystem import Crash, Fault, FaultyFileSystem
from tests.support.logs import DIRECTORY, commit, numbered, numbers, open_log, read_numbers
from tests.support.power_cut_filesystem import PowerCutFile, PowerCutFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoray.storage.filesystem import FileSystem

# Commits, each of some batches; several sectors long, and over the limit of a part now and then.
GROUPS = (((0, 1), (2,)), ((3,),), (tuple(range(4, 24)), (24,), tuple(range(25, 40))), ((40,),), ((41,), (42, 43)))
ALL = list(range(44))
SEGMENT_BYTES_MAX = 600


def live(fs: FileSystem, acknowledged: list[int]) -> None:
    """One life of a process: it goes on where the log ends, answers what it finds, acknowledges what it commits."""
    log = open_log(fs, segment_bytes_max=SEGMENT_BYTES_MAX)
    known = numbers(log.recovered)
    assert known[: len(acknowledged)] == acknowledged
    acknowledged[:] = known
    for group in GROUPS:
        new = [batch for batch in group if batch[0] not in known]
        if new:
            commit(log, *new)
            acknowledged.extend(number for batch in new for number in batch)
    log.close()


def check_kept(fs: FileSystem, acknowledged: list[int]) -> None:
    found = read_numbers(fs)
    assert found[: len(acknowledged)] == acknowledged
    assert len(set(found)) == len(found)


def power_cuts(disk: PowerCutFileSystem, seeds: int) -> Iterator[PowerCutFileSystem]:
    yield disk.after_power_cut(lambda: False)
    yield disk.after_power_cut(lambda: True)
    for seed in range(seeds):
        chance = random.Random(seed)
        yield disk.after_power_cut(lambda chance=chance: chance.random() < 0.5)  # type: ignore[misc]


def faults(*kinds: Fault) -> Iterator[tuple[PowerCutFileSystem, list[int]]]:
    """After a first life with a fault, for each kind and each operation: the disk, and what was acknowledged."""
    for fault in kinds:
        at = 0
        while True:
            at += 1
            disk = PowerCutFileSystem()
            disk.make_directory(DIRECTORY)
            faulty = FaultyFileSystem(disk, fault=fault, at=at)
            acknowledged: list[int] = []
            try:
                live(faulty, acknowledged)
            except (StorageUnavailableError, Crash):
                pass
            if len(faulty.operations) < at:
                break
            yield disk, acknowledged
        assert at > 30
        assert acknowledged == ALL


def check_second_lives(*kinds: Fault, seeds: int = 0) -> None:
    """The next process finds everything acknowledged and completes the work, with or without a power cut between."""
    for disk, acknowledged in faults(*kinds):
        check_kept(disk, acknowledged)
        for survivor in power_cuts(disk, seeds):
            check_kept(survivor, acknowledged)
            live(survivor, list(acknowledged))
            assert read_numbers(survivor) == ALL
        live(disk, acknowledged)
        assert read_numbers(disk) == ALL
        for survivor in power_cuts(disk, seeds):
            assert read_numbers(survivor) == ALL


def test_any_failing_operation_loses_and_doubles_nothing() -> None:
    check_second_lives(Fault.FAIL, Fault.FAIL_LATE)


def test_any_end_of_the_process_loses_and_doubles_nothing() -> None:
    check_second_lives(Fault.CRASH, Fault.CRASH_LATE)


def test_any_power_cut_loses_and_doubles_nothing_whatever_sectors_are_lost() -> None:
    check_second_lives(Fault.CRASH, Fault.CRASH_LATE, seeds=12)


def test_second_life_may_fail_at_any_operation_too() -> None:
    firsts = [found for number, found in enumerate(faults(Fault.FAIL, Fault.CRASH_LATE)) if number % 7 == 0]
    for first, kept in firsts:
        for fault in (Fault.FAIL, Fault.CRASH_LATE):
            for at in range(1, 60, 2):
                disk = first.after_power_cut(lambda: True)
                acknowledged = list(kept)
                try:
                    live(FaultyFileSystem(disk, fault=fault, at=at), acknowledged)
                except (StorageUnavailableError, Crash):
                    pass
                for survivor in (disk, *power_cuts(disk, 1)):
                    check_kept(survivor, acknowledged)


def do_nothing(*_: object) -> None:
    pass


def test_without_sync_batches_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PowerCutFile, "sync", do_nothing)
    with pytest.raises((AssertionError, CorruptionError)):
        check_second_lives(Fault.CRASH)


def test_without_sync_of_the_directory_batches_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PowerCutFileSystem, "sync_directory", do_nothing)
    with pytest.raises((AssertionError, CorruptionError)):
        check_second_lives(Fault.CRASH)


def test_without_sync_of_the_header_a_power_cut_would_look_like_corruption(monkeypatch: pytest.MonkeyPatch) -> None:
    sync = PowerCutFile.sync

    def sync_all_but_headers(file: PowerCutFile) -> None:
        if file.size > 48:
            sync(file)

    monkeypatch.setattr(PowerCutFile, "sync", sync_all_but_headers)
    with pytest.raises((AssertionError, CorruptionError)):
        check_second_lives(Fault.CRASH, seeds=12)


def test_without_sync_of_the_older_part_a_successor_would_build_on_sand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PowerCutFileSystem, "sync_file", do_nothing)
    with pytest.raises((AssertionError, CorruptionError)):
        check_second_lives(Fault.CRASH, Fault.FAIL, seeds=4)


def check_stubborn_owner() -> None:
    """An owner that goes on after a failed sync, as far as the log lets it, and then loses power."""
    for at in range(3, 6):
        disk = PowerCutFileSystem()
        log = open_log(FaultyFileSystem(disk, at=at, counted=("sync",)))
        acknowledged: list[int] = []
        for number in (1, 2, 3):
            try:
                commit(log, [number])
            except StorageUnavailableError:
                continue
            acknowledged.append(number)
        assert read_numbers(disk.after_power_cut(lambda: False)) == acknowledged


def test_owner_that_goes_on_after_a_failed_sync_gets_nothing_acknowledged() -> None:
    check_stubborn_owner()


def test_without_poisoning_it_would_acknowledge_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "_end", do_nothing)
    with pytest.raises((AssertionError, CorruptionError)):
        check_stubborn_owner()


def test_failed_log_takes_no_more() -> None:
    fs = FaultyFileSystem(MemoryFileSystem(), at=3, counted=("sync",))
    log = open_log(fs)
    log.append([numbered(1)])
    with pytest.raises(StorageUnavailableError, match="open the log anew"):
        log.commit()
    calls: list[Callable[[], object]] = [log.commit, lambda: log.append([numbered(2)])]
    for call in calls * 2:
        with pytest.raises(StorageUnavailableError, match="open the log anew"):
            call()
    assert log.durable_seq == 0


def test_failure_to_open_is_told_and_leaves_the_log_usable() -> None:
    at = 0
    for at in range(1, 100):
        disk = PowerCutFileSystem()
        commit(open_log(disk), [1])
        faulty = FaultyFileSystem(disk, at=at)
        try:
            open_log(faulty)
        except StorageUnavailableError:
            assert read_numbers(disk) == [1]
            commit(open_log(disk), [2])
            assert read_numbers(disk) == [1, 2]
        if len(faulty.operations) < at:
            break
    assert 10 < at < 99
