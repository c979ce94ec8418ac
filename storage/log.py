"""The log of one shard: opened by claiming an epoch, appended to in batches, acknowledged only when durable and owned.

The order of steps is the fencing protocol; each of them is needed (see `tests/model`):

    open      claim the next epoch → see how far the older segments go, newest first → sync the newest → read →
              write the own header, sync it and the directory → look for a newer claim
    commit    write → sync → look for a newer claim → acknowledge
    rotate    between commits, the part being synced: write the next part's header, sync it and the directory

A log that failed once is poisoned: after a failed sync nobody knows what the disk holds. Only reading it anew tells.
"""

from __future__ import annotations

import contextlib
import posixpath
from typing import TYPE_CHECKING, NamedTuple, Self

from memoray.errors import (
    CorruptionError,
    FencedError,
    InternalError,
    InvalidRequestError,
    MemorayError,
    StorageUnavailableError,
)
from memoray.events import AnyEvent, Batch, encode_batch
from memoray.points import reach
from memoray.storage.ownership import claim_next_epoch, look_for_newer_claim
from memoray.storage.record import RECORD_BYTES_MAX, frame_record
from memoray.storage.recovery import LogStart, Recovered, RecoveryReport, StartNotFoundError, recover
from memoray.storage.segment import (
    SEGMENT_BYTES_MAX,
    SEGMENT_HEADER_BYTES,
    SegmentHeader,
    SegmentId,
    encode_segment_header,
    segment_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoray.protocols import Clock
    from memoray.storage.filesystem import AppendFile, FileSystem


class Stamp(NamedTuple):
    """Time of a batch: `recorded_at` never goes backwards; `clock` is the raw clock where it differs, else None."""

    recorded_at: datetime
    clock: datetime | None = None


class Log:
    """One owner's hold on a shard's log. For one thread at a time.

    Attributes:
        epoch: the epoch that this owner claimed.
        recovered: all batches found at opening, in order. Set it to () once folded, to free the memory.
        report: what recovery found and cut.
        start: where `recovered` begins; None: with the first record.
        last_seq: seq of the last appended event, durable or not; 0 for none.
        durable_seq: seq of the last acknowledged event.
    """

    def __init__(
        self, fs: FileSystem, directory: str, *, shard: int, epoch: int, clock: Clock, segment_bytes_max: int
    ) -> None:
        """Use `Log.open`."""
        self._fs = fs
        self._directory = directory
        self._shard = shard
        self._clock = clock
        self._segment_bytes_max = segment_bytes_max
        self._file: AppendFile | None = None
        self._part = 0
        self._size = 0
        self._pending: list[bytes] = []
        self._recorded_at: datetime | None = None
        self._ended: MemorayError | None = None
        self.epoch = epoch
        self.recovered: tuple[Batch, ...] = ()
        self.report = RecoveryReport()
        self.start: LogStart | None = None
        self.last_seq = 0
        self.durable_seq = 0

    @classmethod
    def open(
        cls,
        fs: FileSystem,
        directory: str,
        *,
        shard: int,
        owner: str,
        clock: Clock,
        segment_bytes_max: int = SEGMENT_BYTES_MAX,
        start: LogStart | None = None,
    ) -> Self:
        """Claim the log and recover it. From here on an older owner cannot acknowledge anything.

        On return everything in `recovered` is durable, and answers may be given from it.

        Args:
            fs: where the log lives.
            directory: of this shard; created if missing.
            shard: number of the shard; must be the one that the log was created with.
            owner: who claims, for messages to others: the cluster id.
            clock: stamps the batches.
            segment_bytes_max: a file that has reached this size is followed by a new one at the next commit.
            start: where to begin reading, if what lies before is known; the log is read from its first record, and
                `self.start` is None, if it does not go through there.

        Raises:
            FencedError: somebody claimed a newer epoch meanwhile.
            CorruptionError: a file is missing or not what was written. The claim stays, no segment is written.
            StorageUnavailableError: the file system refused.
        """
        try:
            fs.make_directory(directory)
            epoch = claim_next_epoch(fs, directory, owner)
            reach("claimed")
            log = cls(fs, directory, shard=shard, epoch=epoch, clock=clock, segment_bytes_max=segment_bytes_max)
            log._recover(start)
        except OSError as error:
            message = f"{directory}: cannot open the log: {error}"
            raise StorageUnavailableError(message) from error
        return log

    @property
    def next_seq(self) -> int:
        """Seq that the first event of the next append will get."""
        return self.last_seq + 1

    def stamp(self) -> Stamp:
        """Time for the next append, to decide with before it; not earlier than any batch of the log."""
        now = self._clock.now()
        if self._recorded_at is not None and now < self._recorded_at:
            return Stamp(self._recorded_at, now)
        return Stamp(now)

    def append(self, events: Sequence[AnyEvent], stamp: Stamp | None = None) -> Batch:
        """Give events their seqs and put them in line for the next commit. Nothing is durable yet.

        Args:
            events: at least one; they become durable together or not at all.
            stamp: what `stamp()` gave since the last append; taken now if None.

        Raises:
            InvalidRequestError: no events, or more than a record holds; nothing was changed.
            FencedError: this owner has been fenced.
            StorageUnavailableError: the log failed or was closed.
        """
        self._check_usable()
        if not events:
            message = "a batch of at least one event required, none given"
            raise InvalidRequestError(message)
        recorded_at, clock = stamp or self.stamp()
        if self._recorded_at is not None and recorded_at < self._recorded_at:
            message = f"stamp {recorded_at} is older than the last batch's {self._recorded_at}"
            raise InternalError(message)
        batch = Batch(self.epoch, self.next_seq, recorded_at, tuple(events), clock)
        payload = encode_batch(batch)
        if len(payload) > RECORD_BYTES_MAX:
            message = f"batch of {len(payload)} bytes; at most {RECORD_BYTES_MAX} are kept, split the request"
            raise InvalidRequestError(message)
        self._pending.append(payload)
        self.last_seq = batch.last_seq
        self._recorded_at = recorded_at
        return batch

    def commit(self) -> int:
        """Make all appended batches durable, with one sync, and make sure that this owner may acknowledge them.

        With nothing appended it only looks for a newer owner.

        Returns:
            Seq of the last event that may be acknowledged.

        Raises:
            FencedError: a newer owner has claimed the log. None of the batches may be acknowledged; this one must stop.
            StorageUnavailableError: the file system refused. None of the batches may be acknowledged; whether they are
                kept shows when the log is opened anew. This log takes no more.
        """
        self._check_usable()
        try:
            if self._pending:
                self._write_pending()
            look_for_newer_claim(self._fs, self._directory, self.epoch)
            reach("after_look")
        except FencedError as error:
            self._end(error)
            raise
        except OSError as error:
            message = f"{self._directory}: commit failed, open the log anew: {error}"
            failure = StorageUnavailableError(message)
            self._end(failure)
            raise failure from error
        self.durable_seq = self.last_seq
        return self.durable_seq

    def close(self) -> None:
        """Let go of the files. What was appended and not committed is dropped. A second call does nothing."""
        self._end(StorageUnavailableError(f"{self._directory}: the log is closed"))

    def begin_part(self) -> SegmentId:
        """Let the next commit go to a new file, and name it. Between commits only.

        Raises:
            FencedError: this owner has been fenced.
            StorageUnavailableError: the log failed or was closed, or the file system refused.
        """
        self._check_usable()
        assert not self._pending, "a part ends between commits"
        try:
            if self._size > SEGMENT_HEADER_BYTES:
                self._begin_part(self._part + 1, base_epoch=self.epoch)
        except OSError as error:
            message = f"{self._directory}: no new segment, open the log anew: {error}"
            failure = StorageUnavailableError(message)
            self._end(failure)
            raise failure from error
        return SegmentId(self.epoch, self._part)

    def _recover(self, start: LogStart | None) -> None:
        fs, directory = self._fs, self._directory
        try:
            recovered = recover(fs, directory, shard=self._shard, before_epoch=self.epoch, is_synced=True, start=start)
            self.start = start
        except StartNotFoundError:
            recovered = recover(fs, directory, shard=self._shard, before_epoch=self.epoch, is_synced=True)
            if start is not None and recovered.report.last_seq < start.seq:
                expected = f"a log up to seq {start.seq}, which a snapshot has"
                found = f"one up to seq {recovered.report.last_seq}; bring the log's files back, or remove the snapshot"
                raise CorruptionError(directory, 0, expected=expected, found=found) from None
        self._take_over(recovered)

    def _take_over(self, recovered: Recovered) -> None:
        self.recovered, self.report = recovered
        self.last_seq = self.durable_seq = self.report.last_seq
        if self.start is not None:
            self._recorded_at = self.start.recorded_at
        if self.recovered:
            self._recorded_at = self.recovered[-1].recorded_at
        try:
            reach("recovered")
            self._begin_part(0, base_epoch=self.report.head_epoch)
            look_for_newer_claim(self._fs, self._directory, self.epoch)
            reach("owned")
        except (FencedError, OSError):
            self.close()
            raise

    def _begin_part(self, part: int, *, base_epoch: int) -> None:
        header = SegmentHeader(self._shard, self.epoch, part, base_epoch, self.durable_seq)
        if self._file is not None:
            self._file.close()
        self._file = self._fs.create(posixpath.join(self._directory, segment_name(self.epoch, part)))
        self._file.write(encode_segment_header(header))
        reach("header_written")
        self._file.sync()
        self._fs.sync_directory(self._directory)
        reach("header_synced")
        self._part = part
        self._size = SEGMENT_HEADER_BYTES

    def _write_pending(self) -> None:
        # Between commits all of the part is synced, so it may be left for the next one.
        if self._size >= self._segment_bytes_max:
            self._begin_part(self._part + 1, base_epoch=self.epoch)
        assert self._file is not None, "a usable log has a file"
        offset = self._size
        frames: list[bytes] = []
        for payload in self._pending:
            frames.append(frame_record(payload, offset=offset, durable_offset=self._size))
            offset += len(frames[-1])
        reach("before_append")
        self._file.write(b"".join(frames))
        reach("after_append")
        self._file.sync()
        reach("after_sync")
        self._pending.clear()
        self._size = offset

    def _check_usable(self) -> None:
        if self._ended is not None:
            raise self._ended.with_traceback(None)

    def _end(self, reason: MemorayError) -> None:
        if self._ended is None:
            self._ended = reason
        self._pending.clear()
        if self._file is not None:
            file, self._file = self._file, None
            # Nothing is lost with an error here: what counts has been synced.
            with contextlib.suppress(OSError):
                file.close()
