"""Recovery: from the files of a log to its batches, without writing anything.

The newest epoch with a whole header is the head. From there the chain goes back along each header's
`(base_epoch, base_seq)`; in an older segment only the records up to its successor's `base_seq` count, and everything
after them is void for ever. The successor synced what it built on before it wrote its header, so a bad record among
those is corruption; and so is one in any part but the last of the head, as a part is synced before the next is begun.
Only the end of the head may be torn.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import msgspec

from memoray.errors import CorruptionError, InvalidRequestError, NotFoundError, StorageUnavailableError
from memoray.events import Batch, decode_batch
from memoray.storage.ownership import newest_epoch
from memoray.storage.record import Damage, read_record
from memoray.storage.segment import (
    SEGMENT_HEADER_BYTES,
    SegmentHeader,
    SegmentId,
    decode_segment_header,
    parse_segment_name,
    segment_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memoray.storage.filesystem import FileSystem

BATCH_VERSION = 1


class Cut(msgspec.Struct, frozen=True):
    """Bytes at the end of a file that an interrupted write left behind; no reader counts them."""

    path: str
    offset: int
    bytes_count: int


class RecoveryReport(msgspec.Struct, frozen=True):
    """What recovery found.

    Attributes:
        head_epoch: the newest epoch with a whole header, 0 for an empty log.
        last_seq: seq of the last event, 0 for none.
        batches_count: batches recovered.
        segments_count: segment files that the chain goes through.
        cuts: what was torn, newest file first.
    """

    head_epoch: int = 0
    last_seq: int = 0
    batches_count: int = 0
    segments_count: int = 0
    cuts: tuple[Cut, ...] = ()

    @property
    def cut_bytes(self) -> int:
        """Bytes left out as torn."""
        return sum(cut.bytes_count for cut in self.cuts)


class Recovered(NamedTuple):
    """Batches in order of seq, and what was found on the way."""

    batches: tuple[Batch, ...]
    report: RecoveryReport


class LogStart(NamedTuple):
    """A place in a log from which on it is read, where what lies before it is known from elsewhere.

    Attributes:
        segment: the part that begins right behind it.
        seq: of the last event before it.
        recorded_at: of that event's batch.
    """

    segment: SegmentId
    seq: int
    recorded_at: datetime


class StartNotFoundError(Exception):
    """The chain does not go through a start: the files are not those that it was taken from."""


def read_batches(fs: FileSystem, directory: str, *, shard: int) -> Recovered:
    """Read a log without owning it: takes no epoch, writes nothing.

    Beside a live owner this may include batches that the owner has not acknowledged yet.

    Raises:
        CorruptionError: a file is missing or not what was written.
        NotFoundError: there is no such directory.
        StorageUnavailableError: the file system refused.
    """
    try:
        while True:
            newest = newest_epoch(fs, directory)
            recovered = recover(fs, directory, shard=shard, before_epoch=newest + 1, is_synced=False)
            # A new owner may have begun meanwhile, and voided the end of what was read as the head.
            if newest_epoch(fs, directory) == newest:
                return recovered
    except FileNotFoundError as error:
        message = f"{directory}: there is no log here"
        raise NotFoundError(message) from error
    except OSError as error:
        message = f"{directory}: cannot read the log: {error}"
        raise StorageUnavailableError(message) from error


def recover(
    fs: FileSystem, directory: str, *, shard: int, before_epoch: int, is_synced: bool, start: LogStart | None = None
) -> Recovered:
    """Follow the chain through the epochs before `before_epoch`.

    For an owner: call after the claim on `before_epoch` exists. Whatever an older owner appends after this has looked
    at its file is void, and that owner will find the claim before it acknowledges any of it.

    Args:
        fs: where the log lives.
        directory: of this shard.
        shard: number of the shard.
        before_epoch: the caller's own epoch.
        is_synced: whether to make durable what is read; an owner must, as the one before it may not have.
        start: where to begin; None: with the first record.

    Raises:
        StartNotFoundError: the chain does not go through `start`.
        CorruptionError: a file is missing or not what was written.
        InvalidRequestError: a later release wrote it.
    """
    return _Chain(fs, directory, shard, before_epoch, is_synced=is_synced, start=start).recover()


class _Link(NamedTuple):
    """An epoch in the chain: its parts' headers, and the last seq that counts (None: all, it is the head)."""

    headers: list[SegmentHeader]
    last_seq: int | None


