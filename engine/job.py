"""The batch that ends a job: every outcome, the entry events, the vectors, and the cursor. Pure as `apply` is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memoray.engine.apply import FindCandidates, Rules, apply_operations
from memoray.engine.decide import Stamp, cursor_of
from memoray.engine.draft import Draft
from memoray.entries import EntryId
from memoray.errors import InternalError
from memoray.events import AnyEvent, EntriesEmbedded, OperationDecided, TurnsEmbedded
from memoray.messages import TurnId
from memoray.operations import Outcome, OutcomeStatus

if TYPE_CHECKING:
    from memoray.config import EngineConfig
    from memoray.engine.state import JobState, ShardState
    from memoray.keys import UserKey


class JobVectors(msgspec.Struct, frozen=True):
    """Vectors made for a job: little-endian float32; None where the embedder gave none.

    Attributes:
        operations: one for each proposed operation.
        turns: of turns that lacked one.
        entries: of entries that lacked one, by (id, version).
    """

    operations: tuple[bytes | None, ...]
    turns: dict[TurnId, bytes] = {}
    entries: dict[tuple[EntryId, int], bytes] = {}


def decide_job(
    state: ShardState,
    user: UserKey,
    job_id: str,
    vectors: JobVectors,
    stamp: Stamp,
    config: EngineConfig,
    find: FindCandidates,
    fresh: dict[EntryId, bytes | None],
) -> tuple[AnyEvent, ...]:
    """Apply a job's logged proposal and move the cursor; nothing, if a clear has taken the job away meanwhile.

    Raises:
        InternalError: the job's proposal was not logged first.
    """
    before = state.user(user)
    job = before.job(job_id)
    if job is None:
        return ()
    if job.proposal is None:
        message = f"job {job_id} of user {user} is to be committed, but its proposal is not in the log"
        raise InternalError(message)
    draft = Draft(user, before, stamp, state.log_id, fresh)
    _emit_vectors(draft, vectors)
    rules = Rules(
        job_id=job_id,
        policy=config.policy,
        enabled=config.enabled,
        delta=tuple(turn.id for turn in before.delta_of(job)),
        known_versions=job.proposal.known_versions,
    )
    apply_operations(draft, job.proposal.operations, vectors.operations, rules, find)
    _end_taken_along(draft, job)
    draft.emit(cursor_of(user, job))
    return tuple(draft.events)


def _end_taken_along(draft: Draft, job: JobState) -> None:
    """Outcomes for what parked jobs proposed whose messages this job takes along: they end with it."""
    for parked in draft.state.jobs:
        is_covered = parked.session_id == job.session_id and parked.until <= job.until
        if not is_covered or parked.id == job.id or parked.proposal is None:
            continue
        outcome = Outcome(OutcomeStatus.FAILED, f"its messages were extracted again by job {job.id}: {parked.error}")
        for index in range(len(parked.proposal.operations)):
            draft.emit(OperationDecided(draft.user, index, outcome, parked.id))


def decide_mending(
    state: ShardState, user: UserKey, vectors: JobVectors, stamp: Stamp, fresh: dict[EntryId, bytes | None]
) -> tuple[AnyEvent, ...]:
    """Give entries and turns the vectors that they lack, outside any job; nothing where none came."""
    draft = Draft(user, state.user(user), stamp, state.log_id, fresh)
    _emit_vectors(draft, vectors)
    return tuple(draft.events)


def _emit_vectors(draft: Draft, vectors: JobVectors) -> None:
    turns = {turn_id: vector for turn_id, vector in vectors.turns.items() if turn_id in draft.state.turns_unembedded}
    if turns:
        draft.emit(TurnsEmbedded(draft.user, tuple(turns), tuple(turns.values())))
    entries = {key: vector for key, vector in vectors.entries.items() if key[0] in draft.state.entries_unembedded}
    if entries:
        ids, versions = zip(*entries, strict=True)
        draft.emit(EntriesEmbedded(draft.user, ids, versions, tuple(entries.values())))
