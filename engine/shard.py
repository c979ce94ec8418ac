"""One shard without Ray: a log, the state folded from it, its projections, one writer, and a runner of jobs.

Writes go through the writer's thread; reads run in the caller's thread on the immutable state of the moment.
"""

from __future__ import annotations

import contextlib
import logging
import time
from concurrent.futures import Future
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from memoray.engine.archive import Archive
from memoray.engine.change import Change, answer_of_known, check_change, decide_change
from memoray.engine.embedding import embed_texts
from memoray.engine.finder import find_legs, recent
from memoray.engine.job_work import JobWork
from memoray.engine.jobs import JobRunner, lacks_vectors
from memoray.engine.opening import open_shard
from memoray.engine.reception import Reception
from memoray.engine.replay import busy_users
from memoray.engine.sealer import Sealer
from memoray.engine.status import status_of
from memoray.engine.undoing import begin_undo
from memoray.engine.writer import Decide, Fresh, Writer
from memoray.errors import InvalidRequestError, MemorayError, OutcomeUnknownError
from memoray.extraction.checkers import checker_of
from memoray.keys import shard_of
from memoray.requests import (
    HistoryAnswer,
    HistoryRequest,
    OperationsAnswer,
    OperationsRequest,
    ReadAnswer,
    ReadRequest,
    SearchRequest,
    ShardStatus,
    StatusRequest,
    SubmitRequest,
    UndoRequest,
)
from memoray.storage.generations import snapshots_root
from memoray.storage.manifest import Manifest, shard_directory
from memoray.validation import check_as_of, check_search, check_user_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memoray.config import EngineConfig
    from memoray.engine.base import Base
    from memoray.engine.decide import Stamp
    from memoray.engine.projections import Projections
    from memoray.engine.state import ShardState
    from memoray.events import AnyEvent, Batch, Receipt
    from memoray.keys import UserKey
    from memoray.protocols import Checker, Clock, Embedder, Extractor
    from memoray.retrieval.search import Found
    from memoray.storage.filesystem import FileSystem
    from memoray.storage.recovery import RecoveryReport

logger = logging.getLogger(__name__)

WRITE_SECONDS_MAX = 60.0

T = TypeVar("T")


