"""What becomes of operations: each is decided against the state after the one before it, and gets one outcome.

Pure, but for the search for similar entries, which is passed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Entry, EntryId, identity_of, identity_of_entry
from memoray.errors import InvalidRequestError
from memoray.events import (
    EntriesRelated,
    EntryAdded,
    EntryCited,
    EntryDeleted,
    EntryUpdated,
    OperationDecided,
    UserCleared,
)
from memoray.extraction.reconcile import Candidate, Keep, Repeat, Revise, reconcile
from memoray.extraction.updates import Recheck, Refuse, as_add, check_update
from memoray.messages import TurnId
from memoray.operations import (
    NOT_FOUND,
    TARGET_DELETED,
    Add,
    Clear,
    Delete,
    Operation,
    Outcome,
    OutcomeStatus,
    Update,
    moved_on,
)
from memoray.validation import OPERATIONS_COUNT_MAX, normalise_operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.engine.draft import Draft


class FindCandidates(Protocol):
    """Search for entries that may already say what an add says: live in the draft's state, best first."""

    def __call__(self, draft: Draft, add: Add, vector: bytes | None) -> Sequence[Candidate]:
        """Up to three candidates."""
        ...


class Rules(msgspec.Struct, frozen=True):
    """Under which rules operations are applied.

    Attributes:
        job_id: the job that proposed them; None for a caller's own.
        policy: update policy; only a job's operations are reconciled.
        enabled: operations that are switched on.
        delta: turns that a job's operations may cite; an operation that cites none cites them all.
        known_versions: versions that the proposer was shown.
    """

    job_id: str | None = None
    policy: UpdatePolicy = UpdatePolicy.SUPERSEDE
    enabled: frozenset[str] = ALL_OPERATIONS
    delta: tuple[TurnId, ...] = ()
    known_versions: dict[str, int] = {}


def _applied(action: str, reason: str, entry: Entry) -> Outcome:
    return Outcome(OutcomeStatus.APPLIED, reason, action, entry.id, entry.version)


def _refused(reason: str, entry_id: EntryId | None = None) -> Outcome:
    return Outcome(OutcomeStatus.REFUSED, reason, entry_id=entry_id)


def _duplicate(reason: str, entry: Entry) -> Outcome:
    return Outcome(OutcomeStatus.DUPLICATE, reason, entry_id=entry.id, version=entry.version)


def apply_operations(
    draft: Draft,
    operations: Sequence[Operation],
    vectors: Sequence[bytes | None],
    rules: Rules,
    find: FindCandidates | None,
) -> tuple[Outcome, ...]:
    """Decide operations in order and log each outcome.

    Args:
        draft: collects the events.
        operations: as proposed.
        vectors: one for each operation, of its text; None where there is none.
        rules: see `Rules`.
        find: search for similar entries; None for a caller's own operations, which are not reconciled.
    """
    outcomes: list[Outcome] = []
    for index, (proposed, vector) in enumerate(zip(operations, vectors, strict=True)):
        outcome = _apply(draft, index, proposed, vector, rules, find)
        logged = proposed if rules.job_id is None else None
        draft.emit(OperationDecided(draft.user, index, outcome, rules.job_id, logged))
        outcomes.append(outcome)
    return tuple(outcomes)


def _apply(
    draft: Draft, index: int, proposed: Operation, vector: bytes | None, rules: Rules, find: FindCandidates | None
) -> Outcome:
    if index >= OPERATIONS_COUNT_MAX:
        return _refused(f"more than {OPERATIONS_COUNT_MAX} operations were proposed at once")
    name = type(proposed).__name__.lower()
    if name not in rules.enabled:
        return _refused(f"{name} is switched off")
    try:
        operation = normalise_operation(proposed)
    except InvalidRequestError as error:
        return _refused(str(error))
    operation = _with_sources(operation, rules)
    match operation:
        case Add():
            return _add(draft, operation, vector, rules, find)
        case Update():
            return _update(draft, operation, vector, rules, find)
        case Delete():
            return _delete(draft, operation, rules)
        case Clear():
            return _clear(draft, rules)


def _with_sources(operation: Operation, rules: Rules) -> Operation:
    if rules.job_id is None:
        return operation
    cited = tuple(turn_id for turn_id in dict.fromkeys(operation.sources) if turn_id in rules.delta)
    return replace(operation, sources=cited or rules.delta)


def _add(draft: Draft, add: Add, vector: bytes | None, rules: Rules, find: FindCandidates | None) -> Outcome:
    known = draft.state.identities.get(identity_of(add.text, add.kind, add.event_time, add.participants, add.location))
    if known is not None:
        return _cite(draft, draft.state.entries[known], add, "already known, word for word")
    if find is None:
        return _put_new(draft, add, vector, (), rules)
    delta = frozenset(rules.delta)
    candidates = [
        replace(candidate, is_same_delta=not delta.isdisjoint(candidate.entry.sources))
        for candidate in find(draft, add, vector)
    ]
    verdict: Keep | Repeat | Revise = reconcile(add, candidates, policy=rules.policy, enabled=rules.enabled)
    match verdict:
        case Keep():
            return _put_new(draft, add, vector, verdict.related, rules)
        case Repeat():
            return _cite(draft, draft.state.entries[verdict.entry_id], add, verdict.reason)
        case Revise():
            entry = draft.state.entries[verdict.entry_id]
            kept = vector if verdict.update.text == add.text else None
            revised = _revise(
                draft,
                entry,
                replace(verdict.update, sources=add.sources),
                kept,
                verdict.reason,
                rules,
                replaces=verdict.replaces,
            )
            if revised.status is OutcomeStatus.REFUSED:
                return _put_new(draft, add, vector, (entry.id,), rules)
            return revised


