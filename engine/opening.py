"""From a shard's files to its live state: the newest snapshot, if one can be used, and the log beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memoray.engine.projections import Projections
from memoray.engine.replay import begin, log_id_of, replay
from memoray.engine.sealer import SealedState, open_newest
from memoray.storage.generations import snapshots_root
from memoray.storage.log import Log

if TYPE_CHECKING:
    from memoray.engine.state import ShardState
    from memoray.protocols import Clock
    from memoray.storage.filesystem import FileSystem
    from memoray.storage.manifest import Manifest


class Opened(NamedTuple):
    """A shard that has been claimed and recovered; `sealed` is the snapshot that its state lies over, if any."""

    log: Log
    sealed: SealedState | None
    state: ShardState
    projections: Projections


def open_shard(fs: FileSystem, directory: str, manifest: Manifest, shard: int, language: str, clock: Clock) -> Opened:
    """Claim a shard's log and recover its state.

    Raises:
        FencedError: another owner claimed it meanwhile.
        CorruptionError: the log is damaged.
        StorageUnavailableError: the file system refuses.
    """
    sealed = open_newest(
        snapshots_root(fs, directory), log_id_of(manifest, shard), manifest.embedder_dimension, language
    )
    start = None if sealed is None else sealed.start
    log = Log.open(fs, directory, shard=shard, owner=manifest.cluster_id, clock=clock, start=start)
    if log.start is None:
        sealed = None  # the log does not go through there; it was read from its first record
    base = None if sealed is None else sealed.base
    projections = Projections(manifest.embedder_dimension, language, base)
    state = replay(begin(manifest, shard) if base is None else base.state(), log.recovered, projections)
    log.recovered = ()  # folded; not to be held for the life of the shard
    return Opened(log, sealed, state, projections)
