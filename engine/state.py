"""What a shard knows: immutable values that `fold` makes from events.

Every map is persistent (`memoray.engine.layered`): a change gives a new map that shares with the old one what did not
change. So a reader that holds a state sees one moment of the shard for as long as it likes, without a lock, while the
writer goes on.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from rpds import HashTrieMap

from memoray.engine.layered import Map
from memoray.entries import Entry, EntryId
from memoray.events import OperationsProposed, Receipt
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Outcome


class SessionState(msgspec.Struct, frozen=True, gc=False):
    """One conversation.

    Attributes:
        length: number of kept turns.
        extracted: the cursor; turns before this position are covered by a finished job.
        cursor_seq: seq of the `CursorAdvanced` that moved it; 0 when never.
        cursor_time: recorded time of that event.
        turn_ids: turn id by position.
        is_polluted: marked as polluted by outside content; never taken back.
    """

    length: int = 0
    extracted: int = 0
    cursor_seq: int = 0
    cursor_time: datetime | None = None
    turn_ids: Map[int, TurnId] = HashTrieMap()
    is_polluted: bool = False


class JobState(msgspec.Struct, frozen=True, gc=False):
    """An extraction that is not done.

    Attributes:
        id: the job.
        session_id: the session whose delta it covers.
        until: it covers the turns from the session's cursor up to (not including) this position.
        accepted_at: recorded time of the delta.
        bytes_count: UTF-8 bytes of the delta's texts.
        attempts: failures so far.
        retry_at: not before this time; None: now, or never when parked.
        is_parked: given up until a later delta of the session takes the messages along.
        error: what the last failure said.
        proposal: the extractor's answer, once logged.
    """

    id: str
    session_id: str
    until: int
    accepted_at: datetime
    bytes_count: int
    attempts: int = 0
    retry_at: datetime | None = None
    is_parked: bool = False
    error: str = ""
    proposal: OperationsProposed | None = None


class UserState(msgspec.Struct, frozen=True, gc=False):
    """All of one user.

    Attributes:
        entries: live entries at their current version.
        identities: id of the live entry by canonical identity.
        retired: seq at which an entry was deleted or cleared, by id.
        turns: every kept turn.
        withdrawn: turns that are out of every current read, with the seq of the event that took them out.
        supports: live entries drawn from a turn.
        sessions: by session id.
        jobs: not done, in order.
        entries_unembedded: live entries without a vector.
        turns_unembedded: searchable turns without a vector.
    """

    entries: Map[EntryId, Entry] = HashTrieMap()
    identities: Map[bytes, EntryId] = HashTrieMap()
    retired: Map[EntryId, int] = HashTrieMap()
    turns: Map[TurnId, Turn] = HashTrieMap()
    withdrawn: Map[TurnId, int] = HashTrieMap()
    supports: Map[TurnId, tuple[EntryId, ...]] = HashTrieMap()
    sessions: Map[str, SessionState] = HashTrieMap()
    jobs: tuple[JobState, ...] = ()
    entries_unembedded: Map[EntryId, bool] = HashTrieMap()
    turns_unembedded: Map[TurnId, bool] = HashTrieMap()

    def job(self, job_id: str) -> JobState | None:
        """The job with this id, if it is not done."""
        return next((job for job in self.jobs if job.id == job_id), None)

    def pending_from(self, session_id: str) -> int:
        """Position in a session of the first turn that is neither extracted nor in a job that is not parked."""
        session = self.sessions.get(session_id) or SessionState()
        ends = (job.until for job in self.jobs if job.session_id == session_id and not job.is_parked)
        return max(session.extracted, *ends, 0)

    def turns_between(self, session_id: str, start: int, end: int) -> tuple[Turn, ...]:
        """Turns of a session from one position up to (not including) another, without withdrawn ones."""
        session = self.sessions[session_id]
        ids = (session.turn_ids[position] for position in range(start, end))
        return tuple(self.turns[turn_id] for turn_id in ids if turn_id not in self.withdrawn)

    def delta_of(self, job: JobState) -> tuple[Turn, ...]:
        """Turns that a job covers now: those not extracted up to its end, without withdrawn ones."""
        return self.turns_between(job.session_id, self.sessions[job.session_id].extracted, job.until)


class Answered(msgspec.Struct, frozen=True, gc=False):
    """What a request was told, for its repeats."""

    body: bytes
    seq: int
    recorded_at: datetime
    receipt: Receipt | None
    outcomes: tuple[Outcome, ...]


class Window(msgspec.Struct, frozen=True):
    """Remembered requests, bounded by count and age; the oldest leave first.

    Attributes:
        order: request hashes by number of arrival, from `first` to `last`.
    """

    count_max: int
    age_seconds_max: float
    answers: Map[bytes, Answered] = HashTrieMap()
    order: Map[int, bytes] = HashTrieMap()
    first: int = 1
    last: int = 0


class ShardState(msgspec.Struct, frozen=True):
    """All of one shard.

    Attributes:
        log_id: names the log among all logs; part of every id that is given out.
        window: remembered requests.
        last_seq: seq of the last event folded.
        recorded_at: recorded time of the last batch; None before the first.
        users: by user key; a user without events is not in it.
        jobs_count: jobs not done and not parked.
        inbox_bytes: UTF-8 bytes of their deltas.
    """

    log_id: str
    window: Window
    last_seq: int = 0
    recorded_at: datetime | None = None
    users: Map[UserKey, UserState] = HashTrieMap()
    jobs_count: int = 0
    inbox_bytes: int = 0

    def user(self, user: UserKey) -> UserState:
        """State of a user; of a user without events an empty one."""
        return self.users.get(user) or _NOBODY


_NOBODY = UserState()


def empty_state(log_id: str, *, requests_count_max: int, requests_age_seconds_max: float) -> ShardState:
    """The state before the first event."""
    return ShardState(log_id=log_id, window=Window(requests_count_max, requests_age_seconds_max))
