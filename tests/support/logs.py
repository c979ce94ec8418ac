"""Small logs: events that carry a number, a clock that ticks, and what must hold of any log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from memoray.events import UserCleared
from memoray.keys import UserKey
from memoray.storage.log import Log
from memoray.storage.recovery import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoray.events import Batch
    from memoray.storage.filesystem import FileSystem

DIRECTORY = "/store/shards/0003"
SHARD = 3
USER = UserKey("app", "user")
EPOCH_START = datetime(2026, 1, 1, tzinfo=UTC)


class TickingClock:
    """One second later at each look."""

    def __init__(self) -> None:
        self.time = EPOCH_START

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def numbered(number: int) -> UserCleared:
    """An event that carries a number."""
    return UserCleared(USER, number)


def numbers(batches: Iterable[Batch]) -> list[int]:
    """Numbers that the events of some batches carry, in order."""
    return [event.count for batch in batches for event in batch.events if isinstance(event, UserCleared)]


def open_log(fs: FileSystem, *, segment_bytes_max: int = 1 << 20, directory: str = DIRECTORY) -> Log:
    """Open a log as one more owner."""
    return Log.open(
        fs, directory, shard=SHARD, owner="cluster", clock=TickingClock(), segment_bytes_max=segment_bytes_max
    )


def commit(log: Log, *groups: Sequence[int]) -> None:
    """Append one batch for each group of numbers, and commit them with one sync."""
    for group in groups:
        log.append([numbered(number) for number in group])
    log.commit()


def read_numbers(fs: FileSystem, *, directory: str = DIRECTORY) -> list[int]:
    """Numbers in a log, read without owning it; checks that seqs have no gap."""
    batches = read_batches(fs, directory, shard=SHARD).batches
    seq = 0
    for batch in batches:
        assert batch.first_seq == seq + 1
        seq = batch.last_seq
    return numbers(batches)
