"""Who owns a shard on this machine, while it lives: a lock on a file that the kernel releases when the process ends.

A courtesy, not a protection: epochs and claims keep the log right whoever opens it. The lock keeps a second owner from
fencing a live one by accident.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from typing import TYPE_CHECKING

from memoray.errors import OwnedElsewhereError, StorageUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

LOCK_NAME = "owner.lock"
_NOTE_BYTES_MAX = 4096


class OwnerLock:
    """Held from construction to `close`, or until the process ends."""

    def __init__(self, directory: Path, owner: str, *, takes_over: bool = False) -> None:
        """Take the lock of a shard's directory, which is created if need be.

        Args:
            directory: of the shard, on a local file system.
            owner: who asks; another process of the same owner is one that hangs or ends, and is not waited for.
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
        self._note = json.dumps({"owner": owner, "pid": os.getpid()}).encode()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(self._file)
            if holder.get("owner") != owner and not takes_over:
                os.close(self._file)
                message = (
                    f"{directory} is owned by process {holder.get('pid')} ({holder.get('owner')}); go through it, stop "
                    "it, or take over, which ends it"
                )
                raise OwnedElsewhereError(message) from None
            # Whoever holds it will be fenced and end; then the lock is ours.
            threading.Thread(target=self._wait, name="memoray-owner-lock", daemon=True).start()
        else:
            self._sign()

    def _wait(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._sign()

    def _sign(self) -> None:
        self._is_held = True
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, self._note, 0)

    def close(self) -> None:
        """Let the lock go; one that is still waited for goes with the process."""
        if self._is_held:
            os.close(self._file)


def _read(file: int) -> dict[str, object]:
    try:
        note = json.loads(os.pread(file, _NOTE_BYTES_MAX, 0))
    except ValueError:
        return {}
    return dict(note) if isinstance(note, dict) else {}