class Shard:
    """The single owner of one shard's users.

    Every method may be called from any thread. `MemorayError` of the right branch is raised for anything that is
    not done; a write that returned is durable and visible to every later read.
    """

    def __init__(
        self,
        fs: FileSystem,
        root: str,
        manifest: Manifest,
        shard: int,
        *,
        config: EngineConfig,
        clock: Clock,
        embedder: Embedder,
        extractor: Extractor | None,
        checker: Checker | None = None,
        stopped: Callable[[MemorayError], None] | None = None,
    ) -> None:
        """Claim the shard, recover it, and start its threads.

        Args:
            fs: where the store is.
            root: the store's directory.
            manifest: of the store.
            shard: number of the shard, from 0.
            config: bounds and defaults.
            clock: source of recorded times.
            embedder: its dimension must be the manifest's.
            extractor: None: turns are kept and searchable, nothing is extracted.
            checker: when a delta is extracted, in place of the config's rule.
            stopped: called once, in the writer's thread, when the shard stops taking writes because of an error.

        Raises:
            InvalidRequestError: the config's checker cannot be.
            FencedError: another owner claimed the shard while it was opening.
            CorruptionError: the log is damaged.
            StorageUnavailableError: the file system refuses.
        """
        if checker is None and config.checker is not None:
            checker = checker_of(config.checker)
        config = replace(config, language=manifest.language)  # the one that everything was indexed with
        self.number = shard
        self.config = config
        self._manifest = manifest
        self._clock = clock
        self._embedder = embedder
        self._stopped = stopped
        self._fs = fs
        self._directory = shard_directory(root, shard)
        self._archive = Archive(fs, root, manifest, shard)
        state = self._recover()
        work = JobWork(
            config,
            extractor,
            projections=lambda: self.projections,
            state=self.state,
            write=self._write,
            embed=self._embed,
            failure=lambda: self.failure,
        )
        self._runner = JobRunner(work, clock, config)
        self._reception = Reception(
            config,
            checker,
            extracts=extractor is not None,
            write=self._write_request,
            state=self.state,
            runner=self._runner,
            clock=clock,
        )
        self._writer = Writer(
            self._log,
            state,
            self._publish,
            self._wake,
            self._published,
            writes_waiting_max=config.writes_waiting_max,
            group_writes_max=config.group_writes_max,
            stopped=self._on_stopped,
        )
        if self._sealer is not None and self._sealed is not None:
            self._sealer.check_later(self._sealed, self._stop)
        if self._sealer is not None:
            self._sealer.seal_at_rest(self._begin_seal)
        self._runner.start(busy_users(state, self._base))

    def _on_stopped(self, error: MemorayError) -> None:
        self._runner.close(0.0)
        if self._stopped is not None:
            self._stopped(error)

    def _recover(self) -> ShardState:
        language = self.config.language
        opened = open_shard(self._fs, self._directory, self._manifest, self.number, language, self._clock)
        self._log, self._sealed, state, self.projections = opened
        self._base = None if self._sealed is None else self._sealed.base
        root = snapshots_root(self._fs, self._directory)
        self._sealer: Sealer | None = None
        if root is not None:
            self._sealer = Sealer(
                root,
                epoch=self._log.epoch,
                rows_min=self.config.seal_rows_min,
                begin_part=self._log.begin_part,
                exchange=lambda make: self._writer.exchange(make, WRITE_SECONDS_MAX),
                install=self._install,
            )
        return state

    def _install(self, base: Base, projections: Projections) -> None:
        self._base = base
        self.projections = projections

    def _stop(self, error: MemorayError) -> None:
        def fail() -> ShardState:
            raise error

        with contextlib.suppress(MemorayError):
            self._writer.exchange(fail, WRITE_SECONDS_MAX)

    def _publish(self, state: ShardState, batches: Sequence[Batch]) -> None:
        for batch in batches:
            self.projections.apply(batch, state)

    def _wake(self, state: ShardState, batches: Sequence[Batch]) -> None:
        users = {event.user for batch in batches for event in batch.events}
        self._runner.notice([user for user in users if state.user(user).jobs or lacks_vectors(state, user)])

    def _published(self, state: ShardState, batches: Sequence[Batch]) -> None:
        if self._sealer is not None:
            self._sealer.published(state, batches, self._base, self.projections)

    def _begin_seal(self) -> None:
        def begin() -> ShardState:
            if self._sealer is not None:
                self._sealer.begin(self.state(), self._base, self.projections)
            return self.state()

        self._writer.exchange(begin, WRITE_SECONDS_MAX)

    def seal(self, timeout: float = 600.0) -> bool:
        """Make a snapshot now, if enough has changed; False if that takes longer than `timeout` seconds."""
        return self._sealer is None or self._sealer.seal(self._begin_seal, timeout)

    # --- writes ---

    def submit(self, request: SubmitRequest) -> Receipt:
        """Accept new messages of a session; returns once they are durable and searchable by keyword.

        Where more of the user's jobs wait than may, or no thread runs jobs, it returns when the job of these messages
        is done or has failed once, or at the caller's deadline: accepted in any case, and never lost. A caller that
        is no longer there cancels nothing.

        Raises:
            InvalidRequestError: the request is wrong, or for a user of another shard; `CheckerFailedError`: the checker
                raised. Nothing was accepted.
            BusyError: a bound was reached, or the request that this one follows was not accepted; nothing was accepted.
            OutcomeUnknownError: ask again with the same request id.
        """
        seconds_max = WRITE_SECONDS_MAX + self.config.submit_seconds_max
        return self._await(self.begin_submit(request), request.request_id, seconds_max)

    def begin_submit(self, request: SubmitRequest) -> Future[Receipt]:
        """Queue a submit for the writer, behind what was queued before; raises what is known at once.

        The future is done when `submit` would return.
        """
        self._check_home(request.user)
        return self._reception.begin(request)

    def apply(self, request: OperationsRequest) -> OperationsAnswer:
        """Apply a caller's own operations in one batch; they are not reconciled.

        Raises:
            InvalidRequestError: the request is wrong as a whole; a single bad operation is refused in its outcome.
            BusyError: a bound was reached; nothing was accepted.
            OutcomeUnknownError: ask again with the same request id.
        """
        return self._await(self.begin_apply([self.check_apply(request)])[0], request.request_id)

    def check_apply(self, request: OperationsRequest) -> Change:
        """What `begin_apply` takes; raises `InvalidRequestError` as `apply` does."""
        self._check_home(request.user)
        change = check_change(request)
        if answer_of_known(self.state(), change) is None:
            return change
        return replace(change, texts=(None,) * len(change.texts))  # a repeat needs no vectors

    def begin_apply(self, changes: Sequence[Change]) -> list[Future[OperationsAnswer]]:
        """Embed the texts of all changes at once and queue each for the writer, in order; errors are in the futures."""
        texts = [text for change in changes for text in change.texts]
        vectors = iter(self._embed(texts))
        return [self._begin_change(change, list(islice(vectors, len(change.texts)))) for change in changes]

    def _begin_change(self, change: Change, vectors: list[bytes | None]) -> Future[OperationsAnswer]:
        request = change.request

        def decide(state: ShardState, stamp: Stamp, fresh: Fresh) -> tuple[Sequence[AnyEvent], OperationsAnswer]:
            return decide_change(state, change, vectors, stamp, fresh.setdefault(request.user, {}))

        try:
            return self._writer.write(decide, request_id=request.request_id)
        except MemorayError as error:
            refused = Future[OperationsAnswer]()
            refused.set_exception(error)
            return refused

    def undo(self, request: UndoRequest) -> OperationsAnswer:
        """Bring a user's entries back to what they were before a batch, by a new batch with an outcome for each.

        Reads the log to find the batch. An entry that has been changed since is left as it is, and its outcome says so.

        Raises:
            NotFoundError: the user has no such batch or job, or it changed no memory.
            InvalidRequestError: the request is wrong, or what comes back is too large for one batch.
            OutcomeUnknownError: ask again with the same request id.
        """
        return self._await(self.begin_undo(request), request.request_id)

    def begin_undo(self, request: UndoRequest) -> Future[OperationsAnswer]:
        """Read the log, and queue an undo for the writer; raises what is known at once."""
        self._check_home(request.user)
        return begin_undo(request, self.state(), self._archive.plan_undo, self._writer.write)

    # --- reads ---

    def state(self) -> ShardState:
        """The state of the moment: immutable, as of the last durable batch."""
        return self._writer.state

    def read(self, request: ReadRequest) -> ReadAnswer:
        """The most recently updated entries of a user, and the messages they come from."""
        self._check_home(request.user)
        state, _ = self._moment(check_user_key(request.user), check_as_of(request.as_of))
        return recent(state, request.user, request.limit)

    def history(self, request: HistoryRequest) -> HistoryAnswer:
        """Every change of an entry, read from the log's files; `NotFoundError` if the user never had it."""
        self._check_home(request.user)
        return self._archive.history(request, self.state())

    def find(self, request: SearchRequest, query_vector: bytes | None) -> Found:
        """All legs that a search needs, of all its queries, filtered and unfiltered, from one moment of the shard.

        Args:
            request: what is asked.
            query_vector: as `find_legs` takes it: of several queries one vector after the other.
        """
        self._check_home(request.user)
        checked = check_search(request)
        state, projections = self._moment(checked.user, checked.as_of)
        return find_legs(state, projections, checked, query_vector, self.config.language)

    def _moment(self, user: UserKey, as_of: int | datetime | None) -> tuple[ShardState, Projections]:
        """What a read of one user is answered from."""
        state = self.state()
        return (state, self.projections) if as_of is None else self._archive.moment(user, as_of, state)

    def status(self, request: StatusRequest) -> ShardStatus:
        """How the shard is; with a user, how that user's sessions and jobs are."""
        failure = self._writer.failure
        return replace(
            status_of(self.state(), self.number, request.user),
            state="serving" if failure is None else "stopped",
            error="" if failure is None else str(failure),
            epoch=self.epoch,
            cut_bytes=self._log.report.cut_bytes,
        )

    @property
    def epoch(self) -> int:
        """Ownership number."""
        return self._log.epoch

    @property
    def recovery(self) -> RecoveryReport:
        """What was read of the log when it was opened."""
        return self._log.report

    @property
    def failure(self) -> MemorayError | None:
        """Why the shard takes no more writes, if it does not."""
        return self._writer.failure

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being extracted or embedded, and nothing of that is due."""
        return self._runner.is_idle

    def close(self, timeout: float = 40.0) -> bool:
        """End running jobs, then the writer, then the log. Waiting jobs are in the log and go on at the next open.

        Returns:
            False if something was still running after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        is_idle = self._runner.close(timeout)
        if self._sealer is not None:
            self._sealer.begin_close()
        is_idle = self._writer.close(max(0.1, deadline - time.monotonic())) and is_idle
        # After the writer, which alone begins to seal.
        return (self._sealer is None or self._sealer.join(max(0.1, deadline - time.monotonic()))) and is_idle

    def _embed(self, texts: Sequence[str | None], *, is_query: bool = False) -> list[bytes | None]:
        return embed_texts(self._embedder, texts, self.projections.vectors, is_query=is_query)

    def _write(self, decide: Decide[T]) -> T:
        return self._await(self._writer.write(decide))

    def _write_request(self, decide: Decide[Receipt], request_id: str) -> Future[Receipt]:
        return self._writer.write(decide, request_id=request_id)

    def _await(self, written: Future[T], request_id: str | None = None, seconds_max: float = WRITE_SECONDS_MAX) -> T:
        try:
            return written.result(seconds_max)
        except TimeoutError:
            hint = f"the log did not answer within {seconds_max:.0f} s; ask again with the same request id"
            raise OutcomeUnknownError(hint, request_id=request_id or "") from None

    def _check_home(self, user: UserKey) -> None:
        home = shard_of(user, self._manifest.shards_count)
        if home != self.number:
            hint = f"user {user} belongs to shard {home}, this is shard {self.number}; ask the actor of shard {home}"
            raise InvalidRequestError(hint)
