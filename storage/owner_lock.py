"""Who owns a shard on this machine, while it lives: a lock on a file that the kernel releases when the process ends.

A courtesy, not a protection: epochs and claims keep the log right whoever opens it. The lock keeps a second owner from
fencing a live one by accident, and the note in the file says how to reach the one that lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from memoray.errors import OwnedElsewhereError, StorageUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

LOCK_NAME = "owner.lock"
_NOTE_BYTES_MAX = 4096
# Who only looks has the lock for a moment; so an owner asks more than once.
_TRIES_COUNT = 5
_TRY_SECONDS = 0.02


class Owner(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who owns a shard.

    Attributes:
        name: another process of the same name is one that hangs or ends, and is not waited for.
        pid: of the process.
        ray_address: of the Ray cluster that the owner is an actor of; "" for a process of its own.
        namespace: of the deployment there.
    """

    name: str
    pid: int
    ray_address: str = ""
    namespace: str = ""


class OwnerLock:
    """Held from construction to `close`, or until the process ends."""

    def __init__(self, directory: Path, owner: Owner, *, takes_over: bool = False) -> None:
        """Take the lock of a shard's directory, which is created if need be.

        Args:
            directory: of the shard, on a local file system.
            owner: who asks.
            takes_over: go on although another owner lives; its next write will be fenced.

        Raises:
            OwnedElsewhereError: another owner lives; says which.
            StorageUnavailableError: the file system refuses.
        """
        path = directory / LOCK_NAME
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            message = f"{path}: {error.strerror}"
            raise StorageUnavailableError(message) from error
        self._is_held = False
        self._is_closed = False
        self._changing = threading.Lock()
        self._note = msgspec.json.encode(owner)
        if _is_locked(self._file, fcntl.LOCK_EX, tries_count=_TRIES_COUNT):
            self._sign()
            return
        holder = _read(self._file)
        if not takes_over and (holder is None or holder.name != owner.name):
            os.close(self._file)
            who = "another process" if holder is None else f"process {holder.pid} ({holder.name})"
            message = (
                f"{directory} is owned by {who}; go through it, stop it, or take over, which ends it "
                "(--takeover, takes_over=True)"
            )
            raise OwnedElsewhereError(message)
        # Whoever holds it will be fenced and end; then the lock is ours.
        threading.Thread(target=self._wait, name="memoray-owner-lock", daemon=True).start()

    def _wait(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        with self._changing:
            if self._is_closed:
                os.close(self._file)
            else:
                self._sign()

    def _sign(self) -> None:
        self._is_held = True
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, self._note, 0)

    def close(self) -> None:
        """Let the lock go; one that is still waited for is let go as soon as it comes."""
        with self._changing:
            if self._is_held and not self._is_closed:
                os.close(self._file)
            self._is_closed = True


def live_owner(directory: Path) -> Owner | None:
    """Who owns a shard now, as its note says; None if nobody lives, or nobody knows. Changes nothing."""
    try:
        file = os.open(directory / LOCK_NAME, os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _is_locked(file, fcntl.LOCK_SH) else _read(file)
    finally:
        os.close(file)


def _is_locked(file: int, how: int, *, tries_count: int = 1) -> bool:
    """Take the lock, if nobody has it."""
    for number in range(tries_count):
        if number:
            time.sleep(_TRY_SECONDS)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, how | fcntl.LOCK_NB)
            return True
    return False


def _read(file: int) -> Owner | None:
    try:
        return msgspec.json.decode(os.pread(file, _NOTE_BYTES_MAX, 0), type=Owner)
    except msgspec.MsgspecError:
        return None
