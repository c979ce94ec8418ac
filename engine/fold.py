"""(state, batch) → state. Recovery and live work use the same function, so they cannot differ.

Pure: no clock, no files, no model. A batch that does not follow the state it is folded into is refused before
anything is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.engine.state import Answered, JobState, SessionState, ShardState, UserState, Window
from memoray.entries import identity_of_entry
from memoray.errors import InternalError
from memoray.events import (
    AnyEvent,
    Batch,
    CursorAdvanced,
    DeltaAccepted,
    EntriesEmbedded,
    EntriesRelated,
    EntryAdded,
    EntryCited,
    EntryDeleted,
    EntryRestored,
    EntryUpdated,
    JobFailed,
    OperationDecided,
    OperationsProposed,
    RequestAnswered,
    TurnsEmbedded,
    TurnsRestored,
    TurnsWithdrawn,
    UndoDecided,
    UserCleared,
)

if TYPE_CHECKING:
    from datetime import datetime

    from memoray.engine.layered import Map
    from memoray.entries import Entry, EntryId
    from memoray.messages import TurnId


def fold(state: ShardState, batch: Batch) -> ShardState:
    """The state after a batch.

    Raises:
        InternalError: the batch does not start at the seq after the state's last, or contradicts the state.
    """
    if batch.first_seq != state.last_seq + 1:
        message = f"batch starts at seq {batch.first_seq}, but the state ends at {state.last_seq}"
        raise InternalError(message)
    users = state.users
    window = state.window
    for seq, event in enumerate(batch.events, batch.first_seq):
        if isinstance(event, RequestAnswered):
            window = _remember(window, event, seq, batch.recorded_at)
        else:
            before = users.get(event.user) or UserState()
            users = users.insert(event.user, fold_user(before, event, seq, batch.recorded_at))
    touched = {event.user for event in batch.events}
    jobs_count, inbox_bytes = state.jobs_count, state.inbox_bytes
    for user in touched:
        old_count, old_bytes = _load(state.users.get(user))
        new_count, new_bytes = _load(users.get(user))
        jobs_count += new_count - old_count
        inbox_bytes += new_bytes - old_bytes
    return ShardState(
        log_id=state.log_id,
        window=window,
        last_seq=batch.last_seq,
        recorded_at=batch.recorded_at,
        users=users,
        jobs_count=jobs_count,
        inbox_bytes=inbox_bytes,
    )


def _load(user: UserState | None) -> tuple[int, int]:
    if user is None:
        return 0, 0
    live = [job for job in user.jobs if not job.is_parked]
    return len(live), sum(job.bytes_count for job in live)


def fold_user(user: UserState, event: AnyEvent, seq: int, recorded_at: datetime) -> UserState:  # noqa: C901, PLR0912 - one arm for each event, nothing else
    """One user's state after one of their events."""
    match event:
        case DeltaAccepted():
            return _accept(user, event, recorded_at)
        case EntryAdded() | EntryUpdated():
            return _put(user, event.entry, is_embedded=event.vector is not None)
        case EntryRestored():
            return _restore(user, event)
        case EntryCited():
            return _cite(user, event)
        case EntriesRelated():
            return _relate(user, event)
        case EntryDeleted():
            return _delete(user, event, seq)
        case UserCleared():
            return _clear(user, seq, recorded_at)
        case TurnsRestored():
            return _restore_turns(user, event)
        case TurnsWithdrawn():
            return _withdraw(user, event.turn_ids, seq)
        case TurnsEmbedded():
            return _turns_embedded(user, event)
        case EntriesEmbedded():
            return _entries_embedded(user, event)
        case OperationsProposed():
            return _change_job(user, event.job_id, proposal=event)
        case JobFailed():
            return _change_job(
                user,
                event.job_id,
                attempts=event.attempt,
                retry_at=event.retry_at,
                is_parked=event.retry_at is None,
                error=event.error,
            )
        case CursorAdvanced():
            return _advance(user, event, seq, recorded_at)
        case OperationDecided() | UndoDecided() | RequestAnswered():
            return user


def _remember(window: Window, event: RequestAnswered, seq: int, recorded_at: datetime) -> Window:
    answer = Answered(event.body, seq, recorded_at, event.receipt, event.outcomes)
    answers = window.answers.insert(event.request, answer)
    order = window.order.insert(window.last + 1, event.request)
    first = window.first
    while True:
        oldest = answers[order[first]]
        age = (recorded_at - oldest.recorded_at).total_seconds()
        if len(answers) <= window.count_max and age <= window.age_seconds_max:
            break
        answers = answers.remove(order[first])
        order = order.remove(first)
        first += 1
    return replace(window, answers=answers, order=order, first=first, last=window.last + 1)


