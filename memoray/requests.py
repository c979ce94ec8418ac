"""What callers ask and what they are told: the structs that cross process borders as msgpack or JSON bytes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec

from memoray.entries import Entry, EntryId, Kind
from memoray.keys import UserKey
from memoray.messages import Message, Turn, TurnId
from memoray.operations import Operation, Outcome


class SubmitRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Accept messages of one session.

    Attributes:
        messages: in the order they were said.
        request_id: a repeat with the same id gets the first receipt; required, up to 512 bytes.
        whole_session: `messages` is the transcript from its beginning; keep what is new.
        deadline: after it nothing is accepted, and a caller that waits for a full inbox is answered; aware, or None
            for no deadline.
        follows: request id of the request that comes before this one in the session and was not answered, or was
            refused. This one is refused with `BusyError` until that one has been accepted, in whatever order they
            arrive, so that a refusal leaves no gap. Nothing is remembered for it: the shard looks among the accepted
            requests. A whole session has no gap and needs none.
        is_polluted: outside content has come into the session, now or earlier; the mark stays. See
            `EngineConfig.skips_polluted`.
    """

    user: UserKey
    session_id: str
    messages: tuple[Message, ...]
    request_id: str
    whole_session: bool = False
    deadline: datetime | None = None
    follows: str | None = None
    is_polluted: bool = False


class OperationsRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Apply a caller's own operations, in order, in one batch. `request_id` and `deadline` as in `SubmitRequest`."""

    user: UserKey
    operations: tuple[Operation, ...]
    request_id: str
    deadline: datetime | None = None


class UndoRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Bring a user's entries back to what they were before a batch: that of event `seq`, or the one that ended a job.

    One of the two is given. `request_id` and `deadline` as in `SubmitRequest`.
    """

    user: UserKey
    request_id: str
    seq: int | None = None
    job_id: str | None = None
    deadline: datetime | None = None


class ReadRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Read the most recently updated entries; `limit` None means all. `as_of` as in `SearchRequest`."""

    user: UserKey
    limit: int | None = None
    as_of: int | datetime | None = None


class StatusRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Ask a shard how it is; with a user, also for that user's cursors and jobs."""

    user: UserKey | None = None