class _Chain:
    """One pass over a directory."""

    def __init__(
        self,
        fs: FileSystem,
        directory: str,
        shard: int,
        before_epoch: int,
        *,
        is_synced: bool,
        start: LogStart | None,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._shard = shard
        self._is_synced = is_synced
        self._start = start
        self._recorded_at: datetime | None = None if start is None else start.recorded_at
        self._tail: SegmentId | None = None
        self._cuts: list[Cut] = []
        self._sizes: dict[SegmentId, int] = {}
        # Newest first, and before anything is read; later reads stop at these sizes.
        for segment in sorted(self._list_until_stable(before_epoch), reverse=True):
            self._sizes[segment] = fs.size(self._path(segment))

    def recover(self) -> Recovered:
        links = self._links()
        head = links[-1].headers if links else []
        if self._start is not None:
            links[:1] = self._behind(links[0], self._start) if links else self._missing(self._start)
        batches: list[Batch] = []
        for link in links:
            batches.extend(self._read_epoch(link))
        start_seq = 0 if self._start is None else self._start.seq
        report = RecoveryReport(
            head_epoch=head[0].epoch if head else 0,
            last_seq=batches[-1].last_seq if batches else start_seq,
            batches_count=len(batches),
            segments_count=sum(len(link.headers) for link in links),
            cuts=tuple(self._cuts),
        )
        return Recovered(tuple(batches), report)

    def _list_until_stable(self, before_epoch: int) -> set[SegmentId]:
        """Segments that exist. One listing may show a new file and miss an older one that was new as well."""
        before: set[SegmentId] | None = None
        while True:
            segments = (parse_segment_name(name) for name in self._fs.list(self._directory))
            now = {segment for segment in segments if segment and segment.epoch < before_epoch}
            if now == before:
                return now
            before = now

    def _path(self, segment: SegmentId) -> str:
        return posixpath.join(self._directory, segment_name(segment.epoch, segment.part))

    def _links(self) -> list[_Link]:
        """The chain, oldest epoch first."""
        if self._is_synced:
            self._fs.sync_directory(self._directory)
        headers = self._find_head()
        if not headers:
            return []
        links = [_Link(headers, None)]
        stop = 0 if self._start is None else self._start.segment.epoch
        while headers[0].base_epoch and headers[0].epoch > stop:
            epoch, last_seq = headers[0].base_epoch, headers[0].base_seq
            if epoch >= headers[0].epoch:
                raise CorruptionError(
                    self._path(_id(headers[0])), 0, expected="an earlier epoch as base", found=str(epoch)
                )
            headers = self._base_headers(epoch, last_seq)
            links.append(_Link(headers, last_seq))
        return links[::-1]

    def _behind(self, link: _Link, start: LogStart) -> list[_Link]:
        """The oldest link from the start on; none if the start is at its end."""
        if link.headers[0].epoch != start.segment.epoch:
            self._missing(start)
        headers = [header for header in link.headers if header.part >= start.segment.part]
        if headers and headers[0].base_seq == start.seq:
            return [_Link(headers, link.last_seq)]
        if headers or link.last_seq != start.seq:
            self._missing(start)
        return []

    def _missing(self, start: LogStart) -> NoReturn:
        message = f"{self._directory}: no segment {start.segment} in the chain that begins behind seq {start.seq}"
        raise StartNotFoundError(message)

    def _find_head(self) -> list[SegmentHeader]:
        """Headers of the newest epoch that has any; headers that an interrupted write left behind are cut."""
        for epoch in sorted({segment.epoch for segment in self._sizes}, reverse=True):
            parts = self._parts(epoch)
            if self._is_synced:
                # Before they are read: after a failed sync only the disk knows what it has. Older epochs in the chain
                # were synced by the owner of the head before it wrote its header.
                for part in parts:
                    if self._start is None or part >= self._start.segment:
                        self._fs.sync_file(self._path(part))
            headers = [self._header(part) for part in parts]
            if headers[-1] is None:
                # No tail then: the part before this one was synced before this one was created.
                self._cut(parts[-1], 0)
                headers.pop()
            else:
                self._tail = parts[-1]
            whole = [header for header in headers if header]
            if len(whole) < len(headers):
                raise self._missing_header(parts[headers.index(None)])
            if whole:
                return whole
        return []

    def _base_headers(self, epoch: int, last_seq: int) -> list[SegmentHeader]:
        """Headers of the parts of an older epoch that hold records up to `last_seq`."""
        headers: list[SegmentHeader] = []
        for part in self._parts(epoch):
            header = self._header(part)
            if headers and (header is None or header.base_seq >= last_seq):
                break
            if header is None:
                raise self._missing_header(part)
            headers.append(header)
        return headers

    def _parts(self, epoch: int) -> list[SegmentId]:
        parts = sorted(segment for segment in self._sizes if segment.epoch == epoch)
        for number, part in enumerate(parts or [SegmentId(epoch, -1)]):
            if part.part != number:
                raise CorruptionError(
                    self._path(SegmentId(epoch, number)),
                    0,
                    expected="the segment that later ones build on",
                    found="no file",
                )
        return parts

    def _header(self, segment: SegmentId) -> SegmentHeader | None:
        path, size = self._path(segment), self._sizes[segment]
        data = self._fs.read(path, min(size, SEGMENT_HEADER_BYTES))
        if size > len(data) and not any(data):
            data = self._fs.read(path, size)
        return decode_segment_header(data, path=path, shard=self._shard, segment=segment)

    def _missing_header(self, segment: SegmentId) -> CorruptionError:
        return CorruptionError(
            self._path(segment), 0, expected="the header of a segment that later ones build on", found="none"
        )

    def _cut(self, segment: SegmentId, offset: int) -> None:
        if self._sizes[segment] > offset:
            self._cuts.append(Cut(self._path(segment), offset, self._sizes[segment] - offset))

    def _read_epoch(self, link: _Link) -> Iterator[Batch]:
        last_seq = link.headers[0].base_seq
        for header in link.headers:
            if header.part and (header.base_epoch, header.base_seq) != (header.epoch, last_seq):
                expected = f"a part that goes on after epoch {header.epoch}, seq {last_seq}"
                found = f"epoch {header.base_epoch}, seq {header.base_seq}"
                raise CorruptionError(self._path(_id(header)), 0, expected=expected, found=found)
            for batch in self._read_part(header, link.last_seq):
                last_seq = batch.last_seq
                yield batch
        if link.last_seq is not None and last_seq != link.last_seq:
            segment = _id(link.headers[-1])
            expected, found = f"records up to seq {link.last_seq}", f"end of file at seq {last_seq}"
            raise CorruptionError(self._path(segment), self._sizes[segment], expected=expected, found=found)

    def _read_part(self, header: SegmentHeader, last_seq: int | None) -> Iterator[Batch]:
        segment = _id(header)
        path = self._path(segment)
        data = self._fs.read(path, self._sizes[segment])
        offset, seq = SEGMENT_HEADER_BYTES, header.base_seq
        while offset < len(data) and seq != last_seq:
            record = read_record(data, offset)
            if isinstance(record, Damage):
                if record.is_torn and segment == self._tail:
                    self._cut(segment, offset)
                    return
                raise CorruptionError(path, offset, expected=record.expected, found=record.found)
            batch = _decode(record.payload, path, offset)
            found = (batch.epoch, batch.first_seq)
            if found != (header.epoch, seq + 1) or (last_seq is not None and batch.last_seq > last_seq):
                expected = f"epoch {header.epoch}, seqs from {seq + 1} to {last_seq or 'any'}"
                shown = f"epoch {batch.epoch}, seqs from {batch.first_seq} to {batch.last_seq}"
                raise CorruptionError(path, offset, expected=expected, found=shown)
            if self._recorded_at is not None and batch.recorded_at < self._recorded_at:
                expected = f"recorded_at {self._recorded_at} or later"
                raise CorruptionError(path, offset, expected=expected, found=str(batch.recorded_at))
            self._recorded_at = batch.recorded_at
            yield batch
            offset, seq = record.end, batch.last_seq


def _id(header: SegmentHeader) -> SegmentId:
    return SegmentId(header.epoch, header.part)


class _Versioned(msgspec.Struct):
    version: int = BATCH_VERSION


def _decode(payload: memoryview, path: str, offset: int) -> Batch:
    try:
        version = msgspec.msgpack.decode(payload, type=_Versioned).version
        if version > BATCH_VERSION:
            message = (
                f"{path}: the batch at byte {offset} has version {version}, this release reads up to {BATCH_VERSION}: "
                "use a later release"
            )
            raise InvalidRequestError(message)
        batch = decode_batch(payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptionError(path, offset, expected="a batch", found=str(error)) from error
    if not batch.events:
        raise CorruptionError(path, offset, expected="a batch of at least one event", found="none")
    return batch
