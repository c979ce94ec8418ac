"""A client of a deployment: finds the owner of each user, and sends again what was not answered."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from memoray.actors.calls import Caller
from memoray.actors.naming import NAMESPACE, retriever_name, shard_name
from memoray.actors.runtime import join_ray
from memoray.actors.shard import ShardPlan
from memoray.actors.wire import decode, encode
from memoray.engine.asynchronous import async_form
from memoray.engine.memory import Memory
from memoray.errors import UnavailableError
from memoray.events import Receipt
from memoray.keys import UserKey, shard_of
from memoray.requests import (
    HistoryAnswer,
    HistoryRequest,
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
    UndoRequest,
)
from memoray.validation import as_utc

CALL_SECONDS_MAX = 60.0


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


connect_async = async_form(connect)


class Client(Memory):
    """`Memory` over a deployment's actors. Every call has a deadline.

    Attributes:
        plan: what the deployment consists of, and where its store is.
    """

    def __init__(self, namespace: str = NAMESPACE, *, timeout: float = CALL_SECONDS_MAX) -> None:
        """Find the deployment. `connect` does this and joins Ray first.

        Raises:
            ShardUnavailableError: there is none in this namespace.
        """
        super().__init__()
        self._timeout = timeout
        self._caller = Caller(namespace)
        self.plan = decode(self._caller.ask(shard_name(0), "describe", b"", seconds_max=timeout), ShardPlan)
        self._turn = itertools.count()

    def _submit(self, request: SubmitRequest) -> Receipt:
        given_up = self._deadline()
        deadline = given_up if request.deadline is None else min(as_utc(request.deadline), given_up)
        asked = replace(request, deadline=deadline)
        receipt = decode(self._ask_owner(request.user, "submit", asked, request.request_id), Receipt)
        if receipt.status == "skipped" and deadline == given_up:
            message = (
                f"the deadline {deadline} had passed when the shard came to it; nothing was accepted. Try again, with "
                "a longer timeout; if it stays so, the clocks of this machine and the shard's differ"
            )
            raise UnavailableError(message)
        return receipt

    def _apply(self, request: OperationsRequest) -> OperationsAnswer:
        asked = replace(request, deadline=self._deadline())
        return decode(self._ask_owner(request.user, "apply", asked, request.request_id), OperationsAnswer)

    def _undo(self, request: UndoRequest) -> OperationsAnswer:
        asked = replace(request, deadline=self._deadline())
        return decode(self._ask_owner(request.user, "undo", asked, request.request_id), OperationsAnswer)

    def _deadline(self) -> datetime:
        """After it a write is not begun; so who asks again later learns whether it was."""
        return datetime.now(UTC) + timedelta(seconds=self._timeout)

    def _read(self, request: ReadRequest) -> ReadAnswer:
        return decode(self._ask_owner(request.user, "read", request), ReadAnswer)

    def _history(self, request: HistoryRequest) -> HistoryAnswer:
        return decode(self._ask_owner(request.user, "history", request), HistoryAnswer)

    def _search(self, request: SearchRequest) -> SearchAnswer:
        return decode(self._ask_retriever("search", request.user, request), SearchAnswer)

    def _preload(self, request: PreloadRequest) -> PreloadAnswer:
        return decode(self._ask_retriever("preload", request.user, request), PreloadAnswer)

    def _status(self, request: StatusRequest) -> tuple[ShardStatus, ...]:
        if request.user is not None:
            return (decode(self._ask_owner(request.user, "status", request), ShardStatus),)
        asked = encode(request)
        return tuple(
            decode(self._caller.ask(shard_name(shard), "status", asked, seconds_max=self._timeout), ShardStatus)
            for shard in range(self.plan.shards_count)
        )

    def _ask_owner(self, user: UserKey, method: str, request: object, request_id: str | None = None) -> bytes:
        shard = shard_name(shard_of(user, self.plan.shards_count))
        return self._caller.ask(shard, method, encode(request), seconds_max=self._timeout, request_id=request_id)

    def _ask_retriever(self, method: str, user: UserKey, request: object) -> bytes:
        name = retriever_name(next(self._turn) % self.plan.retrievers_count)
        shard = shard_of(user, self.plan.shards_count)  # one that does not answer holds up nobody else's search
        return self._caller.ask(name, method, encode(request), seconds_max=self._timeout, lane=shard)
