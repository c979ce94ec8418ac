from __future__ import annotations

import os

import pytest

from memoray.errors import FencedError
from memoray.storage.memory_filesystem import MemoryFileSystem
from memoray.storage.ownership import Claim, claim_next_epoch, look_for_newer_claim, newest_epoch, read_claim


@pytest.fixture
def fs() -> MemoryFileSystem:
    made = MemoryFileSystem()
    made.make_directory("/log")
    return made


def test_each_claimant_gets_the_next_epoch_and_says_who_it_is(fs: MemoryFileSystem) -> None:
    assert [claim_next_epoch(fs, "/log", owner) for owner in ("a", "b", "a")] == [1, 2, 3]
    assert read_claim(fs, "/log", 2) == Claim("b", os.getpid())
    assert read_claim(fs, "/log", 4) is None


def test_lost_race_starts_again() -> None:
    class Racing(MemoryFileSystem):
        """Somebody else is faster, twice."""

        def link(self, source: str, target: str) -> None:
            if newest_epoch(self, "/log") < 2:
                super().link(source, target)
            super().link(source, target)

    fs = Racing()
    fs.make_directory("/log")
    assert claim_next_epoch(fs, "/log", "slower") == 3
    assert fs.list("/log") == ["00000001.claim", "00000002.claim", "00000003.claim"]


def test_newer_claim_fences_also_when_the_one_between_is_gone(fs: MemoryFileSystem) -> None:
    for _ in range(3):
        claim_next_epoch(fs, "/log", "a")
    fs.remove("/log/00000002.claim")
    look_for_newer_claim(fs, "/log", 3)
    with pytest.raises(FencedError) as caught:
        look_for_newer_claim(fs, "/log", 1)
    assert (caught.value.epoch, caught.value.newer_epoch) == (1, 3)


def test_segment_counts_as_a_claim(fs: MemoryFileSystem) -> None:
    fs.create("/log/00000007-0000.segment")
    assert claim_next_epoch(fs, "/log", "a") == 8


def test_unreadable_claim_says_nothing_but_counts(fs: MemoryFileSystem) -> None:
    fs.create("/log/00000001.claim").write(b"{")
    assert read_claim(fs, "/log", 1) is None
    assert newest_epoch(fs, "/log") == 1
