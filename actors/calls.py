"""Calls to named actors that may be restarting: the same bytes are sent again until answered, or until it is too late.

Sending again is harmless because writes carry a request id and reads change nothing.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any, cast

import ray
from ray.exceptions import (
    ActorDiedError,
    ActorUnavailableError,
    GetTimeoutError,
    PendingCallsLimitExceeded,
    RayTaskError,
)

from memoray.errors import BusyError, InternalError, MemorayError, OutcomeUnknownError, ShardUnavailableError

if TYPE_CHECKING:
    from ray.actor import ActorHandle

TRY_SECONDS_MAX = 30.0
WAIT_SECONDS = 0.05
WAIT_SECONDS_MAX = 2.0


class Caller:
    """Looks actors up by name and keeps their handles. Safe to share between threads."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._handles: dict[str, ActorHandle[Any]] = {}
        self._lock = threading.Lock()

    def call(
        self,
        name: str,
        method: str,
        arguments: tuple[object, ...],
        *,
        seconds_max: float,
        request_id: str | None = None,
    ) -> bytes:
        """Call an actor's method until it answers.

        Args:
            name: of the actor.
            method: of the actor.
            arguments: sent unchanged with every try.
            seconds_max: when to give up.
            request_id: of a write; named in the error when the outcome stays unknown.

        Raises:
            MemorayError: what the actor raised, as it is; a `BusyError` only once the time is up.
            OutcomeUnknownError: a write was not answered in time.
            ShardUnavailableError: no such actor, or a read was not answered in time.
        """
        deadline = time.monotonic() + seconds_max
        wait = WAIT_SECONDS
        was_sent = False
        while True:
            left = deadline - time.monotonic()
            pause = wait
            try:
                handle = self._handle(name)
                reply = getattr(handle, method).remote(*arguments)
                was_sent = True
                return cast("bytes", ray.get(reply, timeout=max(0.01, min(TRY_SECONDS_MAX, left))))
            except RayTaskError as error:
                cause = error.cause
                if not isinstance(cause, BusyError) or time.monotonic() + cause.retry_after > deadline:
                    raise _as_ours(cause, error) from None
                pause = cause.retry_after
                problem = str(cause)
            except ActorDiedError as error:
                self._forget(name)
                problem = str(error)
            except (ActorUnavailableError, GetTimeoutError, PendingCallsLimitExceeded) as error:
                problem = str(error) or type(error).__name__
            if time.monotonic() + pause >= deadline:
                raise _too_late(name, method, problem, request_id if was_sent else None)
            time.sleep(pause * (0.5 + random.random() / 2))  # noqa: S311 - jitter, so that callers don't come back as one
            wait = min(wait * 2, WAIT_SECONDS_MAX)

    def _handle(self, name: str) -> ActorHandle[Any]:
        with self._lock:
            handle = self._handles.get(name)
        if handle is None:
            try:
                handle = ray.get_actor(name, namespace=self._namespace)
            except ValueError:
                message = (
                    f"no actor {name!r} in namespace {self._namespace!r}; "
                    "start the deployment with `memoray up` or `Cluster.start`"
                )
                raise ShardUnavailableError(message) from None
            with self._lock:
                self._handles[name] = handle
        return handle

    def _forget(self, name: str) -> None:
        with self._lock:
            self._handles.pop(name, None)


def _as_ours(cause: BaseException, error: RayTaskError) -> MemorayError:
    if isinstance(cause, MemorayError):
        return cause
    return InternalError(f"an actor failed: {error}")


def _too_late(name: str, method: str, problem: str, request_id: str | None) -> MemorayError:
    if request_id is not None:
        message = f"{name}.{method} did not answer ({problem}); repeat it with request id {request_id!r}"
        return OutcomeUnknownError(message, request_id=request_id)
    return ShardUnavailableError(f"{name}.{method} did not answer: {problem}")
