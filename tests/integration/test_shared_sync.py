"""Writes that are queued before any is waited for share a sync."""

from __future__ import annotations

import threading

from memoray.config import EngineConfig
from memoray.messages import Message
from memoray.operations import Add
from memoray.requests import OperationsRequest, SubmitRequest
from memoray.storage.filesystem import AppendFile
from memoray.storage.memory_filesystem import MemoryFileSystem
from tests.support.shards import ANA, START, ShardBench

WRITES_COUNT = 40


class HeldFile:
    """A segment whose syncs wait until they are let through."""

    def __init__(self, inner: AppendFile, fs: HeldFileSystem) -> None:
        self._inner = inner
        self._fs = fs

    def write(self, data: bytes) -> None:
        self._inner.write(data)

    def sync(self) -> None:
        self._fs.syncs_count += 1
        assert self._fs.is_open.wait(20)
        self._inner.sync()

    def close(self) -> None:
        self._inner.close()


class HeldFileSystem(MemoryFileSystem):
    """Counts the syncs of segments, and holds them up."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = threading.Event()
        self.is_open.set()
        self.syncs_count = 0

    def create(self, path: str) -> AppendFile:
        file = super().create(path)
        return HeldFile(file, self) if path.endswith(".segment") else file


def test_what_is_queued_together_is_synced_together_and_in_order() -> None:
    fs = HeldFileSystem()
    bench = ShardBench(fs, config=EngineConfig(extraction_workers_count=0))  # nobody else writes
    fs.is_open.clear()
    before = fs.syncs_count
    said = [
        SubmitRequest(ANA, "s1", (Message("user", f"Said {number}", timestamp=START),), f"s{number}")
        for number in range(WRITES_COUNT)
    ]
    written = [OperationsRequest(ANA, (Add(f"Written {number}"),), f"w{number}") for number in range(WRITES_COUNT)]
    receipts = [bench.shard.begin_submit(request) for request in said]
    answers = bench.shard.begin_apply([bench.shard.check_apply(request) for request in written])
    fs.is_open.set()
    assert [receipt.result(20).status for receipt in receipts] == ["accepted"] * WRITES_COUNT
    seqs = [receipt.result(20).seq or 0 for receipt in receipts] + [answer.result(20).seq for answer in answers]
    assert seqs == sorted(seqs)
    # One for whatever the writer had taken when the first sync began, one for all the rest.
    assert fs.syncs_count - before <= 2
    bench.check()
