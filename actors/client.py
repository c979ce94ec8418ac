"""What users hold: a client of a deployment. Finds the owner of each user, sends again what was not answered.

Every write carries a request id, made here unless the caller gives one, so a resend cannot take effect twice.
"""

from __future__ import annotations

import itertools
import time
import uuid
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.actors.calls import Caller
from memoray.actors.naming import NAMESPACE, retriever_name, shard_name
from memoray.actors.runtime import join_ray
from memoray.actors.shard import ShardPlan
from memoray.actors.wire import decode, encode
from memoray.entries import EntryId, Kind, Precision
from memoray.errors import InvalidRequestError, UnavailableError
from memoray.events import Receipt
from memoray.keys import UserKey, shard_of
from memoray.operations import Add, Clear, Delete, Operation, Outcome, Update
from memoray.requests import (
    Filters,
    OperationsAnswer,
    OperationsRequest,
    PreloadAnswer,
    PreloadRequest,
    ReadAnswer,
    ReadRequest,
    SearchAnswer,
    SearchRequest,
    ShardStatus,
    StatusRequest,
    SubmitRequest,
)
from memoray.validation import check_search, clean_text, normalise_operation, offset_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memoray.messages import Message

CALL_SECONDS_MAX = 60.0
POLL_SECONDS = 0.1


def connect(address: str | None = None, *, namespace: str = NAMESPACE, timeout: float = CALL_SECONDS_MAX) -> Client:
    """A client of the deployment in `namespace` on a running Ray cluster.

    Args:
        address: of the Ray cluster; None: the one this process has joined, RAY_ADDRESS, or the one on this machine.
        namespace: of the deployment.
        timeout: seconds that each call may take, resends included.

    Raises:
        UnavailableError: no Ray cluster there, or no deployment on it.
    """
    join_ray(namespace, address)
    return Client(namespace, timeout=timeout)


class Client:
    """Submit, change, read and search memories. Safe to share between threads; every call has a deadline.

    Every method may raise `InvalidRequestError` (correct the call), `BusyError` and `ShardUnavailableError` (try
    later, nothing happened); writes may raise `OutcomeUnknownError` (repeat with its request id).

    Attributes:
        plan: what the deployment consists of, and where its store is.
    """

    def __init__(self, namespace: str = NAMESPACE, *, timeout: float = CALL_SECONDS_MAX) -> None:
        """Find the deployment. `connect` does this and joins Ray first.

        Raises:
            ShardUnavailableError: there is none in this namespace.
        """
        self._timeout = timeout
        self._caller = Caller(namespace)
        self.plan = decode(self._caller.call(shard_name(0), "describe", (), seconds_max=timeout), ShardPlan)
        self._turn = itertools.count()

    def submit(
        self, user: UserKey, session_id: str, messages: Sequence[Message], *, request_id: str | None = None
    ) -> Receipt:
        """Hand over new messages of a session; what is kept is durable when this returns, and extracted soon after.

        Args:
            user: whose conversation it is.
            session_id: the conversation.
            messages: new ones, in order. Repeats of known ids are dropped and counted.
            request_id: give your own to be able to ask again after a crash of this process.
        """
        return self._submit(SubmitRequest(user, session_id, _cleaned(messages), request_id or _new_id()))

    def submit_session(
        self, user: UserKey, session_id: str, messages: Sequence[Message], *, request_id: str | None = None
    ) -> Receipt:
        """Hand over a whole transcript; what is new in it is kept: by message id, else beyond the known beginning.

        Raises:
            InvalidRequestError: the transcript diverges from what is known of the session; says where.
        """
        request = SubmitRequest(user, session_id, _cleaned(messages), request_id or _new_id(), whole_session=True)
        return self._submit(request)

    def _submit(self, request: SubmitRequest) -> Receipt:
        return decode(self._write(request.user, "submit", request, request.request_id), Receipt)

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
        return decode(self._write(user, "apply", request, request.request_id), OperationsAnswer).outcomes

    def read(self, user: UserKey, limit: int | None = None) -> ReadAnswer:
        """The most recently updated entries with the messages they come from; `limit` None means all."""
        if limit is not None and limit < 1:
            message = f"limit {limit}; give a positive number, or None for all"
            raise InvalidRequestError(message)
        return decode(self._read(user, "read", ReadRequest(user, limit)), ReadAnswer)

    def search(
        self,
        user: UserKey,
        query: str,
        *,
        limit: int = 10,
        kind: Kind | None = None,
        event_after: datetime | None = None,
        event_before: datetime | None = None,
        dated_only: bool = False,
        turns: bool = True,
        kind_fallback: bool | None = None,
        hybrid: bool = True,
        dedupe: bool = True,
        min_score: float = 0.0,
        order_by_event_time: bool = False,
        explain: bool = False,
    ) -> SearchAnswer:
        """The memories and messages that matter for a query, best first; options as in `SearchRequest`."""
        request = SearchRequest(
            user,
            query,
            limit=limit,
            filters=Filters(
                kind=None if kind is None else Kind(kind),
                event_after=event_after,
                event_before=event_before,
                dated_only=dated_only,
            ),
            turns=turns,
            kind_fallback=kind_fallback,
            hybrid=hybrid,
            dedupe=dedupe,
            min_score=min_score,
            order_by_event_time=order_by_event_time,
            explain=explain,
        )
        return decode(self._ask_retriever("search", encode(check_search(request))), SearchAnswer)

    def preload(self, user: UserKey, query: str = "", *, limit: int = 10, playbook: str | None = None) -> PreloadAnswer:
        """A block of memories for a prompt: 0 none, -1 all, N the ones that fit the current user message best."""
        request = PreloadRequest(user, clean_text(query), limit, playbook)
        return decode(self._ask_retriever("preload", encode(request)), PreloadAnswer)

    def status(self, user: UserKey | None = None) -> tuple[ShardStatus, ...]:
        """How every shard is; with a user, how that user's shard, sessions and jobs are."""
        shards = range(self.plan.shards_count) if user is None else (shard_of(user, self.plan.shards_count),)
        request = encode(StatusRequest(user))
        return tuple(
            decode(self._caller.call(shard_name(shard), "status", (request,), seconds_max=self._timeout), ShardStatus)
            for shard in shards
        )

    def wait(
        self, user: UserKey, timeout: float = 300.0, *, progress: Callable[[int], None] | None = None
    ) -> ShardStatus:
        """Wait until nothing of a user waits for extraction any more, but for parked jobs.

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

    def _write(self, user: UserKey, method: str, request: object, request_id: str) -> bytes:
        shard = shard_name(shard_of(user, self.plan.shards_count))
        arguments = (encode(request),)
        return self._caller.call(shard, method, arguments, seconds_max=self._timeout, request_id=request_id)

    def _read(self, user: UserKey, method: str, request: object) -> bytes:
        shard = shard_name(shard_of(user, self.plan.shards_count))
        return self._caller.call(shard, method, (encode(request),), seconds_max=self._timeout)

    def _ask_retriever(self, method: str, request: bytes) -> bytes:
        number = next(self._turn) % self.plan.retrievers_count
        return self._caller.call(retriever_name(number), method, (request,), seconds_max=self._timeout)


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
