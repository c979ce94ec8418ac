"""Runs a shard's jobs: one per user at a time and in order, a bounded number of users side by side.

Between jobs it tries again to embed what lacks a vector after an outage.

Where the inbox of a user is full, or no thread runs, whoever submits waits for the job: see `JobRunner.see_through`.

A job runs in three steps, each safe to repeat: ask the extractor and log its answer; embed what lacks a vector; commit
one batch with every outcome and the cursor. After a crash the log says which step is next.
"""

from __future__ import annotations

import heapq
import logging
import math
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

from memoray.errors import MemorayError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from memoray.config import EngineConfig
    from memoray.engine.state import JobState, ShardState
    from memoray.keys import UserKey
    from memoray.protocols import Clock

LOOK_SECONDS = 0.2

logger = logging.getLogger(__name__)


class Work(Protocol):
    """What the runner needs of a shard; see `job_work.JobWork`."""

    def state(self) -> ShardState:
        """The shard's current state."""
        ...

    def run_job(self, user: UserKey, job: JobState) -> None:
        """Run a job to its end.

        Raises:
            MemorayError: this attempt failed; nothing of it was applied.
        """
        ...

    def mend(self, user: UserKey) -> bool:
        """Embed what lacks a vector, a bounded number of texts; False if that brought none.

        Raises:
            MemorayError: the log refused.
        """
        ...

    def fail_job(self, user: UserKey, job: JobState, error: str) -> None:
        """Log a failed attempt."""
        ...

    @property
    def failure(self) -> MemorayError | None:
        """Why the log takes no more, if it does not."""
        ...


