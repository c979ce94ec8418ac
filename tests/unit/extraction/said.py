"""Turns and requests for tests of the offline extractor."""

from __future__ import annotations

from datetime import UTC, datetime

from memoray.entries import Entry
from memoray.extraction.offline import OfflineExtractor
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Add
from memoray.protocols import Extraction, ExtractionRequest
from memoray.validation import offset_minutes

WEDNESDAY = datetime.fromisoformat("2026-03-18T10:30:00+01:00")


def turn(
    text: str, *, role: str = "user", name: str | None = None, at: datetime = WEDNESDAY, position: int = 0
) -> Turn:
    return Turn(
        id=TurnId(f"turn-{position}"),
        session_id="session",
        position=position,
        role=role,
        text=text,
        timestamp=at.astimezone(UTC),
        recorded_at=at.astimezone(UTC),
        utc_offset_minutes=offset_minutes(at),
        name=name,
    )


def extraction(*turns: Turn, known: tuple[Entry, ...] = ()) -> Extraction:
    request = ExtractionRequest(UserKey("app", "user"), "session", turns, known, WEDNESDAY.astimezone(UTC), 30.0)
    return OfflineExtractor().extract(request)


def adds(*turns: Turn) -> list[Add]:
    return [operation for operation in extraction(*turns).operations if isinstance(operation, Add)]


def added(text: str, *, name: str | None = None, at: datetime = WEDNESDAY) -> Add:
    """The only memory of a message."""
    (add,) = adds(turn(text, name=name, at=at))
    return add
