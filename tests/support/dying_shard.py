"""A shard in a process of its own that works through a fixed load and dies where it is told to.

    python -m tests.support.dying_shard STORE POINT NUMBER

Points: `extract` (asked to extract, nothing proposed yet), `propose` (proposal logged, before the job's batch is
decided), `write` and `half-write` (before and in the middle of a write to the log), `sync` (after a write, before its
sync), `synced` (after a sync, before anybody is answered), `never`, and `slowly`, which is `never` with a pause before
each step, for kills from outside. The process kills itself with SIGKILL at the
NUMBER-th time it gets there. Each receipt is printed as a line; at its end the last line is a JSON summary.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memoray.engine.checker import violations
from memoray.engine.clock import SystemClock
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.protocols import Extraction, ExtractionRequest
from memoray.requests import SubmitRequest
from memoray.storage.filesystem import AppendFile, LocalFileSystem
from tests.support.fake_embedder import FakeEmbedder
from tests.support.shards import ScriptedExtractor, ShardBench

PAUSE_SECONDS = 0.02
WORDS = (
    "anchor basil cedar dune ember fjord glacier harbour island jasmine kelp lantern meadow nectar orchard "
    "pebble quartz river saffron tundra umber valley willow yarrow zenith"
).split()
USERS = tuple(UserKey("app", name) for name in ("ana", "ben", "cleo"))


class Reaper:
    """Counts how often a point is reached and kills the process at the chosen one."""

    def __init__(self, point: str, number: int) -> None:
        self._point = point
        self._left = number

    def at(self, point: str) -> bool:
        """Whether this is where to die."""
        if point != self._point:
            return False
        self._left -= 1
        return self._left == 0

    def pass_by(self, point: str) -> None:
        """Die here, if this is the place."""
        if self.at(point):
            die()


def die() -> None:
    """As `kill -9`: no handler, no flush, no farewell; late enough for a receipt given too early to be seen."""
    time.sleep(PAUSE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


class DyingFile:
    """A segment that is being appended to."""

    def __init__(self, inner: AppendFile, reaper: Reaper) -> None:
        self._inner = inner
        self._reaper = reaper

    def write(self, data: bytes) -> None:
        self._reaper.pass_by("write")
        if self._reaper.at("half-write"):
            self._inner.write(data[: len(data) // 2])
            die()
        self._inner.write(data)

    def sync(self) -> None:
        self._reaper.pass_by("sync")
        self._inner.sync()
        self._reaper.pass_by("synced")

    def close(self) -> None:
        self._inner.close()


class DyingFileSystem(LocalFileSystem):
    """A real file system whose files die."""

    def __init__(self, reaper: Reaper) -> None:
        super().__init__()
        self._reaper = reaper

    def create(self, path: str) -> AppendFile:
        file = super().create(path)
        return DyingFile(file, self._reaper) if path.endswith(".segment") else file


class DyingExtractor(ScriptedExtractor):
    """Dies when asked."""

    def __init__(self, reaper: Reaper) -> None:
        super().__init__()
        self._reaper = reaper
        self.is_answered = False
        self.pause = 0.0

    def extract(self, request: ExtractionRequest) -> Extraction:
        self._reaper.pass_by("extract")
        time.sleep(self.pause)
        self.is_answered = True
        return super().extract(request)


class DyingEmbedder(FakeEmbedder):
    """Dies when asked for a job's vectors: the first call after the extractor's answer, which is in the log by then."""

    def __init__(self, reaper: Reaper, extractor: DyingExtractor) -> None:
        super().__init__()
        self._reaper = reaper
        self._extractor = extractor

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        if self._extractor.is_answered:
            self._extractor.is_answered = False
            self._reaper.pass_by("propose")
        return super().embed(texts, is_query=is_query)


def main(store: str, point: str, number: str) -> None:
    """Submit everything, again and again the same, and let the jobs run."""
    reaper = Reaper(point, int(number))
    extractor = DyingExtractor(reaper)
    extractor.pause = PAUSE_SECONDS if point == "slowly" else 0.0
    bench = ShardBench(
        DyingFileSystem(reaper),
        root=store,
        clock=SystemClock(),
        embedder=DyingEmbedder(reaper, extractor),
        extractor=extractor,
    )
    for index, word in enumerate(WORDS):
        user = USERS[index % len(USERS)]
        time.sleep(extractor.pause)
        message = Message("user", f"The crate is labelled {word}", id=f"message-{index}")
        receipt = bench.shard.submit(SubmitRequest(user, f"session-{index % 2}", (message,), f"request-{index}"))
        sys.stdout.write(f"ack {index} {receipt.status} {receipt.seq}\n")
        sys.stdout.flush()
    bench.settle()
    state = bench.shard.state()
    found = violations(bench.batches(), state, bench.shard.projections)
    summary = {
        "violations": found,
        "texts": {user.user_id: bench.texts(user) for user in USERS},
        "turns": sorted(turn.text for user in USERS for turn in state.user(user).turns.values()),
    }
    sys.stdout.write(json.dumps(summary) + "\n")
    sys.stdout.flush()
    bench.shard.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
