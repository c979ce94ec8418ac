"""Why a memory is what it is: every change of one entry, read from the log. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.events import (
    AnyEvent,
    EntryAdded,
    EntryCited,
    EntryDeleted,
    EntryRestored,
    EntryUpdated,
    OperationDecided,
    OperationsProposed,
    UndoDecided,
    UserCleared,
)
from memoray.operations import OutcomeStatus
from memoray.requests import EntryChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoray.entries import Entry, EntryId
    from memoray.events import Batch
    from memoray.keys import UserKey


def history_of(batches: Iterable[Batch], user: UserKey, entry_id: EntryId) -> tuple[EntryChange, ...]:
    """Changes of an entry, oldest first; empty for an id that this user never had.

    Args:
        batches: the whole log of the user's shard, in order.
        user: whose entry it is.
        entry_id: its id.
    """
    changes: list[EntryChange] = []
    proposals: dict[str, OperationsProposed] = {}
    entry: Entry | None = None
    for batch in batches:
        for seq, event in enumerate(batch.events, batch.first_seq):
            if event.user != user:
                continue
            if isinstance(event, OperationsProposed):
                proposals[event.job_id] = event
            elif isinstance(event, OperationDecided | UndoDecided):
                _explain(changes, event, batch.first_seq, proposals)
            else:
                changed = _changed(event, entry, entry_id)
                if changed is not None:
                    what, shown = changed
                    entry = None if what in {"deleted", "cleared"} else shown
                    changes.append(EntryChange(what, batch.recorded_at, seq, shown))
    return tuple(changes)


def _changed(event: AnyEvent, entry: Entry | None, entry_id: EntryId) -> tuple[str, Entry] | None:
    """What an event did to the entry while it was live, and the entry afterwards or last; None if nothing."""
    match event:
        case EntryAdded() if event.entry.id == entry_id:
            return "added", event.entry
        case EntryUpdated() if event.entry.id == entry_id:
            return "updated", event.entry
        case EntryRestored() if event.entry.id == entry_id:
            return "restored", event.entry
        case EntryCited() if event.entry_id == entry_id and entry is not None:
            return "cited", replace(entry, sources=entry.sources + event.sources)
        case EntryDeleted() if event.entry_id == entry_id and entry is not None:
            return "deleted", entry
        case UserCleared() if entry is not None:
            return "cleared", entry
        case _:
            return None


def _explain(
    changes: list[EntryChange],
    event: OperationDecided | UndoDecided,
    first_seq: int,
    proposals: dict[str, OperationsProposed],
) -> None:
    """An outcome follows the events that it stands for: it says why, and who proposed what."""
    outcome = event.outcome
    if not changes or changes[-1].seq < first_seq or changes[-1].reason:
        return
    if outcome.entry_id not in {changes[-1].entry.id, None}:
        return
    if isinstance(event, UndoDecided):
        if outcome.status is OutcomeStatus.APPLIED:
            changes[-1] = replace(changes[-1], reason=outcome.reason, operation="undo")
        return
    proposal = None if event.job_id is None else proposals.get(event.job_id)
    operation = event.operation if proposal is None else proposal.operations[event.index]
    changes[-1] = replace(
        changes[-1],
        reason=outcome.reason,
        job_id=event.job_id,
        model="" if proposal is None else proposal.model,
        operation="" if operation is None else type(operation).__name__.lower(),
    )
