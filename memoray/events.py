"""What happened: the events of the log, immutable and in the past tense, and the batch that makes them durable.

A published event type is never edited or reordered; a change is a new type and a conversion on read. New fields need
a default. Vectors travel as little-endian float32 bytes, so that replay never embeds.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from memoray.entries import Entry, EntryId
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Operation, Outcome


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """Something that happened to one user."""

    user: UserKey


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a caller is told of a submit, once the delta is durable. Holds ids and counts only, no text.

    Attributes:
        status: `accepted` (durable), `nothing_new` (no message of the call was new and kept; messages that were
            pending may have got their job) or `skipped` (the caller's deadline had passed; nothing was accepted).
        session_id: the session that the messages belong to.
        turn_ids: ids of the turns kept by this call, in order.
        known: number of messages that had been accepted before.
        left_out: number of messages left out, by reason.
        job_id: the extraction that will cover them; None where nothing is extracted now.
        reason: why not.
        seq: seq of the `DeltaAccepted` event; None when there is none.
    """

    status: str
    session_id: str
    turn_ids: tuple[TurnId, ...] = ()
    known: int = 0
    left_out: dict[str, int] = {}
    job_id: str | None = None
    seq: int | None = None
    reason: str = ""


class DeltaAccepted(Event, frozen=True, omit_defaults=True, tag="DeltaAccepted"):
    """Messages of one session became turns.

    Attributes:
        job_id: the job that will extract them and what was pending before them; None: they stay pending.
        is_polluted: the session is marked, from now on, as polluted by outside content.
    """

    session_id: str
    turns: tuple[Turn, ...]
    job_id: str | None = None
    is_polluted: bool = False


class RequestAnswered(Event, frozen=True, omit_defaults=True, tag="RequestAnswered"):
    """A request was answered; a repeat of it gets the same answer. Hashes, ids and counts only."""

    request: bytes
    body: bytes
    receipt: Receipt | None = None
    outcomes: tuple[Outcome, ...] = ()


class OperationsProposed(Event, frozen=True, omit_defaults=True, tag="OperationsProposed"):
    """An extractor answered a job. Logged before it has any effect, so a restart goes on from here."""

    job_id: str
    operations: tuple[Operation, ...]
    model: str
    prompt_version: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    latency_ms: int = 0
    known_versions: dict[str, int] = {}


class OperationDecided(Event, frozen=True, omit_defaults=True, tag="OperationDecided"):
    """One proposed operation got its outcome.

    A job's operation is named by `job_id` and `index`; a caller's travels in `operation`.
    """

    index: int
    outcome: Outcome
    job_id: str | None = None
    operation: Operation | None = None


class EntryAdded(Event, frozen=True, omit_defaults=True, tag="EntryAdded"):
    """An entry came into being. `vector` is None where the embedder gave none: keyword search only, retried."""

    entry: Entry
    vector: bytes | None = None
    job_id: str | None = None


class EntryUpdated(Event, frozen=True, omit_defaults=True, tag="EntryUpdated"):
    """An entry got a new version; `entry` is the whole of it. The earlier versions stay in the log."""

    entry: Entry
    vector: bytes | None = None
    job_id: str | None = None


class EntryCited(Event, frozen=True, omit_defaults=True, tag="EntryCited"):
    """A duplicate of the entry was proposed from these turns, which now count among its sources."""

    entry_id: EntryId
    sources: tuple[TurnId, ...]


class EntriesRelated(Event, frozen=True, omit_defaults=True, tag="EntriesRelated"):
    """A guard kept two similar entries apart; each names the other."""

    entry_id: EntryId
    related_id: EntryId


class EntryDeleted(Event, frozen=True, omit_defaults=True, tag="EntryDeleted"):
    """An entry left every current read. `withdrawn` are the turns that supported no other live entry."""

    entry_id: EntryId
    version: int
    withdrawn: tuple[TurnId, ...] = ()
    job_id: str | None = None


class UserCleared(Event, frozen=True, omit_defaults=True, tag="UserCleared"):
    """All entries and turns of the user up to here left every current read."""

    count: int
    job_id: str | None = None


