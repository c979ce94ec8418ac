"""A file system in memory, for tests and for stores that need not outlive their process."""

from __future__ import annotations

import errno
import os
import posixpath
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoray.storage.filesystem import AppendFile


class MemoryFileSystem:
    """Files in a dictionary. Everything counts as durable; it ends with the process.

    Several owners may share one; it keeps the promises of `FileSystem` between threads.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._files: dict[str, bytearray] = {}
        self._directories: set[str] = {"/"}

    def read(self, path: str, size: int | None = None) -> bytes:
        """See `FileSystem.read`."""
        with self._lock:
            return bytes(memoryview(self._file(path))[:size])

    def size(self, path: str) -> int:
        """See `FileSystem.size`."""
        with self._lock:
            return len(self._file(path))

    def list(self, directory: str) -> list[str]:
        """See `FileSystem.list`."""
        with self._lock:
            parent = self._directory(directory)
            paths = (*self._files, *(name for name in self._directories if name != "/"))
            return sorted(posixpath.basename(path) for path in paths if posixpath.dirname(path) == parent)

    def exists(self, path: str) -> bool:
        """See `FileSystem.exists`."""
        with self._lock:
            return self._is_taken(_normal(path))

    def create(self, path: str) -> AppendFile:
        """See `FileSystem.create`."""
        with self._lock:
            name = self._free(path)
            content = self._files[name] = bytearray()
        return _MemoryAppendFile(self._lock, content)

    def sync_file(self, path: str) -> None:
        """See `FileSystem.sync_file`."""
        with self._lock:
            self._file(path)

    def link(self, source: str, target: str) -> None:
        """See `FileSystem.link`."""
        with self._lock:
            content = self._file(source)
            self._files[self._free(target)] = content

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem.rename`."""
        with self._lock:
            content = self._file(source)
            name = _normal(target)
            self._directory(posixpath.dirname(name))
            del self._files[_normal(source)]
            self._files[name] = content

    def remove(self, path: str) -> None:
        """See `FileSystem.remove`."""
        with self._lock:
            self._file(path)
            del self._files[_normal(path)]

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        with self._lock:
            name = _normal(path)
            while name not in self._directories:
                if name in self._files:
                    raise _error(errno.EEXIST, path)
                self._directories.add(name)
                name = posixpath.dirname(name)

    def sync_directory(self, directory: str) -> None:
        """See `FileSystem.sync_directory`."""
        with self._lock:
            self._directory(directory)

    def _is_taken(self, name: str) -> bool:
        return name in self._files or name in self._directories

    def _file(self, path: str) -> bytearray:
        content = self._files.get(_normal(path))
        if content is None:
            raise _error(errno.ENOENT, path)
        return content

    def _directory(self, path: str) -> str:
        name = _normal(path)
        if name not in self._directories:
            raise _error(errno.ENOENT, path)
        return name

    def _free(self, path: str) -> str:
        name = _normal(path)
        self._directory(posixpath.dirname(name))
        if self._is_taken(name):
            raise _error(errno.EEXIST, path)
        return name


class _MemoryAppendFile:
    def __init__(self, lock: threading.Lock, content: bytearray) -> None:
        self._lock = lock
        self._content = content
        self._is_closed = False

    def write(self, data: bytes) -> None:
        if self._is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        with self._lock:
            self._content += data

    def sync(self) -> None:
        if self._is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def close(self) -> None:
        self._is_closed = True


def _normal(path: str) -> str:
    return posixpath.normpath(posixpath.join("/", path))


def _error(number: int, path: str) -> OSError:
    # OSError picks FileNotFoundError or FileExistsError by the number.
    return OSError(number, os.strerror(number), path)
