"""Seals a shard's state in the background, and puts the new base under the live state without stopping anybody.

The writer takes a moment (all of it immutable) when enough has changed, and lets the log go on in a new part. A thread
makes a base of the moment, folds what has been written since over it, and has the writer exchange state and projections
between two groups of writes. So live state is always a base plus what came after it, as if the log had been read anew.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from memoray.engine.base import Base
from memoray.engine.projections import Projections
from memoray.engine.replay import replay
from memoray.engine.seal import FORMAT_VERSION, Moment, write_base
from memoray.errors import CorruptionError, MemorayError
from memoray.points import reach
from memoray.storage.generations import check_generation, generations, publish_generation, remove_older
from memoray.storage.recovery import LogStart
from memoray.storage.segment import SegmentId
from memoray.text import ANALYSIS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memoray.engine.state import ShardState
    from memoray.events import Batch

logger = logging.getLogger(__name__)

# Fewer batches than this are folded while the writer waits.
SWAP_BATCHES_MAX = 50
DEEP_CHECK_AFTER_SECONDS = 5.0
REST_SECONDS = 5.0
POLL_SECONDS = 0.01


class SealedState(NamedTuple):
    """A base that was found, and where."""

    base: Base
    path: Path

    @property
    def start(self) -> LogStart:
        """Where the log goes on behind it."""
        meta = self.base.meta
        return LogStart(SegmentId(meta.epoch, meta.part), meta.seq, meta.recorded_at)


def open_newest(root: Path | None, log_id: str, dimension: int, language: str) -> SealedState | None:
    """The newest base of a log that can be used; None if there is none. Writes nothing.

    One that is damaged, or of another release or language, is passed over with a warning: the log has it all.
    """
    for generation in generations(root) if root is not None else ():
        try:
            check_generation(generation.path, is_deep=False)
            base = Base(generation.path)
        except (CorruptionError, OSError) as error:
            logger.warning("a snapshot is passed over: %s", error)
            continue
        meta = base.meta
        known = (meta.format_version, meta.analysis_version, meta.language, meta.log_id, meta.dimension)
        if known == (FORMAT_VERSION, ANALYSIS_VERSION, language, log_id, dimension):
            return SealedState(base, generation.path)
        logger.warning("%s was made for other settings and is passed over", generation.path)
    return None


class Sealer:
    """Decides when to seal, and does it. One per shard; `published` is called by the writer alone.

    Attributes:
        error: why no snapshots are made any more, if so.
    """

    def __init__(
        self,
        root: Path,
        *,
        epoch: int,
        rows_min: int,
        begin_part: Callable[[], SegmentId],
        exchange: Callable[[Callable[[], ShardState]], None],
        install: Callable[[Base, Projections], None],
    ) -> None:
        """Make one; nothing happens yet.

        Args:
            root: directory of the shard's snapshots.
            epoch: of the owner.
            rows_min: changes of the indexes that make the next base worth making; half of the last one's, if more.
            begin_part: lets the log go on in a new file and names it; called in the writer's thread.
            exchange: has the writer go on from the state that a function gives it, which it calls between two writes.
            install: takes the new base and its projections; called by that function.
        """
        self.error = ""
        self._root = root
        self._epoch = epoch
        self._rows_min = rows_min
        self._begin_part = begin_part
        self._exchange = exchange
        self._install = install
        self._lock = threading.Lock()
        self._since: list[Batch] = []
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._published_at = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Whether a base is being made."""
        return self._thread is not None

    def published(
        self, state: ShardState, batches: Sequence[Batch], base: Base | None, projections: Projections
    ) -> None:
        """Take note of what has become durable and visible; begin to seal if it is time.

        Raises:
            FencedError: a newer owner has the log.
            StorageUnavailableError: the log could not go on in a new part.
        """
        self._published_at = time.monotonic()
        with self._lock:
            if self._thread is not None:
                self._since.extend(batches)
                return
        due = max(self._rows_min, 0 if base is None else base.meta.documents_count // 2)
        if projections.changes_count >= due:
            self.begin(state, base, projections)

    def begin(self, state: ShardState, base: Base | None, projections: Projections) -> None:
        """Begin to seal, unless that is under way or has too little to do; called in the writer's thread.

        Raises:
            FencedError: a newer owner has the log.
            StorageUnavailableError: the log could not go on in a new part.
        """
        is_free = self._thread is None and not self.error and not self._closing.is_set()
        if not is_free or projections.changes_count < self._rows_min:
            return
        moment = Moment(
            base,
            state,
            projections.vectors.changed(),
            projections.keywords.changed(),
            self._begin_part(),
            projections.vectors.dimension,
            projections.language,
        )
        thread = threading.Thread(target=self._run, args=(moment,), name="memoray-sealer", daemon=True)
        with self._lock:
            self._since = []
            self._thread = thread
            thread.start()

    def _run(self, moment: Moment) -> None:
        try:
            self._seal(moment)
        except (OSError, MemorayError) as error:
            # The log has everything; without a new base the tail grows, and the next open takes longer.
            logger.warning("a snapshot could not be made, and none will be until the shard is opened again: %s", error)
            self.error = f"{type(error).__name__}: {error}"
        except Exception as error:
            logger.exception("making a snapshot broke; none will be made until the shard is opened again")
            self.error = f"{type(error).__name__}: {error}"
        finally:
            with self._lock:
                self._thread = None
                self._since = []

    def _seal(self, moment: Moment) -> None:
        seq = moment.state.last_seq
        made = publish_generation(self._root, seq, self._epoch, lambda path: write_base(moment, path))
        base = Base(made.path)
        projections = Projections(moment.dimension, moment.language, base)
        state = base.state()
        while not self._closing.is_set():
            waiting = self._taken()
            state = replay(state, waiting, projections)
            if len(waiting) <= SWAP_BATCHES_MAX:
                break

        def go_on() -> ShardState:
            final = replay(state, self._taken(), projections)
            self._install(base, projections)
            return final

        reach("seal_folded")
        if not self._closing.is_set():
            self._exchange(go_on)
            reach("seal_exchanged")
            remove_older(self._root, seq, self._epoch)
            reach("seal_done")

    def _taken(self) -> list[Batch]:
        with self._lock:
            waiting, self._since = self._since, []
        return waiting

    def begin_close(self) -> None:
        """Begin no more; what runs ends without an exchange."""
        self._closing.set()

    def join(self, timeout: float) -> bool:
        """Wait for what runs; False if it takes longer than `timeout` seconds."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return self._thread is None

    def seal(self, begin: Callable[[], None], timeout: float) -> bool:
        """Seal now, if there is enough to do; False if that takes longer than `timeout` seconds.

        `begin` calls the method of that name in the writer's thread, behind the writes before this.
        """
        deadline = time.monotonic() + timeout
        is_begun = False
        while self.is_busy or not is_begun:
            if time.monotonic() > deadline:
                return False
            if self.is_busy:  # what is under way began before the latest changes
                time.sleep(POLL_SECONDS)
            else:
                begin()
                is_begun = True
        return True

    def seal_at_rest(self, begin: Callable[[], None]) -> None:
        """Now and then, when nothing has been written for a while, begin with what would not be due under load.

        So that the next opening has little to read. `begin` calls the method of that name in the writer's thread.
        """

        def look() -> None:
            while not self._closing.wait(REST_SECONDS):
                if time.monotonic() - self._published_at >= REST_SECONDS:
                    try:
                        begin()
                    except MemorayError as error:
                        logger.warning("no snapshot at rest: %s", error)
                        return

        threading.Thread(target=look, name="memoray-rest", daemon=True).start()

    def check_later(self, sealed: SealedState, stop: Callable[[MemorayError], None]) -> None:
        """Compare every byte of a base with what was written, in a thread of its own, some seconds from now.

        A base that differs is set aside, and the shard stopped: opened again, it is made from the log.
        """

        def check() -> None:
            if self._closing.wait(DEEP_CHECK_AFTER_SECONDS):
                return
            try:
                check_generation(sealed.path, is_deep=True)
            except FileNotFoundError:
                return  # a newer one has taken its place
            except CorruptionError as error:
                if sealed.path.exists():
                    sealed.path.rename(sealed.path.with_name(sealed.path.name + ".bad"))
                    stop(error)
            except OSError as error:
                logger.warning("a snapshot could not be checked: %s", error)

        threading.Thread(target=check, name="memoray-checker", daemon=True).start()
