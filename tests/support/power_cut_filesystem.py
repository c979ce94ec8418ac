"""A file system with a page cache and a disk, whose power can be cut.

What was written and not synced may be lost sector by sector, in any order; so may names that were not synced with their
directory. After a failed sync the cache shows what the disk never got, as Linux does.
"""

from __future__ import annotations

import errno
import os
import posixpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.storage.filesystem import AppendFile

SECTOR_BYTES = 512


class _Inode:
    def __init__(self, disk: bytes | bytearray = b"") -> None:
        self.disk = bytearray(disk)
        self.cache = bytearray(disk)
        self.dirty: list[tuple[int, int]] = []

    def write(self, data: bytes) -> None:
        self.dirty.append((len(self.cache), len(self.cache) + len(data)))
        self.cache += data

    def sync(self) -> None:
        for start, end in self.dirty:
            self._store(start, end)
        self.dirty.clear()

    def fail_sync(self) -> None:
        """Nothing reached the disk, and the pages count as clean from now on."""
        self.dirty.clear()

    def drop_cache(self) -> None:
        if not self.dirty:
            self.cache = bytearray(self.disk) + bytes(len(self.cache) - len(self.disk))

    def after_power_cut(self, keep: Callable[[], bool]) -> _Inode:
        left = _Inode(self.disk)
        left.cache = self.cache
        for first, end in self.dirty:
            for sector in range(first - first % SECTOR_BYTES, end, SECTOR_BYTES):
                if keep():
                    left._store(max(first, sector), min(end, sector + SECTOR_BYTES))
        if self.dirty and keep():
            left.disk += bytes(len(self.cache) - len(left.disk))
        return _Inode(left.disk)

    def _store(self, start: int, end: int) -> None:
        self.disk += bytes(max(0, end - len(self.disk)))
        self.disk[start:end] = self.cache[start:end]


class PowerCutFileSystem:
    """Files and directories in memory, each in two states: as running processes see them, and as the disk has them."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, _Inode]] = {"/": {}}
        self._durable_names: dict[str, dict[str, _Inode]] = {"/": {}}

    def after_power_cut(self, keep: Callable[[], bool]) -> PowerCutFileSystem:
        """The file system after a power cut, everything in it durable. This one stays as it is.

        Args:
            keep: asked for each unsynced sector, size and name whether the disk has it.
        """
        left = PowerCutFileSystem()
        inodes: dict[int, _Inode] = {}
        for directory, durable in self._durable_names.items():
            now = self._names[directory]
            names = dict(durable)
            for name in sorted(durable.keys() | now.keys()):
                if durable.get(name) is not now.get(name) and keep():
                    names.pop(name, None)
                    if name in now:
                        names[name] = now[name]
            kept: dict[str, _Inode] = {}
            for name, inode in names.items():
                if id(inode) not in inodes:
                    inodes[id(inode)] = inode.after_power_cut(keep)
                kept[name] = inodes[id(inode)]
            left._names[directory] = kept
            left._durable_names[directory] = dict(kept)
        return left

    def read(self, path: str, size: int | None = None) -> bytes:
        return bytes(self._inode(path).cache[:size])

    def size(self, path: str) -> int:
        return len(self._inode(path).cache)

    def list(self, directory: str) -> list[str]:
        own = _normal(directory)
        names = self._directory(own)
        below = [posixpath.basename(path) for path in self._names if path != "/" and posixpath.dirname(path) == own]
        return sorted([*names, *below])

    def exists(self, path: str) -> bool:
        name = _normal(path)
        return name in self._names or posixpath.basename(name) in self._names.get(posixpath.dirname(name), {})

    def create(self, path: str) -> AppendFile:
        inode = _Inode()
        self._add(path, inode)
        return PowerCutFile(inode)

    def sync_file(self, path: str) -> None:
        inode = self._inode(path)
        inode.sync()
        inode.drop_cache()

    def link(self, source: str, target: str) -> None:
        self._add(target, self._inode(source))

    def rename(self, source: str, target: str) -> None:
        inode = self._inode(source)
        directory, name = posixpath.split(_normal(target))
        self._directory(directory)[name] = inode
        self.remove(source)

    def remove(self, path: str) -> None:
        self._inode(path)
        directory, name = posixpath.split(_normal(path))
        del self._names[directory][name]

    def make_directory(self, path: str) -> None:
        name = _normal(path)
        if self.exists(name) and name not in self._names:
            raise _error(errno.EEXIST, path)
        while name not in self._names:
            self._names[name] = {}
            self._durable_names[name] = {}
            name = posixpath.dirname(name)

    def sync_directory(self, directory: str) -> None:
        name = _normal(directory)
        self._durable_names[name] = dict(self._directory(name))

    def corrupt(self, path: str, content: bytes) -> None:
        """Put other bytes in the place of a file's content."""
        inode = self._inode(path)
        inode.disk[:] = inode.cache[:] = content

    def _directory(self, path: str) -> dict[str, _Inode]:
        names = self._names.get(_normal(path))
        if names is None:
            raise _error(errno.ENOENT, path)
        return names

    def _inode(self, path: str) -> _Inode:
        directory, name = posixpath.split(_normal(path))
        inode = self._names.get(directory, {}).get(name)
        if inode is None:
            raise _error(errno.ENOENT, path)
        return inode

    def _add(self, path: str, inode: _Inode) -> None:
        directory, name = posixpath.split(_normal(path))
        names = self._directory(directory)
        if self.exists(path):
            raise _error(errno.EEXIST, path)
        names[name] = inode


class PowerCutFile:
    """A file of a `PowerCutFileSystem`."""

    def __init__(self, inode: _Inode) -> None:
        self._inode: _Inode | None = inode

    @property
    def size(self) -> int:
        """Length, as processes see it."""
        return len(self._open().cache)

    def write(self, data: bytes) -> None:
        self._open().write(data)

    def sync(self) -> None:
        self._open().sync()

    def fail_sync(self) -> None:
        """Let a sync fail: the disk gets nothing, the cache keeps it."""
        self._open().fail_sync()

    def close(self) -> None:
        self._inode = None

    def _open(self) -> _Inode:
        if self._inode is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._inode


def _normal(path: str) -> str:
    return posixpath.normpath(posixpath.join("/", path))


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
