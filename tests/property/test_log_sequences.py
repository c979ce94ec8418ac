"""Random lives of a log against a list: what was acknowledged is there, in order, and nothing that was not tried."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memoray.storage.memory_filesystem import MemoryFileSystem
from memoray.storage.recovery import read_batches
from tests.support.faulty_filesystem import Crash, Fault, FaultyFileSystem
from tests.support.logs import DIRECTORY, SHARD, commit, numbered, numbers, open_log, read_numbers
from tests.support.power_cut_filesystem import PowerCutFileSystem

if TYPE_CHECKING:
    from memoray.storage.log import Log


@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=5), st.data())
@settings(max_examples=60)
def test_any_prefix_of_the_bytes_recovers_a_prefix_of_whole_batches(
    groups: list[list[int]], data: st.DataObject
) -> None:
    fs = MemoryFileSystem()
    log = open_log(fs)
    for group in groups:
        commit(log, *(range(size) for size in group))
    whole = read_batches(fs, DIRECTORY, shard=SHARD).batches
    path = f"{DIRECTORY}/00000001-0000.segment"
    content = fs.read(path)
    fs.remove(path)
    fs.create(path).write(content[: data.draw(st.integers(0, len(content)), label="kept")])
    found = read_batches(fs, DIRECTORY, shard=SHARD)
    assert found.batches == whole[: len(found.batches)]
    assert (len(found.batches) == len(whole)) == (fs.size(path) == len(content))


class LogLives(RuleBasedStateMachine):
    """Append, commit, close, die, lose power, be overtaken."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = PowerCutFileSystem()
        self.acknowledged: list[int] = []
        self.waiting: list[int] = []
        self.next_number = 0

    @initialize()
    def begin(self) -> None:
        self.log: Log = open_log(self.disk, segment_bytes_max=500)

    @rule(size=st.integers(1, 30))
    def append(self, size: int) -> None:
        batch = list(range(self.next_number, self.next_number + size))
        self.log.append([numbered(number) for number in batch])
        self.waiting += batch
        self.next_number += size

    @rule()
    def commit(self) -> None:
        self.log.commit()
        self.acknowledged += self.waiting
        self.waiting = []

    @rule()
    def close_and_reopen(self) -> None:
        self.log.close()
        self._reopen()

    @rule()
    def be_overtaken(self) -> None:
        self._reopen()

    @rule(seed=st.integers(0, 1000), at=st.integers(1, 30))
    def lose_power_in_a_commit(self, seed: int, at: int) -> None:
        chance = random.Random(seed)
        self.log.close()
        # Of another owner, so that the fault can be put under it; it appends what was waiting.
        waiting, self.waiting = self.waiting, []
        self._reopen()
        faulty = FaultyFileSystem(self.disk, fault=Fault.CRASH_LATE, at=at)
        try:
            log = open_log(faulty, segment_bytes_max=500)
            for number in waiting:
                log.append([numbered(number)])
            log.commit()
            self.acknowledged += waiting
        except Crash:
            self.waiting = waiting
        self.disk = self.disk.after_power_cut(lambda: chance.random() < 0.5)
        self._reopen()

    def _reopen(self) -> None:
        self.log = open_log(self.disk, segment_bytes_max=500)
        found = numbers(self.log.recovered)
        assert found[: len(self.acknowledged)] == self.acknowledged
        tried = self.acknowledged + self.waiting
        assert found == tried[: len(found)]
        self.acknowledged, self.waiting = found, []

    @invariant()
    def reading_agrees(self) -> None:
        assert read_numbers(self.disk)[: len(self.acknowledged)] == self.acknowledged


LogLives.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestLogLives = LogLives.TestCase
