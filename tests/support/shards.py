"""Builders for engine tests: a shard on a file system, a scripted extractor, a clock by hand, and the checks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from memoray.config import EngineConfig
from memoray.engine.checker import different, violations
from memoray.engine.shard import Shard
from memoray.errors import NotFoundError
from memoray.events import Batch, Receipt
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.operations import Add, Operation
from memoray.protocols import Clock, Embedder, Extraction, ExtractionRequest, Extractor
from memoray.requests import OperationsAnswer, OperationsRequest, SubmitRequest
from memoray.storage.filesystem import FileSystem, LocalFileSystem
from memoray.storage.manifest import Manifest, create_manifest, shard_directory
from memoray.storage.memory_filesystem import MemoryFileSystem
from memoray.storage.ownership import newest_epoch
from memoray.storage.recovery import read_batches
from tests.support.fake_embedder import FakeEmbedder

ROOT = "/store"
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ANA = UserKey("app", "ana")
BEN = UserKey("app", "ben")


class ManualClock:
    """Time that moves when told to, and a second with each look, so that times differ."""

    def __init__(self, now: datetime = START) -> None:
        self.time = now

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


class ScriptedExtractor:
    """Proposes what a function says; by default each turn's text as a fact that cites the turn."""

    def __init__(self, propose: Callable[[ExtractionRequest], Sequence[Operation]] | None = None) -> None:
        self.propose = propose or each_turn
        self.requests: list[ExtractionRequest] = []

    def extract(self, request: ExtractionRequest) -> Extraction:
        self.requests.append(request)
        return Extraction(tuple(self.propose(request)), "scripted")


def each_turn(request: ExtractionRequest) -> list[Operation]:
    """One fact for each turn."""
    return [Add(turn.text, sources=(turn.id,)) for turn in request.turns]


BENCHES_WATCHED_MAX = 8


class ShardBench:
    """A store of one shard that can be closed, reopened and checked; every one is, when its test has ended.

    Attributes:
        made: the latest, for who checks them.
    """

    made: ClassVar[deque[ShardBench]] = deque(maxlen=BENCHES_WATCHED_MAX)

    def __init__(
        self,
        fs: FileSystem | None = None,
        *,
        config: EngineConfig | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        root: str = ROOT,
    ) -> None:
        self.fs = fs or MemoryFileSystem()
        self.root = root
        self.config = config or EngineConfig(backoff_seconds=0.01, backoff_seconds_max=0.02)
        self.clock = clock or ManualClock()
        self.embedder = embedder or FakeEmbedder()
        self.extractor = extractor
        self._numbers = iter(range(10**9))
        self.manifest = create_manifest(
            self.fs,
            root,
            Manifest(
                store_id="store",
                shards_count=1,
                cluster_id="cluster",
                embedder_name=self.embedder.name,
                embedder_dimension=self.embedder.dimension,
                embedder_fingerprint="",
            ),
        )
        self.shard = self.open()
        self.made.append(self)

    def check_at_end(self) -> None:
        """Close the shard, and hold it against what must always be true, unless it was broken on purpose."""
        if type(self.fs) not in {LocalFileSystem, MemoryFileSystem}:
            return  # one that fails
        failure = self.shard.failure
        if failure is not None and "is closed" not in str(failure):
            return  # stopped by a fault, or by a newer owner
        if not self.shard.close(10.0):
            return  # a job hangs on purpose
        try:
            batches = self.batches()
            newest = newest_epoch(self.fs, shard_directory(self.root, 0))
        except NotFoundError:
            return  # in a folder that is gone with its test
        if newest == self.shard.epoch:
            found = violations(batches, self.shard.state(), self.shard.projections)
            assert not found, "at the end of the test: " + "\n".join(found)

    def open(self) -> Shard:
        """Open the shard, again if it was open: the older owner is fenced at its next write."""
        self.shard = Shard(
            self.fs,
            self.root,
            self.manifest,
            0,
            config=self.config,
            clock=self.clock,
            embedder=self.embedder,
            extractor=self.extractor,
        )
        return self.shard

    def reopen(self) -> Shard:
        """Close the shard and open it again."""
        assert self.shard.close(10.0), "the shard did not close in time"
        return self.open()

    def submit(self, *texts: str, user: UserKey = ANA, session: str = "s1", request_id: str | None = None) -> Receipt:
        """Submit user messages."""
        messages = tuple(Message("user", text, timestamp=START) for text in texts)
        return self.shard.submit(SubmitRequest(user, session, messages, request_id or self.new_id()))

    def apply(self, *operations: Operation, user: UserKey = ANA, request_id: str | None = None) -> OperationsAnswer:
        """Apply a caller's operations."""
        return self.shard.apply(OperationsRequest(user, operations, request_id or self.new_id()))

    def texts(self, user: UserKey = ANA) -> list[str]:
        """Live entry texts, sorted."""
        return sorted(entry.text for entry in self.shard.state().user(user).entries.values())

    def new_id(self) -> str:
        return f"request-{next(self._numbers)}"

    def settle(self, seconds_max: float = 20.0) -> None:
        """Wait until no job is waiting, but for parked ones, and nothing is being embedded."""
        deadline = time.monotonic() + seconds_max
        while self.shard.state().jobs_count or not self.shard.is_idle:
            if self.shard.failure is not None:
                raise self.shard.failure
            assert time.monotonic() < deadline, f"jobs still wait: {self.shard.state().users}"
            time.sleep(0.002)

    def batches(self) -> tuple[Batch, ...]:
        """The log as its files say."""
        return tuple(read_batches(self.fs, shard_directory(self.root, 0), shard=0).batches)

    def check(self) -> None:
        """Every invariant, on the live shard and again after a reopening."""
        self.settle()
        found = violations(self.batches(), self.shard.state(), self.shard.projections)
        assert not found, "\n".join(found)
        before = self.shard.state()
        self.reopen()
        self.settle()
        assert different(before, self.shard.state()) == [], "reopening changes the state"
        found = violations(self.batches(), self.shard.state(), self.shard.projections)
        assert not found, "after reopening: " + "\n".join(found)
