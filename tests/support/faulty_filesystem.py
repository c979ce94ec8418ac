"""A file system whose n-th operation fails, or is the last one that the process lives to see."""

from __future__ import annotations

import enum
import errno
import os
from typing import TYPE_CHECKING, TypeVar

from tests.support.power_cut_filesystem import PowerCutFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from memoray.storage.filesystem import AppendFile, FileSystem

T = TypeVar("T")

OPERATIONS = (
    "create",
    "write",
    "sync",
    "sync_file",
    "link",
    "rename",
    "remove",
    "make_directory",
    "sync_directory",
    "list",
    "read",
    "size",
)


class Crash(BaseException):
    """The process is gone. No handler of errors sees this, as none sees a kill."""


class Fault(enum.Enum):
    """What happens at the chosen operation."""

    FAIL = "it raises and has no effect"
    FAIL_LATE = "it raises but had its effect; a write had half of it"
    CRASH = "the process ends before it"
    CRASH_LATE = "the process ends in it; it had its effect, a write half of it"


class FaultyFileSystem:
    """Any file system, with one fault.

    Attributes:
        operations: names of the operations so far, those that count.
    """

    def __init__(
        self,
        inner: FileSystem,
        *,
        fault: Fault | Callable[[], None] = Fault.FAIL,
        at: int | None = None,
        counted: Collection[str] = OPERATIONS,
    ) -> None:
        """Wrap a file system.

        Args:
            inner: where the operations go.
            fault: what happens; a function is called before the operation, which then works: another process ran.
            at: number of the counted operation at which it happens, from 1; None for never.
            counted: operations that count; the others always work.
        """
        self._inner = inner
        self._fault = fault
        self._at = at
        self._counted = frozenset(counted)
        self._is_dead = False
        self.operations: list[str] = []

    def read(self, path: str, size: int | None = None) -> bytes:
        return self.run("read", lambda: self._inner.read(path, size))

    def size(self, path: str) -> int:
        return self.run("size", lambda: self._inner.size(path))

    def list(self, directory: str) -> list[str]:
        return self.run("list", lambda: self._inner.list(directory))

    def exists(self, path: str) -> bool:
        return self._inner.exists(path)

    def create(self, path: str) -> AppendFile:
        return _FaultyAppendFile(self, self.run("create", lambda: self._inner.create(path)))

    def sync_file(self, path: str) -> None:
        self.run("sync_file", lambda: self._inner.sync_file(path))

    def link(self, source: str, target: str) -> None:
        self.run("link", lambda: self._inner.link(source, target))

    def rename(self, source: str, target: str) -> None:
        self.run("rename", lambda: self._inner.rename(source, target))

    def remove(self, path: str) -> None:
        self.run("remove", lambda: self._inner.remove(path))

    def make_directory(self, path: str) -> None:
        self.run("make_directory", lambda: self._inner.make_directory(path))

    def sync_directory(self, directory: str) -> None:
        self.run("sync_directory", lambda: self._inner.sync_directory(directory))

    def run(self, operation: str, effect: Callable[[], T], late_effect: Callable[[], object] | None = None) -> T:
        """Count an operation and let it happen, or not; `late_effect` is what a late fault leaves of it."""
        if self._is_dead:
            raise Crash
        if operation not in self._counted:
            return effect()
        self.operations.append(operation)
        if len(self.operations) != self._at:
            return effect()
        if not isinstance(self._fault, Fault):
            self._fault()
            return effect()
        if self._fault in {Fault.FAIL_LATE, Fault.CRASH_LATE}:
            (late_effect or effect)()
        if self._fault in {Fault.CRASH, Fault.CRASH_LATE}:
            self._is_dead = True
            raise Crash
        raise OSError(errno.EIO, os.strerror(errno.EIO))


class _FaultyAppendFile:
    def __init__(self, fs: FaultyFileSystem, inner: AppendFile) -> None:
        self._fs = fs
        self._inner = inner

    def write(self, data: bytes) -> None:
        half = data[: len(data) // 2]
        self._fs.run("write", lambda: self._inner.write(data), lambda: self._inner.write(half))

    def sync(self) -> None:
        try:
            self._fs.run("sync", self._inner.sync)
        except OSError:
            if isinstance(self._inner, PowerCutFile):
                self._inner.fail_sync()
            raise

    def close(self) -> None:
        self._inner.close()
