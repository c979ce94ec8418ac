"""A batch undone by a new one: compensating events that bring one user's entries back to what they were before it.

What is undone is found in the log (`plan_undo`); what of it still can be is decided against the state of the moment
(`apply_undo`). An entry that a later batch changed, and that is not what it was again, is left as it is, and its
outcome says why. Pure: vectors come from the log, so nothing is embedded.

The cursor does not move back, jobs that a clear cancelled stay cancelled, and links between similar entries stay.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from memoray.engine.decide import Stamp, answer_of_repeat, check_deadline, encode_canonical
from memoray.engine.draft import Draft
from memoray.engine.ids import body_hash, request_hash
from memoray.entries import Entry, EntryId, identity_of_entry
from memoray.errors import InvalidRequestError
from memoray.events import (
    AnyEvent,
    EntryDeleted,
    EntryRestored,
    RequestAnswered,
    TurnsRestored,
    TurnsWithdrawn,
    UndoDecided,
)
from memoray.messages import TurnId
from memoray.operations import Outcome, OutcomeStatus
from memoray.requests import OperationsAnswer, UndoRequest
from memoray.validation import OPERATIONS_COUNT_MAX, check_id, check_user_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.engine.state import ShardState, UserState

CLEARED_SINCE = "the user was cleared since"
DELETED_SINCE = "the entry was deleted since"
CHANGED_SINCE = "the entry was changed since"
RESTORED_SINCE = "the entry was brought back since"
NOTHING_LEFT = "nothing is left to undo"
SAID_ALREADY = "another memory says this by now"


class Undo(msgspec.Struct, frozen=True):
    """A checked request."""

    request: UndoRequest
    request_hash: bytes
    body_hash: bytes


class Piece(msgspec.Struct, frozen=True):
    """What a batch did to one entry.

    Attributes:
        entry_id: of the entry.
        before: as it was before the batch; None: it was not, or not live.
        after: as it was after the batch; None: it was no longer live.
        vector: of `before`'s text, if the log has one.
        retired_seq: seq of the event that took it away last, as far as the log was read; 0 if it is live there.
        last_version: the highest version that it had, likewise.
    """

    entry_id: EntryId
    before: Entry | None
    after: Entry | None
    vector: bytes | None = None
    retired_seq: int = 0
    last_version: int = 0


class WithdrawnTurn(msgspec.Struct, frozen=True):
    """A turn that a batch took out of current reads.

    Attributes:
        turn_id: of the turn.
        seq: of the event that took it out last, as far as the log was read; 0 if it is back there.
        vector: if the log has one.
        is_by_entry: it left as support of a deleted entry, and comes back with one that was drawn from it.
    """

    turn_id: TurnId
    seq: int
    vector: bytes | None
    is_by_entry: bool


class UndoPlan(msgspec.Struct, frozen=True):
    """What a batch did to one user's entries and turns.

    Attributes:
        first_seq: of the batch.
        reason: of what is applied.
        pieces: by entry, in the order in which the batch came to them.
        withdrawn: turns that it took out of current reads.
        restored: turns that it, being an undo, brought back.
        is_cleared_since: a later clear stands; what had left before it stays away.
    """

    first_seq: int
    reason: str
    pieces: tuple[Piece, ...]
    withdrawn: tuple[WithdrawnTurn, ...] = ()
    restored: tuple[TurnId, ...] = ()
    is_cleared_since: bool = False


def contents(entry: Entry | None) -> Entry | None:
    """What an entry says and rests on, without what changes with every version, and without its links."""
    return None if entry is None else replace(entry, version=1, updated_at=entry.created_at, seq=0, related=())


def check_undo(request: UndoRequest) -> Undo:
    """Validate a request.

    Raises:
        InvalidRequestError: user key or request id cannot be stored, or not exactly one of seq and job is named.
    """
    check_user_key(request.user)
    check_id("request id", request.request_id)
    if (request.seq is None) == (request.job_id is None):
        message = f"an undo of seq {request.seq} and job {request.job_id}; name one of them"
        raise InvalidRequestError(message)
    if request.seq is not None and request.seq < 1:
        message = f"seq {request.seq}; the first is 1"
        raise InvalidRequestError(message)
    body = body_hash(encode_canonical(("undo", request.seq, request.job_id)))
    return Undo(request, request_hash(request.user, request.request_id), body)


def answer_of_known_undo(state: ShardState, undo: Undo) -> OperationsAnswer | None:
    """What this request was answered before, if it was."""
    known = answer_of_repeat(state, undo.request.user, undo.request_hash, undo.body_hash)
    return None if known is None else OperationsAnswer(known.outcomes, known.seq)


def decide_undo(
    state: ShardState, undo: Undo, plan: UndoPlan, stamp: Stamp, fresh: dict[EntryId, bytes | None]
) -> tuple[Sequence[AnyEvent], OperationsAnswer]:
    """Undo what still can be; arguments and errors as of `memoray.engine.change.decide_change`."""
    known = answer_of_known_undo(state, undo)
    if known is not None:
        return (), known
    request = undo.request
    check_deadline(request.deadline, stamp)
    draft = Draft(request.user, state.user(request.user), stamp, state.log_id, fresh)
    outcomes = _listed(apply_undo(draft, plan))
    for index, outcome in enumerate(outcomes):
        draft.emit(UndoDecided(request.user, index, plan.first_seq, outcome))
    answer = OperationsAnswer(outcomes, draft.seq)
    draft.emit(RequestAnswered(request.user, undo.request_hash, undo.body_hash, None, outcomes))
    return draft.events, answer


def apply_undo(draft: Draft, plan: UndoPlan) -> list[Outcome]:
    """Emit the compensating events; one outcome for each piece, what was applied first."""
    accepted, refused = _sort_out(plan, draft.state)
    outcomes = [_take_away(draft, piece, plan.reason) for piece in accepted if piece.before is None]
    outcomes += [_bring_back(draft, piece, piece.before, plan.reason) for piece in accepted if piece.before]
    turns_count = _restore_turns(draft, plan, accepted) + _withdraw_turns(draft, plan)
    if not plan.pieces:
        outcomes.append(_outcome_without_entries(plan, turns_count))
    return outcomes + refused


def _outcome_without_entries(plan: UndoPlan, turns_count: int) -> Outcome:
    """What became of undoing a clear that took no entry away, or the undo of such a one."""
    if turns_count or not (plan.withdrawn or plan.restored or plan.is_cleared_since):
        return Outcome(OutcomeStatus.APPLIED, plan.reason, "restore", count=0)
    return Outcome(OutcomeStatus.REFUSED, CLEARED_SINCE if plan.is_cleared_since else NOTHING_LEFT, count=0)


def _sort_out(plan: UndoPlan, known: UserState) -> tuple[list[Piece], list[Outcome]]:
    """Pieces that can be undone together, and the outcomes of the others."""
    reasons = {piece.entry_id: _changed_since(piece, known, plan) for piece in plan.pieces}
    while True:
        accepted = [piece for piece in plan.pieces if not reasons[piece.entry_id]]
        moving = {None, *(piece.entry_id for piece in accepted)}
        blocked = [piece for piece in accepted if piece.before and _holder(piece.before, known) not in moving]
        if not blocked:
            break
        # Whoever stays as it is may in turn say what another was to say again.
        reasons.update({piece.entry_id: SAID_ALREADY for piece in blocked})
    refused = [Outcome(OutcomeStatus.REFUSED, reason, entry_id=key) for key, reason in reasons.items() if reason]
    return accepted, refused


def _holder(entry: Entry, known: UserState) -> EntryId | None:
    """Who says now what an entry said."""
    return known.identities.get(identity_of_entry(entry))


def _changed_since(piece: Piece, known: UserState, plan: UndoPlan) -> str:
    """Why an entry is left as it is; "" if nothing has happened to it since."""
    now = known.entries.get(piece.entry_id)
    if piece.after is None:
        if now is not None or known.retired.get(piece.entry_id) != piece.retired_seq:
            return RESTORED_SINCE
        return CLEARED_SINCE if plan.is_cleared_since else ""
    if now is None:
        return DELETED_SINCE
    return "" if contents(now) == contents(piece.after) else CHANGED_SINCE


def _take_away(draft: Draft, piece: Piece, reason: str) -> Outcome:
    version = draft.state.entries[piece.entry_id].version
    draft.emit(EntryDeleted(draft.user, piece.entry_id, version))
    return Outcome(OutcomeStatus.APPLIED, reason, "delete", piece.entry_id, version)


def _bring_back(draft: Draft, piece: Piece, before: Entry, reason: str) -> Outcome:
    now = draft.state.entries.get(piece.entry_id)
    entry = replace(
        before,
        version=1 + (piece.last_version if now is None else now.version),
        related=before.related if now is None else now.related,
        updated_at=draft.recorded_at,
        seq=draft.seq,
    )
    draft.emit(EntryRestored(draft.user, entry, piece.vector))
    return Outcome(OutcomeStatus.APPLIED, reason, "restore", entry.id, entry.version)


def _restore_turns(draft: Draft, plan: UndoPlan, accepted: Sequence[Piece]) -> int:
    """Bring withdrawn turns back; returns how many."""
    if plan.is_cleared_since:
        return 0
    needed = {turn_id for piece in accepted if piece.before for turn_id in piece.before.sources}
    back = [
        turn
        for turn in plan.withdrawn
        if draft.state.withdrawn.get(turn.turn_id) == turn.seq and (not turn.is_by_entry or turn.turn_id in needed)
    ]
    if back:
        ids, vectors = tuple(turn.turn_id for turn in back), tuple(turn.vector for turn in back)
        draft.emit(TurnsRestored(draft.user, ids, vectors))
    return len(back)


def _withdraw_turns(draft: Draft, plan: UndoPlan) -> int:
    """Withdraw restored turns again that support no live entry; returns how many."""
    out = tuple(
        turn_id
        for turn_id in plan.restored
        if turn_id not in draft.state.withdrawn and turn_id not in draft.state.supports
    )
    if out:
        draft.emit(TurnsWithdrawn(draft.user, out))
    return len(out)


def _listed(outcomes: list[Outcome]) -> tuple[Outcome, ...]:
    """Outcomes one by one, or where there are too many, how many of each."""
    if len(outcomes) <= OPERATIONS_COUNT_MAX:
        return tuple(outcomes)
    counts = Counter((outcome.status, outcome.reason, outcome.action) for outcome in outcomes)
    return tuple(Outcome(*alike, count=count) for alike, count in counts.items())
