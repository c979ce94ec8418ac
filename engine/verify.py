"""A store looked over without owning it: takes no epoch, writes nothing, and may run beside a live owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memoray.engine.checker import violations
from memoray.engine.projections import Projections
from memoray.engine.replay import begin, replay
from memoray.errors import CorruptionError, InternalError
from memoray.storage.manifest import Manifest, read_manifest, shard_directory
from memoray.storage.recovery import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoray.storage.filesystem import FileSystem


class ShardReport(msgspec.Struct, frozen=True):
    """What was found in one shard.

    Attributes:
        shard: its number.
        seq: seq of the last event.
        batches_count: batches read.
        users_count: users with events.
        entries_count: live entries.
        turns_count: kept turns, withdrawn ones included.
        cut_bytes: bytes behind the last whole batch: of a write under way, or of one that a crash interrupted.
        problems: what is wrong, one sentence each; empty when all is well.
    """

    shard: int
    seq: int = 0
    batches_count: int = 0
    users_count: int = 0
    entries_count: int = 0
    turns_count: int = 0
    cut_bytes: int = 0
    problems: tuple[str, ...] = ()


def verify_store(fs: FileSystem, root: str) -> Iterator[ShardReport]:
    """Read every shard's log, fold it, build its indexes, and hold all of it against what must always be true.

    Args:
        fs: where the store is.
        root: its directory.

    Raises:
        NotFoundError: there is no store.
    """
    manifest = read_manifest(fs, root)
    for shard in range(manifest.shards_count):
        yield _verify(fs, root, manifest, shard)


def _verify(fs: FileSystem, root: str, manifest: Manifest, shard: int) -> ShardReport:
    directory = shard_directory(root, shard)
    if not fs.exists(directory):
        return ShardReport(shard)  # never opened
    state = begin(manifest, shard)
    projections = Projections(manifest.embedder_dimension, manifest.language)
    try:
        recovered = read_batches(fs, directory, shard=shard)
        state = replay(state, recovered.batches, projections)
    except (CorruptionError, InternalError) as error:
        return ShardReport(shard, seq=state.last_seq, problems=(str(error),))
    return ShardReport(
        shard,
        seq=state.last_seq,
        batches_count=len(recovered.batches),
        users_count=len(state.users),
        entries_count=sum(len(known.entries) for known in state.users.values()),
        turns_count=sum(len(known.turns) for known in state.users.values()),
        cut_bytes=recovered.report.cut_bytes,
        problems=tuple(violations(recovered.batches, state, projections)),
    )