def _cite(draft: Draft, entry: Entry, add: Add, reason: str) -> Outcome:
    new = tuple(turn_id for turn_id in add.sources if turn_id not in entry.sources)
    if new:
        draft.emit(EntryCited(draft.user, entry.id, new))
    return _duplicate(reason, entry)


def _put_new(draft: Draft, add: Add, vector: bytes | None, related: tuple[EntryId, ...], rules: Rules) -> Outcome:
    entry = Entry(
        id=draft.next_entry_id(),
        text=add.text,
        created_at=draft.recorded_at,
        updated_at=draft.recorded_at,
        seq=draft.seq,
        kind=add.kind,
        topics=add.topics,
        event_time=add.event_time,
        event_precision=add.event_precision,
        utc_offset_minutes=add.utc_offset_minutes,
        participants=add.participants,
        location=add.location,
        sources=add.sources,
    )
    draft.emit(EntryAdded(draft.user, entry, vector, rules.job_id))
    for other in related:
        if other in draft.state.entries:
            draft.emit(EntriesRelated(draft.user, entry.id, other))
    return _applied("add", "new" if not related else "new, beside a similar one", entry)


def _update(draft: Draft, update: Update, vector: bytes | None, rules: Rules, find: FindCandidates | None) -> Outcome:
    entry = draft.state.entries.get(update.entry_id)
    if entry is None and update.entry_id in draft.state.retired:
        return _refused(TARGET_DELETED, update.entry_id)
    if find is None:
        return _update_of_caller(draft, update, entry, vector, rules)
    seen = rules.known_versions.get(update.entry_id)
    verdict = check_update(update, entry, seen_version=seen, policy=rules.policy, enabled=rules.enabled)
    if isinstance(verdict, Recheck):
        return _add(draft, verdict.add, vector, rules, find)
    if isinstance(verdict, Refuse) or entry is None:
        reason = verdict.reason if isinstance(verdict, Refuse) else NOT_FOUND
        return _refused(reason, update.entry_id)
    return _revise(draft, entry, update, vector, "as proposed", rules)


def _update_of_caller(draft: Draft, update: Update, entry: Entry | None, vector: bytes | None, rules: Rules) -> Outcome:
    if entry is None:
        return _refused(NOT_FOUND, update.entry_id)
    if update.seen_version is not None and update.seen_version != entry.version:
        return _refused(moved_on(update.seen_version, entry.version), entry.id)
    return _revise(draft, entry, update, vector, "as asked", rules)


def _revise(
    draft: Draft,
    entry: Entry,
    update: Update,
    vector: bytes | None,
    reason: str,
    rules: Rules,
    *,
    replaces: bool = True,
) -> Outcome:
    sources = entry.sources + tuple(turn_id for turn_id in update.sources if turn_id not in entry.sources)
    changed = as_add(update, entry)
    new = replace(
        entry,
        text=changed.text,
        kind=changed.kind,
        topics=changed.topics,
        event_time=changed.event_time,
        event_precision=changed.event_precision,
        utc_offset_minutes=changed.utc_offset_minutes,
        participants=changed.participants,
        location=changed.location,
    )
    if new == entry:
        if sources != entry.sources:
            draft.emit(EntryCited(draft.user, entry.id, sources[len(entry.sources) :]))
        return _duplicate("changes nothing", entry)
    other = draft.state.identities.get(identity_of_entry(new))
    if other is not None and other != entry.id:
        return _refused(f"entry {other} says this already", entry.id)
    is_other = replaces and new.text != entry.text and len(sources) > len(entry.sources)
    current_from = len(entry.sources) if is_other else entry.current_from
    new = replace(
        new,
        sources=sources,
        current_from=current_from,
        version=entry.version + 1,
        updated_at=draft.recorded_at,
        seq=draft.seq,
    )
    draft.emit(EntryUpdated(draft.user, new, None if new.text == entry.text else vector, rules.job_id))
    return _applied("update", reason, new)


def _delete(draft: Draft, delete: Delete, rules: Rules) -> Outcome:
    entry = draft.state.entries.get(delete.entry_id)
    if entry is None:
        gone = delete.entry_id in draft.state.retired
        reason = TARGET_DELETED if gone else NOT_FOUND
        return _refused(reason, delete.entry_id)
    seen = delete.seen_version or rules.known_versions.get(delete.entry_id)
    if seen is not None and seen != entry.version:
        return _refused(moved_on(seen, entry.version), entry.id)
    withdrawn = tuple(
        turn_id
        for turn_id in entry.sources
        if draft.state.supports.get(turn_id) == (entry.id,) and turn_id not in draft.state.withdrawn
    )
    draft.emit(EntryDeleted(draft.user, entry.id, entry.version, withdrawn, rules.job_id))
    return Outcome(OutcomeStatus.APPLIED, "as asked", "delete", entry.id, entry.version)


def _clear(draft: Draft, rules: Rules) -> Outcome:
    # Proposals of other jobs rest on what is cleared now: each of their operations ends here, refused.
    for job in draft.state.jobs:
        if job.proposal is not None and job.id != rules.job_id:
            for index in range(len(job.proposal.operations)):
                draft.emit(OperationDecided(draft.user, index, _refused("the user was cleared meanwhile"), job.id))
    count = len(draft.state.entries)
    draft.emit(UserCleared(draft.user, count, rules.job_id))
    return Outcome(OutcomeStatus.APPLIED, "as asked", "clear", count=count)
