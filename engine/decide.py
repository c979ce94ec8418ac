"""(state, command) → events, for the commands that need no candidates: submits, and what happens to jobs.

Pure: time and ids arrive in the `Stamp`, nothing is read but the state. An empty tuple of events means that the
command changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from memoray.engine.ids import body_hash, job_id, request_hash, turn_id_of_content, turn_id_of_message
from memoray.engine.state import JobState, SessionState, ShardState, UserState
from memoray.errors import BusyError, InvalidRequestError
from memoray.events import (
    AnyEvent,
    CursorAdvanced,
    DeltaAccepted,
    JobFailed,
    OperationsProposed,
    Receipt,
    RequestAnswered,
)
from memoray.extraction.delta import kept_text
from memoray.messages import Message, Turn, TurnId
from memoray.requests import SubmitRequest
from memoray.validation import MESSAGES_COUNT_MAX, as_utc, check_id, check_user_key, offset_minutes

if TYPE_CHECKING:
    from memoray.config import EngineConfig
    from memoray.engine.state import Answered
    from memoray.keys import UserKey
    from memoray.requests import OperationsRequest

SUBMIT_BYTES_MAX = 16 * 1024 * 1024

_canonical = msgspec.msgpack.Encoder(order="deterministic")


class Stamp(msgspec.Struct, frozen=True):
    """Where and when a decision will stand in the log: seq of its first event, recorded time of its batch."""

    seq: int
    recorded_at: datetime


class KeptMessage(msgspec.Struct, frozen=True):
    """A message of a submit that is kept, before it is known whether it is new."""

    message: Message
    text: str


class Submission(msgspec.Struct, frozen=True):
    """A checked submit: what does not depend on the state."""

    request: SubmitRequest
    kept: tuple[KeptMessage, ...]
    left_out: dict[str, int]
    request_hash: bytes
    body_hash: bytes
    bytes_count: int


def check_submit(request: SubmitRequest) -> Submission:
    """Validate a submit and sort out what is kept of it.

    Raises:
        InvalidRequestError: user key, session id, request id or a message cannot be stored.
    """
    check_user_key(request.user)
    check_id("session id", request.session_id)
    check_id("request id", request.request_id)
    if len(request.messages) > MESSAGES_COUNT_MAX:
        hint = f"{len(request.messages)} messages in one submit; at most {MESSAGES_COUNT_MAX} are taken, split it"
        raise InvalidRequestError(hint)
    kept: list[KeptMessage] = []
    left_out: dict[str, int] = {}
    for position, message in enumerate(request.messages):
        text, reason = kept_text(message, position)
        if reason is None:
            kept.append(KeptMessage(message, text))
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    size = sum(len(item.text.encode()) for item in kept)
    if size > SUBMIT_BYTES_MAX:
        hint = f"{size} bytes of text in one submit; at most {SUBMIT_BYTES_MAX} are taken, split it"
        raise InvalidRequestError(hint)
    said = [(item.message.role, item.text, item.message.id, item.message.timestamp, item.message.name) for item in kept]
    body = _canonical.encode((request.session_id, said, request.whole_session))
    return Submission(
        request=request,
        kept=tuple(kept),
        left_out=left_out,
        request_hash=request_hash(request.user, request.request_id),
        body_hash=body_hash(body),
        bytes_count=size,
    )


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


def decide_submit(
    state: ShardState, submission: Submission, stamp: Stamp, config: EngineConfig
) -> tuple[tuple[AnyEvent, ...], Receipt]:
    """Accept what is new of a submit.

    Raises:
        InvalidRequestError: the request id was used for another request, or a whole session diverges from what is
            known of it.
        BusyError: the shard's inbox is full; nothing was accepted.
    """
    request = submission.request
    answered = answer_of_repeat(state, request.user, submission.request_hash, submission.body_hash)
    if answered is not None and answered.receipt is not None:
        return (), answered.receipt
    if request.deadline is not None and as_utc(request.deadline) < stamp.recorded_at:
        return (), Receipt(status="skipped", session_id=request.session_id, left_out=submission.left_out)
    user = state.user(request.user)
    session = user.sessions.get(request.session_id) or SessionState()
    new = _new_turns(user, session, submission, stamp)
    known = len(submission.kept) - len(new)
    if not new:
        return (), Receipt(
            status="nothing_new", session_id=request.session_id, known=known, left_out=submission.left_out
        )
    _check_room(state, submission, config)
    delta_job = job_id(state.log_id, stamp.seq)
    receipt = Receipt(
        status="accepted",
        session_id=request.session_id,
        turn_ids=tuple(turn.id for turn in new),
        known=known,
        left_out=submission.left_out,
        job_id=delta_job,
        seq=stamp.seq,
    )
    accepted = DeltaAccepted(request.user, request.session_id, new, delta_job)
    answer = RequestAnswered(request.user, submission.request_hash, submission.body_hash, receipt)
    return (accepted, answer), receipt


def _check_room(state: ShardState, submission: Submission, config: EngineConfig) -> None:
    if state.jobs_count >= config.jobs_count_max:
        hint = f"{state.jobs_count} jobs wait in this shard, the bound is {config.jobs_count_max}; nothing was accepted"
        raise BusyError(hint, retry_after=1.0)
    if state.jobs_count and state.inbox_bytes + submission.bytes_count > config.inbox_bytes_max:
        hint = f"{state.inbox_bytes} bytes wait in this shard, the bound is {config.inbox_bytes_max}; nothing accepted"
        raise BusyError(hint, retry_after=1.0)


def _new_turns(user: UserState, session: SessionState, submission: Submission, stamp: Stamp) -> tuple[Turn, ...]:
    request = submission.request
    kept = submission.kept
    if request.whole_session:
        kept = _beyond_known(user, session, kept)
    equals: dict[tuple[str, str], int] = {}
    if any(item.message.id is None and item.message.timestamp is None for item in kept):
        equals = _counts(user, session)
    given: dict[tuple[str, str, datetime], int] = {}
    turns: list[Turn] = []
    seen: set[TurnId] = set()
    for item in kept:
        turn_id = _turn_id(request, item, given, equals)
        if turn_id in user.turns or turn_id in seen:
            continue
        seen.add(turn_id)
        turns.append(_turn(request.session_id, session.length + len(turns), turn_id, item, stamp))
    return tuple(turns)


def _turn_id(
    request: SubmitRequest,
    item: KeptMessage,
    given: dict[tuple[str, str, datetime], int],
    equals: dict[tuple[str, str], int],
) -> TurnId:
    message = item.message
    if message.id is not None:
        return turn_id_of_message(request.user, request.session_id, message.id)
    if message.timestamp is not None:
        moment = as_utc(message.timestamp)
        ordinal = given.get((message.role, item.text, moment), 0)
        given[message.role, item.text, moment] = ordinal + 1
    else:
        # Without an id and a time there is nothing that tells a repeat from someone saying the same again, so it
        # counts as new; a resend is recognised by its request id.
        moment = None
        ordinal = equals.get((message.role, item.text), 0)
        equals[message.role, item.text] = ordinal + 1
    return turn_id_of_content(request.user, request.session_id, message.role, item.text, moment, ordinal)


def _counts(user: UserState, session: SessionState) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for position in range(session.length):
        turn = user.turns[session.turn_ids[position]]
        counts[turn.role, turn.text] = counts.get((turn.role, turn.text), 0) + 1
    return counts


def _beyond_known(user: UserState, session: SessionState, kept: tuple[KeptMessage, ...]) -> tuple[KeptMessage, ...]:
    """What a whole transcript has beyond the known turns: by longest common prefix of role and text.

    Messages with ids are told apart by their id later on, so they all pass.
    """
    if all(item.message.id is not None for item in kept):
        return kept
    for position in range(min(session.length, len(kept))):
        turn = user.turns[session.turn_ids[position]]
        item = kept[position]
        if (turn.role, turn.text) != (item.message.role, item.text):
            hint = (
                f"the transcript diverges from session {turn.session_id!r} at kept message {position}: "
                f"known {turn.role} {turn.text[:60]!r}, given {item.message.role} {item.text[:60]!r}; "
                "submit only the new messages, or use another session id"
            )
            raise InvalidRequestError(hint)
    return kept[session.length :]


def _turn(session_id: str, position: int, turn_id: TurnId, item: KeptMessage, stamp: Stamp) -> Turn:
    moment, offset = item.message.timestamp, item.message.utc_offset_minutes
    return Turn(
        id=turn_id,
        session_id=session_id,
        position=position,
        role=item.message.role,
        text=item.text,
        timestamp=stamp.recorded_at if moment is None else as_utc(moment),
        recorded_at=stamp.recorded_at,
        utc_offset_minutes=offset_minutes(moment) if offset is None else offset,
        name=item.message.name,
        message_id=item.message.id,
    )


def check_operations(request: OperationsRequest) -> tuple[bytes, bytes]:
    """Validate who asks; returns the request hash and the body hash.

    Raises:
        InvalidRequestError: user key or request id cannot be stored.
    """
    check_user_key(request.user)
    check_id("request id", request.request_id)
    return request_hash(request.user, request.request_id), body_hash(_canonical.encode(request.operations))


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


def cursor_of(user: UserKey, job: JobState) -> CursorAdvanced:
    """The event that ends a job."""
    return CursorAdvanced(user, job.session_id, job.until, job.id)
