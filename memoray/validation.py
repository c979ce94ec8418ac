"""The door: what a caller may hand over. Checked before any storage or embedding work; the first failure wins.

Text is cleaned, not refused: NUL is stripped and lone surrogates become U+FFFD. Ids are refused, not cleaned: an id
that we changed would name something else.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.errors import InvalidRequestError
from memoray.operations import Add, Clear, Delete, Operation, Update

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoray.keys import UserKey
    from memoray.requests import Filters, SearchRequest

TEXT_BYTES_MAX = 64 * 1024
ID_BYTES_MAX = 512
TOPICS_COUNT_MAX = 64
PARTICIPANTS_COUNT_MAX = 256
OPERATIONS_COUNT_MAX = 1000
MESSAGES_COUNT_MAX = 10_000
LIMIT_MAX = 1000
QUERIES_COUNT_MAX = 8
PAGE_BYTES_MAX = 512
SHOWN_COUNT_MAX = 60


def _shown(value: str) -> str:
    return repr(value if len(value) <= SHOWN_COUNT_MAX else value[: SHOWN_COUNT_MAX - 3] + "...")


def clean_text(text: str) -> str:
    """Text that can be stored: NUL stripped, lone surrogates replaced by U+FFFD; otherwise as given."""
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def check_id(what: str, value: str) -> str:
    """Return an id unchanged, or refuse it.

    Raises:
        InvalidRequestError: empty, over 512 bytes of UTF-8, or with a NUL or a lone surrogate in it.
    """
    if not value:
        message = f"{what} required: it is empty"
        raise InvalidRequestError(message)
    if "\0" in value:
        message = f"{what} {_shown(value)} contains NUL; ids are stored as given, so choose one without it"
        raise InvalidRequestError(message)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        message = f"{what} {_shown(value)} contains a lone surrogate and has no UTF-8 form"
        raise InvalidRequestError(message) from None
    if size > ID_BYTES_MAX:
        message = f"{what} {_shown(value)} is {size} bytes of UTF-8; at most {ID_BYTES_MAX} are kept"
        raise InvalidRequestError(message)
    return value


def check_user_key(user: UserKey) -> UserKey:
    """Return a user key unchanged, or refuse it: first the app name, then the user id.

    Raises:
        InvalidRequestError: a part is empty, too long, or cannot be stored. Nothing is trimmed: `" "` is an id.
    """
    check_id("app name", user.app_name)
    check_id("user id", user.user_id)
    return user


def check_memory_text(text: str) -> str:
    """Memory text, cleaned.

    Raises:
        InvalidRequestError: blank, or over 64 KiB of UTF-8.
    """
    cleaned = clean_text(text)
    if is_blank(cleaned):
        message = f"memory text required: {_shown(text)} is blank"
        raise InvalidRequestError(message)
    size = len(cleaned.encode())
    if size > TEXT_BYTES_MAX:
        message = f"memory text of {size} bytes; at most {TEXT_BYTES_MAX} are kept, split it into several memories"
        raise InvalidRequestError(message)
    return cleaned


_INVISIBLE = frozenset("\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\ufeff") | {
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def is_blank(text: str) -> bool:
    """Whether a text has nothing but white space, controls and invisible characters in it."""
    return all(char.isspace() or char in _INVISIBLE or char == "\0" for char in text)


def as_utc(moment: datetime) -> datetime:
    """The same instant in UTC; a naive time counts as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def offset_minutes(moment: datetime | None) -> int:
    """Offset of a time's zone from UTC in minutes; 0 for none and for a naive one."""
    offset = None if moment is None else moment.utcoffset()
    return 0 if offset is None else int(offset.total_seconds() // 60)


def normalise_participants(names: Iterable[str]) -> tuple[str, ...]:
    """Trimmed, without empties, sorted by (lower case, raw), one spelling for each lower case (the smallest raw)."""
    kept: list[str] = []
    for name in sorted((clean_text(raw).strip() for raw in names), key=lambda name: (name.lower(), name)):
        if name and not (kept and kept[-1].lower() == name.lower()):
            kept.append(name)
    if len(kept) > PARTICIPANTS_COUNT_MAX:
        message = f"{len(kept)} participants; at most {PARTICIPANTS_COUNT_MAX} are kept"
        raise InvalidRequestError(message)
    return tuple(check_id("participant", name) for name in kept)


def normalise_topics(topics: Iterable[str]) -> tuple[str, ...]:
    """Trimmed, without empties and case-insensitive repeats; order and first spelling kept."""
    kept = _distinct_topics(topics)
    if len(kept) > TOPICS_COUNT_MAX:
        message = f"{len(kept)} topics; at most {TOPICS_COUNT_MAX} are kept"
        raise InvalidRequestError(message)
    return tuple(check_id("topic", topic) for topic in kept)


def merge_topics(known: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Known topics first, then new ones; first spelling kept; cut at the bound rather than refused."""
    return _distinct_topics((*known, *new))[:TOPICS_COUNT_MAX]


def _distinct_topics(topics: Iterable[str]) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for raw in topics:
        topic = clean_text(raw).strip()
        if topic:
            kept.setdefault(topic.lower(), topic)
    return tuple(kept.values())


def normalise_location(location: str) -> str:
    """Trimmed; case kept.

    Raises:
        InvalidRequestError: over 512 bytes of UTF-8.
    """
    trimmed = clean_text(location).strip()
    return check_id("location", trimmed) if trimmed else ""


def check_search(request: SearchRequest) -> SearchRequest:
    """A search as it is run: user key and numbers checked, queries cleaned, times in UTC.

    Raises:
        InvalidRequestError: the user key cannot be, there are more than 8 queries, a query is over 64 KiB, the limit is
            not 1 to 1,000, or `rrf_k` or a weight is below 0.
    """
    check_user_key(request.user)
    if not 1 <= request.limit <= LIMIT_MAX:
        message = f"limit {request.limit}; give 1 to {LIMIT_MAX}"
        raise InvalidRequestError(message)
    if not request.rrf_k >= 0:
        message = f"rrf_k {request.rrf_k}; give 0 or more, 60 is usual"
        raise InvalidRequestError(message)
    if math.isnan(request.min_score):
        message = f"min_score {request.min_score}; give a number"
        raise InvalidRequestError(message)
    for leg, weight in (request.weights or {}).items():
        if not 0 <= weight < float("inf"):
            message = f"weight {weight} of leg {leg!r}; give 0 or more"
            raise InvalidRequestError(message)
    if len(request.page) > PAGE_BYTES_MAX:
        message = f"page {_shown(request.page)} is no page; give `next_page` of the answer before"
        raise InvalidRequestError(message)
    query, *more = _cleaned_queries((request.query, *request.queries))
    filters, as_of = _utc_filters(request.filters), check_as_of(request.as_of)
    return replace(request, query=query, queries=tuple(more), filters=filters, as_of=as_of)


def check_as_of(as_of: int | datetime | None) -> int | datetime | None:
    """A seq or a time that a read is as of, times in UTC; what is before the beginning is 0."""
    if isinstance(as_of, datetime):
        return as_utc(as_of)
    return None if as_of is None else max(as_of, 0)


def _cleaned_queries(given: tuple[str, ...]) -> list[str]:
    if len(given) > QUERIES_COUNT_MAX:
        message = f"{len(given)} queries in one search; at most {QUERIES_COUNT_MAX}, ask the rest in another"
        raise InvalidRequestError(message)
    cleaned = [clean_text(query) for query in given]
    for query in cleaned:
        size = len(query.encode())
        if size > TEXT_BYTES_MAX:
            message = f"query {_shown(query)} is {size} bytes; at most {TEXT_BYTES_MAX} are looked for, shorten it"
            raise InvalidRequestError(message)
    return cleaned


def queries_of(request: SearchRequest) -> tuple[str, ...]:
    """What a search asks: its queries without blank ones and repeats, in order; legs are numbered by it, from 0."""
    return tuple(dict.fromkeys(query for query in (request.query, *request.queries) if not is_blank(query)))


def _utc_filters(filters: Filters) -> Filters:
    def utc(moment: datetime | None) -> datetime | None:
        return None if moment is None else as_utc(moment)

    return replace(
        filters,
        event_after=utc(filters.event_after),
        event_before=utc(filters.event_before),
        recorded_after=utc(filters.recorded_after),
        recorded_before=utc(filters.recorded_before),
    )


def normalise_operation(operation: Operation) -> Operation:
    """An operation as it is stored: cleaned, trimmed and sorted where this page says so, times in UTC.

    Raises:
        InvalidRequestError: the text is blank or too long, or an id cannot be stored.
    """
    match operation:
        case Add():
            return Add(
                text=check_memory_text(operation.text),
                kind=operation.kind,
                topics=normalise_topics(operation.topics),
                event_time=None if operation.event_time is None else as_utc(operation.event_time),
                event_precision=operation.event_precision,
                utc_offset_minutes=operation.utc_offset_minutes or offset_minutes(operation.event_time),
                participants=normalise_participants(operation.participants),
                location=normalise_location(operation.location),
                sources=operation.sources,
            )
        case Update():
            check_id("memory id", operation.entry_id)
            return Update(
                entry_id=operation.entry_id,
                text=None if operation.text is None else check_memory_text(operation.text),
                kind=operation.kind,
                topics=None if operation.topics is None else normalise_topics(operation.topics),
                event_time=None if operation.event_time is None else as_utc(operation.event_time),
                event_precision=operation.event_precision,
                utc_offset_minutes=_offset_of_update(operation),
                participants=None if operation.participants is None else normalise_participants(operation.participants),
                location=None if operation.location is None else normalise_location(operation.location),
                sources=operation.sources,
                seen_version=operation.seen_version,
            )
        case Delete():
            check_id("memory id", operation.entry_id)
            return operation
        case Clear():
            return Clear(reason=clean_text(operation.reason)[:ID_BYTES_MAX], sources=operation.sources)


def _offset_of_update(update: Update) -> int | None:
    if update.event_time is None:
        return None
    return update.utc_offset_minutes or offset_minutes(update.event_time)
