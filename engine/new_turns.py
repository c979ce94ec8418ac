"""Which messages of a submit are new, and the turns that they become. Pure.

A message is identified by the caller's id, else by session, role, text, timestamp and its ordinal among equals. A
whole transcript is laid beside what is known of its session: a message with a known id is known; one without is
compared with the known turn at its place, by role and text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memoray.engine.ids import turn_id_of_content, turn_id_of_message
from memoray.errors import InvalidRequestError
from memoray.messages import Message, Turn, TurnId
from memoray.validation import as_utc, offset_minutes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoray.engine.state import SessionState, UserState
    from memoray.requests import SubmitRequest

SHOWN_COUNT_MAX = 60


class KeptMessage(msgspec.Struct, frozen=True):
    """A message of a submit that is kept, before it is known whether it is new."""

    message: Message
    text: str


def new_turns(
    user: UserState, session: SessionState, request: SubmitRequest, kept: Sequence[KeptMessage], recorded_at: datetime
) -> tuple[Turn, ...]:
    """The turns that a submit adds to its session, in order.

    Raises:
        InvalidRequestError: a whole transcript diverges from what is known; says where.
    """
    identities = _Identities(request, user, session, kept)
    is_known = _beside_known(user, session, request, kept) if request.whole_session else [False] * len(kept)
    turns: list[Turn] = []
    seen: set[TurnId] = set()
    for item, known in zip(kept, is_known, strict=True):
        turn_id = identities.of(item, is_known=known)
        if turn_id is None or known or turn_id in user.turns or turn_id in seen:
            continue
        seen.add(turn_id)
        turns.append(_turn(request.session_id, session.length + len(turns), turn_id, item, recorded_at))
    return tuple(turns)


class _Identities:
    """Turn ids of the messages of one submit, asked for in order."""

    def __init__(
        self, request: SubmitRequest, user: UserState, session: SessionState, kept: Sequence[KeptMessage]
    ) -> None:
        self._request = request
        self._at_a_time: dict[tuple[str, str, datetime], int] = {}
        self._ever: dict[tuple[str, str], int] = {}
        if any(item.message.id is None and item.message.timestamp is None for item in kept):
            for position in range(session.length):
                turn = user.turns[session.turn_ids[position]]
                self._ever[turn.role, turn.text] = self._ever.get((turn.role, turn.text), 0) + 1

    def of(self, item: KeptMessage, *, is_known: bool) -> TurnId | None:
        message, request = item.message, self._request
        if message.id is not None:
            return turn_id_of_message(request.user, request.session_id, message.id)
        said = (message.role, item.text)
        if message.timestamp is not None:
            moment = as_utc(message.timestamp)
            ordinal = self._at_a_time.get((*said, moment), 0)
            self._at_a_time[*said, moment] = ordinal + 1
        elif is_known:
            return None  # it is counted among the known turns
        else:
            # Without an id and a time there is nothing that tells a repeat from someone saying the same again, so it
            # counts as new; a resend is recognised by its request id.
            moment = None
            ordinal = self._ever.get(said, 0)
            self._ever[said] = ordinal + 1
        return turn_id_of_content(request.user, request.session_id, *said, moment, ordinal)


def _beside_known(
    user: UserState, session: SessionState, request: SubmitRequest, kept: Sequence[KeptMessage]
) -> list[bool]:
    """Which messages of a whole transcript are known."""
    is_known: list[bool] = []
    place = 0  # of the known turn that the next message is compared with
    for position, item in enumerate(kept):
        message = item.message
        if message.id is not None:
            known = user.turns.get(turn_id_of_message(request.user, request.session_id, message.id))
            if known is not None:
                place = max(place, known.position + 1)
                is_known.append(True)
                continue
        turn = user.turns[session.turn_ids[place]] if place < session.length else None
        if turn is None:
            is_known.append(False)
        elif (turn.role, turn.text) == (message.role, item.text) and (message.id is None or turn.message_id is None):
            place += 1
            is_known.append(True)
        elif message.id is not None:
            is_known.append(False)  # its id says that it is new, wherever it stands
        else:
            raise _diverges(turn, item, position)
    return is_known


def _diverges(turn: Turn, item: KeptMessage, position: int) -> InvalidRequestError:
    return InvalidRequestError(
        f"the transcript diverges from session {turn.session_id!r} at kept message {position}: "
        f"known {turn.role} {turn.text[:SHOWN_COUNT_MAX]!r}, "
        f"given {item.message.role} {item.text[:SHOWN_COUNT_MAX]!r}; "
        "submit only the new messages, or use another session id"
    )


def _turn(session_id: str, position: int, turn_id: TurnId, item: KeptMessage, recorded_at: datetime) -> Turn:
    moment, offset = item.message.timestamp, item.message.utc_offset_minutes
    return Turn(
        id=turn_id,
        session_id=session_id,
        position=position,
        role=item.message.role,
        text=item.text,
        timestamp=recorded_at if moment is None else as_utc(moment),
        recorded_at=recorded_at,
        utc_offset_minutes=offset_minutes(moment) if offset is None else offset,
        name=item.message.name,
        message_id=item.message.id,
    )
