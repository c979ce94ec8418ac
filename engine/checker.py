"""What must always be true of a shard, as a function that looks. Run it when nothing is being written."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from rpds import HashTrieMap

from memoray.engine.fold import fold
from memoray.engine.layered import Layered
from memoray.engine.projections import entries_of, turns_of
from memoray.engine.state import SessionState, UserState, Window, empty_state
from memoray.events import (
    DeltaAccepted,
    EntryAdded,
    EntryRestored,
    EntryUpdated,
    OperationDecided,
    OperationsProposed,
    RequestAnswered,
    UndoDecided,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from msgspec import Struct

    from memoray.engine.projections import Projections
    from memoray.engine.state import ShardState
    from memoray.events import Batch
    from memoray.keys import UserKey


def violations(batches: Sequence[Batch], state: ShardState, projections: Projections) -> list[str]:
    """All that is wrong, one sentence each; empty when all is well.

    Args:
        batches: the whole log as read from its files.
        state: the live state.
        projections: the live indexes.
    """
    found = [*_log(batches), *_replay(batches, state), *_outcomes(batches, state), *_ids(batches)]
    found += _covered(batches, state)
    if projections.applied_seq != state.last_seq:
        found.append(f"projections are at seq {projections.applied_seq}, the state at {state.last_seq}")
    for user, known in state.users.items():
        found += [f"{user}: {what}" for what in (*_indexes(user, known, projections), *_deltas(known), *_maps(known))]
    return found


def _log(batches: Sequence[Batch]) -> Iterator[str]:
    expected = 1
    for batch in batches:
        if batch.first_seq != expected:
            yield f"batch starts at seq {batch.first_seq}, expected {expected}"
        expected = batch.last_seq + 1
    for before, after in itertools.pairwise(batches):
        if after.recorded_at < before.recorded_at:
            yield f"recorded time goes back at seq {after.first_seq}"


def _replay(batches: Sequence[Batch], state: ShardState) -> Iterator[str]:
    again = empty_state(
        state.log_id,
        requests_count_max=state.window.count_max,
        requests_age_seconds_max=state.window.age_seconds_max,
    )
    for batch in batches:
        again = fold(again, batch)
    if again.last_seq != state.last_seq:
        yield f"the log ends at seq {again.last_seq}, the live state at {state.last_seq}"
    else:
        yield from (f"folding the log again gives another state: {what}" for what in different(again, state)[:3])


def different(one: ShardState, other: ShardState) -> list[str]:
    """Fields in which two states differ, whatever their maps are made of; for users by user."""
    users = sorted({*one.users.keys(), *other.users.keys()})
    found = [f"{user}: {field}" for user in users for field in _fields(one.users.get(user), other.users.get(user))]
    return found + _fields(one.window, other.window) + [name for name in _fields(one, other) if name != "users"]


def _fields(one: Struct | None, other: Struct | None) -> list[str]:
    if one is None or other is None:
        return [] if one is other else ["it is in one of them only"]
    return [name for name in one.__struct_fields__ if not _equal(getattr(one, name), getattr(other, name))]


def _equal(one: Any, other: Any) -> bool:  # noqa: ANN401 - a field of any state
    if isinstance(one, HashTrieMap | Layered):
        return len(one) == len(other) and all(_equal(value, other.get(key)) for key, value in one.items())
    if isinstance(one, SessionState | Window | UserState) and type(one) is type(other):
        return not _fields(one, other)
    return bool(one == other)


def _outcomes(batches: Sequence[Batch], state: ShardState) -> Iterator[str]:  # noqa: C901 - one look at each event
    proposed: dict[str, tuple[UserKey, int]] = {}
    decided: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        answered = sum(len(event.outcomes) for event in batch.events if isinstance(event, RequestAnswered))
        asked = 0
        for event in batch.events:
            match event:
                case OperationsProposed():
                    if event.job_id in proposed:
                        yield f"job {event.job_id} has two proposals"
                    proposed[event.job_id] = event.user, len(event.operations)
                case OperationDecided(job_id=None) | UndoDecided():
                    asked += 1
                case OperationDecided():
                    decided[str(event.job_id), event.index] += 1
                case _:
                    pass
        if answered and asked < answered:
            yield f"the request at seq {batch.first_seq} was told {answered} outcomes, {asked} are in the log"
    for job_id, (user, count) in proposed.items():
        is_open = state.user(user).job(job_id) is not None
        counts = [decided.pop((job_id, index), 0) for index in range(count)]
        if counts != [0 if is_open else 1] * count:
            yield f"job {job_id} ({'open' if is_open else 'done'}) has outcome counts {counts}"
    if decided:
        yield f"outcomes of operations that nobody proposed: {list(decided)[:3]}"


def _covered(batches: Sequence[Batch], state: ShardState) -> Iterator[str]:
    """Every accepted delta is pending because no job was made for it, in a job, parked, or behind its cursor."""
    lengths: Counter[tuple[UserKey, str]] = Counter()
    promised: Counter[tuple[UserKey, str]] = Counter()
    for batch in batches:
        for event in batch.events:
            if isinstance(event, DeltaAccepted):
                lengths[event.user, event.session_id] += len(event.turns)
                if event.job_id is not None:
                    promised[event.user, event.session_id] = lengths[event.user, event.session_id]
    for (user, session_id), length in promised.items():
        known = state.user(user)
        ends = (job.until for job in known.jobs if job.session_id == session_id)
        if max(known.sessions[session_id].extracted, *ends, 0) < length:
            yield f"{user}: turns of session {session_id!r} are neither extracted nor in the job they were given"


def _ids(batches: Sequence[Batch]) -> Iterator[str]:
    """No id is given out twice, and no version of an id; an undo brings back ids that were given out before."""
    versions: dict[str, int] = {}
    for batch in batches:
        for event in batch.events:
            if not isinstance(event, EntryAdded | EntryUpdated | EntryRestored):
                continue
            entry = event.entry
            if isinstance(event, EntryAdded) and entry.id in versions:
                yield f"entry id {entry.id} was given out again"
            elif entry.version != versions.get(entry.id, 0) + 1:
                yield f"entry {entry.id} takes version {entry.version} after {versions.get(entry.id, 0)}"
            versions[entry.id] = entry.version


def _indexes(user: UserKey, known: UserState, projections: Projections) -> Iterator[str]:
    live_turns = {turn_id for turn_id in known.turns if turn_id not in known.withdrawn}
    for what, space, live, unembedded in (
        ("entries", entries_of(user), set(known.entries), set(known.entries_unembedded)),
        ("turns", turns_of(user), live_turns, set(known.turns_unembedded)),
    ):
        if projections.keywords.ids(space) != live:
            yield f"keyword ids of {what} are not the live ones"
        if projections.vectors.ids(space) != live - unembedded:
            yield f"vector ids of {what} are not the live ones less those flagged"
        if not unembedded <= live:
            yield f"{what} are flagged that are not live"


def _deltas(known: UserState) -> Iterator[str]:
    for session_id, session in known.sessions.items():
        if not 0 <= session.extracted <= session.length or len(session.turn_ids) != session.length:
            yield f"session {session_id!r} is extracted to {session.extracted} of {session.length} turns"
        ends = [job.until for job in known.jobs if job.session_id == session_id]
        if any(end > session.length for end in ends):
            yield f"session {session_id!r} has a job past its {session.length} turns"
        if any(end <= session.extracted for end in ends):
            yield f"session {session_id!r} has a job for what is extracted"


def _maps(known: UserState) -> Iterator[str]:
    if len(known.identities) != len(known.entries):
        yield f"{len(known.entries)} live entries have {len(known.identities)} identities"
    if any(entry_id in known.retired for entry_id in known.entries):
        yield "an entry is both live and retired"
    supported = {(turn_id, entry_id) for turn_id, ids in known.supports.items() for entry_id in ids}
    cited = {(turn_id, entry.id) for entry in known.entries.values() for turn_id in entry.sources}
    if supported != cited:
        yield "the turns that support entries are not those that the entries cite"
    if any(turn_id not in known.turns for turn_id, _ in cited):
        yield "an entry cites a turn that this user does not have"