class EntryRestored(Event, frozen=True, omit_defaults=True, tag="EntryRestored"):
    """An undo brought an entry back to what it said before, under its id and with the next version.

    It was live, and said something else, or it was gone. `entry` is the whole of it, and may name fewer sources than
    before. `vector` is that of its text, from the log; None where the log has none.
    """

    entry: Entry
    vector: bytes | None = None


class TurnsRestored(Event, frozen=True, omit_defaults=True, tag="TurnsRestored"):
    """An undo brought withdrawn turns back into current reads, with their vectors from the log; None: it has none."""

    turn_ids: tuple[TurnId, ...]
    vectors: tuple[bytes | None, ...]


class TurnsWithdrawn(Event, frozen=True, omit_defaults=True, tag="TurnsWithdrawn"):
    """An undo took turns that an undo had brought back out of every current read again."""

    turn_ids: tuple[TurnId, ...]


class UndoDecided(Event, frozen=True, omit_defaults=True, tag="UndoDecided"):
    """One change of a batch was to be undone, and got its outcome.

    Attributes:
        index: number of the outcome in this undo, from 0.
        batch_seq: first seq of the batch that is undone.
        outcome: of one entry; with a `count` and no id of as many entries, where there are too many to list.
    """

    index: int
    batch_seq: int
    outcome: Outcome


class TurnsEmbedded(Event, frozen=True, omit_defaults=True, tag="TurnsEmbedded"):
    """Vectors of turns: little-endian float32, L2-normalised, in the order of `turn_ids`."""

    turn_ids: tuple[TurnId, ...]
    vectors: tuple[bytes, ...]


class EntriesEmbedded(Event, frozen=True, omit_defaults=True, tag="EntriesEmbedded"):
    """Vectors that entries lacked. One that has moved on to another version since is passed over."""

    entry_ids: tuple[EntryId, ...]
    versions: tuple[int, ...]
    vectors: tuple[bytes, ...]


class CursorAdvanced(Event, frozen=True, omit_defaults=True, tag="CursorAdvanced"):
    """The session is extracted up to (not including) turn `position`. Ends the job."""

    session_id: str
    position: int
    job_id: str


class JobFailed(Event, frozen=True, omit_defaults=True, tag="JobFailed"):
    """An attempt at a job failed; nothing was applied. `retry_at` None means parked."""

    job_id: str
    attempt: int
    error: str
    retry_at: datetime | None = None


AnyEvent = (
    DeltaAccepted
    | RequestAnswered
    | OperationsProposed
    | OperationDecided
    | EntryAdded
    | EntryUpdated
    | EntryCited
    | EntriesRelated
    | EntryDeleted
    | UserCleared
    | TurnsEmbedded
    | EntriesEmbedded
    | CursorAdvanced
    | JobFailed
    | EntryRestored
    | TurnsRestored
    | TurnsWithdrawn
    | UndoDecided
)


class Batch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Events that become durable together or not at all; the payload of one record.

    Attributes:
        epoch: ownership number of the writer.
        first_seq: seq of the first event; the others follow without gaps.
        recorded_at: never earlier than the batch before it; aware, UTC.
        events: at least one.
        clock: the raw clock where it differed from `recorded_at`.
        version: of this format.
    """

    epoch: int
    first_seq: int
    recorded_at: datetime
    events: tuple[AnyEvent, ...]
    clock: datetime | None = None
    version: int = 1

    @property
    def last_seq(self) -> int:
        """Seq of the last event."""
        return self.first_seq + len(self.events) - 1


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Batch)


def encode_batch(batch: Batch) -> bytes:
    """Msgpack bytes of a batch: what goes into a record."""
    return _encoder.encode(batch)


def decode_batch(payload: bytes | memoryview) -> Batch:
    """The batch that `encode_batch` made these bytes from.

    Raises:
        msgspec.DecodeError: the bytes are not a batch (also as `msgspec.ValidationError`).
    """
    return _decoder.decode(payload)
