"""Why a memory is what it is: every change of one entry, read from the log. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.events import (
    AnyEvent,
    EntryAdded,
    EntryCited,
    EntryDeleted,
    EntryUpdated,
    OperationDecided,
    OperationsProposed,
    UserCleared,
)
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
    models: dict[str, str] = {}
    entry: Entry | None = None
    for batch in batches:
        for seq, event in enumerate(batch.events, batch.first_seq):
            if event.user != user:
                continue
            if isinstance(event, OperationsProposed):
                models[event.job_id] = event.model
            elif isinstance(event, OperationDecided):
                _explain(changes, event, batch.first_seq, models)
            else:
                changed = _changed(event, entry, entry_id)
                if changed is not None:
                    what, shown = changed
                    entry = None if what in {"deleted", "cleared"} else shown
                    job_id = getattr(event, "job_id", None)
                    change = EntryChange(what, batch.recorded_at, seq, shown, job_id, models.get(job_id or "", ""))
                    changes.append(change)
    return tuple(changes)


def _changed(event: AnyEvent, entry: Entry | None, entry_id: EntryId) -> tuple[str, Entry] | None:
    """What an event did to the entry while it was live, and the entry afterwards or last; None if nothing."""
    match event:
        case EntryAdded() if event.entry.id == entry_id:
            return "added", event.entry
        case EntryUpdated() if event.entry.id == entry_id:
            return "updated", event.entry
        case EntryCited() if event.entry_id == entry_id and entry is not None:
            return "cited", replace(entry, sources=entry.sources + event.sources)
        case EntryDeleted() if event.entry_id == entry_id and entry is not None:
            return "deleted", entry
        case UserCleared() if entry is not None:
            return "cleared", entry
        case _:
            return None


def _explain(changes: list[EntryChange], event: OperationDecided, first_seq: int, models: dict[str, str]) -> None:
    """An outcome follows the events that it stands for: it says why, and who proposed it."""
    if changes and changes[-1].seq >= first_seq and not changes[-1].reason:
        is_about_it = event.outcome.entry_id in {changes[-1].entry.id, None}
        if is_about_it:
            job_id = event.job_id
            model = models.get(job_id or "", "")
            changes[-1] = replace(changes[-1], reason=event.outcome.reason, job_id=job_id, model=model)
