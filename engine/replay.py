"""From a log's batches to a state and its projections: the same for an owner and for who only looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.engine.fold import fold
from memoray.engine.layered import Layered
from memoray.engine.state import ShardState, UserState, empty_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoray.engine.base import Base
    from memoray.engine.projections import Projections
    from memoray.events import Batch
    from memoray.keys import UserKey
    from memoray.storage.manifest import Manifest


def log_id_of(manifest: Manifest, shard: int) -> str:
    """Name of a shard's log among all logs."""
    return f"{manifest.store_id}/{shard}"


def begin(manifest: Manifest, shard: int) -> ShardState:
    """The state of a shard before its first event."""
    return empty_state(
        log_id_of(manifest, shard),
        requests_count_max=manifest.requests_remembered_count_max,
        requests_age_seconds_max=manifest.requests_remembered_age_seconds_max,
    )


def replay(state: ShardState, batches: Iterable[Batch], projections: Projections) -> ShardState:
    """Fold batches into a state, and take them into its projections."""
    for batch in batches:
        state = fold(state, batch)
        projections.apply(batch, state)
    return state


def busy_users(state: ShardState, base: Base | None) -> list[UserKey]:
    """Users with jobs, or with something that lacks a vector; of a base only those that it lists are looked at."""
    users = state.users.changed if isinstance(state.users, Layered) else state.users
    busy = [user for user, known in users.items() if _is_busy(known)]
    sealed = [] if base is None else [user for user in base.busy_users() if user not in users]
    return busy + sealed


def _is_busy(user: UserState) -> bool:
    return bool(user.jobs or len(user.entries_unembedded) or len(user.turns_unembedded))
