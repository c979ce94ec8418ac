"""The Ray that `up` starts on this machine, and that `down` ends: that one and no other.

`ray stop` ends every Ray of the machine, going by the names of processes, whoever started them. So the head runs under
one process that ends its children when it is told to end, and that holds a lock on the file with its process id: a file
without the lock is left over, and the id in it may be somebody else's by now.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from memoray.actors.ray_size import OBJECT_STORE_BYTES, cpus_count
from memoray.errors import UnavailableError

START_SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 60.0
POLL_SECONDS = 0.1
_STARTED = b"will now block"  # said once the address is written where `auto` looks for it


def head_file() -> Path:
    """Where the head's process id is; by machine, as home directories are shared."""
    return Path.home() / ".memoray" / f"ray-{platform.node()}.pid"


def head_runs(path: Path) -> bool:
    """Whether a head that was started through this file lives."""
    try:
        with path.open("r+b") as file:
            return not _lock(file)
    except FileNotFoundError:
        return False


def start_head(path: Path) -> None:
    """Start a Ray on this machine that outlives this process.

    Its ports can be reached from other machines, whatever address is asked for: the token keeps them out. What Ray
    reads from the environment is set by the attempt to join.

    Raises:
        UnavailableError: it did not start; with what Ray said.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    log = _log(path)
    with contextlib.ExitStack() as files:
        file = files.enter_context(path.open("a+b"))
        if not _lock(file):
            message = "the Ray of another `memoray up` is starting, or does not answer; `memoray down` ends it"
            raise UnavailableError(message)
        output = files.enter_context(log.open("wb"))  # only now: it may have been the log of one that lives
        process = subprocess.Popen(  # noqa: S603 - Ray's own command line
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port=0"),
                "--node-ip-address=127.0.0.1",  # Ray 2.60 takes the machine's own address all the same
                f"--num-cpus={cpus_count()}",
                f"--object-store-memory={OBJECT_STORE_BYTES}",
                "--include-dashboard=false",
                "--disable-usage-stats",
            ],
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # each of a shard's threads would start as many of its own
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that an interrupt of this command does not reach it
            pass_fds=(file.fileno(),),  # the lock is its own from here on
        )
        file.truncate(0)
        file.write(str(process.pid).encode())
    deadline = time.monotonic() + START_SECONDS_MAX
    while _STARTED not in log.read_bytes():
        is_late = time.monotonic() > deadline
        if is_late:
            process.terminate()
        if is_late or process.poll() is not None:
            said = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
            message = f"Ray did not start on this machine; it said: {said or 'nothing'} ({log})"
            raise UnavailableError(message)
        time.sleep(POLL_SECONDS)


def stop_head(path: Path) -> None:
    """End the head that was started through this file, and wait until it is gone; nothing if there is none.

    Raises:
        UnavailableError: it did not end.
    """
    if head_runs(path):
        _end(path)
    _forget_address(_log(path))
    path.unlink(missing_ok=True)


def _end(path: Path) -> None:
    with path.open("r+b") as file:
        pid = int(file.read())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS_MAX
        while not _lock(file):
            if time.monotonic() > deadline:
                message = f"process {pid}, which holds Ray, did not end within {STOP_SECONDS_MAX:.0f} s"
                raise UnavailableError(message)
            time.sleep(POLL_SECONDS)


def _forget_address(log: Path) -> None:
    """Take away Ray's note of the head's address, as `ray stop` would: who follows it waits minutes for an answer."""
    folder = os.environ.get("RAY_TMPDIR") or (sys.platform == "linux" and os.environ.get("TMPDIR"))
    note = Path(folder or "/tmp") / "ray" / "ray_current_cluster"  # noqa: S108 - where Ray puts it
    with contextlib.suppress(FileNotFoundError):
        address = note.read_text(encoding="utf-8").strip()
        if f"'{address}'" in log.read_text(encoding="utf-8", errors="replace"):  # another Ray's is left alone
            note.unlink()


def _log(path: Path) -> Path:
    return path.with_suffix(".log")


def _lock(file: IO[bytes]) -> bool:
    """Take the lock; False if a living process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
