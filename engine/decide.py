"""(state, command) → events, for what is asked more than once and for what happens to jobs.

Pure: time and ids arrive in the `Stamp`, nothing is read but the state. An empty tuple of events means that the
command changes nothing. Submits are decided in `submit`, operations in `apply` and `job`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from memoray.engine.ids import body_hash, request_hash
from memoray.errors import InvalidRequestError, UnavailableError
from memoray.events import AnyEvent, CursorAdvanced, JobFailed, OperationsProposed
from memoray.validation import as_utc, check_id, check_user_key

if TYPE_CHECKING:
    from memoray.config import EngineConfig
    from memoray.engine.state import Answered, JobState, ShardState
    from memoray.keys import UserKey
    from memoray.requests import OperationsRequest

POLLUTED = "the session is marked as polluted by outside content"

_canonical = msgspec.msgpack.Encoder(order="deterministic")


def encode_canonical(value: object) -> bytes:
    """Bytes that are the same for equal values, to fingerprint a request's contents by."""
    return _canonical.encode(value)


class Stamp(msgspec.Struct, frozen=True):
    """Where and when a decision will stand in the log: seq of its first event, recorded time of its batch."""

    seq: int
    recorded_at: datetime


def answer_of_repeat(state: ShardState, user: UserKey, request: bytes, body: bytes) -> Answered | None:
    """What this request was told before, if it was.

    Raises:
        InvalidRequestError: the request id was used for something else.
    """
    answered = state.window.answers.get(request)
    if answered is not None and answered.body != body:
        hint = f"this request id of user {user} was used for another request; choose a new id for new contents"
        raise InvalidRequestError(hint)
    return answered


def check_deadline(deadline: datetime | None, stamp: Stamp) -> None:
    """Refuse a write whose caller has given up.

    Raises:
        UnavailableError: the deadline has passed; nothing was done.
    """
    if deadline is not None and as_utc(deadline) < stamp.recorded_at:
        message = f"the deadline {deadline} had passed when the shard came to it; nothing was done"
        raise UnavailableError(message)


def check_operations(request: OperationsRequest) -> tuple[bytes, bytes]:
    """Validate who asks; returns the request hash and the body hash.

    Raises:
        InvalidRequestError: user key or request id cannot be stored.
    """
    check_user_key(request.user)
    check_id("request id", request.request_id)
    return request_hash(request.user, request.request_id), body_hash(encode_canonical(request.operations))


def decide_proposal(state: ShardState, proposal: OperationsProposed) -> tuple[AnyEvent, ...]:
    """Log an extractor's answer, unless its job is gone (cleared) or already has one."""
    job = state.user(proposal.user).job(proposal.job_id)
    return () if job is None or job.proposal is not None else (proposal,)


def decide_failure(
    state: ShardState, user: UserKey, job: JobState, error: str, stamp: Stamp, config: EngineConfig
) -> tuple[AnyEvent, ...]:
    """Log a failed attempt: retried after a doubling wait, parked after the last."""
    current = state.user(user).job(job.id)
    if current is None:
        return ()
    attempt = current.attempts + 1
    wait = min(config.backoff_seconds * 2 ** (attempt - 1), config.backoff_seconds_max)
    retry_at = None if attempt >= config.job_attempts_max else stamp.recorded_at + timedelta(seconds=wait)
    return (JobFailed(user, job.id, attempt, error[:2000], retry_at),)


def decide_parking(state: ShardState, user: UserKey, job: JobState) -> tuple[AnyEvent, ...]:
    """Set a job aside whose session is polluted; a later delta takes its messages along once the guard is off."""
    current = state.user(user).job(job.id)
    return () if current is None else (JobFailed(user, job.id, current.attempts, POLLUTED, None),)


def cursor_of(user: UserKey, job: JobState) -> CursorAdvanced:
    """The event that ends a job."""
    return CursorAdvanced(user, job.session_id, job.until, job.id)