def _accept(user: UserState, event: DeltaAccepted, recorded_at: datetime) -> UserState:
    session = user.sessions.get(event.session_id) or SessionState()
    turns, turn_ids, unembedded = user.turns, session.turn_ids, user.turns_unembedded
    length = session.length
    for turn in event.turns:
        if turn.position != length:
            message = f"turn {turn.id} has position {turn.position}, but session {event.session_id!r} has {length}"
            raise InternalError(message)
        turns = turns.insert(turn.id, turn)
        turn_ids = turn_ids.insert(turn.position, turn.id)
        unembedded = unembedded.insert(turn.id, True)
        length += 1
    session = replace(session, length=length, turn_ids=turn_ids, is_polluted=session.is_polluted or event.is_polluted)
    accepted = replace(
        user, turns=turns, turns_unembedded=unembedded, sessions=user.sessions.insert(event.session_id, session)
    )
    if event.job_id is None:
        return accepted
    covered = accepted.turns_between(event.session_id, accepted.pending_from(event.session_id), length)
    size = sum(len(turn.text.encode()) for turn in covered)
    job = JobState(event.job_id, event.session_id, length, recorded_at, size)
    return replace(accepted, jobs=(*user.jobs, job))


def _put(user: UserState, entry: Entry, *, is_embedded: bool) -> UserState:
    old = user.entries.get(entry.id)
    if entry.version != (1 if old is None else old.version + 1) or entry.id in user.retired:
        message = f"entry {entry.id} cannot take version {entry.version} after {old and old.version}"
        raise InternalError(message)
    return _place(user, entry, old, is_embedded=is_embedded)


def _restore(user: UserState, event: EntryRestored) -> UserState:
    entry = event.entry
    old = user.entries.get(entry.id)
    is_next = entry.id in user.retired if old is None else entry.version == old.version + 1
    if not is_next:
        message = f"entry {entry.id} cannot come back with version {entry.version} after {old and old.version}"
        raise InternalError(message)
    user = replace(user, retired=user.retired.discard(entry.id))
    return _place(user, entry, old, is_embedded=event.vector is not None)


def _place(user: UserState, entry: Entry, old: Entry | None, *, is_embedded: bool) -> UserState:
    """The entry in place of the old one, in every map."""
    identities, supports = user.identities, user.supports
    if old is not None:
        identities = _without_identity(identities, old)
    identities = identities.insert(identity_of_entry(entry), entry.id)
    known, named = frozenset(() if old is None else old.sources), frozenset(entry.sources)
    for turn_id in known - named:
        supports = _unsupport(supports, turn_id, entry.id)
    for turn_id in entry.sources:
        if turn_id not in known:
            supports = _support(supports, turn_id, entry.id)
    unembedded = user.entries_unembedded
    if is_embedded:
        unembedded = unembedded.discard(entry.id)
    elif old is None or old.text != entry.text:  # the same text keeps the vector it has, or lacks
        unembedded = unembedded.insert(entry.id, True)
    return replace(
        user,
        entries=user.entries.insert(entry.id, entry),
        identities=identities,
        supports=supports,
        entries_unembedded=unembedded,
    )


def _without_identity(identities: Map[bytes, EntryId], entry: Entry) -> Map[bytes, EntryId]:
    """Without what an entry says, unless another of the same batch says it by now: an undo may swap two."""
    identity = identity_of_entry(entry)
    return identities.remove(identity) if identities.get(identity) == entry.id else identities


def _support(
    supports: Map[TurnId, tuple[EntryId, ...]], turn_id: TurnId, entry_id: EntryId
) -> Map[TurnId, tuple[EntryId, ...]]:
    return supports.insert(turn_id, (*supports.get(turn_id, ()), entry_id))


def _unsupport(
    supports: Map[TurnId, tuple[EntryId, ...]], turn_id: TurnId, entry_id: EntryId
) -> Map[TurnId, tuple[EntryId, ...]]:
    left = tuple(other for other in supports.get(turn_id, ()) if other != entry_id)
    return supports.insert(turn_id, left) if left else supports.discard(turn_id)


