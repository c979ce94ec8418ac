"""A client of a deployment: finds the owner of each user, and sends again what was not answered."""

from __future__ import annotations

import itertools

from memoray.actors.calls import Caller
from memoray.actors.naming import NAMESPACE, retriever_name, shard_name
from memoray.actors.runtime import join_ray
from memoray.actors.shard import ShardPlan
from memoray.actors.wire import decode, encode
from memoray.engine.memory import Memory
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
)

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
        self.plan = decode(self._caller.call(shard_name(0), "describe", (), seconds_max=timeout), ShardPlan)
        self._turn = itertools.count()

    def _submit(self, request: SubmitRequest) -> Receipt:
        return decode(self._ask_owner(request.user, "submit", request, request.request_id), Receipt)

    def _apply(self, request: OperationsRequest) -> OperationsAnswer:
        return decode(self._ask_owner(request.user, "apply", request, request.request_id), OperationsAnswer)

    def _read(self, request: ReadRequest) -> ReadAnswer:
        return decode(self._ask_owner(request.user, "read", request), ReadAnswer)

    def _history(self, request: HistoryRequest) -> HistoryAnswer:
        return decode(self._ask_owner(request.user, "history", request), HistoryAnswer)

    def _search(self, request: SearchRequest) -> SearchAnswer:
        return decode(self._ask_retriever("search", request), SearchAnswer)

    def _preload(self, request: PreloadRequest) -> PreloadAnswer:
        return decode(self._ask_retriever("preload", request), PreloadAnswer)

    def _status(self, request: StatusRequest) -> tuple[ShardStatus, ...]:
        if request.user is not None:
            return (decode(self._ask_owner(request.user, "status", request), ShardStatus),)
        asked = (encode(request),)
        return tuple(
            decode(self._caller.call(shard_name(shard), "status", asked, seconds_max=self._timeout), ShardStatus)
            for shard in range(self.plan.shards_count)
        )

    def _ask_owner(self, user: UserKey, method: str, request: object, request_id: str | None = None) -> bytes:
        shard = shard_name(shard_of(user, self.plan.shards_count))
        arguments = (encode(request),)
        return self._caller.call(shard, method, arguments, seconds_max=self._timeout, request_id=request_id)

    def _ask_retriever(self, method: str, request: object) -> bytes:
        number = next(self._turn) % self.plan.retrievers_count
        arguments = (encode(request),)
        return self._caller.call(retriever_name(number), method, arguments, seconds_max=self._timeout)
