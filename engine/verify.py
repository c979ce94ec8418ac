"""A store looked over without owning it: takes no epoch, writes nothing, and may run beside a live owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from memoray.engine.base import Base
from memoray.engine.checker import violations
from memoray.engine.projections import Projections
from memoray.engine.replay import begin, replay
from memoray.errors import CorruptionError, InternalError
from memoray.storage.generations import check_generation, generations, snapshots_root
from memoray.storage.manifest import Manifest, read_manifest, shard_directory
from memoray.storage.recovery import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memoray.events import Batch
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
        snapshot_seq: seq of the newest snapshot; 0: there is none.
        problems: what is wrong, one sentence each; empty when all is well.
    """

    shard: int
    seq: int = 0
    batches_count: int = 0
    users_count: int = 0
    entries_count: int = 0
    turns_count: int = 0
    cut_bytes: int = 0
    snapshot_seq: int = 0
    problems: tuple[str, ...] = ()


def verify_store(fs: FileSystem, root: str) -> Iterator[ShardReport]:
    """Read every shard's log, fold it, build its indexes, and hold all of it against what must always be true.

    The newest snapshot is read to the last byte, and must say with the rest of the log what the whole log says.

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
    snapshot = _look_at_snapshot(snapshots_root(fs, directory), recovered.batches, manifest)
    return ShardReport(
        shard,
        seq=state.last_seq,
        batches_count=len(recovered.batches),
        users_count=len(state.users),
        entries_count=sum(len(known.entries) for known in state.users.values()),
        turns_count=sum(len(known.turns) for known in state.users.values()),
        cut_bytes=recovered.report.cut_bytes,
        snapshot_seq=snapshot.seq,
        problems=(*violations(recovered.batches, state, projections), *snapshot.problems),
    )


class _Snapshot(NamedTuple):
    seq: int = 0
    problems: Sequence[str] = ()


def _look_at_snapshot(root: Path | None, batches: Sequence[Batch], manifest: Manifest) -> _Snapshot:
    generation = next(iter(generations(root)), None) if root is not None else None
    if generation is None or not batches or generation.seq > batches[-1].last_seq:
        return _Snapshot()  # none, or one that a live owner made after the log was read
    try:
        check_generation(generation.path, is_deep=True)
        base = Base(generation.path)
        projections = Projections(manifest.embedder_dimension, manifest.language, base)
        tail = [batch for batch in batches if batch.first_seq > base.meta.seq]
        state = replay(base.state(), tail, projections)
        found = violations(batches, state, projections)
    except (CorruptionError, InternalError, FileNotFoundError) as error:
        if not generation.path.exists():
            return _Snapshot()  # a live owner has put a newer one in its place
        found = [str(error)]
    return _Snapshot(generation.seq, [f"snapshot at seq {generation.seq}: {what}" for what in found])
