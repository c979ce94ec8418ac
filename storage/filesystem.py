"""The file system as the log sees it: a small protocol, and the real one.

The protocol has single steps only (create, write, sync, link, rename), so that a test can fail or cut the power at each
of them. What several steps make together (publish a whole file) is written once, on top of the protocol.

Errors are those of the operating system (`OSError` and its subclasses); callers translate them.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import posixpath
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class AppendFile(Protocol):
    """A file open for appending. One thread at a time."""

    def write(self, data: bytes) -> None:
        """Append all of `data`.

        Readers may see it at once, and any prefix of it before this returns or when this raises. Durable after the
        next `sync`; before that a power cut may keep any part of it, in any order of sectors.
        """
        ...

    def sync(self) -> None:
        """Make everything written so far durable. After an error nothing written since the last sync is certain.

        Says nothing about the directory entry of the file: that is `FileSystem.sync_directory`.
        """
        ...

    def close(self) -> None:
        """Let go of the file; neither writes nor syncs. A second call does nothing."""
        ...


class FileSystem(Protocol):
    """Files named by "/"-separated paths. Safe to call from several threads."""

    def read(self, path: str, size: int | None = None) -> bytes:
        """Content of a file from its start: at most `size` bytes, all of it if None.

        Sees every `write` that returned before the call, durable or not.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def size(self, path: str) -> int:
        """Length of a file in bytes, as `read` would see it.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def list(self, directory: str) -> list[str]:
        """Names in a directory, sorted; looked up anew on each call, never answered from a cache.

        Raises:
            FileNotFoundError: there is no such directory.
        """
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory of that name exists now."""
        ...

    def create(self, path: str) -> AppendFile:
        """Create an empty file and open it for appending. Of several callers exactly one succeeds.

        The name is durable after `sync_directory` of its directory.

        Raises:
            FileExistsError: something of that name exists.
        """
        ...

    def sync_file(self, path: str) -> None:
        """Make the content of a file durable, whoever wrote it, as far as `read` could see it before the call.

        Afterwards `read` shows that part as the disk has it. This matters after a failed sync of another owner, which
        leaves the system with pages that are in memory, count as written, and are not on the disk.
        """
        ...

    def link(self, source: str, target: str) -> None:
        """Give a file a second name, atomically. Durable after `sync_directory`.

        Raises:
            FileExistsError: something of the name `target` exists.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file, replacing `target` atomically if it exists: a reader finds the old or the new one, whole.

        Durable after `sync_directory`.
        """
        ...

    def remove(self, path: str) -> None:
        """Remove the name of a file. Durable after `sync_directory`.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def make_directory(self, path: str) -> None:
        """Create a directory and its missing parents, all of them durable on return; no error if it exists."""
        ...

    def sync_directory(self, directory: str) -> None:
        """Make the names in a directory durable: creations, links, renames and removals that came before."""
        ...


def publish_new(fs: FileSystem, path: str, content: bytes) -> None:
    """Create a file with its whole content; durable on return, and never visible in part. One of several callers wins.

    Raises:
        FileExistsError: the name is taken; nothing was changed.
    """
    temporary = _write_temporary(fs, path, content)
    try:
        fs.link(temporary, path)
    finally:
        _discard(fs, temporary)
    fs.sync_directory(posixpath.dirname(path))


def publish(fs: FileSystem, path: str, content: bytes) -> None:
    """Replace or create a file; durable on return. A reader, or a crash at any moment, finds the old or the new one."""
    temporary = _write_temporary(fs, path, content)
    try:
        fs.rename(temporary, path)
    except OSError:
        _discard(fs, temporary)
        raise
    fs.sync_directory(posixpath.dirname(path))


def _write_temporary(fs: FileSystem, path: str, content: bytes) -> str:
    temporary, file = _create_temporary(fs, path)
    try:
        file.write(content)
        file.sync()
    except OSError:
        _discard(fs, temporary)
        raise
    finally:
        file.close()
    return temporary


def _discard(fs: FileSystem, temporary: str) -> None:
    # A name left behind is harmless; what happened before is what the caller must hear of.
    with contextlib.suppress(OSError):
        fs.remove(temporary)


def _create_temporary(fs: FileSystem, path: str) -> tuple[str, AppendFile]:
    for number in itertools.count():
        name = f"{path}.{number}.tmp"
        with contextlib.suppress(FileExistsError):  # another process's, or left behind by a crash
            return name, fs.create(name)
    raise AssertionError


class LocalFileSystem:
    """The POSIX file system of this machine, or one mounted on it that keeps POSIX promises."""

    def read(self, path: str, size: int | None = None) -> bytes:
        """See `FileSystem.read`."""
        with Path(path).open("rb", buffering=0) as file:
            pieces = list(_pieces(file.fileno(), size))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def size(self, path: str) -> int:
        """See `FileSystem.size`."""
        return Path(path).stat().st_size

    def list(self, directory: str) -> list[str]:
        """See `FileSystem.list`."""
        return sorted(os.listdir(directory))  # noqa: PTH208 - names only: each commit comes here

    def exists(self, path: str) -> bool:
        """See `FileSystem.exists`."""
        return os.path.lexists(path)

    def create(self, path: str) -> AppendFile:
        """See `FileSystem.create`."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return _LocalAppendFile(os.open(path, flags, 0o644))

    def sync_file(self, path: str) -> None:
        """See `FileSystem.sync_file`."""
        _sync_path(path, is_cache_dropped=True)

    def link(self, source: str, target: str) -> None:
        """See `FileSystem.link`."""
        os.link(source, target)

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem.rename`."""
        Path(source).replace(target)

    def remove(self, path: str) -> None:
        """See `FileSystem.remove`."""
        Path(path).unlink()

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        target = Path(path).absolute()
        if not target.parent.is_dir():
            self.make_directory(str(target.parent))
        target.mkdir(exist_ok=True)
        # Also when it existed: whoever made it may not have come to this line.
        _sync_path(str(target.parent))

    def sync_directory(self, directory: str) -> None:
        """See `FileSystem.sync_directory`."""
        _sync_path(directory)


class _LocalAppendFile:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]

    def sync(self) -> None:
        if self._descriptor < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        _sync_data(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


_READ_BYTES_MAX = 1 << 30  # one read(2) transfers at most 2 GiB less a page


def _pieces(descriptor: int, size: int | None) -> Iterator[bytes]:
    left = os.fstat(descriptor).st_size if size is None else size
    while left:
        piece = os.read(descriptor, min(left, _READ_BYTES_MAX))
        if not piece:
            return
        left -= len(piece)
        yield piece


def _sync_path(path: str, *, is_cache_dropped: bool = False) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync_whole(descriptor)
        if is_cache_dropped:
            _drop_cache(descriptor)
    finally:
        os.close(descriptor)


if sys.platform == "darwin":
    import fcntl

    def _sync_whole(descriptor: int) -> None:
        # On macOS fsync leaves the data in the drive's cache.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)

    _sync_data = _sync_whole

    def _drop_cache(descriptor: int) -> None:
        """Do nothing: macOS has no such call."""
else:
    _sync_whole = os.fsync
    _sync_data = os.fdatasync

    def _drop_cache(descriptor: int) -> None:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
