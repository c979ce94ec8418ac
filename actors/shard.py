"""The owner of one shard as an actor: opens the shard, hands it requests, and leaves when a newer owner has it.

Bytes in, bytes out: msgpack or JSON of the structs in `memoray.requests`. Errors are raised as `MemorayError`s, which
cross to the caller whole. Calls that wait in the actor when its process dies end in `ActorUnavailableError` at the
caller; whether they took effect is learnt by sending the same request again to the next owner.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import ray

from memoray.actors.batch import UnderWay, answer_each, attempt, await_each
from memoray.actors.models import RemoteEmbedder, RemoteExtractor
from memoray.actors.naming import extractor_name
from memoray.actors.wire import FindRequest, decode, encode, is_json
from memoray.config import EngineConfig
from memoray.engine.binding import EmbedderCard
from memoray.engine.bound_embedder import BoundEmbedder
from memoray.engine.clock import SystemClock
from memoray.engine.shard import Shard
from memoray.errors import FencedError, InvalidRequestError, MemorayError, ShardUnavailableError, UnavailableError
from memoray.requests import (
    HistoryRequest,
    OperationsAnswer,
    OperationsRequest,
    ReadRequest,
    ShardStatus,
    StatusRequest,
    SubmitRequest,
    UndoRequest,
)
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import read_manifest, shard_directory
from memoray.storage.owner_lock import Owner, OwnerLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.actors.coalescer import Reply
    from memoray.engine.change import Change
    from memoray.events import Receipt
    from memoray.protocols import Extractor
    from memoray.requests import OperationsAnswer

logger = logging.getLogger(__name__)

OPEN_SECONDS_MAX = 60.0
EXIT_SECONDS = 0.5
KILL_SECONDS_MAX = 30.0
REOPEN_SECONDS = 2.0
EMBEDDING_THREADS = 16


class ShardPlan(msgspec.Struct, frozen=True):
    """What a shard actor is started with: locations and settings, never state.

    Attributes:
        store: directory of the store; the same path on every node.
        shard: number of the shard.
        shards_count: how many there are.
        namespace: where the other actors are.
        card: of the embedder.
        embedder: what it was asked for by; told to who starts the deployment again.
        extractors_count: number of extraction workers; 0: nothing is extracted.
        retrievers_count: number of retrieval actors; told to clients.
        config: of the engine.
        takes_over: open the shard although another live process owns it.
    """

    store: str
    shard: int
    shards_count: int
    namespace: str
    card: EmbedderCard
    embedder: str
    extractors_count: int
    retrievers_count: int
    config: EngineConfig
    takes_over: bool = False


class ShardActor:
    """One shard's only owner. Threaded: many callers wait at the same time and share syncs."""

    def __init__(self, plan: bytes) -> None:
        """Start opening the shard; never raises for what the files hold. `status` tells how it went."""
        self._plan = decode(plan, ShardPlan)
        self._shard: Shard | None = None
        self._owner_lock: OwnerLock | None = None
        self._error: MemorayError | None = None
        self._opened = threading.Event()
        self._lock = threading.Lock()
        # One that Ray started again takes over from nobody: whoever owns the shard now may have done so from us.
        self._takes_over = self._plan.takes_over and not ray.get_runtime_context().was_current_actor_reconstructed
        self._tried_at = 0.0
        self._under_way = UnderWay["Receipt"]()
        self._applying = UnderWay["OperationsAnswer"]()
        self._embedding = ThreadPoolExecutor(EMBEDDING_THREADS, "memoray-embed")
        self._writes: dict[str, Callable[[list[bytes]], list[Reply]]] = {
            "submit": self._submit_many,
            "apply": self._apply_many,
            "undo": self._undo_many,
        }
        self._answers: dict[str, Callable[[bytes], bytes]] = {
            "describe": self.describe,
            "read": self.read,
            "history": self.history,
            "find": self.find,
            "status": self.status,
        }
        self._start_opening()

    def _start_opening(self) -> None:
        self._opened.clear()
        self._tried_at = time.monotonic()
        threading.Thread(target=self._open, name="memoray-open", daemon=True).start()

    def _open(self) -> None:
        plan = self._plan
        self._error = None
        extractor: Extractor | None = None
        if plan.extractors_count:
            extractor = RemoteExtractor(extractor_name(plan.shard % plan.extractors_count), plan.namespace)
        try:
            fs = LocalFileSystem()
            directory = Path(shard_directory(plan.store, plan.shard))
            self._owner_lock = self._owner_lock or OwnerLock(directory, self._me(), takes_over=self._takes_over)
            self._shard = Shard(
                fs,
                plan.store,
                read_manifest(fs, plan.store),
                plan.shard,
                config=plan.config,
                clock=SystemClock(),
                embedder=BoundEmbedder(RemoteEmbedder(plan.card, plan.namespace), plan.card),
                extractor=extractor,
                stopped=self._stopped,
            )
        except MemorayError as error:
            logger.exception("shard %d cannot be opened", plan.shard)
            self._error = error
            if isinstance(error, FencedError):
                self._stopped(error)
        finally:
            self._opened.set()

    def _me(self) -> Owner:
        address, namespace = ray.get_runtime_context().gcs_address, self._plan.namespace
        return Owner(f"deployment {namespace} on the Ray at {address}", os.getpid(), address, namespace)

    def _stopped(self, error: MemorayError) -> None:
        threading.Thread(target=self._leave, args=(error,), name="memoray-leave", daemon=True).start()

    def _leave(self, error: MemorayError) -> None:
        """End the process once those who wait have been answered."""
        time.sleep(EXIT_SECONDS)
        if isinstance(error, FencedError):
            # An end that Ray does not restart: a fenced owner that came back would claim, and fence the newer one.
            with contextlib.suppress(ValueError):
                ray.kill(ray.get_runtime_context().current_actor, no_restart=True)
                time.sleep(KILL_SECONDS_MAX)  # it comes by way of the head; an exit before it would be a crash to Ray
        # A log that failed takes no more in this process; the next one opens it afresh.
        os._exit(1)

    def _try_again(self) -> None:
        """Open again, now and then, what the file system refused: a disk that was full comes back without a restart."""
        with self._lock:
            is_due = time.monotonic() - self._tried_at > REOPEN_SECONDS
            if self._opened.is_set() and self._shard is None and isinstance(self._error, UnavailableError) and is_due:
                self._start_opening()

    def _owner(self) -> Shard:
        self._try_again()
        if not self._opened.wait(OPEN_SECONDS_MAX):
            message = f"shard {self._plan.shard} is still recovering after {OPEN_SECONDS_MAX:.0f} s"
            raise ShardUnavailableError(message)
        if self._shard is None:
            if self._error is None:
                message = f"shard {self._plan.shard} could not be opened; its log file says why"
                raise ShardUnavailableError(message)
            raise self._error
        return self._shard

    def describe(self, _request: bytes = b"") -> bytes:
        """`ShardPlan` of this actor: how many shards and retrievers there are, and where the store is."""
        return encode(self._plan)

    def submit(self, request: bytes) -> bytes:
        """`SubmitRequest` in, `Receipt` out, once the delta is durable."""
        return encode(self._owner().submit(decode(request, SubmitRequest)), as_json=is_json(request))

    def apply(self, request: bytes) -> bytes:
        """`OperationsRequest` in, `OperationsAnswer` out, once the outcomes are durable."""
        return encode(self._owner().apply(decode(request, OperationsRequest)), as_json=is_json(request))

    def undo(self, request: bytes) -> bytes:
        """`UndoRequest` in, `OperationsAnswer` out, once the outcomes are durable."""
        return encode(self._owner().undo(decode(request, UndoRequest)), as_json=is_json(request))

    def read(self, request: bytes) -> bytes:
        """`ReadRequest` in, `ReadAnswer` out."""
        return encode(self._owner().read(decode(request, ReadRequest)), as_json=is_json(request))

    def history(self, request: bytes) -> bytes:
        """`HistoryRequest` in, `HistoryAnswer` out."""
        return encode(self._owner().history(decode(request, HistoryRequest)), as_json=is_json(request))

    def find(self, request: bytes) -> bytes:
        """`FindRequest` in, `Found` out: what a retriever makes an answer of."""
        asked = decode(request, FindRequest)
        return encode(self._owner().find(asked.search, asked.query_vector))

    def status(self, request: bytes) -> bytes:
        """`StatusRequest` in, `ShardStatus` out; answers for a shard that could not be opened, too."""
        asked = decode(request, StatusRequest)
        try:
            status = self._owner().status(asked)
        except MemorayError as error:
            status = ShardStatus(self._plan.shard, "stopped", error=f"{type(error).__name__}: {error}")
        return encode(status, as_json=is_json(request))

    def many(self, method: str, requests: list[bytes]) -> list[Reply]:
        """Requests of one of the methods above in, for each its answer, its error, or None: ask again.

        Writes are queued in order, all before any is waited for, so that they share a sync.

        Raises:
            InvalidRequestError: no such method.
        """
        if method in self._writes:
            replies = attempt(self._writes[method], requests)
            return [replies] * len(requests) if isinstance(replies, MemorayError) else replies
        answer = self._answers.get(method)
        if answer is None:
            message = f"method {method!r}; there are: {', '.join((*self._writes, *self._answers))}"
            raise InvalidRequestError(message)
        return answer_each(answer, requests)

    def _submit_many(self, requests: list[bytes]) -> list[Reply]:
        owner = self._owner()
        begun = [attempt(self._begin_submit, owner, request) for request in requests]
        return await_each(begun, [is_json(request) for request in requests])

    def _begin_submit(self, owner: Shard, request: bytes) -> Future[Receipt]:
        # One that waits for its extraction is asked about again and again: it has one place among those that wait.
        return self._under_way.begin(request, lambda: owner.begin_submit(decode(request, SubmitRequest)))

    def _apply_many(self, requests: list[bytes]) -> list[Reply]:
        """Begin what has not been begun, in a thread: embedding may take long, and others do not wait for it."""
        owner = self._owner()
        fresh: list[tuple[Change, Future[OperationsAnswer]]] = []

        def start(request: bytes) -> Future[OperationsAnswer]:
            fresh.append((owner.check_apply(decode(request, OperationsRequest)), Future()))
            return fresh[-1][1]

        begun = [attempt(self._applying.begin, request, partial(start, request)) for request in requests]
        if fresh:
            self._embedding.submit(_apply_all, owner, fresh)
        return await_each(begun, [is_json(request) for request in requests])

    def _undo_many(self, requests: list[bytes]) -> list[Reply]:
        owner = self._owner()
        begun = [attempt(_begin_undo, owner, request) for request in requests]
        return await_each(begun, [is_json(request) for request in requests])

    def pid(self) -> int:
        """Process id of the owner."""
        return os.getpid()

    def close(self) -> bool:
        """End running jobs and close the log; what waits goes on at the next start. False if it took too long."""
        if self._shard is not None and not self._shard.close():
            return False
        if self._owner_lock is not None:
            self._owner_lock.close()  # so that the next owner need not wait for this process to end
        return True


def _apply_all(owner: Shard, fresh: list[tuple[Change, Future[OperationsAnswer]]]) -> None:
    """Embed the texts of several changes at once, and queue the changes; each has somebody waiting."""
    queued = attempt(owner.begin_apply, [change for change, _ in fresh])
    for position, (_, promise) in enumerate(fresh):
        if isinstance(queued, MemorayError):
            promise.set_exception(queued)
        else:
            queued[position].add_done_callback(partial(_pass_on, promise))


def _pass_on(promise: Future[OperationsAnswer], done: Future[OperationsAnswer]) -> None:
    error = done.exception()
    if error is None:
        promise.set_result(done.result())
    else:
        promise.set_exception(error)


def _begin_undo(owner: Shard, request: bytes) -> Future[OperationsAnswer]:
    return owner.begin_undo(decode(request, UndoRequest))
