"""Where submits come in: decides in the writer's turn, and lets a caller wait whose user's inbox is full.

A caller waits until the job of its messages is done or has failed once, or until its deadline; what was accepted goes
on whether somebody waits or not. How many may wait at a time is bounded, because each of them takes a thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING

from memoray.engine.ids import request_hash
from memoray.engine.settled import Settled
from memoray.engine.submit import Intake, Submission, check_submit, decide_submit, jobs_waiting
from memoray.errors import BusyError, InvalidRequestError
from memoray.validation import as_utc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.config import EngineConfig
    from memoray.engine.decide import Stamp
    from memoray.engine.jobs import JobRunner
    from memoray.engine.state import ShardState
    from memoray.engine.writer import Decide, Fresh
    from memoray.events import AnyEvent, Receipt
    from memoray.protocols import Checker, Clock
    from memoray.requests import SubmitRequest

BUSY_SECONDS = 1.0

Write = Callable[["Decide[Receipt]", str], "Future[Receipt]"]


class Reception:
    """Takes the submits of one shard. Safe to share between threads."""

    def __init__(
        self,
        config: EngineConfig,
        checker: Checker | None,
        *,
        extracts: bool,
        write: Write,
        state: Callable[[], ShardState],
        runner: JobRunner,
        clock: Clock,
    ) -> None:
        """Put together what a submit needs.

        Args:
            config: bounds and defaults.
            checker: when a delta is extracted; None: always.
            extracts: there is an extractor.
            write: hands a decision of the request with this id to the writer.
            state: the state of the moment.
            runner: runs the jobs.
            clock: that deadlines are looked up on.
        """
        self._intake = Intake(config, checker, extracts=extracts)
        self._config = config
        self._write = write
        self._state = state
        self._runner = runner
        self._clock = clock
        self._settled = Settled()
        self._places = threading.Semaphore(config.submits_waiting_max)

    def begin(self, request: SubmitRequest) -> Future[Receipt]:
        """Queue a submit for the writer; the future is done when the caller may be answered.

        Raises:
            InvalidRequestError: the request is wrong.
            BusyError: too many writes wait.
        """
        try:
            submission = check_submit(request)
        except InvalidRequestError:
            self._settle(request)
            raise
        place = _Place(self._places)
        answer = Future["Receipt"]()
        answer.set_running_or_notify_cancel()  # a caller that gives up cancels nothing
        written = self._write(self._decision(submission, place), request.request_id)
        written.add_done_callback(lambda done: self._pass_on(request, done, answer, place))
        return answer

    def _pass_on(
        self, request: SubmitRequest, written: Future[Receipt], answer: Future[Receipt], place: _Place
    ) -> None:
        error = written.exception()
        if error is not None:
            place.give_back()
            if isinstance(error, InvalidRequestError):
                self._settle(request)
            answer.set_exception(error)
        elif not place.is_taken:
            answer.set_result(written.result())
        else:
            # In a thread of its own: this one is the writer's.
            waiting = threading.Thread(
                target=self._see_through,
                args=(request, written.result(), answer, place),
                name="memoray-caller",
                daemon=True,
            )
            waiting.start()

    def _see_through(self, request: SubmitRequest, receipt: Receipt, answer: Future[Receipt], place: _Place) -> None:
        try:
            if receipt.job_id is not None:
                self._runner.see_through(request.user, receipt.job_id, self._seconds_left(request, receipt.job_id))
        finally:
            place.give_back()
            answer.set_result(receipt)

    def _settle(self, request: SubmitRequest) -> None:
        """What follows this request need not wait for it: it will never be accepted, or has nothing to accept."""
        with contextlib.suppress(UnicodeEncodeError):  # an id without a UTF-8 form is no request's
            self._settled.add(request_hash(request.user, request.request_id))

    def _decision(self, submission: Submission, place: _Place) -> Decide[Receipt]:
        user = submission.request.user

        def decide(state: ShardState, stamp: Stamp, _fresh: Fresh) -> tuple[Sequence[AnyEvent], Receipt]:
            events, receipt = decide_submit(state, submission, stamp, self._intake, settled=self._settled)
            if receipt.job_id is None:
                if not events:
                    self._settled.add(submission.request_hash)
                return events, receipt
            count = jobs_waiting(state.user(user)) + bool(events)
            waits = count > self._config.user_jobs_count_max or not self._runner.has_workers
            # A repeat that finds no place to wait is answered at once: what it hands over is accepted already.
            if waits and not place.take() and events:
                hint = f"{self._config.submits_waiting_max} callers wait for their extraction; nothing was accepted"
                raise BusyError(hint, retry_after=BUSY_SECONDS)
            return events, receipt

        return decide

    def _seconds_left(self, request: SubmitRequest, job_id: str) -> float:
        """How long a caller may wait for its job: so long after the acceptance, but not past its deadline."""
        job = self._state().user(request.user).job(job_id)
        if job is None:
            return 0.0
        until = job.accepted_at + timedelta(seconds=self._config.submit_seconds_max)
        if request.deadline is not None:
            until = min(until, as_utc(request.deadline))
        return (until - self._clock.now()).total_seconds()


class _Place:
    """One caller's place among those that may wait, if it is given one."""

    def __init__(self, places: threading.Semaphore) -> None:
        self._places = places
        self.is_taken = False

    def take(self) -> bool:
        self.is_taken = self._places.acquire(blocking=False)
        return self.is_taken

    def give_back(self) -> None:
        if self.is_taken:
            self._places.release()