class JobRunner:
    """Threads that take users with a job that is due, and run the first of it."""

    def __init__(self, work: Work, clock: Clock, config: EngineConfig) -> None:
        self._work = work
        self._clock = clock
        self._config = config
        self._mend_waits: dict[UserKey, float] = {}
        self._mend_due: dict[UserKey, float] = {}
        self._changed = threading.Condition()
        self._ready: deque[UserKey] = deque()
        self._queued: set[UserKey] = set()
        self._running: set[UserKey] = set()
        self._later: list[tuple[float, int, UserKey]] = []
        self._timers: dict[UserKey, float] = {}
        self._tie = 0
        self._is_open = True
        self._threads = [
            threading.Thread(target=self._run, name=f"memoray-job-{number}", daemon=True)
            for number in range(config.extraction_workers_count)
        ]

    def start(self, users: Iterable[UserKey]) -> None:
        """Start the threads with the users who have jobs from before."""
        self.notice(users)
        for thread in self._threads:
            thread.start()

    def notice(self, users: Iterable[UserKey]) -> None:
        """These users may have a job that is due."""
        if not self._threads:
            return
        with self._changed:
            for user in users:
                self._queue(user)
            self._changed.notify_all()

    @property
    def has_workers(self) -> bool:
        """Whether threads run jobs; if not, callers run their own."""
        return self._is_open and bool(self._threads)

    @property
    def is_idle(self) -> bool:
        """Whether no job and no embedding runs or is due."""
        with self._changed:
            return not self._ready and not self._running

    def see_through(self, user: UserKey, job_id: str, seconds_max: float) -> None:
        """Return when a job is done or an attempt at it has failed, or when the time is up; the job goes on then.

        A user's jobs are run in order, one at a time, whoever runs them: the workers, or where there are none a thread
        for each job that a caller waits for, those before it too. It goes on when the caller's time is up. Once the
        shard closes, nothing is begun any more and callers are answered: their jobs go on at the next opening.
        """
        deadline = time.monotonic() + seconds_max
        while (left := deadline - time.monotonic()) > 0 and self._work.failure is None:
            with self._changed:
                state = self._work.state()
                if _is_over(state, user, job_id) or not self._is_open:
                    return
                job = first_job(state, user)
                wait = 0.0 if job is None or job.retry_at is None else self._seconds_until(job.retry_at)
                if self.has_workers or user in self._running or wait > 0:
                    # A job may also end by a clear, of which nobody tells: so look again now and then.
                    self._changed.wait(min(left, LOOK_SECONDS, wait if wait > 0 else LOOK_SECONDS))
                    continue
                self._running.add(user)
            threading.Thread(target=self._run_one, args=(user,), name="memoray-callers-job", daemon=True).start()

    def _run_one(self, user: UserKey) -> None:
        try:
            self._run_first_job(user)
        except MemorayError as error:
            # The log refuses: the writer has stopped and the shard with it. The job is in the log, for the next.
            logger.warning("a job of a shard that stops: %s", error)
        finally:
            with self._changed:
                self._running.discard(user)
                self._queue_if_due(user)
                self._changed.notify_all()

    def _seconds_until(self, moment: datetime) -> float:
        return (moment - self._clock.now()).total_seconds()

    def close(self, timeout: float) -> bool:
        """Let running jobs end and start no more; False if they take longer than `timeout` seconds."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        with self._changed:  # and what runs for callers
            while self._running and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._running and not any(thread.is_alive() for thread in self._threads)

    def _queue(self, user: UserKey) -> None:
        if user not in self._queued and user not in self._running:
            self._queued.add(user)
            self._ready.append(user)

    def _run(self) -> None:
        while (user := self._next()) is not None:
            self._run_one(user)

    def _next(self) -> UserKey | None:
        """Wait for a user with work; None when closing."""
        with self._changed:
            while self._is_open:
                now = time.monotonic()
                while self._later and self._later[0][0] <= now:
                    at, _, user = heapq.heappop(self._later)
                    if self._timers.get(user) == at:
                        del self._timers[user]
                    self._queue(user)
                if self._ready:
                    user = self._ready.popleft()
                    self._queued.discard(user)
                    self._running.add(user)
                    return user
                self._changed.wait(max(0.001, self._later[0][0] - now) if self._later else 60.0)
            return None

    def _run_first_job(self, user: UserKey) -> None:
        job = first_job(self._work.state(), user)
        if job is None:
            self._mend(user)
            return
        if job.retry_at is not None and job.retry_at > self._clock.now():
            return
        try:
            self._work.run_job(user, job)
        except MemorayError as error:
            logger.warning("job %s failed: %s", job.id, error)
            self._work.fail_job(user, job, f"{type(error).__name__}: {error}")
        except Exception as error:
            # The one loop of this thread: a bug in an extractor fails this job visibly, and the others go on.
            logger.exception("job %s broke", job.id)
            self._work.fail_job(user, job, f"{type(error).__name__}: {error}")

    def _mend(self, user: UserKey) -> None:
        """Embed what lacks a vector, if that is due: at once, and after a try that brought none, later and later."""
        due = self._mend_due.get(user)
        if due is None or time.monotonic() < due or not lacks_vectors(self._work.state(), user):
            return
        del self._mend_due[user]
        if self._work.mend(user):
            self._mend_waits.pop(user, None)
        else:
            wait = max(self._config.mend_seconds, self._mend_waits.get(user, 0.0) * 2)
            self._mend_waits[user] = min(wait, self._config.mend_seconds_max)

    def _queue_if_due(self, user: UserKey) -> None:
        if not self.has_workers:
            return
        state = self._work.state()
        job = first_job(state, user)
        if job is not None:
            wait = 0.0 if job.retry_at is None else self._seconds_until(job.retry_at)
            self._queue_in(user, wait)
        elif lacks_vectors(state, user):
            now = time.monotonic()
            due = self._mend_due.setdefault(user, now + self._mend_waits.get(user, 0.0))
            self._queue_in(user, due - now)
        else:
            self._mend_due.pop(user, None)
            self._mend_waits.pop(user, None)

    def _queue_in(self, user: UserKey, seconds: float) -> None:
        """Look at a user again after a while, or sooner if that is planned already: whoever looks plans anew."""
        if seconds <= 0:
            self._queue(user)
            return
        at = time.monotonic() + seconds
        if self._timers.get(user, math.inf) > at:
            self._timers[user] = at
            self._tie += 1
            heapq.heappush(self._later, (at, self._tie, user))


def first_job(state: ShardState, user: UserKey) -> JobState | None:
    """The job of a user that is next: the first that is not parked."""
    return next((job for job in state.user(user).jobs if not job.is_parked), None)


def _is_over(state: ShardState, user: UserKey, job_id: str) -> bool:
    """Whether a job is done, or has failed at least once."""
    job = state.user(user).job(job_id)
    return job is None or bool(job.attempts) or job.is_parked


def lacks_vectors(state: ShardState, user: UserKey) -> bool:
    """Whether an entry or a turn of a user waits for a vector."""
    known = state.user(user)
    return bool(len(known.entries_unembedded) or len(known.turns_unembedded))
