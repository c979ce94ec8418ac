"""What goes in: messages of a conversation as a caller hands them over, and turns as they are kept."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import NewType

import msgspec

TurnId = NewType("TurnId", str)


class Message(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One message as a caller hands it over.

    Attributes:
        role: `user`, `assistant`, `system`, `tool` or a name of the caller's; only user and assistant enter a delta.
        text: what was said.
        id: the caller's id of the message, unique in its session; repeats of a known id are dropped.
        timestamp: when it was said. Naive times count as UTC. None: the time of acceptance.
        utc_offset_minutes: of the zone that day words in the text are meant in; None: that of `timestamp`. Msgpack
            carries instants only, so whoever encodes a message says the offset here.
        name: who spoke, for conversations between named people.
        tool_calls: names of the tools that an assistant message calls; its text is kept, the calls are not.
        tool_call_id: set on tool results, which are left out.
    """

    role: str
    text: str = ""
    id: str | None = None
    timestamp: datetime | None = None
    utc_offset_minutes: int | None = None
    name: str | None = None
    tool_calls: tuple[str, ...] = ()
    tool_call_id: str | None = None


class Turn(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One kept message, verbatim.

    Attributes:
        id: unique in the store, derived from user key, session and message identity.
        session_id: the conversation it belongs to.
        position: place among the kept messages of its session, from 0, without gaps.
        role: `user` or `assistant`.
        text: as given, with NUL stripped and lone surrogates replaced by U+FFFD.
        timestamp: when it was said; aware, UTC.
        recorded_at: when it was accepted; aware, UTC.
        utc_offset_minutes: offset of the zone that the caller gave the timestamp in; day words resolve in that zone.
        name: who spoke, if the caller said.
        message_id: the caller's id of the message, if any.
    """

    id: TurnId
    session_id: str
    position: int
    role: str
    text: str
    timestamp: datetime
    recorded_at: datetime
    utc_offset_minutes: int = 0
    name: str | None = None
    message_id: str | None = None

    @property
    def speaker(self) -> str:
        """Name of the speaker, or the role where no name was given."""
        return self.name or self.role

    @property
    def local_time(self) -> datetime:
        """The timestamp in the zone that the caller gave it in."""
        return self.timestamp.astimezone(timezone(timedelta(minutes=self.utc_offset_minutes)))
