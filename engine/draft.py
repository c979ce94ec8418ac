"""A decision in the making: events of one user, each folded as it is added, so that the next sees its effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.engine.fold import fold_user
from memoray.engine.ids import entry_id
from memoray.events import AnyEvent, EntryAdded, EntryRestored, EntryUpdated

if TYPE_CHECKING:
    from datetime import datetime

    from memoray.engine.decide import Stamp
    from memoray.engine.state import UserState
    from memoray.entries import EntryId
    from memoray.keys import UserKey


class Draft:
    """Collects the events of one command of one user.

    Attributes:
        user: whose events they are.
        state: that user's state after the events so far.
        events: the events so far.
        fresh: vectors of entries that these events and the ones before them in the same group gave a new version;
            the indexes don't know them yet. None where there is no vector.
    """

    def __init__(
        self, user: UserKey, state: UserState, stamp: Stamp, log_id: str, fresh: dict[EntryId, bytes | None]
    ) -> None:
        self.user = user
        self.state = state
        self.events: list[AnyEvent] = []
        self.fresh = fresh
        self._stamp = stamp
        self._log_id = log_id

    @property
    def seq(self) -> int:
        """Seq of the next event."""
        return self._stamp.seq + len(self.events)

    @property
    def recorded_at(self) -> datetime:
        """Recorded time of the batch."""
        return self._stamp.recorded_at

    def next_entry_id(self) -> EntryId:
        """Id for an entry that the next event adds."""
        return entry_id(self._log_id, self.seq)

    def emit(self, event: AnyEvent) -> None:
        """Add an event and fold it."""
        match event:
            case EntryAdded():
                self.fresh[event.entry.id] = event.vector
            case EntryUpdated() | EntryRestored():
                # The same text keeps its vector, so there may be none in the event.
                old = self.state.entries.get(event.entry.id)
                if old is None or event.entry.text != old.text:
                    self.fresh[event.entry.id] = event.vector
            case _:
                pass
        self.state = fold_user(self.state, event, self.seq, self.recorded_at)
        self.events.append(event)
