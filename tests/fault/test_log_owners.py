"""Several owners of one log: each operation of one is a place where another may run."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from memoray.errors import CorruptionError, FencedError
from memoray.storage import log as log_module
from memoray.storage.log import Log
from memoray.storage.memory_filesystem import MemoryFileSystem
from memoray.storage.ownership import look_for_newer_claim
from tests.support.faulty_filesystem import Crash, Fault, FaultyFileSystem
from tests.support.logs import DIRECTORY, numbered, numbers, open_log, read_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.storage.filesystem import FileSystem

SEGMENT_BYTES_MAX = 300


def groups_of(name: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """What an owner stores: numbers that every owner stores, so that each repeats what others did, and its own."""
    return (((1,), (name + 1, name + 2)), ((2,),), ((name + 3,), (3,)))


class Life:
    """The life of an owner. `believed` is the longest log that it ever told anybody about."""

    def __init__(self, fs: FileSystem, name: int) -> None:
        self.believed: list[int] = []
        self.is_fenced = False
        try:
            self._run(fs, name)
        except FencedError:
            self.is_fenced = True
        except Crash:
            pass

    def _run(self, fs: FileSystem, name: int) -> None:
        log = open_log(fs, segment_bytes_max=SEGMENT_BYTES_MAX)
        view = numbers(log.recovered)
        self.believed = list(view)
        for group in groups_of(name):
            new = [batch for batch in group if batch[0] not in view]
            for batch in new:
                log.append([numbered(number) for number in batch])
                view.extend(batch)
            log.commit()
            self.believed = list(view)


def check(fs: FileSystem, *lives: Life) -> None:
    found = read_numbers(fs)
    assert len(set(found)) == len(found)
    for life in lives:
        assert found[: len(life.believed)] == life.believed


def interrupted(fs: FileSystem, name: int, at: int, between: Callable[[], None]) -> tuple[Life, bool]:
    """A life that stalls before its operation `at`, while something else happens; and whether it came so far."""
    stalled = FaultyFileSystem(fs, fault=between, at=at)
    life = Life(stalled, name)
    return life, len(stalled.operations) >= at


def do_nothing(*_: object) -> None:
    pass


def _live(fs: FileSystem, lives: list[Life]) -> None:
    lives.append(Life(fs, 30))


def check_two_owners() -> int:
    """Check every place of the first owner's life for a whole life of the second; return how many fenced the first."""
    at = fenced_count = 0
    while True:
        at += 1
        fs = MemoryFileSystem()
        fs.make_directory(DIRECTORY)
        others: list[Life] = []
        life, came_so_far = interrupted(fs, 10, at, functools.partial(_live, fs, others))
        if not came_so_far:
            return fenced_count
        fenced_count += life.is_fenced
        check(fs, life, *others, Life(fs, 40))


def test_second_owner_at_any_operation_of_the_first() -> None:
    assert check_two_owners() > 20


def test_third_owner_at_any_operation_of_a_second_at_any_operation_of_the_first() -> None:
    for at in range(1, 60):
        for inner_at in range(1, 60, 3):
            fs = MemoryFileSystem()
            fs.make_directory(DIRECTORY)
            lives: list[Life] = []

            def second(fs: FileSystem = fs, lives: list[Life] = lives, inner_at: int = inner_at) -> None:
                life, _ = interrupted(fs, 20, inner_at, functools.partial(_live, fs, lives))
                lives.append(life)

            first, came_so_far = interrupted(fs, 10, at, second)
            if not came_so_far:
                break
            check(fs, first, *lives, Life(fs, 40))


@pytest.mark.parametrize("fault", [Fault.CRASH, Fault.CRASH_LATE])
def test_second_owner_that_dies_at_any_operation_fences_the_first_or_leaves_no_trace(fault: Fault) -> None:
    for at in range(1, 60):
        for inner_at in range(1, 60, 3):
            fs = MemoryFileSystem()
            fs.make_directory(DIRECTORY)
            lives: list[Life] = []

            def second(fs: FileSystem = fs, lives: list[Life] = lives, inner_at: int = inner_at) -> None:
                lives.append(Life(FaultyFileSystem(fs, fault=fault, at=inner_at), 20))

            first, came_so_far = interrupted(fs, 10, at, second)
            if not came_so_far:
                break
            check(fs, first, *lives)
            check(fs, first, *lives, Life(fs, 40))


def test_batch_that_an_older_owner_syncs_late_is_void_for_every_later_one() -> None:
    fs = MemoryFileSystem()
    older = open_log(fs)
    older.append([numbered(1)])
    older.commit()
    newer = open_log(fs)
    older.append([numbered(2)])
    with pytest.raises(FencedError):
        older.commit()
    # It is in the file, whole, with the seq that the newer owner gives to another batch.
    newer.append([numbered(3)])
    newer.commit()
    assert numbers(open_log(fs).recovered) == [1, 3]
    assert read_numbers(fs) == [1, 3]


def test_without_the_look_for_a_newer_claim_batches_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "look_for_newer_claim", do_nothing)
    with pytest.raises((AssertionError, CorruptionError)):
        check_two_owners()


def test_with_the_look_before_the_sync_batches_would_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Log._write_pending  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the order of steps is tested

    def look_and_write(log: Log) -> None:
        look_for_newer_claim(log._fs, log._directory, log.epoch)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        write(log)

    monkeypatch.setattr(Log, "_write_pending", look_and_write)
    monkeypatch.setattr(log_module, "look_for_newer_claim", do_nothing)
    with pytest.raises((AssertionError, CorruptionError)):
        check_two_owners()