def _cite(user: UserState, event: EntryCited) -> UserState:
    entry = user.entries[event.entry_id]
    new = tuple(turn_id for turn_id in event.sources if turn_id not in entry.sources)
    supports = user.supports
    for turn_id in new:
        supports = _support(supports, turn_id, entry.id)
    entry = replace(entry, sources=entry.sources + new)
    return replace(user, entries=user.entries.insert(entry.id, entry), supports=supports)


def _relate(user: UserState, event: EntriesRelated) -> UserState:
    entries = user.entries
    for one, other in ((event.entry_id, event.related_id), (event.related_id, event.entry_id)):
        entry = entries.get(one)
        if entry is not None and other not in entry.related:
            entries = entries.insert(one, replace(entry, related=(*entry.related, other)))
    return replace(user, entries=entries)


def _delete(user: UserState, event: EntryDeleted, seq: int) -> UserState:
    entry = user.entries[event.entry_id]
    supports = user.supports
    for turn_id in entry.sources:
        supports = _unsupport(supports, turn_id, entry.id)
    without = replace(
        user,
        entries=user.entries.remove(entry.id),
        identities=_without_identity(user.identities, entry),
        retired=user.retired.insert(entry.id, seq),
        supports=supports,
        entries_unembedded=user.entries_unembedded.discard(entry.id),
    )
    return _withdraw(without, event.withdrawn, seq)


def _withdraw(user: UserState, turn_ids: tuple[TurnId, ...], seq: int) -> UserState:
    withdrawn, unembedded = user.withdrawn, user.turns_unembedded
    for turn_id in turn_ids:
        withdrawn = withdrawn.insert(turn_id, seq)
        unembedded = unembedded.discard(turn_id)
    return replace(user, withdrawn=withdrawn, turns_unembedded=unembedded)


def _restore_turns(user: UserState, event: TurnsRestored) -> UserState:
    withdrawn, unembedded = user.withdrawn, user.turns_unembedded
    for turn_id, vector in zip(event.turn_ids, event.vectors, strict=True):
        withdrawn = withdrawn.remove(turn_id)
        if vector is None:
            unembedded = unembedded.insert(turn_id, True)
    return replace(user, withdrawn=withdrawn, turns_unembedded=unembedded)


def _clear(user: UserState, seq: int, recorded_at: datetime) -> UserState:
    """A barrier: entries and turns leave every read, and nothing drawn from before may land after it."""
    sessions = user.sessions
    for session_id, session in user.sessions.items():
        if session.extracted < session.length:
            covered = replace(session, extracted=session.length, cursor_seq=seq, cursor_time=recorded_at)
            sessions = sessions.insert(session_id, covered)
    retired, withdrawn = user.retired, user.withdrawn
    for entry_id in user.entries:
        retired = retired.insert(entry_id, seq)
    for turn_id in user.turns:
        if turn_id not in withdrawn:
            withdrawn = withdrawn.insert(turn_id, seq)
    return UserState(retired=retired, turns=user.turns, withdrawn=withdrawn, sessions=sessions)


def _turns_embedded(user: UserState, event: TurnsEmbedded) -> UserState:
    unembedded = user.turns_unembedded
    for turn_id in event.turn_ids:
        unembedded = unembedded.discard(turn_id)
    return replace(user, turns_unembedded=unembedded)


def _entries_embedded(user: UserState, event: EntriesEmbedded) -> UserState:
    unembedded = user.entries_unembedded
    for entry_id, version in zip(event.entry_ids, event.versions, strict=True):
        entry = user.entries.get(entry_id)
        if entry is not None and entry.version == version:
            unembedded = unembedded.discard(entry_id)
    return replace(user, entries_unembedded=unembedded)


def _change_job(user: UserState, job_id: str, **changes: object) -> UserState:
    if user.job(job_id) is None:
        message = f"job {job_id} is not waiting"
        raise InternalError(message)
    jobs = tuple(replace(job, **changes) if job.id == job_id else job for job in user.jobs)
    return replace(user, jobs=jobs)


def _advance(user: UserState, event: CursorAdvanced, seq: int, recorded_at: datetime) -> UserState:
    session = user.sessions[event.session_id]
    if event.position > session.length:
        message = f"cursor {event.position} of session {event.session_id!r} is past its {session.length} turns"
        raise InternalError(message)
    moved = replace(
        session,
        extracted=max(session.extracted, event.position),
        cursor_seq=seq,
        cursor_time=recorded_at,
    )
    jobs = tuple(job for job in user.jobs if job.session_id != event.session_id or job.until > moved.extracted)
    return replace(user, sessions=user.sessions.insert(event.session_id, moved), jobs=jobs)
