"""Requests to named actors that may be restarting: the same bytes are sent again until answered, or until it is late.

Sending again is harmless because writes carry a request id and reads change nothing. What several threads ask of one
actor at the same time travels in one call: see `memoray.actors.coalescer`.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any, cast

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, PendingCallsLimitExceeded

from memoray.actors.coalescer import Coalescer, NoReplyError
from memoray.actors.handles import Handles, NoActorError
from memoray.errors import (
    BusyError,
    FencedError,
    InternalError,
    MemorayError,
    OutcomeUnknownError,
    OwnedElsewhereError,
    ShardUnavailableError,
)

if TYPE_CHECKING:
    from memoray.actors.coalescer import Reply

TRY_SECONDS_MAX = 30.0
WAIT_SECONDS = 0.05
WAIT_SECONDS_MAX = 2.0
# How long a write that was not answered in time is asked about before its outcome is called unknown.
SETTLE_SECONDS_MAX = 5.0
REQUESTS_PER_CALL_MAX = 128
BYTES_PER_CALL_MAX = 8 * 2**20


class RayCall:
    """A call of an actor's `many` that is under way."""

    def __init__(self, handles: Handles, name: str, method: str, requests: list[bytes]) -> None:
        """Start it.

        Raises:
            NoActorError: no actor has this name.
        """
        self._reply: Any = handles.get(name).many.remote(method, requests)

    def replies(self, timeout: float) -> list[Reply]:
        """As `Flight.replies`; Ray's errors as they are."""
        try:
            return cast("list[Reply]", ray.get(self._reply, timeout=timeout))
        except GetTimeoutError:
            raise TimeoutError from None


class Caller:
    """Asks actors by name. Safe to share between threads."""

    def __init__(self, namespace: str) -> None:
        self._handles = Handles(namespace)
        self._lanes: dict[tuple[str, str, object], Coalescer] = {}
        self._lock = threading.Lock()

    def ask(
        self,
        name: str,
        method: str,
        request: bytes,
        *,
        seconds_max: float,
        request_id: str | None = None,
        lane: object = None,
    ) -> bytes:
        """Ask an actor until it answers.

        Args:
            name: of the actor.
            method: of its `many`.
            request: sent unchanged with every try.
            seconds_max: when to give up; a write may take 5 s longer, which go to learning what became of it.
            request_id: of a write; named in the error when the outcome stays unknown.
            lane: requests of one method with different lanes don't wait for each other.

        Raises:
            MemorayError: the request's own error; one that passes, such as `BusyError`, only once the time is up.
            OutcomeUnknownError: a write was not answered in time.
            ShardUnavailableError: no such actor, or it did not answer and did nothing.
        """
        coalescer = self._lane(name, method, lane)
        attempt = _Attempts(f"{name}.{method}", request_id, seconds_max)
        while True:
            try:
                return coalescer.ask(request, attempt.seconds_left())
            except (BusyError, FencedError, OwnedElsewhereError, OutcomeUnknownError, NoReplyError) as error:
                problem = error.__cause__ if isinstance(error, NoReplyError) else error
                if isinstance(problem, ActorDiedError | FencedError):
                    self._handles.forget(name)
                time.sleep(attempt.seconds_until_next(error))

    def _lane(self, name: str, method: str, lane: object) -> Coalescer:
        with self._lock:
            known = self._lanes.get((name, method, lane))
            if known is None:

                def send(requests: list[bytes]) -> RayCall:
                    return RayCall(self._handles, name, method, requests)

                known = self._lanes[name, method, lane] = Coalescer(
                    send,
                    count_max=REQUESTS_PER_CALL_MAX,
                    bytes_max=BYTES_PER_CALL_MAX,
                    seconds_max=TRY_SECONDS_MAX,
                )
            return known


class _Attempts:
    """When to try again, when to give up, and what to say then."""

    def __init__(self, what: str, request_id: str | None, seconds_max: float) -> None:
        self._what = what
        self._request_id = request_id
        self._deadline = time.monotonic() + seconds_max
        self._settles_seconds = 0.0 if request_id is None else min(seconds_max, SETTLE_SECONDS_MAX)
        self._wait = WAIT_SECONDS
        self._may_have_happened = False
        self._stopped: FencedError | OutcomeUnknownError | None = None

    def seconds_left(self) -> float:
        """What the next try may take."""
        return max(0.01, self._deadline - time.monotonic())

    def seconds_until_next(self, error: MemorayError | NoReplyError) -> float:
        """How long to wait after a try that failed.

        Raises:
            MemorayError: there is no point in another, or no time for it.
        """
        problem = error.__cause__ if isinstance(error, NoReplyError) else error
        if isinstance(error, OutcomeUnknownError) or (isinstance(error, NoReplyError) and error.was_sent):
            self._may_have_happened = True
        if isinstance(problem, FencedError | OutcomeUnknownError):
            self._stopped = problem
        if isinstance(problem, NoActorError) and (self._stopped is not None or not problem.was_there):
            raise self._given_up(problem)  # nobody will restart what has left on purpose, or never was
        if isinstance(error, NoReplyError) and not _is_passing(problem):
            message = f"{self._what} failed: {problem!r}"
            raise InternalError(message) from problem
        pause = error.retry_after if isinstance(error, BusyError) else self._wait
        self._wait = min(self._wait * 2, WAIT_SECONDS_MAX)
        now = time.monotonic()
        if now + pause >= self._deadline and self._may_have_happened:
            self._deadline += self._settles_seconds
            self._settles_seconds = 0.0
        if now + pause >= self._deadline:
            raise self._given_up(problem)
        return pause * (0.5 + random.random() / 2)  # noqa: S311 - jitter, so that callers don't come back as one

    def _given_up(self, problem: BaseException | None) -> MemorayError:
        said = str(self._stopped or problem or "no answer in time")
        if self._may_have_happened and self._request_id is not None:
            message = f"{self._what} was not answered ({said}); repeat it with request id {self._request_id!r}"
            return OutcomeUnknownError(message, request_id=self._request_id)
        if isinstance(problem, BusyError | NoActorError | OwnedElsewhereError) and self._stopped is None:
            return problem
        if isinstance(self._stopped, FencedError):
            return ShardUnavailableError(f"{self._what}: nothing was done, as the store has another owner now: {said}")
        return ShardUnavailableError(f"{self._what} was not answered: {said}")


def _is_passing(problem: BaseException | None) -> bool:
    """Whether what a call failed of may be over at the next try; None: it was not answered in time."""
    passing = (ActorDiedError, ActorUnavailableError, PendingCallsLimitExceeded, TimeoutError, NoActorError)
    return problem is None or isinstance(problem, passing)
