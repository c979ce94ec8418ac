"""One user as they were at a moment, folded from the log. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memoray.engine.fold import fold_user
from memoray.engine.state import UserState
from memoray.events import (
    AnyEvent,
    Batch,
    EntriesEmbedded,
    EntryAdded,
    EntryRestored,
    EntryUpdated,
    TurnsEmbedded,
    TurnsRestored,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoray.keys import UserKey


class Past(NamedTuple):
    """A user at a moment.

    Attributes:
        known: the user's state then.
        vectors: by entry id and turn id, those of what is gone too; what `known` lists as unembedded has none.
        seq: of the shard's last event then; 0 before the first.
        recorded_at: of that event's batch.
    """

    known: UserState
    vectors: dict[str, bytes]
    seq: int
    recorded_at: datetime | None


def past_of(batches: Iterable[Batch], user: UserKey, as_of: int | datetime) -> Past:
    """A user after the batch of a seq, or after the last batch recorded up to a time.

    Args:
        batches: the log of the user's shard from its beginning, in order.
        user: whose.
        as_of: a seq, or an aware time.
    """
    known, vectors = UserState(), dict[str, bytes]()
    seq, recorded_at = 0, None
    for batch in batches:
        is_later = batch.recorded_at > as_of if isinstance(as_of, datetime) else batch.first_seq > as_of
        if is_later:
            break
        for event_seq, event in enumerate(batch.events, batch.first_seq):
            if event.user == user:
                known = fold_user(known, event, event_seq, batch.recorded_at)
                vectors.update(vectors_in(event, known))
        seq, recorded_at = batch.last_seq, batch.recorded_at
    return Past(known, vectors, seq, recorded_at)


def vectors_in(event: AnyEvent, known: UserState) -> Iterator[tuple[str, bytes]]:
    """Vectors that an event brings, by id of the entry or turn; `known` is the state after it."""
    match event:
        case EntryAdded() | EntryUpdated() | EntryRestored() if event.vector is not None:
            yield event.entry.id, event.vector
        case EntriesEmbedded():
            for entry_id, version, vector in zip(event.entry_ids, event.versions, event.vectors, strict=True):
                entry = known.entries.get(entry_id)
                if entry is not None and entry.version == version:
                    yield entry_id, vector
        case TurnsEmbedded():
            yield from zip(event.turn_ids, event.vectors, strict=True)
        case TurnsRestored():
            for turn_id, restored in zip(event.turn_ids, event.vectors, strict=True):
                if restored is not None:
                    yield turn_id, restored
        case _:
            pass
