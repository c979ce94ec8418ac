"""What a submit becomes: refused, skipped, nothing new, or an accepted delta with or without a job. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memoray.config import EngineConfig
from memoray.engine.decide import POLLUTED, Stamp, answer_of_repeat, encode_canonical
from memoray.engine.ids import body_hash, job_id, request_hash
from memoray.engine.new_turns import KeptMessage, new_turns
from memoray.engine.state import SessionState, ShardState
from memoray.errors import BusyError, InvalidRequestError
from memoray.events import AnyEvent, DeltaAccepted, Receipt, RequestAnswered
from memoray.extraction.checkers import ask
from memoray.extraction.delta import kept_text
from memoray.protocols import Check, Checker
from memoray.requests import SubmitRequest
from memoray.validation import MESSAGES_COUNT_MAX, as_utc, check_id, check_user_key

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoray.engine.state import UserState
    from memoray.messages import Turn

SUBMIT_BYTES_MAX = 16 * 1024 * 1024
BUSY_SECONDS = 1.0
FOLLOWS_SECONDS = 0.2

NO_EXTRACTOR = "no extractor is configured"
CHECKER_SAID_NO = "the checker said no: the messages stay pending"


class Submission(msgspec.Struct, frozen=True):
    """A checked submit: what does not depend on the state."""

    request: SubmitRequest
    kept: tuple[KeptMessage, ...]
    left_out: dict[str, int]
    request_hash: bytes
    body_hash: bytes


class Intake(msgspec.Struct, frozen=True):
    """Under which rules a shard takes submits.

    Attributes:
        config: bounds, and the guard against polluted sessions.
        checker: when a delta is extracted; None: always.
        extracts: there is an extractor.
    """

    config: EngineConfig
    checker: Checker | None = None
    extracts: bool = True


def check_submit(request: SubmitRequest) -> Submission:
    """Validate a submit and sort out what is kept of it.

    Raises:
        InvalidRequestError: user key, session id, request id or a message cannot be stored.
    """
    check_user_key(request.user)
    check_id("session id", request.session_id)
    check_id("request id", request.request_id)
    if request.follows == request.request_id:
        hint = f"request {request.request_id!r} is said to follow itself; name the one before it, or None"
        raise InvalidRequestError(hint)
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
    body: tuple[object, ...] = (request.session_id, said, request.whole_session)
    if request.is_polluted:
        body = (*body, True)
    return Submission(
        request=request,
        kept=tuple(kept),
        left_out=left_out,
        request_hash=request_hash(request.user, request.request_id),
        body_hash=body_hash(encode_canonical(body)),
    )


def decide_submit(
    state: ShardState, submission: Submission, stamp: Stamp, intake: Intake, *, settled: Collection[bytes] = ()
) -> tuple[tuple[AnyEvent, ...], Receipt]:
    """Accept what is new of a submit.

    Args:
        state: of the shard.
        submission: as checked.
        stamp: where the decision will stand.
        intake: see `Intake`.
        settled: hashes of requests that were answered and left nothing to remember in the log.

    Raises:
        InvalidRequestError: the request id was used for another request, or a whole session diverges from what is
            known of it.
        CheckerFailedError: the checker raised.
        BusyError: the shard's inbox is full, or the request that this one follows was not accepted. In each case
            nothing was accepted.
    """
    request = submission.request
    answered = answer_of_repeat(state, request.user, submission.request_hash, submission.body_hash)
    if answered is not None and answered.receipt is not None:
        return (), answered.receipt
    if request.deadline is not None and as_utc(request.deadline) < stamp.recorded_at:
        return (), Receipt(status="skipped", session_id=request.session_id, left_out=submission.left_out)
    _check_order(state, request, settled)
    user = state.user(request.user)
    session = user.sessions.get(request.session_id) or SessionState()
    turns = new_turns(user, session, request, submission.kept, stamp.recorded_at)
    marks = request.is_polluted and not session.is_polluted
    delta, reason = _extracted_now(user, session, turns, request, stamp, intake)
    is_extracted = bool(delta)
    changes = bool(turns) or marks or is_extracted
    receipt = Receipt(
        status="accepted" if turns else "nothing_new",
        session_id=request.session_id,
        turn_ids=tuple(turn.id for turn in turns),
        known=len(submission.kept) - len(turns),
        left_out=submission.left_out,
        job_id=job_id(state.log_id, stamp.seq) if is_extracted else None,
        seq=stamp.seq if changes else None,
        reason=reason,
    )
    if not changes:
        return (), receipt
    if is_extracted:
        _check_room(state, delta, intake.config)
    accepted = DeltaAccepted(request.user, request.session_id, turns, receipt.job_id, is_polluted=marks)
    answer = RequestAnswered(request.user, submission.request_hash, submission.body_hash, receipt)
    return (accepted, answer), receipt


def jobs_waiting(user: UserState) -> int:
    """Number of a user's jobs that are not done and not parked."""
    return sum(not job.is_parked for job in user.jobs)


def _check_order(state: ShardState, request: SubmitRequest, settled: Collection[bytes]) -> None:
    if request.follows is None or request.whole_session:
        return
    before = request_hash(request.user, request.follows)
    if before not in state.window.answers and before not in settled:
        hint = (
            f"request {request.follows!r} comes before this one in session {request.session_id!r} and was not accepted "
            "(yet): repeat that one first, then this one; or hand over the whole session; nothing was accepted"
        )
        raise BusyError(hint, retry_after=FOLLOWS_SECONDS)


def _extracted_now(
    user: UserState,
    session: SessionState,
    turns: tuple[Turn, ...],
    request: SubmitRequest,
    stamp: Stamp,
    intake: Intake,
) -> tuple[tuple[Turn, ...], str]:
    """The delta that gets a job, with what was pending before; or none, and why not."""
    if not intake.extracts:
        return (), NO_EXTRACTOR if turns else ""
    if intake.config.skips_polluted and (session.is_polluted or request.is_polluted):
        return (), POLLUTED if turns else ""
    if not turns and any(job.is_parked and job.session_id == request.session_id for job in user.jobs):
        return (), ""  # only something new takes the messages of a parked job along
    delta = (*_pending(user, request.session_id), *turns)
    if not delta:
        return (), ""
    check = Check(request.user, request.session_id, delta, session.cursor_time, stamp.recorded_at)
    return (delta, "") if ask(intake.checker, check) else ((), CHECKER_SAID_NO)


def _pending(user: UserState, session_id: str) -> tuple[Turn, ...]:
    """Turns of a session that no job waits for."""
    session = user.sessions.get(session_id)
    if session is None:
        return ()
    return user.turns_between(session_id, user.pending_from(session_id), session.length)


def _check_room(state: ShardState, delta: tuple[Turn, ...], config: EngineConfig) -> None:
    if state.jobs_count >= config.jobs_count_max:
        hint = f"{state.jobs_count} jobs wait in this shard, the bound is {config.jobs_count_max}; nothing was accepted"
        raise BusyError(hint, retry_after=BUSY_SECONDS)
    size = sum(len(turn.text.encode()) for turn in delta)
    if state.jobs_count and state.inbox_bytes + size > config.inbox_bytes_max:
        hint = f"{state.inbox_bytes} bytes wait in this shard, the bound is {config.inbox_bytes_max}; nothing accepted"
        raise BusyError(hint, retry_after=BUSY_SECONDS)
