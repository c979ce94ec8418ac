"""What every file system promises."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from memoray.storage.filesystem import FileSystem, LocalFileSystem, publish, publish_new
from memoray.storage.memory_filesystem import MemoryFileSystem
from tests.support.faulty_filesystem import FaultyFileSystem
from tests.support.power_cut_filesystem import PowerCutFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


MAKERS: dict[str, Callable[[], FileSystem]] = {
    "local": LocalFileSystem,
    "memory": MemoryFileSystem,
    "power_cut": PowerCutFileSystem,
    "faulty": lambda: FaultyFileSystem(MemoryFileSystem()),
}


@pytest.fixture(params=MAKERS)
def fs(request: pytest.FixtureRequest) -> FileSystem:
    return MAKERS[request.param]()


@pytest.fixture
def root(fs: FileSystem, tmp_path: Path) -> str:
    path = f"{tmp_path}/root"
    fs.make_directory(path)
    return path


def test_what_is_written_is_read_at_once_and_after_sync(fs: FileSystem, root: str) -> None:
    file = fs.create(f"{root}/a")
    assert fs.read(f"{root}/a") == b""
    file.write(b"one")
    assert fs.read(f"{root}/a") == b"one"
    file.write(b" two")
    file.sync()
    file.close()
    fs.sync_file(f"{root}/a")
    assert fs.read(f"{root}/a") == b"one two"
    assert fs.size(f"{root}/a") == 7


def test_read_gives_at_most_size_bytes(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/a").write(b"12345")
    assert [fs.read(f"{root}/a", size) for size in (0, 3, 5, 9)] == [b"", b"123", b"12345", b"12345"]


def test_create_is_exclusive(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/a").write(b"kept")
    fs.make_directory(f"{root}/d")
    for name in ("a", "d"):
        with pytest.raises(FileExistsError):
            fs.create(f"{root}/{name}")
    assert fs.read(f"{root}/a") == b"kept"


def test_closed_file_takes_nothing(fs: FileSystem, root: str) -> None:
    file = fs.create(f"{root}/a")
    file.close()
    file.close()
    with pytest.raises(OSError, match="descriptor"):
        file.write(b"late")
    with pytest.raises(OSError, match="descriptor"):
        file.sync()
    assert fs.read(f"{root}/a") == b""


def test_list_is_sorted_and_names_files_and_directories(fs: FileSystem, root: str) -> None:
    for name in ("b", "a"):
        fs.create(f"{root}/{name}")
    fs.make_directory(f"{root}/c/d")
    assert fs.list(root) == ["a", "b", "c"]
    assert fs.list(f"{root}/c") == ["d"]
    assert fs.exists(f"{root}/c/d")
    fs.remove(f"{root}/a")
    assert fs.list(root) == ["b", "c"]
    assert not fs.exists(f"{root}/a")


def test_missing_names_are_told(fs: FileSystem, root: str) -> None:
    missing = f"{root}/missing"
    calls = (
        lambda: fs.read(missing),
        lambda: fs.size(missing),
        lambda: fs.list(missing),
        lambda: fs.create(f"{missing}/a"),
        lambda: fs.sync_file(missing),
        lambda: fs.link(missing, f"{root}/b"),
        lambda: fs.rename(missing, f"{root}/b"),
        lambda: fs.remove(missing),
        lambda: fs.sync_directory(missing),
    )
    for call in calls:
        with pytest.raises(FileNotFoundError):
            call()
    assert fs.list(root) == []


def test_link_gives_a_second_name_and_never_replaces(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/a").write(b"a")
    fs.create(f"{root}/b").write(b"b")
    with pytest.raises(FileExistsError):
        fs.link(f"{root}/a", f"{root}/b")
    fs.link(f"{root}/a", f"{root}/c")
    fs.remove(f"{root}/a")
    assert (fs.read(f"{root}/b"), fs.read(f"{root}/c")) == (b"b", b"a")


def test_rename_replaces(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/a").write(b"new")
    fs.create(f"{root}/b").write(b"old")
    fs.rename(f"{root}/a", f"{root}/b")
    assert fs.list(root) == ["b"]
    assert fs.read(f"{root}/b") == b"new"


def test_make_directory_may_be_repeated_but_not_over_a_file(fs: FileSystem, root: str) -> None:
    fs.make_directory(f"{root}/d/e")
    fs.make_directory(f"{root}/d/e")
    fs.create(f"{root}/f")
    with pytest.raises(FileExistsError):
        fs.make_directory(f"{root}/f")
    fs.sync_directory(f"{root}/d/e")


def test_publish_new_has_one_winner_and_leaves_nothing_else(fs: FileSystem, root: str) -> None:
    won: list[int] = []

    def publish_one(number: int) -> None:
        try:
            publish_new(fs, f"{root}/claim", b"%d" % number)
        except FileExistsError:
            return
        won.append(number)

    threads = [threading.Thread(target=publish_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert fs.read(f"{root}/claim") == b"%d" % won[0]
    assert fs.list(root) == ["claim"]


def test_publish_replaces_whole_and_passes_over_leftovers(fs: FileSystem, root: str) -> None:
    fs.create(f"{root}/m.0.tmp").write(b"left by a crash")
    publish(fs, f"{root}/m", b"first")
    publish(fs, f"{root}/m", b"second")
    assert fs.read(f"{root}/m") == b"second"
    assert fs.list(root) == ["m", "m.0.tmp"]
