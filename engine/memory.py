"""What users hold, whatever is behind it: submit, change, read and search memories, wait, preload.

Checks and fills in what a caller gives, and hands requests to the subclass: to actors (`memoray.actors.client`) or to
the engine in this process (`memoray.engine.embedded`). Every write carries a request id, made here unless the caller
gives one, so a resend cannot take effect twice.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from memoray.engine.ordering import SessionOrder
from memoray.entries import EntryId, Kind, Precision
from memoray.errors import BusyError, InvalidRequestError, UnavailableError
from memoray.operations import Add, Clear, Delete, Operation, Outcome, Update
from memoray.requests import (
    Filters,
    HistoryRequest,
    OperationsRequest,
    PreloadRequest,
    ReadRequest,
    SearchRequest,
    StatusRequest,
    SubmitRequest,
    UndoRequest,
)
from memoray.validation import check_search, clean_text, normalise_operation, offset_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from types import TracebackType

    from memoray.events import Receipt
    from memoray.keys import UserKey
    from memoray.messages import Message
    from memoray.requests import HistoryAnswer, OperationsAnswer, PreloadAnswer, ReadAnswer, SearchAnswer, ShardStatus

POLL_SECONDS = 0.05


class Memory(ABC):
    """Submit, change, read and search memories. Safe to share between threads.

    Every method may raise `InvalidRequestError` (correct the call) and an `UnavailableError` (try later, nothing
    happened); writes may raise `OutcomeUnknownError` (repeat with its request id).
    """

    def __init__(self) -> None:
        """For subclasses."""
        self._order = SessionOrder()

    def submit(
        self,
        user: UserKey,
        session_id: str,
        messages: Sequence[Message],
        *,
        request_id: str | None = None,
        deadline: datetime | None = None,
        is_polluted: bool = False,
    ) -> Receipt:
        """Hand over new messages of a session; what is kept is durable when this returns, and extracted soon after.

        Args:
            user: whose conversation it is.
            session_id: the conversation.
            messages: new ones, in order. Repeats of known ids are dropped and counted.
            request_id: give your own to be able to ask again after a crash of this process.
            deadline: after it nothing is accepted (`skipped`), and nobody waits any longer for a full inbox.
            is_polluted: outside content has come into the session; see `EngineConfig.skips_polluted`.

        Raises:
            BusyError: a bound was reached, or an earlier call for this session was refused and has not been repeated
                (with its `request_id`): so that no gap opens. Nothing was accepted.
        """
        request = SubmitRequest(user, session_id, _cleaned(messages), request_id or _new_id(), deadline=deadline)
        return self._submit_in_order(replace(request, is_polluted=is_polluted))

    def submit_session(
        self,
        user: UserKey,
        session_id: str,
        messages: Sequence[Message],
        *,
        request_id: str | None = None,
        deadline: datetime | None = None,
        is_polluted: bool = False,
    ) -> Receipt:
        """Hand over a whole transcript; what is new in it is kept: by message id, else beyond the known beginning.

        Arguments and errors as of `submit`; it waits for no refused call before it, as it leaves no gap.

        Raises:
            InvalidRequestError: the transcript diverges from what is known of the session; says where.
        """
        request = SubmitRequest(user, session_id, _cleaned(messages), request_id or _new_id(), whole_session=True)
        return self._submit_in_order(replace(request, deadline=deadline, is_polluted=is_polluted))

    def _submit_in_order(self, request: SubmitRequest) -> Receipt:
        """Hand a submit over so that it takes effect after those of its session that this client made before it."""
        session = (request.user, request.session_id)
        before = self._order.join(session, request.request_id, time.monotonic(), is_whole=request.whole_session)
        try:
            receipt = self._submit(replace(request, follows=before))
        except InvalidRequestError:
            self._order.leave(session, request.request_id)
            raise
        except BusyError as error:
            self._order.refuse(session, request.request_id)
            error.request_id = request.request_id
            raise
        if request.whole_session and receipt.status != "skipped":
            self._order.forget(session)
        self._order.leave(session, request.request_id)
        return receipt

    def add(
        self,
        user: UserKey,
        text: str,
        *,
        kind: Kind = Kind.FACT,
        topics: Sequence[str] = (),
        event_time: datetime | None = None,
        event_precision: Precision = Precision.INSTANT,
        participants: Sequence[str] = (),
        location: str = "",
        request_id: str | None = None,
    ) -> Outcome:
        """Remember a text as it is, without reconciling; saying exactly the same again is a `duplicate`."""
        operation = Add(
            text=text,
            kind=Kind(kind),
            topics=tuple(topics),
            event_time=event_time,
            event_precision=event_precision,
            participants=tuple(participants),
            location=location,
        )
        return self.apply(user, [operation], request_id=request_id)[0]

    def update(
        self,
        user: UserKey,
        entry_id: str,
        *,
        text: str | None = None,
        kind: Kind | None = None,
        topics: Sequence[str] | None = None,
        event_time: datetime | None = None,
        event_precision: Precision | None = None,
        participants: Sequence[str] | None = None,
        location: str | None = None,
        seen_version: int | None = None,
        request_id: str | None = None,
    ) -> Outcome:
        """Give an entry new contents; None leaves a field as it is. The id stays, the version rises.

        With `seen_version` the update is refused if the entry has moved on since.
        """
        operation = Update(
            entry_id=EntryId(entry_id),
            text=text,
            kind=None if kind is None else Kind(kind),
            topics=None if topics is None else tuple(topics),
            event_time=event_time,
            event_precision=event_precision,
            participants=None if participants is None else tuple(participants),
            location=location,
            seen_version=seen_version,
        )
        return self.apply(user, [operation], request_id=request_id)[0]

    def delete(self, user: UserKey, entry_id: str, *, request_id: str | None = None) -> Outcome:
        """Take an entry out of every current read; history keeps it. A missing id is refused as `not_found`."""
        return self.apply(user, [Delete(EntryId(entry_id))], request_id=request_id)[0]

    def clear(self, user: UserKey, *, reason: str = "", request_id: str | None = None) -> Outcome:
        """Take all entries and turns of a user out of every current read; history keeps them."""
        return self.apply(user, [Clear(reason)], request_id=request_id)[0]

    def apply(
        self, user: UserKey, operations: Sequence[Operation], *, request_id: str | None = None
    ) -> tuple[Outcome, ...]:
        """Apply operations in order, in one batch: one outcome for each.

        Raises:
            InvalidRequestError: one of them cannot be stored; nothing was done.
        """
        checked = tuple(normalise_operation(operation) for operation in operations)
        request = OperationsRequest(user, checked, request_id or _new_id())
        return self._apply(request).outcomes

    def undo(
        self, user: UserKey, *, seq: int | None = None, job_id: str | None = None, request_id: str | None = None
    ) -> OperationsAnswer:
        """Bring memories back to what they were before a batch: that of event `seq`, or the one that ended a job.

        What is added goes, what is gone comes back under its id, what is changed says what it said before, as a new
        version. A memory that has been changed since stays as it is, and its outcome says so. The answer's `seq` undoes
        the undo.

        Raises:
            NotFoundError: this user has no such batch or job, or it changed no memory.
        """
        return self._undo(UndoRequest(user, request_id or _new_id(), seq, job_id))

    def read(self, user: UserKey, limit: int | None = None, *, as_of: int | datetime | None = None) -> ReadAnswer:
        """The most recently updated entries with the messages they come from; `limit` None means all.

        With `as_of` as it would have been answered after the batch of a seq, or at a time.
        """
        if limit is not None and limit < 1:
            message = f"limit {limit}; give a positive number, or None for all"
            raise InvalidRequestError(message)
        return self._read(ReadRequest(user, limit, as_of))

    def history(self, user: UserKey, entry_id: str) -> HistoryAnswer:
        """Every change of a memory, oldest first, with the reasons and the messages: why it is what it is.

        Raises:
            NotFoundError: the user never had a memory of this id.
        """
        return self._history(HistoryRequest(user, EntryId(entry_id)))

    def search(
        self,
        user: UserKey,
        query: str | Sequence[str],
        *,
        limit: int = 10,
        kind: Kind | None = None,
        event_after: datetime | None = None,
        event_before: datetime | None = None,
        dated_only: bool = False,
        recorded_after: datetime | None = None,
        recorded_before: datetime | None = None,
        participants: Sequence[str] = (),
        location: str = "",
        topics: Sequence[str] = (),
        sessions: Sequence[str] = (),
        turns: bool = True,
        kind_fallback: bool | None = None,
        hybrid: bool = True,
        dedupe: bool = True,
        min_score: float = 0.0,
        order_by_event_time: bool = False,
        explain: bool = False,
        page: str = "",
        as_of: int | datetime | None = None,
    ) -> SearchAnswer:
        """The memories and messages that matter for a query, best first; options: `SearchRequest` and `Filters`.

        Several queries, up to 8, are fused in one answer. `page` is `next_page` of the answer before; everything else
        must be as it was there. `as_of` answers as of a seq, or a time of record.
        """
        first, *more = (query,) if isinstance(query, str) else tuple(query) or ("",)
        request = SearchRequest(
            user,
            first,
            limit=limit,
            filters=Filters(
                kind=None if kind is None else Kind(kind),
                event_after=event_after,
                event_before=event_before,
                dated_only=dated_only,
                recorded_after=recorded_after,
                recorded_before=recorded_before,
                participants=tuple(participants),
                location=location,
                topics=tuple(topics),
                sessions=tuple(sessions),
            ),
            turns=turns,
            kind_fallback=kind_fallback,
            hybrid=hybrid,
            dedupe=dedupe,
            min_score=min_score,
            order_by_event_time=order_by_event_time,
            explain=explain,
            queries=tuple(more),
            page=page,
            as_of=as_of,
        )
        return self._search(check_search(request))

    def preload(
        self,
        user: UserKey,
        query: str = "",
        *,
        limit: int = 10,
        playbook: str | None = None,
        as_of: int | datetime | None = None,
    ) -> PreloadAnswer:
        """A block of memories for a prompt: 0 none, -1 all, N the ones that fit the current user message best."""
        return self._preload(PreloadRequest(user, clean_text(query), limit, playbook, as_of))

    def status(self, user: UserKey | None = None) -> tuple[ShardStatus, ...]:
        """How every shard is; with a user, how that user's shard, sessions and jobs are."""
        return self._status(StatusRequest(user))

    def wait(
        self, user: UserKey, timeout: float = 300.0, *, progress: Callable[[int], None] | None = None
    ) -> ShardStatus:
        """Wait until nothing of a user waits for extraction any more, but for parked jobs.

        What is pending, because a checker said no or there is no extractor, waits for no extraction; the sessions of
        the status that is returned count it.

        Args:
            user: whose.
            timeout: seconds.
            progress: called with the number of jobs that still wait.

        Raises:
            UnavailableError: it took longer than `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while True:
            status = self.status(user)[0]
            if progress is not None:
                progress(status.jobs_count)
            if status.state != "serving" or all(job.state == "parked" for job in status.jobs):
                return status
            if time.monotonic() > deadline:
                message = f"{status.jobs_count} jobs of user {user} still wait after {timeout:.0f} s"
                raise UnavailableError(message)
            time.sleep(POLL_SECONDS)

    def close(self) -> bool:
        """Let go of what is held; False if something still ran after its time. Nothing accepted is lost."""
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _submit(self, request: SubmitRequest) -> Receipt: ...

    @abstractmethod
    def _apply(self, request: OperationsRequest) -> OperationsAnswer: ...

    @abstractmethod
    def _undo(self, request: UndoRequest) -> OperationsAnswer: ...

    @abstractmethod
    def _read(self, request: ReadRequest) -> ReadAnswer: ...

    @abstractmethod
    def _history(self, request: HistoryRequest) -> HistoryAnswer: ...

    @abstractmethod
    def _search(self, request: SearchRequest) -> SearchAnswer: ...

    @abstractmethod
    def _preload(self, request: PreloadRequest) -> PreloadAnswer: ...

    @abstractmethod
    def _status(self, request: StatusRequest) -> tuple[ShardStatus, ...]: ...


def _cleaned(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages as they can be encoded: clean text, and the zone of the timestamp beside it."""
    return tuple(
        replace(
            message,
            text=clean_text(message.text),
            utc_offset_minutes=offset_minutes(message.timestamp)
            if message.utc_offset_minutes is None
            else message.utc_offset_minutes,
        )
        for message in messages
    )


def _new_id() -> str:
    return uuid.uuid4().hex