class Filters(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which entries and turns may answer.

    Attributes:
        kind: only this kind; an entry without a kind counts as fact. None: all.
        event_after: event time at or after; undated entries pass unless `dated_only`.
        event_before: event time before (exclusive); undated entries pass unless `dated_only`.
        dated_only: only entries with an event time.
        recorded_after: recorded at or after.
        recorded_before: recorded before (exclusive).
        participants: everybody named took part; for a turn: the speaker is among them.
        location: there; turns have none and stay out.
        topics: with at least one of these; turns have none and stay out.
        sessions: drawn from, or said in, at least one of these sessions.

    Names, places and topics are compared after folding (case, width, invisible characters).
    """

    kind: Kind | None = None
    event_after: datetime | None = None
    event_before: datetime | None = None
    dated_only: bool = False
    recorded_after: datetime | None = None
    recorded_before: datetime | None = None
    participants: tuple[str, ...] = ()
    location: str = ""
    topics: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


class SearchRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Find the memories that matter for a query, or for several at once.

    Attributes:
        query: free text; blank gives an empty answer.
        limit: most hits to return, 1 to 1,000.
        filters: which entries and turns may answer.
        kind_fallback: with a kind asked for and fewer than 3 hits of it, other kinds fill up behind it. None: on when
            a kind is asked for.
        hybrid: vector and keyword legs; False: vector legs only.
        dedupe: drop hits that repeat a better one, and messages that a memory among the hits stands for: they are its
            sources.
        turns: list kept messages beside entries; unlisted, they still count for the entries drawn from them.
        entries: list entries.
        min_score: drop hits below this fused score.
        order_by_event_time: order the hits (of a page) by event time, undated last.
        explain: say each leg's rank and share of the score.
        rrf_k: the constant of reciprocal rank fusion.
        weights: weight by leg name, in place of the defaults.
        queries: further ones, fused with the first in one answer; 8 in all. Blank ones and repeats don't count.
        page: `next_page` of the answer before; "" for the first page. All else must be as it was there.
        as_of: answer as the shard would have after the batch of this seq, or after the last batch recorded up to this
            time (aware, or UTC); None: now. It reads the log's files, so it takes longer.
    """

    user: UserKey
    query: str
    limit: int = 10
    filters: Filters = Filters()
    kind_fallback: bool | None = None
    hybrid: bool = True
    dedupe: bool = True
    turns: bool = True
    entries: bool = True
    min_score: float = 0.0
    order_by_event_time: bool = False
    explain: bool = False
    rrf_k: float = 60.0
    weights: dict[str, float] | None = None
    queries: tuple[str, ...] = ()
    page: str = ""
    as_of: int | datetime | None = None


class LegShare(msgspec.Struct, frozen=True):
    """One leg's part in a hit's score.

    Attributes:
        leg: name of the leg. A leg of turns in the score of an entry is that of a message which the entry stands for.
        rank: in the leg, from 1.
        raw: the leg's own score.
        weight: of the leg; a quarter of it where a better rank in the same kind of leg counts already.
        share: `weight` / (k + `rank`).
        query: number of the query that the leg is of, from 0.
    """

    leg: str
    rank: int
    raw: float
    weight: float
    share: float
    query: int = 0


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that a hit comes from. `utc_offset_minutes` is of the zone that it was said in."""

    turn_id: TurnId
    session_id: str
    text: str
    speaker: str
    timestamp: datetime
    message_id: str | None = None
    utc_offset_minutes: int = 0

    @property
    def local_time(self) -> datetime:
        """When it was said, in the zone that it was said in."""
        return self.timestamp.astimezone(timezone(timedelta(minutes=self.utc_offset_minutes)))


def source_of(turn: Turn) -> Source:
    """A turn as a source."""
    return Source(
        turn.id, turn.session_id, turn.text, turn.speaker, turn.timestamp, turn.message_id, turn.utc_offset_minutes
    )


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry or a turn with its place in the answer.

    Attributes:
        type: `entry` or `turn`.
        id: entry id or turn id.
        text: what is remembered, or what was said.
        score: fused score; comparable within one answer only.
        event_time: of the entry; for a turn the time it was said.
        sources: the messages it comes from; for a turn itself.
        entry: the whole entry, for entries.
        turn: the whole turn, for turns.
        shares: with `explain`, how the score came about.
        before: of a turn: the message before it in its session; None for the first, and where that was taken away.
        after: of a turn: the message after it, likewise.
        is_superseded: of a turn: every memory that was drawn from it says something else by now.
    """

    type: str
    id: str
    text: str
    score: float
    event_time: datetime | None = None
    sources: tuple[Source, ...] = ()
    entry: Entry | None = None
    turn: Turn | None = None
    shares: tuple[LegShare, ...] = ()
    before: Source | None = None
    after: Source | None = None
    is_superseded: bool = False


class SearchAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hits, best first.

    Attributes:
        keyword_only: the embedder gave no vector for the query, so only words were matched.
        seq: seq of the shard's log that the answer was read at.
        next_page: for the `page` of the same request, to go on behind these hits; "" where there are no more. Refused
            once anything has changed that the ranking rests on.
    """

    hits: tuple[Hit, ...] = ()
    keyword_only: bool = False
    seq: int = 0
    next_page: str = ""


class ReadAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Entries, most recently updated first, and the messages they come from, by turn id."""

    entries: tuple[Entry, ...] = ()
    sources: dict[str, Source] = {}
    seq: int = 0


class HistoryRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Read every change of one entry, those of deleted ones too."""

    user: UserKey
    entry_id: EntryId


class EntryChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of an entry.

    Attributes:
        what: `added`, `updated`, `cited` (a duplicate named more messages), `deleted`, `cleared`, or `restored` (an
            undo brought it back, or back to an earlier text).
        recorded_at: when.
        seq: of the event.
        entry: as it was afterwards; as it last was, for `deleted` and `cleared`.
        job_id: the extraction that proposed it; None for a caller's own.
        model: of that extraction.
        reason: of the outcome.
        operation: what was proposed or asked for: `add`, `update`, `delete`, `clear` or `undo`.
    """

    what: str
    recorded_at: datetime
    seq: int
    entry: Entry
    job_id: str | None = None
    model: str = ""
    reason: str = ""
    operation: str = ""


class HistoryAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Changes, oldest first, and the messages that they come from, by turn id."""

    changes: tuple[EntryChange, ...] = ()
    sources: dict[str, Source] = {}


class OperationsAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One outcome for each operation of the request, in order, or for each undone change; `seq` of the last event."""

    outcomes: tuple[Outcome, ...] = ()
    seq: int = 0


class PreloadRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Memories for a prompt.

    Attributes:
        query: the current user message; blank: the most recent entries.
        limit: 0 none, -1 all, N: all when there are at most N, else the N that fit the query best.
        playbook: guidance for the model that comes before the memories; None: ours.
        as_of: as in `SearchRequest`.
    """

    user: UserKey
    query: str = ""
    limit: int = 10
    playbook: str | None = None
    as_of: int | datetime | None = None


class PreloadAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Memories for a prompt.

    Attributes:
        text: the delimited block, or "" when there is nothing to say.
        entries: what it holds, in order.
        how: `off`, `all`, `search`, `recent` or `nothing`.
    """

    text: str = ""
    entries: tuple[Entry, ...] = ()
    how: str = "off"


class JobStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job that is not done. `state` is `waiting`, `retrying` (not before `retry_at`) or `parked`."""

    job_id: str
    user: UserKey
    session_id: str
    state: str
    accepted_at: datetime
    attempts: int = 0
    retry_at: datetime | None = None
    error: str = ""
    is_proposed: bool = False


class SessionStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a session is extracted: `extracted` of `length` turns.

    Attributes:
        cursor_seq: seq of the event that moved the cursor last; 0: never.
        cursor_time: recorded time of that event. A host that keeps the cursor in its own session state keeps both.
        pending: turns that no job waits for: the checker said no, there is no extractor, or the session is polluted.
        is_polluted: the session was marked as polluted by outside content.
    """

    session_id: str
    length: int
    extracted: int
    cursor_seq: int = 0
    cursor_time: datetime | None = None
    pending: int = 0
    is_polluted: bool = False


class ShardStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a shard is. With a user in the request, counts, sessions and jobs are that user's.

    Attributes:
        state: `serving`, or `stopped` with `error` saying why.
        epoch: ownership number; 0 when the log could not be opened.
        seq: seq of the last durable event.
        unembedded_count: entries and turns that wait for a vector.
        jobs: those not done, in order, at most 100.
        jobs_count: all of them.
        cut_bytes: bytes of a torn tail that recovery cut off at the last open.
    """

    shard: int
    state: str
    epoch: int = 0
    seq: int = 0
    users_count: int = 0
    entries_count: int = 0
    turns_count: int = 0
    unembedded_count: int = 0
    jobs_count: int = 0
    jobs: tuple[JobStatus, ...] = ()
    sessions: tuple[SessionStatus, ...] = ()
    error: str = ""
    cut_bytes: int = 0
