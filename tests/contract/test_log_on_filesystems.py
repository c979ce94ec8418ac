"""The log on each file system: the same batches, the same bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.memory_filesystem import MemoryFileSystem
from tests.support.logs import commit, numbers, open_log
from tests.support.power_cut_filesystem import PowerCutFileSystem

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from memoray.storage.filesystem import FileSystem


def write_two_epochs(fs: FileSystem, directory: str) -> dict[str, bytes]:
    for epoch in range(2):
        log = open_log(fs, segment_bytes_max=300, directory=directory)
        assert numbers(log.recovered) == list(range(epoch * 6))
        for number in range(epoch * 6, epoch * 6 + 6, 2):
            commit(log, [number], [number + 1])
        log.close()
    return {name: fs.read(f"{directory}/{name}") for name in fs.list(directory)}


def test_logs_are_equal_byte_for_byte(tmp_path: Path) -> None:
    directory = f"{tmp_path}/shards/0003"
    local = write_two_epochs(LocalFileSystem(), directory)
    assert len(local) > 6
    assert write_two_epochs(MemoryFileSystem(), directory) == local
    assert write_two_epochs(PowerCutFileSystem(), directory) == local


def test_short_writes_of_the_system_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def write_seven_bytes(descriptor: int, data: memoryview) -> int:
        return write(descriptor, data[:7])

    monkeypatch.setattr(os, "write", write_seven_bytes)
    with_short_writes = write_two_epochs(LocalFileSystem(), f"{tmp_path}/log")
    monkeypatch.undo()
    assert write_two_epochs(LocalFileSystem(), f"{tmp_path}/again") == with_short_writes
