"""The one thread that changes a shard: decide, append, sync once for all that wait, fold, publish, answer.

The order is fixed: nobody is answered, and nothing is visible to a reader, before it is durable and no newer owner has
claimed the shard.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from memoray.engine.decide import Stamp
from memoray.engine.fold import fold
from memoray.errors import (
    BusyError,
    InternalError,
    InvalidRequestError,
    MemorayError,
    OutcomeUnknownError,
    StorageUnavailableError,
)
from memoray.events import Batch
from memoray.points import reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.engine.state import ShardState
    from memoray.entries import EntryId
    from memoray.events import AnyEvent
    from memoray.keys import UserKey
    from memoray.storage.log import Log

logger = logging.getLogger(__name__)

T = TypeVar("T")
Fresh = dict["UserKey", dict["EntryId", bytes | None]]


# What a caller hands to the writer: called in its thread with the state, the stamp and the group's new vectors; gives
# events, perhaps none, and the answer to give once they are durable.
Decide = Callable[["ShardState", "Stamp", "Fresh"], "tuple[Sequence[AnyEvent], T]"]


class _Write:
    def __init__(self, decide: Decide[Any], request_id: str | None) -> None:
        self.decide = decide
        self.request_id = request_id
        self.future: Future[Any] = Future()
        self.answer: Any = None


class _Exchange:
    def __init__(self, make: Callable[[], ShardState]) -> None:
        self.make = make
        self.future: Future[None] = Future()


class Writer:
    """Owns the log, and the only one who replaces `state`.

    Attributes:
        state: the shard's state as of the last durable batch. Immutable; replaced as a whole.
        failure: why the writer stopped for good, if it did.
    """

    def __init__(
        self,
        log: Log,
        state: ShardState,
        publish: Callable[[ShardState, Sequence[Batch]], None],
        visible: Callable[[ShardState, Sequence[Batch]], None],
        published: Callable[[ShardState, Sequence[Batch]], None],
        *,
        writes_waiting_max: int,
        group_writes_max: int,
        stopped: Callable[[MemorayError], None],
    ) -> None:
        """Start the thread.

        Args:
            log: open, with `state` folded from it.
            state: where to go on from.
            publish: called in the writer's thread after each sync, before any answer, with the new state and the
                batches that made it. It brings the projections up to date.
            visible: called after that, when `state` is the new one, before any answer, perhaps with no batch.
            published: called likewise once the answers are given; a `MemorayError` that it raises stops the writer.
            writes_waiting_max: bound of the queue.
            group_writes_max: writes that share one sync at most.
            stopped: called once in the writer's thread when it stops because of an error.
        """
        self.state = state
        self.failure: MemorayError | None = None
        self._log = log
        self._publish = publish
        self._visible = visible
        self._unknown: frozenset[str] = frozenset()
        self._published = published
        self._stopped = stopped
        self._group_writes_max = group_writes_max
        self._queue: queue.Queue[_Write | _Exchange | None] = queue.Queue(writes_waiting_max)
        self._thread = threading.Thread(target=self._run, name="memoray-writer", daemon=True)
        self._thread.start()

    def write(self, decide: Decide[T], *, request_id: str | None = None) -> Future[T]:
        """Queue a decision.

        Args:
            decide: see `Decide`. A `MemorayError` that it raises goes to the future, and nothing is written.
            request_id: named in the error if the outcome cannot be known.

        Returns:
            A future of the answer; done when the events are durable and visible.

        Raises:
            BusyError: too many writes wait.
            MemorayError: the writer has stopped; the error that stopped it.
        """
        if self.failure is not None:
            raise self._answer_after(self.failure, request_id)
        item = _Write(decide, request_id)
        try:
            self._queue.put_nowait(item)
        except queue.Full:
            message = f"{self._queue.maxsize} writes wait for this shard's log; nothing was accepted"
            raise BusyError(message, retry_after=0.1) from None
        if self.failure is not None:  # it stopped in between and may have emptied its queue before this item came
            self._fail_waiting()
        return item.future

    def exchange(self, make: Callable[[], ShardState], timeout: float) -> None:
        """Go on from another state that says the same, between two groups of writes.

        Args:
            make: called in the writer's thread; a `MemorayError` that it raises stops the writer.
            timeout: seconds to wait for a place in the queue, and for the exchange.

        Raises:
            MemorayError: the writer has stopped, or took too long.
        """
        item = _Exchange(make)
        try:
            self._queue.put(item, timeout=timeout)
            if self.failure is not None:
                self._fail_waiting()
            item.future.result(timeout)
        except (queue.Full, TimeoutError):
            message = f"the writer did not come to it within {timeout:.0f} s"
            raise StorageUnavailableError(message) from None

    def close(self, timeout: float) -> bool:
        """Finish what waits, close the log and end the thread; False if it takes longer than `timeout` seconds."""
        if self.failure is None:
            self._queue.put(None, timeout=timeout)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        is_open = True
        while is_open and self.failure is None:
            group: list[_Write] = []
            item = self._queue.get()
            while isinstance(item, _Write):
                group.append(item)
                if len(group) >= self._group_writes_max:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            is_open = item is not None
            if group:
                self._write_group(group)
            if isinstance(item, _Exchange):
                self._go_on(item)
        self._log.close()
        if self.failure is None:
            self.failure = StorageUnavailableError("the shard is closed")
        self._fail_waiting()

    def _go_on(self, item: _Exchange) -> None:
        if self.failure is not None:
            item.future.set_exception(self.failure)
            return
        try:
            state = item.make()
            assert state.last_seq == self.state.last_seq, f"{state.last_seq} is not the log's {self.state.last_seq}"
            self.state = state
        except Exception as caught:
            error = caught if isinstance(caught, MemorayError) else InternalError(f"{type(caught).__name__}: {caught}")
            logger.exception("the state could not be exchanged")
            self._stop(error, [])
            item.future.set_exception(error)
        else:
            item.future.set_result(None)

    def _write_group(self, group: list[_Write]) -> None:
        try:
            state, batches, decided = self._append_all(group)
            if batches:
                self._log.commit()
                self._publish(state, batches)
            self.state = state
            self._visible(state, batches)
            reach("visible")
            for item in decided:
                item.future.set_result(item.answer)
            reach("answered")
            if batches:
                self._published(state, batches)
        except MemorayError as error:
            self._stop(error, group)
        except Exception as error:
            # The one loop of this thread: whatever broke, the state in memory may no longer be the log's.
            logger.exception("the writer broke")
            self._stop(InternalError(f"{type(error).__name__}: {error}"), group)

    def _append_all(self, group: list[_Write]) -> tuple[ShardState, list[Batch], list[_Write]]:
        """Decide each, on the state after the one before it; gives the last state, the batches, and who is decided."""
        state, batches, decided = self.state, list[Batch](), list[_Write]()
        fresh: Fresh = {}
        for item in group:
            events = self._decide(item, state, fresh)
            if events is None:
                continue
            if events:
                reach("decided")
                try:
                    batch = self._log.append(events)
                except InvalidRequestError as error:  # too large for a record; nothing was appended
                    item.future.set_exception(error)
                    continue
                batches.append(batch)
                state = fold(state, batch)
            decided.append(item)
        return state, batches, decided

    def _decide(self, item: _Write, state: ShardState, fresh: Fresh) -> Sequence[AnyEvent] | None:
        """The events of one decision; None if it refused or broke, which harms nobody else in the group."""
        stamp = Stamp(self._log.next_seq, self._log.stamp().recorded_at)
        try:
            events, item.answer = item.decide(state, stamp, fresh)
        except MemorayError as error:
            item.future.set_exception(error)
        except Exception as error:
            logger.exception("a decision broke; nothing of it was written")
            item.future.set_exception(InternalError(f"{type(error).__name__}: {error}"))
        else:
            return events
        return None

    def _stop(self, error: MemorayError, group: list[_Write]) -> None:
        logger.error("the shard takes no more writes: %s", error)
        unanswered = [item for item in group if not item.future.done()]
        # Before `failure`, which lets repeats of these be answered.
        self._unknown = frozenset(item.request_id for item in unanswered if item.request_id is not None)
        self.failure = error
        for item in unanswered:
            item.future.set_exception(self._answer_after(error, item.request_id))
        self._stopped(error)

    def _fail_waiting(self) -> None:
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return
            if item is not None and self.failure is not None:
                request_id = item.request_id if isinstance(item, _Write) else None
                item.future.set_exception(self._answer_after(self.failure, request_id))

    def _answer_after(self, error: MemorayError, request_id: str | None) -> MemorayError:
        """What to tell someone after a failure.

        Whose write was under way, and whoever repeats that request, learns only from the next owner what became of it.
        """
        if request_id is None or request_id not in self._unknown:
            return error
        return OutcomeUnknownError(
            f"{error}; ask again with request id {request_id!r} to learn what became of it", request_id=request_id
        )
