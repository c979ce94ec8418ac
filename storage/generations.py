"""Generations: directories of files that are written aside, synced, and renamed into their place as one.

A generation is a cache of what the log says; it may be deleted at any time. Its name tells the seq that it was made at
and the epoch of its owner, so two owners never write the same one.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec

from memoray.errors import CorruptionError
from memoray.points import reach
from memoray.storage.filesystem import LocalFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoray.storage.filesystem import FileSystem

CHECKSUMS_NAME = "checksums.json"
PIECE_BYTES = 1 << 20
_NAME = re.compile(r"(\d{12,})-(\d{8,})(\.new)?")


class Generation(NamedTuple):
    """One of a directory's generations; sorts by what it knows."""

    seq: int
    epoch: int
    path: Path


class _File(msgspec.Struct, frozen=True):
    size: int
    crc: int


def snapshots_root(fs: FileSystem, directory: str) -> Path | None:
    """Where the snapshots of a log are; None on a file system whose files cannot be mapped."""
    return Path(directory) / "snapshots" if isinstance(fs, LocalFileSystem) else None


def generations(root: Path) -> list[Generation]:
    """All whole generations, newest first."""
    return sorted((found for found, is_whole in _found(root) if is_whole), reverse=True)


def publish_generation(root: Path, seq: int, epoch: int, write: Callable[[Path], None]) -> Generation:
    """Make a generation; it is durable and complete on return, and not there at all after a crash.

    Args:
        root: directory of the generations; created if missing.
        seq: that it is made at.
        epoch: of the owner.
        write: makes its files in an empty directory.

    Raises:
        OSError: the file system refused; nothing is left of it.
    """
    root.mkdir(parents=True, exist_ok=True)
    path = root / f"{seq:012d}-{epoch:08d}"
    aside = path.with_name(path.name + ".new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        _fill(aside, write)
        aside.rename(path)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)  # on a disk that may be full
        raise
    reach("seal_renamed")
    _sync(root)
    return Generation(seq, epoch, path)


def _fill(aside: Path, write: Callable[[Path], None]) -> None:
    """Have the files made, and everything synced but the name of the directory."""
    reach("seal_begun")
    write(aside)
    reach("seal_written")
    files = {str(file.relative_to(aside)): _File(file.stat().st_size, _checksum(file)) for file in _files(aside)}
    (aside / CHECKSUMS_NAME).write_bytes(msgspec.json.encode(files))
    for file in (*_files(aside), *(folder for folder in aside.rglob("*") if folder.is_dir()), aside):
        _sync(file)
    reach("seal_synced")


def remove_older(root: Path, seq: int, epoch: int) -> None:
    """Remove generations before a seq, and what owners before an epoch left unfinished. Who has mapped one keeps it."""
    for found, is_whole in _found(root):
        if (is_whole and found.seq < seq) or (not is_whole and found.epoch < epoch):
            shutil.rmtree(found.path, ignore_errors=True)


def check_generation(path: Path, *, is_deep: bool) -> None:
    """Compare the files of a generation with what was written: their sizes, and if `is_deep` every byte.

    Raises:
        CorruptionError: a file is missing or differs.
        OSError: a file cannot be read.
    """
    try:
        files = msgspec.json.decode((path / CHECKSUMS_NAME).read_bytes(), type=dict[str, _File])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptionError(str(path / CHECKSUMS_NAME), 0, expected="checksums", found=str(error)) from error
    for name, wanted in files.items():
        file = path / name
        size = file.stat().st_size if file.exists() else None
        if size != wanted.size:
            raise CorruptionError(str(file), 0, expected=f"{wanted.size} bytes", found=f"{size}")
        if is_deep and (crc := _checksum(file)) != wanted.crc:
            raise CorruptionError(str(file), 0, expected=f"CRC-32 {wanted.crc:08x}", found=f"{crc:08x}")


def _found(root: Path) -> Iterator[tuple[Generation, bool]]:
    """Generations, and whether each is whole."""
    for path in root.iterdir() if root.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match:
            yield Generation(int(match[1]), int(match[2]), path), match[3] is None


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _checksum(file: Path) -> int:
    crc = 0
    with file.open("rb") as source:
        while piece := source.read(PIECE_BYTES):
            crc = crc32(piece, crc)
    return crc


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
